//! `downgrade`.

use serde_json::json;

use crate::world::World;

/// A repository of version 2 with a moved array.
fn newer() -> World {
    let world = World::new();
    world.tree("one", 4, 1);
    world.ok(&["init", "r", "--spec", "2"]);
    world.ok(&["import", "one", "r", "-m", "one"]);
    world.ok(&["tag", "create", "r", "v1"]);
    world.ok(&["mv", "r", "x", "z"]);
    world
}

#[test]
fn a_repository_of_version_2_gets_a_copy_of_version_1() {
    let world = newer();
    let before = world.files("r");
    let dry = world.ok(&["downgrade", "r", "to", "--dry-run"]);
    assert!(dry.starts_with("would copy r to to: 3 snapshots"), "{dry}");
    assert!(!world.path("to").exists());
    let text = world.ok(&["downgrade", "r", "to"]);
    assert!(text.starts_with("copied r to to: 3 snapshots"), "{text}");
    assert!(
        text.contains("1 node moved, the first from /x to /z"),
        "{text}"
    );
    assert!(text.ends_with("  the operations log\n"), "{text}");
    assert_eq!(world.files("r"), before);
    assert_eq!(world.facts(&["info", "to"])["spec_version"], 1);
    assert_eq!(world.history("to"), world.history("r"));
    assert_eq!(world.ok(&["tree", "to"]), world.ok(&["tree", "r"]));
    world.ok(&["fsck", "to"]);
    let facts = world.facts(&["downgrade", "r", "to"]);
    assert_eq!(facts["snapshots"], json!({"objects": 0, "bytes": 0}));
    let kinds: Vec<_> = facts["not_carried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["kind"])
        .collect();
    assert_eq!(kinds, ["operations_log"]);
    assert_eq!(facts["left_out"], json!([]));
}

#[test]
fn what_readers_would_miss_is_refused_or_left_out() {
    let world = newer();
    world.ok(&["branch", "create", "r", "a/b"]);
    let refused = world.fails(1, &["downgrade", "r", "to"]);
    assert!(refused.contains("branch a/b"), "{refused}");
    assert!(refused.contains("--leave-out"), "{refused}");
    assert!(!world.path("to").exists());
    let text = world.ok(&["downgrade", "r", "to", "--leave-out"]);
    assert!(text.contains("left out: branch a/b\n"), "{text}");
    let one = world.facts(&["downgrade", "r", "one-ref", "--ref", "v1"]);
    assert_eq!(one["refs"].as_array().unwrap().len(), 1);
    let short = world.facts(&["downgrade", "r", "short", "--ref", "main", "--depth", "1"]);
    assert_eq!(short["shortened"].as_array().unwrap().len(), 1);
}

#[test]
fn places_and_versions_that_do_not_fit_are_named() {
    let world = newer();
    world.ok(&["init", "old"]);
    let refused = world.fails(1, &["downgrade", "old", "to"]);
    assert!(refused.contains("of spec version 1 already"), "{refused}");
    assert!(refused.contains("icefield copy"), "{refused}");
    let refused = world.fails(1, &["copy", "r", "to", "--spec", "1"]);
    assert!(refused.contains("icefield downgrade"), "{refused}");
    world.ok(&["init", "new", "--spec", "2"]);
    let refused = world.fails(1, &["downgrade", "r", "new"]);
    assert!(refused.contains("spec version 2"), "{refused}");
    assert!(!refused.contains("--spec 2"), "{refused}");
    world.fails(4, &["downgrade", "elsewhere", "to"]);
    world.fails(4, &["downgrade", "r", "to", "--ref", "no-such"]);
    world.fails(2, &["downgrade", "r"]);
    world.fails(2, &["downgrade", "r", "to", "--depth", "0"]);
}
