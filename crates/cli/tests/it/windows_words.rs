//! Attributes that describe a window, and its faults: messages name the object, the rule, and the next step.

use serde_json::{Value, json};

use crate::windows::{hours, tree};
use crate::world::{World, array, group};

fn world(attributes: Value) -> World {
    let world = World::new();
    tree(&world, "old", 0..6);
    world.json("old/zarr.json", &group(attributes));
    world.ok(&["init", "r"]);
    world.ok(&["import", "old", "r"]);
    world
}

fn said(world: &World, name: &str) -> Value {
    let root: Value = serde_json::from_str(&world.ok(&["cat", "r", "zarr.json"])).unwrap();
    root["attributes"][name].clone()
}

#[test]
fn the_coverage_of_time_follows_sources_that_come_in() {
    let world = world(json!({
        "time_coverage_start": "1970-01-01T00:00:00Z", "time_coverage_end": "1970-01-01T05:00:00Z",
    }));
    tree(&world, "new", 6..8);
    let commits = world.history("r").len();
    world.ok(&["roll", "r", "--from", "new", "-d", "time"]);
    assert_eq!(said(&world, "time_coverage_start"), "1970-01-01T02:00:00Z");
    assert_eq!(said(&world, "time_coverage_end"), "1970-01-01T07:00:00Z");
    world.ok(&["prepend", "r", "2", "-d", "time"]);
    assert_eq!(said(&world, "time_coverage_start"), "1970-01-01T00:00:00Z");
    assert_eq!(said(&world, "time_coverage_end"), "1970-01-01T07:00:00Z");
    assert_eq!(hours(&world).1[0], 0.0);
    assert_eq!(world.history("r").len(), commits + 2);
}

#[test]
fn what_cannot_follow_is_named_and_goes_on_request() {
    let world = world(json!({"time_coverage_end": "2015-01-01"}));
    let before = world.history("r");
    let error = world.fails(1, &["roll", "r", "2", "-d", "time"]);
    for part in [
        "\"time_coverage_end\" of / is \"2015-01-01\"",
        "does not follow from the labels in /time",
        "correct it before, or have it taken away",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(world.history("r"), before);
    world.ok(&["roll", "r", "2", "-d", "time", "--drop-coverage"]);
    assert_eq!(said(&world, "time_coverage_end"), Value::Null);
}

#[test]
fn arrays_that_would_stay_behind_are_named() {
    let world = World::new();
    tree(&world, "old", 0..6);
    let mut x = array(&[6, 3], &[2, 3], &["time", "y"]);
    x["attributes"] = json!({"ancillary_variables": "quality"});
    world.json("old/x/zarr.json", &x);
    let mut quality = array(&[6, 3], &[2, 3], &["time", "y"]);
    quality.as_object_mut().unwrap().remove("dimension_names");
    world.json("old/quality/zarr.json", &quality);
    world.ok(&["init", "r"]);
    world.ok(&["import", "old", "r"]);
    let before = world.history("r");
    let error = world.fails(1, &["roll", "r", "2", "-d", "time"]);
    for part in [
        "/quality, which /x names in its attribute \"ancillary_variables\"",
        "along \"time\"",
        "has no name: name it",
    ] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(world.history("r"), before);
}

#[test]
fn wrong_attributes_and_lengths_are_named() {
    for (attributes, shape, words) in [
        (
            json!({"origin": "NEMO"}),
            [6, 3],
            &["\"origin\" of /x", "\"NEMO\"", "a list of whole numbers"][..],
        ),
        (
            json!({"origin": [1]}),
            [6, 3],
            &["\"origin\" of /x", "[1]", "one for each dimension"],
        ),
        (
            json!({}),
            [8, 3],
            &[
                "/x shows elements 0 to 8",
                "/time shows 0 to 6",
                "give the group",
            ],
        ),
    ] {
        let world = World::new();
        tree(&world, "old", 0..6);
        let mut x = array(&shape, &[2, 3], &["time", "y"]);
        x["attributes"] = attributes;
        world.json("old/x/zarr.json", &x);
        world.ok(&["init", "r"]);
        world.ok(&["import", "old", "r"]);
        let before = world.history("r");
        let error = world.fails(1, &["roll", "r", "2", "-d", "time"]);
        for word in words {
            assert!(error.contains(word), "{word}: {error}");
        }
        assert_eq!(world.history("r"), before);
    }
}

#[test]
fn words_that_are_no_numbers_are_usage_errors() {
    let world = world(json!({}));
    for (args, word) in [
        (&["roll", "r", "two", "-d", "time"][..], "two"),
        (&["append", "r", "-2", "-d", "time"], "-2"),
        (&["append", "r", "2"], "--dimension"),
        (
            &["append", "r", "2", "-d", "time", "--labels", "6,seven"],
            "seven",
        ),
        (
            &["append", "r", "2", "-d", "time", "--keep", "a week"],
            "a week",
        ),
        (
            &["append", "r", "99999999999999999999", "-d", "time"],
            "99999999999999999999",
        ),
        (&["roll", "r", "2", "--from", "old", "-d", "time"], "--from"),
        (
            &["trim", "r", "-d", "time", "--keep", "2", "--start", "2"],
            "--keep",
        ),
    ] {
        let run = world.run(args);
        assert_eq!(run.code, 2, "{args:?}: {run:?}");
        assert!(run.stderr.contains(word), "{args:?}: {run:?}");
    }
    assert_eq!(world.history("r").len(), 2);
}
