//! Looking at one version: `ls`, `tree`, `cat`.

use serde_json::{Value, json};

use crate::world::{World, array, files};

#[test]
fn ls() {
    let world = World::with_history();
    assert_eq!(world.ok(&["ls", "r"]), "below/\nx\n");
    assert_eq!(world.ok(&["ls", "r", "/below"]), "y\n");
    assert_eq!(world.ok(&["ls", "r", "below/y/"]), "y\n");
    let long = world.ok(&["ls", "-l", "r"]);
    let lines: Vec<Vec<&str>> = long
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[0],
        [
            "KIND", "TYPE", "SHAPE", "CHUNK", "CHUNKS", "INLINE", "VIRTUAL", "BYTES", "NAME"
        ]
    );
    assert_eq!(lines[1], ["group", "below/"]);
    assert_eq!(
        lines[2],
        [
            "array", "uint8", "(6,", "3)", "(2,", "3)", "3", "0", "0", "2.1", "KiB", "x"
        ]
    );

    let plain = world.facts(&["ls", "r"]);
    assert_eq!(
        plain["nodes"][0],
        json!({"path": "/below", "name": "below", "kind": "group"})
    );
    assert_eq!(
        plain["nodes"][1],
        json!({
            "path": "/x", "name": "x", "kind": "array", "data_type": "uint8", "shape": [6, 3],
            "chunk_shape": [2, 3], "dimension_names": ["t", "y"], "chunk_key_encoding": "default /",
        })
    );
    let counted = world.facts(&["ls", "r", "below", "-l", "--ref", "v1"]);
    assert_eq!(
        counted["nodes"][0]["chunks"],
        json!({
            "inline": {"count": 1, "bytes": 3}, "native": {"count": 0, "bytes": 0}, "virtual": {"count": 0, "bytes": 0},
        })
    );
}

#[test]
fn tree() {
    let world = World::with_history();
    let expected = "/\n├── below/\n│   └── y (3) uint8\n└── x (6, 3) uint8\n";
    assert_eq!(world.ok(&["tree", "r"]), expected);
    let facts = world.facts(&["tree", "r", "--ref", "tag:v1"]);
    let nodes: Vec<(&str, &Value)> = facts["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["path"].as_str().unwrap(), &node["shape"]))
        .collect();
    assert_eq!(
        nodes,
        [
            ("/", &Value::Null),
            ("/below", &Value::Null),
            ("/below/y", &json!([3])),
            ("/x", &json!([4, 3]))
        ]
    );
}

#[test]
fn cat() {
    let world = World::with_history();
    let document = world.ok(&["cat", "r", "x/zarr.json", "--ref", "v1"]);
    assert_eq!(document.as_bytes(), world.files("one")["x/zarr.json"]);
    let output = world.command(&["cat", "r", "x/c/2/0"]).output().unwrap();
    assert_eq!(output.stdout, vec![2; 700]);
    let missing = world.fails(4, &["cat", "r", "x/c/2/0", "--ref", "v1"]);
    assert!(missing.contains("x/c/2/0"), "{missing}");
}

#[test]
fn ls_of_an_array_at_the_root() {
    let world = World::new();
    world.json("one/zarr.json", &array(&[2], &[1], &["t"]));
    world.file("one/c/0", [1]);
    world.ok(&["init", "r"]);
    world.ok(&["import", "one", "r"]);
    assert_eq!(world.ok(&["ls", "r"]), "/\n");
    let long = world.ok(&["ls", "-l", "r"]);
    let name = long.lines().nth(1).unwrap().split_whitespace().last();
    assert_eq!(name, Some("/"));
}

#[test]
fn cat_of_a_virtual_chunk() {
    let world = World::new();
    let fixture = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../fixtures/vectors/v1-virtual/repo"
    );
    for (name, bytes) in files(fixture.as_ref()) {
        world.file(&format!("r/{name}"), bytes);
    }
    let long = world.facts(&["ls", "-l", "r"]);
    let array = long["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["chunks"]["virtual"]["count"] != json!(0) && node["kind"] == "array")
        .unwrap();
    let name = array["name"].as_str().unwrap();
    let rank = array["shape"].as_array().unwrap().len();
    let key = format!("{name}/c{}", "/0".repeat(rank));
    let error = world.fails(1, &["cat", "r", &key]);
    assert!(error.contains("access to that was not granted"), "{error}");
    assert!(error.contains("--grant PREFIX"), "{error}");
    for wrong in ["archive", "s3://", "s3://b/x?secret_key=hidden"] {
        let error = world.fails(2, &["cat", "r", &key, "--grant", wrong]);
        assert!(!error.contains("hidden"), "{error}");
    }
}
