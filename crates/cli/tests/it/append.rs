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
fn an_odd_length_stops_the_next_append() {
    let world = World::with_history();
    world.tree("odd", 3, 3);
    world.ok(&["import", "odd", "r", "--append", "t"]);
    let error = world.fails(1, &["import", "two", "r", "--append", "t"]);
    assert!(
        error.contains("/x cannot be appended to: its length 9 along \"t\" is not a multiple of the chunk length 2"),
        "{error}"
    );
}

/// What is wrong with a tree, and what must be said about it.
type Case = (fn(&World), &'static str);

#[test]
fn whatever_does_not_fit_is_named() {
    let cases: [Case; 8] = [
        (
            |world| world.json("bad/x/zarr.json", &array(&[2, 3], &[1, 3], &["t", "y"])),
            "/x cannot be appended to: its `chunk_grid.configuration.chunk_shape[0]` is 2 here and 1 in the source",
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
                document["fill_value"] = json!(1);
                world.json("bad/x/zarr.json", &document);
            },
            "`fill_value` is 0 here and 1 in the source",
        ),
        (
            |world| {
                let mut document = array(&[2, 3], &[2, 3], &["t", "y"]);
                document["codecs"] = json!([{"name": "bytes"}, {"name": "zstd"}]);
                world.json("bad/x/zarr.json", &document);
            },
            "`codecs`",
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
