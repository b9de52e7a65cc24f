//! `icefield expire`

use serde_json::json;

use crate::world::World;

/// A world with the repository `r` of four commits on main, `one` to `four`, the second of them tagged `v1`, and the
/// branch `side` at the first.
fn world() -> World {
    let world = World::new();
    world.ok(&["init", "r"]);
    for (number, message) in ["one", "two", "three", "four"].iter().enumerate() {
        world.tree("tree", 2, number as u8 + 1);
        world.ok(&[
            "import",
            "tree",
            "r",
            "--group",
            &format!("/g{number}"),
            "-m",
            message,
        ]);
        match number {
            0 => drop(world.ok(&["branch", "create", "r", "side"])),
            1 => drop(world.ok(&["tag", "create", "r", "v1"])),
            _ => {}
        }
    }
    world
}

fn messages(world: &World, args: &[&str]) -> Vec<String> {
    let log = world.facts(&[&["log", "r"], args].concat());
    let snapshots = log["snapshots"].as_array().unwrap().iter();
    snapshots
        .map(|it| it["message"].as_str().unwrap().to_owned())
        .collect()
}

const FIRST: &str = "Repository initialized";

#[test]
fn a_dry_run_says_what_goes_and_stays_and_why_and_changes_nothing() {
    let world = world();
    let before = world.objects("r");
    let text = world.ok(&["expire", "r", "--keep-last", "1", "--dry-run"]);
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        ("stays", "(main; one of the last of a branch) four"),
        ("goes ", "(no rule keeps it) three"),
        ("stays", "(tag:v1) two"),
        ("stays", "(side; one of the last of a branch) one"),
        ("stays", "(first of the repository) Repository initialized"),
    ];
    for (line, (fate, why)) in lines.iter().zip(expected) {
        assert!(line.starts_with(fate) && line.ends_with(why), "{line}");
    }
    assert_eq!(
        lines[5],
        "1 snapshot would expire, 4 stay; 1 with another parent"
    );
    let facts = world.facts(&["expire", "r", "--older-than", "0s", "--dry-run"]);
    let fates: Vec<bool> = facts["snapshots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["stays"].as_bool().unwrap())
        .collect();
    assert_eq!(fates, [true, true, true, false, true]);
    assert_eq!(
        (&facts["dry_run"], &facts["expired"]),
        (&json!(true), &json!(1))
    );
    assert_eq!(world.objects("r"), before);
}

#[test]
fn what_expires_leaves_the_histories_and_stays_stored() {
    let world = world();
    let ids = world.history("r");
    let before = world.files("r");
    let text = world.ok(&["expire", "r", "--keep-last", "1"]);
    assert_eq!(text, "1 snapshot expired, 4 stay; 1 with another parent\n");
    assert_eq!(messages(&world, &[]), ["four", "two", "one", FIRST]);
    assert_eq!(
        messages(&world, &["--ref", "tag:v1"]),
        ["two", "one", FIRST]
    );
    let after = world.files("r");
    assert_eq!(
        after.keys().collect::<Vec<_>>(),
        before.keys().collect::<Vec<_>>()
    );
    let changed: Vec<&String> = after
        .iter()
        .filter(|(key, bytes)| before[*key] != **bytes)
        .map(|(key, _)| key)
        .collect();
    let tip = &ids[0];
    assert_eq!(
        changed,
        [&format!("snapshots/{tip}"), &format!("transactions/{tip}")]
    );
    // Nothing is lost yet, and what stays is as it was.
    world.ok(&["tree", "r", "--ref", &ids[1]]);
    world.ok(&["export", "r", "out"]);
    // It goes on from there, and again from the first snapshot alone.
    world.ok(&["branch", "delete", "r", "side"]);
    world.ok(&["tag", "delete", "r", "v1"]);
    let facts = world.facts(&["expire", "r", "--older-than", "0s"]);
    assert_eq!((&facts["expired"], &facts["kept"]), (&json!(2), &json!(2)));
    assert_eq!(messages(&world, &[]), ["four", FIRST]);
    world.ok(&["import", "tree", "r", "--group", "/again", "-m", "five"]);
    assert_eq!(messages(&world, &[]), ["five", "four", FIRST]);
    let said = world.fails(1, &["revert", "r", "main~1"]);
    assert!(said.contains("has expired"), "{said}");
}

#[test]
fn expired_refs_are_deleted_when_asked() {
    let world = world();
    let text = world.ok(&[
        "expire",
        "r",
        "--older-than",
        "0s",
        "--delete-expired-branches",
        "--delete-expired-tags",
    ]);
    assert!(
        text.starts_with("deleted branch side\ndeleted tag v1\n3 snapshots expired"),
        "{text}"
    );
    assert_eq!(messages(&world, &[]), ["four", FIRST]);
    world.fails(3, &["tag", "create", "r", "v1"]);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let world = world();
    let before = world.files("r");
    for (args, said) in [
        (&[][..], "--keep-last N and --keep PERIODS"),
        (&["--older-than", "soon"], "neither an age"),
        (
            &["--older-than", "2999-01-01T00:00:00Z"],
            "2999-01-01T00:00:00.000000Z lies in the future",
        ),
        (&["--keep", "hourly=0"], "is not a period"),
        (
            &["--keep-last", "1", "--delete-expired-branches"],
            "--older-than",
        ),
    ] {
        let error = world.fails(2, &[&["expire", "r"], args].concat());
        assert!(error.contains(said), "{error}");
    }
    world.fails(4, &["expire", "r", "--keep-last", "1", "--branch", "none"]);
    world.fails(4, &["expire", "elsewhere", "--keep-last", "1"]);
    assert_eq!(world.files("r"), before);
}

#[test]
fn a_snapshot_whose_changes_nobody_can_tell_keeps_its_parent_and_is_named() {
    let world = world();
    let log = world.facts(&["log", "r"]);
    let id = |at: usize| log["snapshots"][at]["id"].as_str().unwrap().to_owned();
    let (four, three) = (id(0), id(1));
    for file in std::fs::read_dir(world.path("r/manifests")).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    let before = messages(&world, &[]);
    std::fs::remove_file(world.path(&format!("r/transactions/{three}"))).unwrap();
    let run = world.run(&["expire", "r", "--keep-last", "1"]);
    assert_eq!(run.code, 5, "{run:?}");
    let line = format!("stuck {four} behind {three}: ");
    assert!(run.stdout.starts_with(&line), "{run:?}");
    assert!(
        run.stderr.contains("1 snapshot keeps its parent"),
        "{run:?}"
    );
    assert!(run.stderr.contains("fsck"), "{run:?}");
    assert_eq!(messages(&world, &[]), before);
    let again = world.run(&["expire", "r", "--keep-last", "1", "--json"]);
    assert_eq!(again.code, 5, "{again:?}");
    let facts: serde_json::Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!(facts["stuck"][0]["id"], json!(four));
    assert_eq!(facts["stuck"][0]["parent"], json!(three));
    assert_eq!(facts["expired"], json!(0));
}
