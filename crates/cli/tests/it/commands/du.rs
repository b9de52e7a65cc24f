//! du.

use std::fs;

use serde_json::{Value, json};

use crate::world::World;

fn row<'a>(facts: &'a Value, name: &str) -> &'a Value {
    let rows = facts["rows"].as_array().unwrap();
    rows.iter()
        .find(|row| row["name"] == name)
        .unwrap_or_else(|| panic!("no {name} in {facts}"))
}

/// Bytes of the files below a folder of a repository.
fn stored(world: &World, folder: &str) -> Value {
    let files = world.files(&format!("r/{folder}"));
    let bytes: usize = files.values().map(Vec::len).sum();
    json!({"count": files.len(), "bytes": bytes})
}

#[test]
fn what_is_stored_is_what_lies_on_the_disk() {
    let world = World::with_history();
    let facts = world.facts(&["du", "r"]);
    for (name, folder) in [
        ("snapshots", "snapshots"),
        ("transaction_logs", "transactions"),
        ("manifests", "manifests"),
        ("chunk_objects", "chunks"),
    ] {
        assert_eq!(facts[name], stored(&world, folder), "{name}");
    }
    assert_eq!(facts["native"], json!({"count": 3, "bytes": 2100}));
    assert_eq!(facts["live_bytes"], 2100);
    assert_eq!(facts["inline"], json!({"count": 1, "bytes": 3}));
    assert_eq!(facts["virtual"], json!({"count": 0, "bytes": 0}));
    assert_eq!(facts["garbage"]["total"], json!({"count": 0, "bytes": 0}));
    world.file("r/chunks/ZZZZZZZZZZZZZZZZZZZG", [7; 50]);
    let facts = world.facts(&["du", "r"]);
    assert_eq!(facts["garbage"]["total"], json!({"count": 1, "bytes": 50}));
    assert_eq!(
        facts["garbage"]["chunk_objects"],
        json!({"count": 1, "bytes": 50})
    );
    let text = world.ok(&["du", "r"]);
    for line in [
        "chunk objects      3 objects, 2.1 KiB, 2.1 KiB of it in use",
        "garbage            1 object, 50 B",
        "native             3 chunks, 2.1 KiB",
        "inline             1 chunk, 3 B, in manifests",
        "virtual            0 chunks, 0 B, stored elsewhere",
    ] {
        assert!(
            text.lines().any(|it| it == line),
            "{line:?} is not in\n{text}"
        );
    }
}

#[test]
fn by_array_commit_and_ref() {
    let world = World::with_history();
    let facts = world.facts(&["du", "r", "--by", "array"]);
    assert_eq!(
        (&facts["by"], &facts["ref"]),
        (&json!("array"), &json!("main"))
    );
    assert_eq!(
        row(&facts, "/x")["native"],
        json!({"count": 3, "bytes": 2100})
    );
    assert_eq!(
        row(&facts, "/below/y")["inline"],
        json!({"count": 1, "bytes": 3})
    );
    let facts = world.facts(&["du", "r", "--by", "array", "--ref", "v1"]);
    assert_eq!(
        row(&facts, "/x")["native"],
        json!({"count": 2, "bytes": 1400})
    );

    let history = world.history("r");
    let facts = world.facts(&["du", "r", "--by", "commit"]);
    let names: Vec<_> = facts["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].clone())
        .collect();
    assert_eq!(names, history);
    assert_eq!(
        row(&facts, &history[0])["native"],
        json!({"count": 1, "bytes": 700})
    );
    assert_eq!(
        row(&facts, &history[1])["native"],
        json!({"count": 2, "bytes": 1400})
    );
    assert_eq!(row(&facts, &history[1])["message"], "one");
    let summary = world.facts(&["du", "r"]);
    assert_eq!(facts["total"]["objects"], summary["stored"]);
    let text = world.ok(&["du", "r", "--by", "commit"]);
    assert!(
        text.starts_with("ADDED") || text.trim_start().starts_with("ADDED"),
        "{text}"
    );
    assert!(
        text.lines()
            .any(|line| line.contains(&history[0]) && line.ends_with("two")),
        "{text}"
    );

    world.ok(&["branch", "create", "r", "b", "--ref", "v1"]);
    world.ok(&["import", "one", "r", "--branch", "b", "--group", "g"]);
    let facts = world.facts(&["du", "r", "--by", "ref"]);
    assert_eq!(
        row(&facts, "tag v1")["unique"],
        json!({"count": 0, "bytes": 0})
    );
    let cost = row(&facts, "branch b")["unique"]["bytes"].as_u64().unwrap();
    assert!(cost > 1400, "{facts}");
    world.ok(&["branch", "delete", "r", "b"]);
    assert_eq!(world.facts(&["du", "r"])["garbage"]["total"]["bytes"], cost);
    let text = world.ok(&["du", "r", "--by", "ref"]);
    assert!(text.contains("tag v1") && text.contains("UNIQUE"), "{text}");
}

#[test]
fn by_container() {
    let world = World::with_history();
    world.copy(
        &std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/vectors/v1-virtual/repo"),
        "v",
    );
    let facts = world.facts(&["du", "v", "--by", "container"]);
    let rows = facts["rows"].as_array().unwrap();
    let bytes: u64 = rows
        .iter()
        .map(|row| row["virtual"]["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(facts["total"]["virtual"]["bytes"], bytes);
    assert!(bytes > 0 && rows.len() > 1, "{facts}");
    assert_eq!(
        world.facts(&["du", "v"])["virtual"],
        facts["total"]["virtual"]
    );
    let text = world.ok(&["du", "v", "--by", "container"]);
    assert!(
        text.contains("CONTAINER") && text.contains("total"),
        "{text}"
    );
    assert_eq!(
        world.facts(&["du", "r", "--by", "container"])["rows"],
        json!([])
    );
}

#[test]
fn packed_objects_are_counted_once() {
    let world = World::new();
    world.copy(
        &std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fixtures/vectors/v1-handmade/repo"),
        "r",
    );
    let facts = world.facts(&["du", "r"]);
    assert_eq!(facts["chunk_objects"], json!({"count": 1, "bytes": 2000}));
    assert_eq!(facts["stored"], json!({"count": 6, "bytes": 3886}));
}

#[test]
fn wrong_input() {
    let world = World::with_history();
    for (code, args) in [
        (2, &["du"][..]),
        (2, &["du", "r", "--by", "nothing"]),
        (2, &["du", "r", "--by", "array", "--ref", "~1"]),
        (4, &["du", "nowhere"]),
        (4, &["du", "r", "--by", "array", "--ref", "none"]),
    ] {
        world.fails(code, args);
    }
    let chunk = world
        .files("r")
        .into_keys()
        .find(|key| key.starts_with("chunks/"))
        .unwrap();
    fs::remove_file(world.path(&format!("r/{chunk}"))).unwrap();
    let run = world.run(&["du", "r"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(
        run.stderr.contains("1 chunk object is missing") && run.stdout.contains("stored"),
        "{run:?}"
    );
    let manifest = world
        .files("r")
        .into_keys()
        .find(|key| key.starts_with("manifests/"))
        .unwrap();
    fs::remove_file(world.path(&format!("r/{manifest}"))).unwrap();
    let error = world.fails(5, &["du", "r"]);
    assert!(
        error.contains(manifest.rsplit('/').next().unwrap()),
        "{error}"
    );
}
