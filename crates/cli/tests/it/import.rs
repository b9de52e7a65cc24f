//! Imports and exports as round trips.

use serde_json::{Value, json};

use crate::world::{World, array, group};

#[test]
fn every_chunk_key_encoding_arrives() {
    let world = World::new();
    world.ok(&["init", "r"]);
    for (name, encoding, separator, keys) in [
        ("a", "default", ".", ["c.0.0", "c.1.1"]),
        ("b", "v2", ".", ["0.0", "1.1"]),
        ("c", "v2", "/", ["0/0", "1/1"]),
        ("d", "default", "/", ["c/0/0", "c/1/1"]),
    ] {
        let mut document = array(&[2, 2], &[1, 1], &["y", "x"]);
        document["chunk_key_encoding"] =
            json!({"name": encoding, "configuration": {"separator": separator}});
        world.json(&format!("tree/{name}/zarr.json"), &document);
        world.file(&format!("tree/{name}/{}", keys[0]), "first");
        world.file(&format!("tree/{name}/{}", keys[1]), "second");
    }
    world.ok(&["import", "tree", "r"]);
    for name in ["a", "b", "c", "d"] {
        assert_eq!(world.ok(&["cat", "r", &format!("{name}/c/0/0")]), "first");
        assert_eq!(world.ok(&["cat", "r", &format!("{name}/c/1/1")]), "second");
        let document: Value =
            serde_json::from_str(&world.ok(&["cat", "r", &format!("{name}/zarr.json")])).unwrap();
        assert_eq!(
            document["chunk_key_encoding"],
            json!({"name": "default", "configuration": {"separator": "/"}})
        );
    }
    assert_eq!(world.facts(&["info", "r"])["other_chunk_keys"], json!([]));
}

#[test]
fn what_comes_out_is_what_went_in() {
    let world = World::new();
    world.tree("tree", 5, 3);
    world.json(
        "tree/below/zarr.json",
        &group(json!({"Ω": [1.50, "ß", null]})),
    );
    world.json("tree/scalar/zarr.json", &array(&[], &[], &[]));
    world.file("tree/scalar/c", [7]);
    world.json("tree/empty/zarr.json", &array(&[0], &[1], &["t"]));
    world.file(
        "tree/Übung/zarr.json",
        "{\"node_type\":\"group\"\t,\"zarr_format\":3 }\n",
    );
    world.ok(&["init", "r"]);
    world.ok(&["import", "tree", "r"]);
    world.ok(&["export", "r", "again"]);
    assert_eq!(world.files("again"), world.files("tree"));
    // And once more from what came out.
    world.ok(&["init", "r2"]);
    world.ok(&["import", "again", "r2", "--fsync", "none"]);
    world.ok(&["export", "r2", "third"]);
    assert_eq!(world.files("third"), world.files("tree"));
}

#[test]
fn what_is_left_out_is_told() {
    let world = World::new();
    world.tree("tree", 2, 3);
    world.file("tree/.DS_Store", "x");
    world.file("tree/x/c/0/.DS_Store", "x");
    world.file("tree/README.md", "x");
    world.ok(&["init", "r"]);
    let text = world.ok(&["import", "tree", "r"]);
    assert!(
        text.contains("left out 3 files and directories that belong to no node")
            && text.contains("README.md"),
        "{text}"
    );
    let facts = world.facts(&["import", "tree", "r", "--group", "again"]);
    assert_eq!(facts["ignored"]["count"], 3);
    assert_eq!(facts["ignored"]["examples"].as_array().unwrap().len(), 3);
}

#[test]
fn a_part_comes_in_with_other_names() {
    let world = World::new();
    world.json("tree/zarr.json", &group(json!({})));
    for (name, length, dimension) in [("t", 2, "t"), ("x", 2, "t"), ("z", 3, "z")] {
        world.json(
            &format!("tree/{name}/zarr.json"),
            &array(&[length], &[length], &[dimension]),
        );
        world.file(&format!("tree/{name}/c/0"), vec![1; length as usize]);
    }
    world.ok(&["init", "r"]);
    let part = [
        "import",
        "tree",
        "r",
        "--variables",
        "x",
        "--rename",
        "t=time",
    ];
    world.ok(&[&part[..], &["--rename", "x=y"]].concat());
    let tree = world.ok(&["tree", "r"]);
    assert!(
        tree.contains("time") && tree.contains("y") && !tree.contains("z"),
        "{tree}"
    );
    world.ok(&["import", "tree", "r", "--group", "again", "--drop", "x,t"]);
    assert_eq!(world.run(&["cat", "r", "again/z/zarr.json"]).code, 0);
    assert_eq!(world.run(&["cat", "r", "again/x/zarr.json"]).code, 4);
    for (code, args) in [
        (1, &["--drop", "sky"][..]),
        (1, &["--rename", "x=t"]),
        (1, &["--rename", "x=a/b"]),
        (2, &["--rename", "x"]),
        (2, &["--rename", "=x"]),
        (2, &["--rename", "x="]),
        (2, &["--variables", "a//b"]),
    ] {
        world.fails(
            code,
            &[&["import", "tree", "r", "--group", "third"][..], args].concat(),
        );
    }
}

#[test]
fn a_branch_of_its_own() {
    let world = World::with_history();
    world.ok(&["branch", "create", "r", "work", "--ref", "v1"]);
    world.ok(&["import", "two", "r", "--branch", "work", "--append", "t"]);
    assert_eq!(
        world.facts(&["log", "r", "--ref", "work"])["snapshots"][0]["message"],
        "Append two along t"
    );
    assert_eq!(world.facts(&["log", "r"])["snapshots"][0]["message"], "two");
}

#[test]
fn importing_twice_is_refused_and_exporting_too() {
    let world = World::with_history();
    let error = world.fails(3, &["import", "one", "r"]);
    assert!(error.contains("/below/y exists already"), "{error}");
    world.ok(&["export", "r", "out"]);
    let before = world.files("out");
    world.fails(3, &["export", "r", "out", "--ref", "v1"]);
    assert_eq!(world.files("out"), before);
}
