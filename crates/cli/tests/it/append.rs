//! `--append`: the rules, by name.

use serde_json::{Value, json};

use crate::world::{World, array, group};

#[test]
fn appended_chunks_follow_those_that_are_there() {
    let world = World::with_history();
    let facts = world.facts(&["import", "two", "r", "--append", "t"]);
    assert_eq!(facts["extended_arrays"], json!(["/x"]));
    assert_eq!(
        (&facts["chunks"], &facts["compared_chunks"]),
        (&json!(1), &json!(1))
    );
    let document: Value = serde_json::from_str(&world.ok(&["cat", "r", "x/zarr.json"])).unwrap();
    assert_eq!(document, array(&[8, 3], &[2, 3], &["t", "y"]));
    for (chunk, value) in [(0, 1), (1, 1), (2, 2), (3, 2)] {
        let output = world
            .command(&["cat", "r", &format!("x/c/{chunk}/0")])
            .output()
            .unwrap();
        assert_eq!(output.stdout, vec![value; 700], "{chunk}");
    }
}

#[test]
fn a_chunk_that_is_none_stops_the_append_behind_an_odd_length() {
    let world = World::with_history();
    world.tree("odd", 3, 3);
    world.ok(&["import", "odd", "r", "--append", "t"]);
    // The last chunk is not full, and its bytes are none of its codecs.
    let error = world.fails(1, &["import", "two", "r", "--append", "t"]);
    assert!(error.contains("chunk [4, 0] of /x"), "{error}");
}

#[test]
fn a_plan_is_printed_and_nothing_is_written() {
    let world = World::with_history();
    let before = world.history("r");
    let planned = world.ok(&["import", "two", "r", "--append", "t", "--dry-run"]);
    for said in ["along t:", "/x (", "nothing was written"] {
        assert!(planned.contains(said), "{said} is not in: {planned}");
    }
    assert_eq!(world.history("r"), before);
    world.fails(2, &["import", "two", "r", "--overlap", "first"]);
    let both = [
        "import",
        "two",
        "r",
        "--append",
        "t",
        "--overlap",
        "first",
        "--unordered",
    ];
    world.fails(2, &both);
}

/// A file without records, as a model leaves it that has not begun yet.
#[test]
fn a_source_without_elements_changes_nothing_and_is_no_failure() {
    let world = World::with_history();
    world.tree("none", 0, 3);
    let before = world.history("r");
    let said = world.ok(&["import", "none", "r", "--append", "t"]);
    assert!(said.contains("nothing to append"), "{said}");
    assert_eq!(world.history("r"), before);
}

/// A faulty tree, and the message that names the fault.
type Case = (fn(&World), &'static str);

#[test]
fn whatever_does_not_fit_is_named() {
    let cases: [Case; 7] = [
        (
            |world| {
                let mut document = array(&[2, 3], &[2, 3], &["t", "y"]);
                document["data_type"] = json!("complex64");
                document["fill_value"] = json!([0.0, 0.0]);
                world.json("bad/x/zarr.json", &document);
            },
            "/x cannot be appended to: its `data_type` is \"uint8\" here and \"complex64\" in the source",
        ),
        (
            |world| world.json("bad/x/zarr.json", &array(&[2, 4], &[2, 3], &["t", "y"])),
            "`shape[1]`",
        ),
        (
            |world| world.json("bad/x/zarr.json", &array(&[2, 3], &[2, 3], &["t", "z"])),
            "`dimension_names[1]`",
        ),
        (
            |world| {
                let mut document = array(&[2, 3], &[2, 3], &["t", "y"]);
                document["attributes"] = json!({ "units": "K" });
                world.json("bad/x/zarr.json", &document);
            },
            "`attributes`",
        ),
        (
            |world| world.file("bad/below/y/c/0", [1, 2, 4]),
            "/below/y cannot be appended to",
        ),
        (
            |world| world.json("bad/z/zarr.json", &array(&[2], &[2], &["t"])),
            "/z does not exist yet",
        ),
        (
            |world| std::fs::remove_dir_all(world.path("bad/below")).unwrap(),
            "/below/y is not in the source",
        ),
    ];
    for (edit, named) in cases {
        let world = World::with_history();
        world.tree("bad", 2, 9);
        edit(&world);
        let before = world.history("r");
        let error = world.fails(1, &["import", "bad", "r", "--append", "t"]);
        assert!(error.contains(named), "{named} is not in: {error}");
        assert_eq!(world.history("r"), before);
    }
}

#[test]
fn attributes_of_groups_stay_and_that_is_told() {
    let world = World::with_history();
    world.json("two/zarr.json", &group(json!({"title": "another"})));
    let text = world.ok(&["import", "two", "r", "--append", "t"]);
    assert!(text.contains("kept the attributes of /;"), "{text}");
    let root: Value = serde_json::from_str(&world.ok(&["cat", "r", "zarr.json"])).unwrap();
    assert_eq!(root["attributes"]["title"], "a tree");
    let facts = world.facts(&["import", "two", "r", "--append", "t"]);
    assert_eq!(facts["kept_groups"], json!(["/"]));
}

#[test]
fn what_sources_do_not_have_in_common_is_told() {
    let world = World::with_history();
    world.tree("two", 2, 9);
    let mut document = array(&[2, 3], &[2, 3], &["t", "y"]);
    document["data_type"] = json!("int8");
    document["attributes"] = json!({ "note": "two" });
    world.json("two/x/zarr.json", &document);
    world.file("two/x/c/0/0", [9; 6]);
    let mut new = array(&[2], &[2], &["t"]);
    new["attributes"] = json!({ "_FillValue": 9 });
    world.json("two/z/zarr.json", &new);
    world.file("two/z/c/0", [1, 2]);
    let plain = ["import", "two", "r", "--append", "t"];
    let error = world.fails(1, &plain);
    assert!(error.contains("--attributes first"), "{error}");
    let attributes = [&plain[..], &["--attributes", "first"]].concat();
    let error = world.fails(1, &attributes);
    assert!(
        error.contains("/z does not exist yet") && error.contains("--missing fill"),
        "{error}"
    );
    let all = [&attributes[..], &["--missing", "fill"]].concat();
    let planned = world.ok(&[&all[..], &["--dry-run"]].concat());
    for line in [
        "encoding changed in /x",
        "filled /z, which is not in the repository",
        "kept the attribute note of /x; ",
    ] {
        assert!(planned.contains(line), "{line} is not in: {planned}");
    }
    let said = world.ok(&all);
    assert!(said.contains("changed the encoding of /x"), "{said}");
    for wrong in [
        &["--repack", "-1"][..],
        &["--repack", "nan"],
        &["--unpack"],
        &["--missing", "ignore"],
    ] {
        world.fails(2, &[&plain[..], wrong].concat());
    }
    world.fails(2, &["import", "two", "r", "--missing", "fill"]);
}
