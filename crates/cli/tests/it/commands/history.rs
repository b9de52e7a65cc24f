//! Looking at several: `log`, `diff`, `info`.

use serde_json::{Value, json};

use crate::world::{World, array};

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
    // The printed time of a snapshot resolves to that snapshot.
    let time = first["written_at"].as_str().unwrap();
    let found = world.facts(&["log", "r", "-n", "1", "--ref", &format!("main@{time}")]);
    assert_eq!(found["snapshots"][0]["id"], *ids[1]);
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

    // Files that are no refs are named, and are no branches.
    world.file("r/refs/stray.txt", "x");
    assert_eq!(
        world.facts(&["info", "r"])["stray_files"],
        json!(["refs/stray.txt"])
    );
    let listed = world.run(&["branch", "list", "r", "--json"]);
    assert!(listed.stderr.contains("refs/stray.txt"), "{listed:?}");
    let listed = crate::world::facts(&listed.stdout);
    assert_eq!(listed["branches"].as_array().unwrap().len(), 2);
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
