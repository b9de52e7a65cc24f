//! Creating, importing, exporting.

use serde_json::json;

use crate::world::World;

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
