//! What every command prints, as text and as JSON.

use serde_json::{Value, json};

use crate::world::{World, array};

#[test]
fn init() {
    let world = World::new();
    assert_eq!(
        world.ok(&["init", "r"]),
        "created an empty repository at r\n"
    );
    let facts = world.facts(&["init", "other"]);
    assert_eq!(facts["branch"], "main");
    assert_eq!(facts["snapshot_id"], "1CECHNKREP0F1RSTCMT0");
    assert_eq!(world.history("other"), ["1CECHNKREP0F1RSTCMT0"]);
    assert_eq!(world.ok(&["ls", "r"]), "");
    assert_eq!(world.ok(&["tree", "r"]), "/\n");
}

#[test]
fn import_and_export() {
    let world = World::new();
    world.tree("one", 4, 1);
    world.ok(&["init", "r"]);
    let imported = world.facts(&["import", "one", "r"]);
    for (name, value) in [
        ("branch", json!("main")),
        ("outcome", json!("committed")),
        ("new_groups", json!(2)),
        ("new_arrays", json!(2)),
        ("extended_arrays", json!([])),
        ("chunks", json!(3)),
        ("bytes", json!(1403)),
        ("ignored", json!({"count": 0, "examples": []})),
    ] {
        assert_eq!(imported[name], value, "{name}");
    }
    let id = imported["snapshot_id"].as_str().unwrap();
    assert_eq!(world.history("r")[0], id);
    let log = world.facts(&["log", "r"]);
    assert_eq!(log["snapshots"][0]["message"], "Import one");

    let exported = world.facts(&["export", "r", "again"]);
    assert_eq!(exported["snapshot_id"], id);
    assert_eq!(
        [
            &exported["groups"],
            &exported["arrays"],
            &exported["chunks"],
            &exported["bytes"]
        ],
        [&json!(2), &json!(2), &json!(3), &json!(1403)]
    );
    let mut again = world.files("again");
    assert!(again.remove("below/zarr.json").is_some());
    assert_eq!(again, world.files("one"));

    let text = world.ok(&["import", "one", "r", "--group", "copy", "-m", "a copy"]);
    assert!(
        text.starts_with("committed ")
            && text.contains(" to main: 2 new groups, 2 new arrays, 3 chunks (1.4 KiB)"),
        "{text}"
    );
    let text = world.ok(&["export", "r", "more", "--ref", "main~1"]);
    assert!(text.contains("2 groups, 2 arrays, 3 chunks"), "{text}");
}

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
fn log() {
    let world = World::with_history();
    let ids = world.history("r");
    let text = world.ok(&["log", "r"]);
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (lines[0][0], &lines[0][2..]),
        (&*ids[0], &["(main)", "two"][..])
    );
    assert_eq!(
        (lines[1][0], &lines[1][2..]),
        (&*ids[1], &["(tag:v1)", "one"][..])
    );
    assert_eq!(&lines[2][2..], ["Repository", "initialized"]);
    assert_eq!(world.ok(&["log", "r", "-n", "1"]).lines().count(), 1);

    let facts = world.facts(&["log", "r", "--ref", "main~1"]);
    let first = &facts["snapshots"][0];
    assert_eq!(first["id"], *ids[1]);
    assert_eq!(first["parent_id"], *ids[2]);
    assert_eq!(first["refs"], json!(["tag:v1"]));
    assert_eq!(facts["snapshots"][1]["parent_id"], Value::Null);
    // What is printed as the time of a snapshot finds that snapshot.
    let time = first["written_at"].as_str().unwrap();
    let found = world.facts(&["log", "r", "-n", "1", "--ref", &format!("main@{time}")]);
    assert_eq!(found["snapshots"][0]["id"], *ids[1]);
}

