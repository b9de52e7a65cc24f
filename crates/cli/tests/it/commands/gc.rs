//! `icefield gc`

use std::time::Duration;

use crate::world::World;

/// A world with the repository `r`, of which a branch with one commit was deleted.
fn world() -> World {
    let world = World::new();
    world.ok(&["init", "r"]);
    world.tree("tree", 40, 1);
    world.ok(&["import", "tree", "r", "-m", "kept"]);
    world.ok(&["branch", "create", "r", "side"]);
    world.tree("other", 40, 2);
    world.ok(&[
        "import", "other", "r", "--group", "/g", "--branch", "side", "-m", "garbage",
    ]);
    world.ok(&["branch", "delete", "r", "side"]);
    world
}

#[test]
fn what_is_young_stays_and_what_is_old_goes() {
    let world = world();
    let before = world.objects("r");
    let dry = world.facts(&["gc", "r", "--dry-run"]);
    assert_eq!(dry["total"]["deleted"], 0);
    assert_eq!(dry["snapshots"]["young"], 1);
    assert_eq!(world.objects("r"), before, "a dry run writes nothing");
    let text = world.ok(&["gc", "r"]);
    assert!(text.starts_with("0 objects deleted (0 B)"), "{text}");
    let refused = world.run(&["gc", "r", "--older-than", "0s"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains("--force-age"), "{refused:?}");
    // The store's times may be cut to the second: what was written within the last one stays.
    let all = ["gc", "r", "--older-than", "0s", "--force-age"];
    let facts = std::iter::repeat_with(|| world.facts(&all))
        .take(500)
        .find(|facts| facts["snapshots"]["deleted"] == 1)
        .expect("a second passes");
    assert_eq!(facts["snapshots"]["deleted"], 1);
    assert_eq!(facts["transaction_logs"]["deleted"], 1);
    assert!(facts["manifests"]["deleted"].as_u64() > Some(0), "{facts}");
    world.ok(&["fsck", "r"]);
    let again = world.facts(&all);
    assert_eq!(again["total"]["deleted"], 0);
    assert_eq!(
        again["marking"]["snapshots_read"], 0,
        "it goes on from what is remembered"
    );
    let whole = world.facts(&["gc", "r", "--whole", "--rate", "1000"]);
    assert_eq!(whole["marking"]["incremental"], false);
}

#[test]
fn what_cannot_be_read_stops_it() {
    let world = world();
    std::fs::write(world.path("r/refs/branch.main/ref.json"), "{}").expect("written");
    let stopped = world.run(&["gc", "r", "--older-than", "0s", "--force-age"]);
    assert_eq!(stopped.code, 1, "{stopped:?}");
    assert!(
        stopped.stderr.contains("branch main") && stopped.stderr.contains("fsck"),
        "{stopped:?}"
    );
    let none = world.run(&["gc", "nothing"]);
    assert_eq!(none.code, 4, "{none:?}");
    for age in ["", "12", "1y", "-1h"] {
        let wrong = world.run(&["gc", "r", &format!("--older-than={age}")]);
        assert_eq!(wrong.code, 2, "{age}: {wrong:?}");
    }
}

#[test]
fn the_date_of_a_file_of_ours_tells_no_time() {
    let world = world();
    world.ok(&["gc", "r"]);
    let state = world.path("r/icefield/gc/state.json");
    let file = std::fs::File::options()
        .write(true)
        .open(&state)
        .expect("a file");
    let dated = file
        .metadata()
        .and_then(|it| it.modified())
        .expect("a date");
    let ahead = dated + Duration::from_secs(3 * 24 * 3600);
    file.set_modified(ahead).expect("set");
    world.tree("more", 40, 3);
    world.ok(&["import", "more", "r", "--group", "/h", "-m", "just now"]);
    // Nothing refers to a chunk that a session has just written.
    let young = "r/chunks/ZZZZZZZZZZZZZZZZZZZG";
    world.file(young, vec![7; 600]);
    let dry = world.facts(&["gc", "r", "--dry-run"]);
    let wet = world.facts(&["gc", "r"]);
    assert_eq!(
        (&dry["total"], &wet["total"]["deleted"]),
        (&wet["total"], &0.into())
    );
    assert!(world.path(young).exists());
    assert_eq!(wet["time_source"], "store");
    // A chunk from the future is kept, and named.
    let file = std::fs::File::options().write(true).open(world.path(young));
    file.and_then(|file| file.set_modified(ahead)).expect("set");
    let facts = world.facts(&["gc", "r"]);
    assert_eq!(facts["dated_ahead"]["objects"], 1);
    let text = world.ok(&["gc", "r"]);
    assert!(
        text.contains("ZZZZZZZZZZZZZZZZZZZG") && text.contains("future"),
        "{text}"
    );
}
