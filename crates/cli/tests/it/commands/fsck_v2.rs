//! `fsck`, `du` and `doctor` of repositories of spec version 2.

use std::fs;

use serde_json::json;

use crate::world::{World, facts};

/// A repository with two commits.
fn world() -> World {
    let world = World::new();
    world.ok(&["init", "r", "--spec", "2"]);
    for (name, steps, value) in [("one", 4, 1), ("two", 2, 2)] {
        world.tree(name, steps, value);
        let append: &[_] = if name == "two" {
            &["--append", "t"]
        } else {
            &[]
        };
        world.ok(&[&["import", name, "r", "-m", name], append].concat());
    }
    world
}

#[test]
fn a_sound_repository_is_checked_and_counted() {
    let world = world();
    let checked = world.facts(&["fsck", "r"]);
    assert_eq!(
        (&checked["sound"], &checked["spec_version"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(checked["warnings"], json!(0), "{checked}");
    let used = world.facts(&["du", "r"]);
    let backups = &used["backups"];
    assert!(backups["total"]["count"].as_u64() >= Some(2), "{used}");
    assert_eq!(backups["total"], backups["unneeded"], "{used}");
    let said = world.ok(&["du", "r"]);
    assert!(said.contains("backups"), "{said}");
    let doctor = world.ok(&["doctor", "r"]);
    assert!(doctor.contains("of `repo`"), "{doctor}");
}

#[test]
fn a_damaged_repo_is_named_and_put_back() {
    let world = world();
    let at = world.path("r/repo");
    let damaged = fs::read(&at).unwrap()[..60].to_vec();
    fs::write(&at, &damaged).unwrap();
    world.fails(5, &["log", "r"]);
    let run = world.run(&["fsck", "r", "--json"]);
    assert_eq!(run.code, 5, "{run:?}");
    let checked = facts(&run.stdout);
    assert_eq!(checked["kinds"]["repo-damaged"], json!(1), "{checked}");
    assert_eq!(checked["unlisted"][0]["message"], json!("two"), "{checked}");
    let run = world.run(&["fsck", "r"]);
    assert!(run.stdout.contains("fsck --repair"), "{run:?}");
    // Also where what is asked for needs an open repository.
    for more in [&["--virtual"][..], &["--ref", "main"]] {
        let run = world.run(&[&["fsck", "r", "--json"], more].concat());
        assert_eq!(run.code, 5, "{run:?}");
        let checked = facts(&run.stdout);
        assert_eq!(checked["kinds"]["repo-damaged"], json!(1), "{checked}");
    }
    let planned = world.run(&["fsck", "r", "--repair", "--dry-run"]);
    assert_eq!(planned.code, 5, "{planned:?}");
    assert!(planned.stdout.contains("would be restored"), "{planned:?}");
    let done = world.ok(&["fsck", "r", "--repair"]);
    assert!(done.contains("kept as icefield/damaged/"), "{done}");
    assert!(done.contains("--give-up-unlisted"), "{done}");
    let said = world.ok(&["fsck", "r"]);
    assert!(said.contains("--give-up-unlisted"), "{said}");
    for refused in [&["gc", "r"][..], &["expire", "r", "--keep-last", "1"]] {
        let run = world.run(refused);
        assert_eq!(run.code, 5, "{run:?}");
        assert!(
            run.stderr.contains("--restore-branch recovered/NAME"),
            "{run:?}"
        );
    }
    let log = world.ok(&["log", "r"]);
    assert!(log.contains("one") && !log.contains("two"), "{log}");
    world.ok(&[
        "fsck",
        "r",
        "--repair",
        "--restore-branch",
        "recovered/main",
    ]);
    let log = world.ok(&["log", "r", "--ref", "branch:recovered/main"]);
    assert!(log.contains("two"), "{log}");
    world.ok(&["fsck", "r", "--read"]);
    world.ok(&["gc", "r"]);
}
