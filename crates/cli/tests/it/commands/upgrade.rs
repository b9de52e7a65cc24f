//! `upgrade`.

use serde_json::json;

use crate::world::World;

#[test]
fn a_repository_of_version_1_becomes_one_of_version_2() {
    let world = World::with_history();
    let history = world.history("r");
    let before = world.files("r");

    let facts = world.facts(&["upgrade", "r", "--dry-run"]);
    assert_eq!(
        [&facts["dry_run"], &facts["resumed"], &facts["branches"]],
        [&json!(true), &json!(false), &json!(1)]
    );
    assert_eq!(facts["snapshots"], history.len());
    assert_eq!(facts["removed_files"], 2);
    let text = world.ok(&["upgrade", "r", "--dry-run"]);
    assert!(
        text.contains("would be upgraded to spec version 2"),
        "{text}"
    );
    assert_eq!(world.files("r"), before);

    let text = world.ok(&["upgrade", "r"]);
    assert!(text.contains("r has spec version 2 now"), "{text}");
    assert!(text.contains("2 files of version 1 removed"), "{text}");
    assert_eq!(world.history("r"), history);
    assert_eq!(world.facts(&["info", "r"])["spec_version"], 2);
    let log = world.facts(&["ops-log", "r"]);
    let operations = log["operations"].as_array().unwrap();
    assert_eq!(
        operations[0]["did"],
        "upgraded the repository from version 1 to 2"
    );
    // One for each snapshot, and the tag.
    assert_eq!(operations.len(), history.len() + 2);

    let refused = world.fails(3, &["upgrade", "r"]);
    assert!(refused.contains("has spec version 2 already"), "{refused}");
    world.fails(4, &["upgrade", "elsewhere"]);

    // A program of version 1 that had it open.
    let tip = format!("{{\"snapshot\":\"{}\"}}", history[0]);
    world.file("r/refs/branch.late/ref.json", tip);
    let missing = world.fails(3, &["log", "r", "--ref", "late"]);
    assert!(missing.contains("branch late at"), "{missing}");
    let text = world.ok(&["upgrade", "r"]);
    assert!(text.contains("carried over: branch late at"), "{text}");
    assert_eq!(
        world.facts(&["branch", "list", "r"])["branches"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
}