#[test]
fn info() {
    let world = World::with_history();
    world.ok(&["branch", "create", "r", "b"]);
    world.ok(&["tag", "create", "r", "gone"]);
    world.ok(&["tag", "delete", "r", "gone"]);
    let facts = world.facts(&["info", "r"]);
    for (name, value) in [
        ("location", json!("r")),
        ("spec_version", json!(1)),
        (
            "store",
            json!({"writable": true, "safe_commits": true, "durable": true}),
        ),
        ("branches", json!(2)),
        ("tags", json!(1)),
        ("deleted_tags", json!(1)),
        ("stray_files", json!([])),
        ("damaged_refs", json!([])),
        ("groups", json!(2)),
        ("arrays", json!(2)),
        ("chunk_refs", json!(4)),
        ("other_chunk_keys", json!([])),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    assert_eq!(facts["snapshot"]["message"], "two");
    let text = world.ok(&["info", "r"]);
    assert!(
        text.contains("2 branches, 1 tag (1 deleted)") && text.contains("2 groups, 2 arrays"),
        "{text}"
    );

    // Files that are no refs are told; nobody took them for a branch.
    world.file("r/refs/stray.txt", "x");
    assert_eq!(
        world.facts(&["info", "r"])["stray_files"],
        json!(["refs/stray.txt"])
    );
    assert_eq!(
        world.facts(&["branch", "list", "r"])["branches"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(world.ok(&["info", "r"]).contains("refs/stray.txt"));
}

#[test]
fn info_flags_chunk_keys_that_the_reference_cannot_read() {
    let world = World::with_history();
    let mut document = array(&[2], &[1], &["t"]);
    document["chunk_key_encoding"] = json!({"name": "v2", "configuration": {"separator": "."}});
    let location = world.path("r").to_str().unwrap().to_owned();
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(async {
            let repository = icefield::open(&location).await.unwrap();
            let session = repository
                .write_session(icefield::BranchName::main())
                .await
                .unwrap();
            let path = icefield::NodePath::parse("/v2").unwrap();
            let mode = icefield::WriteMode::Overwrite;
            session
                .set_metadata(&path, document.to_string().into(), mode)
                .await
                .unwrap();
            session
                .set_chunk(&path, &[1], vec![7].into(), mode)
                .await
                .unwrap();
            icefield::committed(session.commit("v2 keys").await.unwrap()).unwrap();
        });
    let facts = world.facts(&["info", "r"]);
    assert_eq!(
        facts["other_chunk_keys"],
        json!([{"path": "/v2", "chunk_key_encoding": "v2 ."}])
    );
    assert!(
        world
            .ok(&["info", "r"])
            .contains("cannot read the chunks of /v2")
    );
    // Here and in an export they are what they are.
    assert_eq!(world.ok(&["cat", "r", "v2/1"]), "\u{7}");
    world.ok(&["export", "r", "out"]);
    assert_eq!(world.files("out")["v2/1"], [7]);
}

#[test]
fn branch() {
    let world = World::with_history();
    let ids = world.history("r");
    assert_eq!(
        world.ok(&["branch", "create", "r", "work", "--ref", "main~1"]),
        format!("created branch work at {}\n", ids[1])
    );
    let listed = world.ok(&["branch", "list", "r"]);
    let lines: Vec<Vec<&str>> = listed
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(lines, [["main", &ids[0]], ["work", &ids[1]]]);
    let reset = world.facts(&[
        "branch", "reset", "r", "work", "--ref", "main", "--expect", "tag:v1",
    ]);
    assert_eq!(
        (&reset["edit"], &reset["snapshot_id"]),
        (&json!("reset"), &json!(ids[0]))
    );
    let refused = world.fails(
        3,
        &[
            "branch", "reset", "r", "work", "--ref", "main~2", "--expect", "tag:v1",
        ],
    );
    assert!(refused.contains(&ids[0]), "{refused}");
    assert_eq!(
        world.facts(&["branch", "list", "r"])["branches"],
        json!([{"name": "main", "snapshot_id": ids[0]}, {"name": "work", "snapshot_id": ids[0]}])
    );
    assert_eq!(
        world.ok(&["branch", "delete", "r", "work"]),
        "deleted branch work\n"
    );
    world.facts(&["branch", "create", "r", "odd name {x} é~%#"]);
    world.facts(&["branch", "delete", "r", "odd name {x} é~%#"]);
    assert_eq!(world.ok(&["branch", "list", "r"]).lines().count(), 1);
}

#[test]
fn tag() {
    let world = World::with_history();
    let ids = world.history("r");
    let created = world.facts(&["tag", "create", "r", "latest"]);
    assert_eq!(created["kind"], "tag");
    assert_eq!(created["snapshot_id"], *ids[0]);
    assert_eq!(
        world.facts(&["tag", "list", "r"])["tags"],
        json!([{"name": "latest", "snapshot_id": ids[0]}, {"name": "v1", "snapshot_id": ids[1]}])
    );
    assert_eq!(world.ok(&["tag", "list", "r"]).lines().count(), 2);
    world.ok(&["tag", "delete", "r", "latest"]);
    let facts = world.facts(&["tag", "list", "r"]);
    assert_eq!(facts["deleted"], json!(["latest"]));
    let refused = world.fails(3, &["tag", "create", "r", "latest"]);
    assert!(refused.contains("never given again"), "{refused}");
}

#[test]
fn diff() {
    let world = World::with_history();
    world.ok(&["import", "two", "r", "--group", "new", "-m", "three"]);
    let text = world.ok(&["diff", "r", "v1", "main"]);
    for line in [
        "+ group  /new",
        "+ array  /new/x",
        "~ array  /x",
        "~ chunks /x  1 chunk: [2, 0]",
    ] {
        assert!(
            text.lines().any(|found| found == line),
            "{line} is not in:\n{text}"
        );
    }
    let back = world.ok(&["diff", "r", "main", "v1"]);
    assert!(
        back.contains("- array  /new/x") && back.contains("- group  /new"),
        "{back}"
    );
    let facts = world.facts(&["diff", "r", "v1", "main~1"]);
    assert_eq!(facts["updated_arrays"], json!(["/x"]));
    assert_eq!(
        facts["updated_chunks"],
        json!([{"path": "/x", "count": 1, "indices": [[2, 0]]}])
    );
    assert_eq!(facts["new_arrays"], json!([]));
    assert_eq!(world.ok(&["diff", "r", "main", "main"]), "");
}

#[test]
fn inspect() {
    let world = World::with_history();
    let ids = world.history("r");
    let snapshot = world.facts(&["inspect", "r", "snapshot", &ids[0]]);
    assert_eq!(snapshot["file"], "snapshot");
    assert_eq!(snapshot["parent_id"], *ids[1]);
    assert_eq!(snapshot["message"], "two");
    let x = snapshot["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|node| node["path"] == "/x")
        .unwrap();
    let part = &x["manifests"][0];
    assert_eq!(part["extents"], json!([[0, 3], [0, 1]]));

    let manifest = world.facts(&["inspect", "r", "manifest", part["id"].as_str().unwrap()]);
    assert_eq!(manifest["id"], part["id"]);
    let array = &manifest["arrays"][0];
    assert_eq!(
        (&array["node_id"], &array["chunk_refs"]),
        (&x["id"], &json!(3))
    );
    assert_eq!(array["refs"][2]["index"], json!([2, 0]));
    assert_eq!(array["refs"][2]["kind"], "native");
    assert_eq!(array["refs"][2]["length"], 700);

    let log = world.facts(&["inspect", "r", "transaction-log", &ids[0]]);
    assert_eq!(log["updated_arrays"], json!([x["id"]]));
    assert_eq!(log["updated_chunks"][0]["indices"], json!([[2, 0]]));

    for (kind, id) in [
        ("snapshot", &*ids[0]),
        ("manifest", part["id"].as_str().unwrap()),
        ("transaction-log", &ids[0]),
    ] {
        let text = world.ok(&["inspect", "r", kind, id]);
        assert!(text.contains(id) && text.lines().count() > 2, "{text}");
        // An id may be typed in lower case.
        assert_eq!(world.ok(&["inspect", "r", kind, &id.to_lowercase()]), text);
    }
    world.fails(4, &["inspect", "r", "manifest", &ids[0]]);
}

#[test]
fn locations_are_paths_and_urls() {
    let world = World::with_history();
    let path = world.path("r").to_str().unwrap().to_owned();
    let history = world.history("r");
    for location in [
        path.clone(),
        format!("file://{path}"),
        format!("file://localhost{path}"),
        "./r".to_owned(),
    ] {
        assert_eq!(world.history(&location), history);
    }
    world.ok(&["init", "memory:"]);
    world.fails(4, &["log", "memory:"]);
}

#[test]
fn help_is_no_failure() {
    let world = World::new();
    for args in [
        &["--help"][..],
        &["help", "import"],
        &["branch", "--help"],
        &["--version"],
    ] {
        let text = world.ok(args);
        assert!(text.contains("icefield"), "{text}");
    }
    assert!(world.ok(&["--help"]).contains("Exit codes"));
}
