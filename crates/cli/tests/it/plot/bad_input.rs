//! Arrays that have no picture, and arguments that are refused.

use serde_json::{Value, json};

use super::{ocean, plane};
use crate::world::{World, group};

fn refused(world: &World, code: i32, args: &[&str]) -> String {
    let all = [&["plot", "r"], args].concat();
    let said = world.fails(code, &all);
    assert!(!world.path("x.png").exists(), "{args:?}");
    said
}

/// A world whose repository has one array `a` with this document.
fn world_with(document: &Value, chunks: &[(&str, Vec<u8>)]) -> World {
    let world = World::new();
    world.json("tree/zarr.json", &group(json!({})));
    world.json("tree/a/zarr.json", document);
    for (key, bytes) in chunks {
        world.file(&format!("tree/a/c/{key}"), bytes);
    }
    world.ok(&["init", "r"]);
    world.ok(&["import", "tree", "r"]);
    world
}

#[test]
fn positions_must_be_in_the_array() {
    let world = ocean();
    let file = &["-o", "x.png"][..];
    for (code, at, part) in [
        (
            4,
            "depth=0",
            "has no dimension depth: its dimensions are time, lat, lon",
        ),
        (4, "time=3", "has no index 3: its length is 3"),
        (4, "time=-4", "has no index -4"),
        (
            4,
            "lat=80.0",
            "does not reach 80.0: it lies between 10 and 20",
        ),
        (
            4,
            "time=2016-01",
            "it lies between 2015-01-16 and 2015-03-16",
        ),
        (1, "lat=2015-02", "its coordinate has no units of time"),
        (2, "time", "expected a dimension"),
        (2, "time=soon", "is neither an index"),
        (2, "time=2015-13", "is no time for dimension time"),
        (2, "time=2015-02-01x", "is no time for dimension time"),
    ] {
        let said = refused(&world, code, &[&["t", "--at", at], file].concat());
        assert!(said.contains(part), "{at}: {said}");
    }
    let twice = ["t", "--at", "time=0", "--at", "0=1", "-o", "x.png"];
    assert!(refused(&world, 2, &twice).contains("has two positions"));
    let all = [
        "t", "--at", "time=0", "--at", "lat=0", "--at", "lon=0", "-o", "x.png",
    ];
    assert!(refused(&world, 1, &all).contains("no dimension to draw along"));
    // Without a coordinate, only indices are known.
    let said = refused(&world, 1, &["plain", "--at", "0=1.5", "-o", "x.png"]);
    assert!(said.contains("no array has its name"), "{said}");
}

#[test]
fn arrays_without_numbers_have_no_picture() {
    let world = ocean();
    assert!(refused(&world, 4, &["nowhere", "-o", "x.png"]).contains("nowhere"));
    let said = refused(&world, 1, &["/", "-o", "x.png"]);
    assert!(said.contains("array"), "{said}");
    let mut complex = plane([2, 2], [2, 2], &["y", "x"]);
    complex["data_type"] = json!("complex64");
    complex["fill_value"] = json!([0.0, 0.0]);
    let said = refused(&world_with(&complex, &[]), 1, &["a", "-o", "x.png"]);
    assert!(
        said.contains("complex64") && said.contains("no real numbers"),
        "{said}"
    );
    let mut texts = plane([2, 2], [2, 2], &["y", "x"]);
    texts["data_type"] = json!("string");
    texts["fill_value"] = json!("");
    texts["codecs"] = json!([{"name": "vlen-utf8"}]);
    let said = refused(&world_with(&texts, &[]), 1, &["a", "-o", "x.png"]);
    assert!(said.contains("string") && said.contains("ncdump"), "{said}");
    let mut scalar = plane([2, 2], [2, 2], &["y", "x"]);
    for member in ["shape", "dimension_names"] {
        scalar[member] = json!([]);
    }
    scalar["chunk_grid"]["configuration"]["chunk_shape"] = json!([]);
    let said = refused(&world_with(&scalar, &[]), 1, &["a", "-o", "x.png"]);
    assert!(said.contains("no dimension to draw along"), "{said}");
    let empty = plane([0, 2], [2, 2], &["y", "x"]);
    let said = refused(&world_with(&empty, &[]), 1, &["a", "-o", "x.png"]);
    assert!(
        said.contains("the length of its dimension y is 0"),
        "{said}"
    );
}

