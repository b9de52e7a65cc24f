//! `repack`.

use serde_json::{Value, json};

use crate::world::World;

const NOTHING: &str = "all chunks lie as they should: nothing to do\n";

/// A repository with two commits of small chunks: of each array one, and of `/x` those of six steps of time.
fn packed(spec: &str) -> World {
    let world = World::new();
    world.tree("one", 4, 1);
    world.tree("two", 2, 2);
    world.ok(&["init", "r", "--spec", spec]);
    world.ok(&[
        "config",
        "set",
        "r",
        "packed_chunk_threshold_bytes",
        "1048576",
    ]);
    world.ok(&["import", "one", "r", "-m", "one"]);
    world.ok(&["import", "two", "r", "--append", "t", "-m", "two"]);
    world
}

fn chunk_objects(world: &World) -> usize {
    let objects = world.objects("r");
    objects
        .keys()
        .filter(|key| key.starts_with("chunks/"))
        .count()
}

#[test]
fn chunks_are_packed_as_the_settings_say_and_repacked_in_one_commit() {
    for spec in ["1", "2"] {
        let world = packed(spec);
        let exported = |name: &str| {
            world.ok(&["export", "r", name]);
            world.files(name)
        };
        let before = exported("before");
        assert_eq!(chunk_objects(&world), 2, "one pack for each commit");
        let used = world.facts(&["du", "r"]);
        assert_eq!(used["packs"]["objects"]["count"], 1, "{used}");
        assert_eq!(used["packs"]["dead_bytes"], 0);
        assert_eq!(world.ok(&["repack", "r"]), NOTHING);

        let plan = ["repack", "r", "x", "--small", "--order", "t", "--dry-run"];
        let text = world.ok(&plan);
        assert!(
            text.ends_with("nothing was written\n") && text.contains("/x"),
            "{text}"
        );
        let planned = world.facts(&plan);
        assert_eq!(planned["outcome"], "planned");
        assert_eq!(planned["snapshot_id"], Value::Null);
        assert_eq!(planned["chunks"], json!({"count": 3, "bytes": 2100}));
        assert_eq!(planned["before"], json!({"count": 2, "bytes": 2100}));
        assert_eq!(planned["after"], json!({"count": 1, "bytes": 2100}));
        assert_eq!(chunk_objects(&world), 2);

        let repack = ["repack", "r", "x", "--small", "--order", "t"];
        let done = world.facts(&repack);
        assert_eq!(done["outcome"], "committed");
        assert_eq!(done["snapshot_id"], world.history("r")[0].as_str());
        assert_eq!(
            done["arrays"],
            json!([{"path": "/x", "chunks": {"count": 3, "bytes": 2100}}])
        );
        assert_eq!(chunk_objects(&world), 3);
        assert_eq!(world.ok(&["diff", "r", "main~1", "main"]), "");
        assert_eq!(exported("after"), before);
        assert_eq!(world.ok(&repack), NOTHING);
        world.ok(&["fsck", "r", "--read"]);
        let log = world.facts(&["log", "r", "-n", "1"]);
        assert_eq!(log["snapshots"][0]["message"], "Repack chunks");
    }
}

#[test]
fn what_cannot_be_repacked_is_named() {
    let world = packed("1");
    let said = world.fails(1, &["repack", "r", "--order", "height"]);
    assert!(said.contains("no array has a dimension height"), "{said}");
    world.fails(1, &["repack", "r", "--fill", "2"]);
    world.fails(4, &["repack", "r", "nothing/here"]);
    world.fails(4, &["repack", "r", "--branch", "gone"]);
    world.fails(4, &["repack", "elsewhere"]);
    world.fails(2, &["repack", "r", "--order", "t", "--z-order"]);
}

#[test]
fn packing_can_be_switched_off() {
    let world = packed("1");
    world.ok(&["config", "set", "r", "packed_chunk_threshold_bytes", "0"]);
    world.ok(&["import", "one", "r", "--group", "again"]);
    assert_eq!(
        chunk_objects(&world),
        4,
        "two chunks with objects of their own"
    );
    let shown = world.facts(&["config", "get", "r"]);
    let shown = shown["settings"].as_array().unwrap();
    let one = |name: &str| shown.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(one("packed_chunk_threshold_bytes")["value"], "0");
    assert_eq!(one("pack_size_bytes")["value"], "8388608");
    world.fails(2, &["config", "set", "r", "pack_size_bytes", "1"]);
}
