//! `branch` and `tag`.

use serde_json::json;

use crate::world::World;

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
fn a_branch_that_is_not_where_it_was_expected() {
    let world = World::with_history();
    let ids = world.history("r");
    let reset = ["branch", "reset", "r", "main", "--ref", "v1", "--expect"];
    let error = world.fails(3, &[&reset[..], &["main~1"]].concat());
    let said = format!("branch main points to {}, not to {}", ids[0], ids[1]);
    assert!(error.contains(&said), "{error}");
    assert_eq!(world.history("r"), ids);
}