#[test]
fn all_missing_is_a_grey_picture_that_says_so() {
    let mut document = plane([2, 3], [2, 3], &["y", "x"]);
    document["attributes"] = json!({"_FillValue": 0});
    let world = world_with(&document, &[]);
    let facts = world.facts(&["plot", "r", "a", "-o", "x.png"]);
    assert_eq!(
        (&facts["missing"], &facts["limits"]),
        (&json!(6), &Value::Null)
    );
    let frame = super::frame(&facts);
    let picture = super::decoded::Decoded::of(&std::fs::read(world.path("x.png")).unwrap());
    assert_eq!(picture.pixel(frame[0] + 5, frame[1] + 5), [150, 150, 150]);
    world.ok(&["plot", "r", "a", "-o", "x.svg"]);
    let text = std::fs::read_to_string(world.path("x.svg")).unwrap();
    assert!(text.contains("all values are missing"), "{text}");
    // A line has no points.
    world.ok(&["plot", "r", "a", "--at", "y=0", "-o", "x.svg"]);
}

#[test]
fn a_chunk_that_is_gone_or_damaged_is_damage_and_no_picture() {
    let plane = plane([30, 40], [30, 40], &["y", "x"]);
    let world = world_with(&plane, &[("0/0", vec![1; 2400])]);
    let chunks: Vec<_> = std::fs::read_dir(world.path("r/chunks")).unwrap().collect();
    assert_eq!(chunks.len(), 1);
    std::fs::remove_file(chunks[0].as_ref().unwrap().path()).unwrap();
    refused(&world, 5, &["a", "-o", "x.png"]);
    let short = world_with(&plane, &[("0/0", vec![1; 2399])]);
    let said = refused(&short, 5, &["a", "-o", "x.png"]);
    assert!(said.contains("its chunk"), "{said}");
}

#[test]
fn a_picture_needs_a_file_or_a_terminal() {
    let world = ocean();
    let said = refused(&world, 2, &["t"]);
    assert!(
        said.contains("no terminal") && said.contains("-o FILE.png"),
        "{said}"
    );
    refused(&world, 2, &["t", "--json"]);
    for name in ["x", "x.jpg", "png", ".png"] {
        let said = refused(&world, 2, &["t", "-o", name]);
        assert!(said.contains("ends in .png or .svg"), "{name}: {said}");
    }
    for name in ["missing/x.png", "tree"] {
        std::fs::create_dir_all(world.path("folder.png")).unwrap();
        let name = if name == "tree" { "folder.png" } else { name };
        let said = refused(&world, 1, &["t", "-o", name]);
        assert!(said.contains(name), "{said}");
    }
    for limits in ["1", "2,1", "1,1", "nan,1", "0,inf", "a,b"] {
        let said = refused(&world, 2, &["t", "--limits", limits, "-o", "x.png"]);
        assert!(said.contains("a greater number"), "{limits}: {said}");
    }
}

#[test]
fn versions_that_differ_in_shape_units_or_times_have_no_difference() {
    let world = ocean();
    let said = refused(&world, 1, &["other", "--diff", "tag:old", "-o", "x.png"]);
    assert!(said.contains("y = 3") && said.contains("y = 2"), "{said}");
    let said = refused(&world, 1, &["heat", "--diff", "tag:old", "-o", "x.png"]);
    assert!(
        said.contains("the units 2 J") && said.contains("the units 1 J"),
        "{said}"
    );
    let last = [
        "daily", "--at", "day=-1", "--diff", "tag:old", "-o", "x.png",
    ];
    let said = refused(&world, 1, &last);
    assert!(
        said.contains("day = 2015-01-03") && said.contains("day = 2015-01-02"),
        "{said}"
    );
    let said = refused(&world, 4, &["new", "--diff", "tag:old", "-o", "x.png"]);
    assert!(said.contains("new"), "{said}");
    refused(&world, 4, &["t", "--diff", "nowhere", "-o", "x.png"]);
}
