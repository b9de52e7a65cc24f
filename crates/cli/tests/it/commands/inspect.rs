//! `inspect`.

use serde_json::json;

use crate::world::World;

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
