//! Repositories of the alpha generation are imported with their history.

use std::path::Path;

use serde_json::Value;

use crate::world::World;

pub(crate) fn vector(name: &str) -> std::path::PathBuf {
    let vectors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors");
    vectors.join(name).join("repo")
}

#[test]
fn the_whole_history_is_imported_into_a_new_repository() {
    for (name, commits, tags) in [
        ("alpha-a", 3, 1),
        ("alpha-b", 3, 1),
        ("alpha-literal-messagepack", 4, 2),
        ("alpha-literal-json", 4, 2),
    ] {
        let world = World::new();
        world.copy(&vector(name), "old");
        let before = world.files("old");
        let facts = world.facts(&["import", "old", "new"]);
        assert_eq!(facts["generation"], "alpha");
        assert_eq!(facts["commits"], commits, "{name}");
        assert_eq!(facts["tags"], tags, "{name}");
        assert_eq!(world.files("old"), before);
        let log = world.facts(&["log", "new"]);
        let newest = &log["snapshots"][0];
        assert_eq!(newest["id"], facts["snapshot_id"]);
        assert!(
            newest["metadata"]
                .as_object()
                .unwrap()
                .keys()
                .any(|it| it.starts_with("alpha"))
        );
        let first = world.facts(&["log", "new", "--ref", "tag:v1"]);
        let message = first["snapshots"][0]["message"].as_str().unwrap();
        assert!(message.starts_with("first"), "{message}");
        world.facts(&["log", "new", "--ref", "dev"]);
        world.ok(&["fsck", "new"]);

        let error = world.fails(3, &["import", "old", "new"]);
        assert!(
            error.contains("has commits or refs of its own already"),
            "{error}"
        );
    }
}

#[test]
fn documents_and_chunks_come_out_as_they_were() {
    let world = World::new();
    world.copy(&vector("alpha-b"), "old");
    let text = world.ok(&["import", "old", "new"]);
    assert!(text.contains("3 commits, 2 branches, 1 tag"), "{text}");
    let document = world.ok(&["cat", "new", "g/temp/zarr.json", "--ref", "tag:v1"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(
        document["dimension_names"],
        serde_json::json!(["time", null])
    );
    let chunk = world
        .command(&["cat", "new", "g/temp/c/1/0", "--ref", "tag:v1"])
        .output()
        .unwrap();
    let stored = world.files("old/c");
    assert!(stored.values().any(|bytes| *bytes == chunk.stdout));
}

#[test]
fn damage_is_named_and_leaves_nothing_at_the_destination() {
    let world = World::new();
    world.copy(&vector("alpha-a"), "old");
    let manifest = world.files("old/m").into_keys().next().unwrap();
    let key = format!("old/m/{manifest}");
    let whole = std::fs::read(world.path(&key)).unwrap();
    world.file(&key, &whole[..whole.len() / 2]);
    let error = world.fails(1, &["import", "old", "new"]);
    assert!(
        error.contains(&format!("m/{manifest} is damaged")),
        "{error}"
    );
    assert!(!world.path("new/refs").exists());
    world.file(&key, whole);

    // A chunk is read when it is copied: an empty repository is there by then, and takes the next attempt.
    let chunk = world.files("old/c").into_keys().next().unwrap();
    let hidden = std::fs::read(world.path(&format!("old/c/{chunk}"))).unwrap();
    std::fs::remove_file(world.path(&format!("old/c/{chunk}"))).unwrap();
    let error = world.fails(1, &["import", "old", "new"]);
    assert!(error.contains(&format!("c/{chunk} is missing")), "{error}");
    assert!(
        error.contains("hint: no ref of the destination has changed"),
        "{error}"
    );
    assert_eq!(world.history("new").len(), 1);
    world.file(&format!("old/c/{chunk}"), hidden);
    world.ok(&["import", "old", "new"]);
    assert_eq!(world.history("new").len(), 3);
}

#[test]
fn options_of_other_imports_are_refused() {
    let world = World::new();
    world.copy(&vector("alpha-a"), "old");
    for option in [
        &["--group", "/g"][..],
        &["--virtual"],
        &["-m", "x"],
        &["--append", "t"],
        &["--skip-unsupported"],
        &["--split-compound"],
        &["--overviews", "none"],
        &["--overlap", "first"],
        &["--unpack"],
        &["--legacy-endian"],
        &["--dry-run"],
    ] {
        let error = world.fails(2, &[&["import", "old", "new"][..], option].concat());
        assert!(
            error.contains("the import takes its whole history"),
            "{error}"
        );
    }
    assert!(!world.path("new").exists());
}
