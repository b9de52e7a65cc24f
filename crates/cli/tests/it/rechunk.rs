//! `rechunk`, and imports with `--chunks`, `--shards` and `--codec`.

use serde_json::{Value, json};

use crate::world::{World, array, group};

/// A world with the tree `tree`: `/a`, 6 x 4 elements in chunks of 2 x 4, from 1 on, with a coordinate.
fn world() -> World {
    let world = World::new();
    world.json("tree/zarr.json", &group(json!({})));
    world.json("tree/a/zarr.json", &array(&[6, 4], &[2, 4], &["t", "y"]));
    world.json("tree/t/zarr.json", &array(&[6], &[6], &["t"]));
    for chunk in 0..3_u8 {
        let elements: Vec<u8> = (1..=8).map(|at| 8 * chunk + at).collect();
        world.file(&format!("tree/a/c/{chunk}/0"), elements);
    }
    world.file("tree/t/c/0", [0, 1, 2, 3, 4, 5]);
    world
}

fn chunk(world: &World, key: &str) -> Vec<u8> {
    world.command(&["cat", "r", key]).output().unwrap().stdout
}

fn document(world: &World) -> Value {
    serde_json::from_str(&world.ok(&["cat", "r", "a/zarr.json"])).unwrap()
}

#[test]
fn an_array_is_rechunked_in_one_commit_and_old_chunks_are_collected() {
    for spec in ["1", "2"] {
        let world = world();
        world.ok(&["init", "r", "--spec", spec]);
        world.ok(&["import", "tree", "r"]);
        let before = world.history("r");
        let rechunk = [
            "rechunk",
            "r",
            "a",
            "--chunks",
            "t=all,y=1",
            "--codec",
            "none",
        ];
        let mut dry = rechunk.to_vec();
        dry.push("--dry-run");
        let said = world.ok(&dry);
        for expected in [
            "/a (6 x 4)",
            "chunks of 6 x 1",
            "4 chunks",
            "3 chunks",
            "nothing was written",
        ] {
            assert!(said.contains(expected), "{expected} is not in: {said}");
        }
        dry.push("--json");
        let planned = world.run(&dry);
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        assert_eq!(planned["outcome"], "planned");
        assert_eq!(planned["after"]["chunk_shape"], json!([6, 1]));
        assert_eq!(
            (&planned["decodes"], &planned["chunks"]),
            (&json!(3), &json!(4))
        );
        assert_eq!(world.history("r"), before);

        let facts = world.facts(&rechunk);
        assert_eq!(
            (&facts["outcome"], &facts["chunks"]),
            (&json!("committed"), &json!(4))
        );
        assert_eq!(facts["decoded_chunks"], 3);
        assert_eq!(chunk(&world, "a/c/0/1"), [2, 6, 10, 14, 18, 22]);
        assert_eq!(world.history("r").len(), before.len() + 1);
        let mut expected = array(&[6, 4], &[6, 1], &["t", "y"]);
        expected["codecs"] = document(&world)["codecs"].clone();
        assert_eq!(document(&world), expected);
        // Nothing is left to be done, and the version before reads as ever.
        let again = world.facts(&rechunk);
        assert_eq!(
            (&again["outcome"], &again["snapshot_id"]),
            (&json!("unchanged"), &Value::Null)
        );
        let old = world
            .command(&["cat", "r", "a/c/1/0", "--ref", "main~1"])
            .output()
            .unwrap();
        assert_eq!(old.stdout, (9..=16).collect::<Vec<u8>>());
        world.ok(&["fsck", "r"]);
    }
}

#[test]
fn an_import_is_told_chunks_shards_and_codec() {
    let world = world();
    world.ok(&["init", "r"]);
    let import = [
        "import", "tree", "r", "--chunks", "t=2,y=2", "--shards", "t=6", "--codec", "gzip:1",
    ];
    let mut dry = import.to_vec();
    dry.push("--dry-run");
    let said = world.ok(&dry);
    for expected in [
        "in chunks of 2 x 2 in shards of 6 x 2",
        "2 chunks put together",
        "chunk_grid",
    ] {
        assert!(said.contains(expected), "{expected} is not in: {said}");
    }
    let facts = world.facts(&import);
    assert_eq!(facts["assembled_chunks"], 2 + 1);
    let codec = &document(&world)["codecs"][0];
    assert_eq!(codec["configuration"]["chunk_shape"], json!([2, 2]));
    assert_eq!(codec["configuration"]["codecs"][1]["name"], "gzip");
    // Back again, and the elements are those of the source.
    world.ok(&[
        "rechunk", "r", "/a", "--chunks", "t=2,y=4", "--shards", "none", "--codec", "none",
    ]);
    assert_eq!(chunk(&world, "a/c/2/0"), (17..=24).collect::<Vec<u8>>());
}

#[test]
fn what_cannot_be_is_refused_and_says_why() {
    let world = world();
    world.ok(&["init", "r"]);
    world.ok(&["import", "tree", "r"]);
    let before = world.history("r");
    for (code, arguments, expected) in [
        (2, &["rechunk", "r", "a"][..], "--chunks"),
        (2, &["rechunk", "r", "a", "--chunks", "t"], "DIM=ELEMENTS"),
        (
            2,
            &["rechunk", "r", "a", "--chunks", "t=2,t=3"],
            "two lengths",
        ),
        (
            2,
            &["rechunk", "r", "a", "--codec", "zip"],
            "blosc:NAME:LEVEL",
        ),
        (1, &["rechunk", "r", "a", "--chunks", "z=2"], "\"z\""),
        (1, &["rechunk", "r", "a", "--chunks", "t=0"], "at least 1"),
        (1, &["rechunk", "r", "a", "--shards", "t=3"], "no multiple"),
        (4, &["rechunk", "r", "b", "--chunks", "t=3"], "/b"),
        (
            1,
            &[
                "import",
                "tree",
                "r",
                "--append",
                "t",
                "--unordered",
                "--chunks",
                "t=3",
            ],
            "append",
        ),
        (
            1,
            &[
                "import",
                "tree",
                "r",
                "--group",
                "g",
                "--chunks",
                "t=3",
                "--virtual",
            ],
            "--copy /a",
        ),
    ] {
        let said = world.fails(code, arguments);
        assert!(
            said.contains(expected),
            "{arguments:?}: {expected} is not in: {said}"
        );
    }
    assert_eq!(world.history("r"), before);
    // A group is no array.
    assert!(world.run(&["rechunk", "r", "/", "--codec", "none"]).code != 0);
}
