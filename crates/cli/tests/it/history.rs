//! merge, cherry-pick, revert, squash, amend, mv and status.

use crate::world::World;

/// `r` with two steps appended to `x` on main, and the group `/extra` on dev.
fn diverged() -> World {
    let world = World::with_history();
    world.tree("extra", 2, 7);
    world.ok(&["branch", "create", "r", "dev", "--ref", "v1"]);
    world.ok(&[
        "import", "extra", "r", "--branch", "dev", "--group", "/extra", "-m", "extra",
    ]);
    world
}

fn bytes(world: &World, key: &str, at: &str) -> Vec<u8> {
    world
        .command(&["cat", "r", key, "--ref", at])
        .output()
        .unwrap()
        .stdout
}

#[test]
fn a_branch_is_compared_and_merged() {
    let world = diverged();
    let status = world.facts(&["status", "r", "--ref", "dev"]);
    assert_eq!(
        (&status["ahead"], &status["behind"]),
        (&1.into(), &1.into())
    );
    assert_eq!(status["merge"], "clean");
    assert!(
        world
            .ok(&["status", "r", "--ref", "dev"])
            .contains("+ array  /extra/x")
    );
    let merged = world.facts(&["merge", "r", "dev"]);
    assert_eq!(merged["outcome"], "committed");
    assert_eq!(merged["changes"]["new_arrays"].as_array().unwrap().len(), 2);
    assert_eq!(merged["snapshot_id"], world.history("r")[0]);
    assert_eq!(bytes(&world, "extra/x/c/0/0", "main"), vec![7; 700]);
    assert_eq!(
        bytes(&world, "x/c/2/0", "main"),
        vec![2; 700],
        "main's own stays"
    );
    let log = world.ok(&["log", "r"]);
    assert!(log.contains("Merge dev into main"), "{log}");
    assert!(world.ok(&["merge", "r", "dev"]).contains("main has all of"));
    assert_eq!(
        world.facts(&["status", "r", "--ref", "dev"])["merge"],
        "nothing to do"
    );
    assert_eq!(
        world.facts(&["merge", "r", "dev"])["outcome"],
        "nothing to do"
    );
}

#[test]
fn a_merge_that_collides_names_what_and_a_side_can_be_chosen() {
    let world = World::with_history();
    world.tree("three", 2, 3);
    world.ok(&["branch", "create", "r", "dev", "--ref", "v1"]);
    world.ok(&[
        "import", "three", "r", "--branch", "dev", "--append", "t", "-m", "three",
    ]);
    let before = world.history("r");
    let run = world.run(&["merge", "r", "dev"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.stdout.contains("! ") && run.stdout.contains("/x"),
        "{run:?}"
    );
    assert!(run.stderr.contains("hint: `--on-conflict"), "{run:?}");
    let run = world.run(&["merge", "r", "dev", "--json"]);
    let facts = crate::world::facts(&run.stdout);
    assert_eq!((run.code, &facts["outcome"]), (3, &"conflicts".into()));
    assert_eq!(facts["conflicts"][0]["kind"], "ChunkDoubleUpdate");
    assert_eq!(facts["conflicts"][0]["path"], "/x");
    assert_eq!(facts["conflicts"][0]["chunks"], serde_json::json!([[2, 0]]));
    assert_eq!(
        world.facts(&["status", "r", "--ref", "dev"])["merge"],
        "conflicts"
    );
    assert_eq!(world.history("r"), before, "nothing was committed");
    world.ok(&["branch", "create", "r", "other"]);
    world.ok(&[
        "merge",
        "r",
        "dev",
        "--branch",
        "other",
        "--on-conflict",
        "branch",
    ]);
    assert_eq!(bytes(&world, "x/c/2/0", "other"), vec![2; 700]);
    world.ok(&[
        "merge",
        "r",
        "dev",
        "--on-conflict",
        "source",
        "-m",
        "dev is right",
    ]);
    assert_eq!(bytes(&world, "x/c/2/0", "main"), vec![3; 700]);
}

#[test]
fn the_histories_of_all_refs_are_drawn_as_one_picture() {
    let world = diverged();
    let drawn = world.ok(&["log", "r", "--graph"]);
    let strokes = drawn.lines().map(|line| line.split("  ").next().unwrap());
    assert_eq!(
        strokes.collect::<Vec<_>>(),
        ["*", "│ *", "├─╯", "*", "*"],
        "{drawn}"
    );
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(lines[0].contains("(dev) extra"), "{drawn}");
    assert!(lines[1].contains("(main) "), "{drawn}");
    assert!(lines[3].contains("(tag:v1) "), "{drawn}");
    // The same in facts.
    let facts = world.facts(&["log", "r", "--graph"]);
    let all = facts["snapshots"].as_array().unwrap();
    assert_eq!(all.len(), 4);
    assert_eq!(all[0]["parent_id"], all[2]["id"], "dev is on top of v1");
    assert_eq!(all[1]["parent_id"], all[2]["id"], "so is main");
    let two = world.ok(&["log", "r", "--graph", "-n", "2"]);
    assert_eq!(two.lines().collect::<Vec<_>>(), lines[..2]);
    world.fails(2, &["log", "r", "--graph", "--ref", "dev"]);
}

#[test]
fn commits_are_picked_and_reverted() {
    let world = diverged();
    let picked = world.facts(&["cherry-pick", "r", "dev"]);
    assert_eq!(picked["outcome"], "committed");
    assert_eq!(bytes(&world, "extra/x/c/0/0", "main"), vec![7; 700]);
    let reverted = world.ok(&["revert", "r", "main~1"]);
    assert!(reverted.contains("~ array  /x"), "{reverted}");
    assert_eq!(bytes(&world, "x/c/2/0", "main"), Vec::<u8>::new());
    assert_eq!(bytes(&world, "x/c/1/0", "main"), vec![1; 700]);
    assert_eq!(bytes(&world, "extra/x/c/0/0", "main"), vec![7; 700]);
    let log = world.ok(&["log", "r"]);
    assert!(
        log.contains("Revert ") && log.contains("Cherry-pick "),
        "{log}"
    );
    let first = world.history("r").last().unwrap().clone();
    let error = world.fails(1, &["revert", "r", &first]);
    assert!(error.contains(&first), "{error}");
}

#[test]
fn a_range_is_squashed_onto_a_new_branch() {
    let world = diverged();
    world.ok(&["merge", "r", "dev"]);
    let made = world.facts(&["squash", "r", "main~3", "main", "short", "-m", "all"]);
    assert_eq!(made["snapshot_id"].as_str().map(str::len), Some(20));
    assert_eq!(
        world.facts(&["diff", "r", "main", "short"])["updated_chunks"],
        serde_json::json!([])
    );
    let log = world.facts(&["log", "r", "--ref", "short"]);
    assert_eq!(log["snapshots"].as_array().unwrap().len(), 2);
    world.fails(3, &["squash", "r", "main~3", "main", "short"]);
    world.fails(2, &["squash", "r", "main~3", "main", "a/b"]);
    world.fails(1, &["squash", "r", "main", "main", "none"]);
}

#[test]
fn nodes_get_another_path() {
    let world = World::with_history();
    let moved = world.facts(&["mv", "r", "/below", "upper"]);
    assert_eq!(moved["snapshot_id"], world.history("r")[0]);
    assert_eq!(bytes(&world, "upper/y/c/0", "main"), [1, 2, 3]);
    assert_eq!(world.run(&["cat", "r", "below/y/c/0"]).code, 4);
    world.ok(&["cat", "r", "below/y/c/0", "--ref", "v1"]);
    assert!(
        world
            .ok(&["mv", "r", "x", "upper/x"])
            .starts_with("moved /x to /upper/x: committed ")
    );
    world.fails(4, &["mv", "r", "x", "z"]);
    world.fails(3, &["mv", "r", "upper/x", "upper/y"]);
    world.fails(1, &["mv", "r", "upper", "upper/y/z"]);
    world.fails(4, &["mv", "r", "upper/x", "missing/x"]);
}

/// As [`World::with_history`], in spec version 2.
fn second() -> World {
    let world = World::new();
    world.tree("one", 4, 1);
    world.tree("two", 2, 2);
    world.ok(&["init", "r", "--spec", "2"]);
    world.ok(&["import", "one", "r", "-m", "one"]);
    world.ok(&["import", "two", "r", "--append", "t", "-m", "two"]);
    world
}

#[test]
fn the_last_commit_gets_another_message() {
    let world = second();
    let before = world.history("r");
    let items = ["--metadata", "checked=true", "--metadata", "by=me"];
    let amended = world.facts(&[&["amend", "r", "-m", "better"][..], &items].concat());
    let after = world.history("r");
    assert_eq!(after.len(), before.len());
    assert_eq!(amended["snapshot_id"], after[0]);
    assert_eq!(amended["previous"], before[0]);
    assert_eq!(after[1..], before[1..]);
    let newest = &world.facts(&["log", "r"])["snapshots"][0];
    assert_eq!(newest["message"], "better");
    assert_eq!(newest["metadata"]["checked"], true);
    assert_eq!(newest["metadata"]["by"], "me");
    assert_eq!(
        world.facts(&["diff", "r", &before[0], "main"])["updated_chunks"],
        serde_json::json!([])
    );
    // Items that are not named stay.
    let said = world.ok(&["amend", "r", "--metadata", "by=you"]);
    assert!(
        said.starts_with(&format!("amended {}: ", after[0])),
        "{said}"
    );
    let newest = &world.facts(&["log", "r"])["snapshots"][0];
    assert_eq!(newest["message"], "better");
    assert_eq!(newest["metadata"]["checked"], true);
    assert_eq!(newest["metadata"]["by"], "you");
    let said = world.ok(&["ops-log", "r"]);
    assert!(
        said.contains(&format!("replaced {} with ", after[0])),
        "{said}"
    );
}

#[test]
fn what_cannot_be_amended_is_said() {
    let world = World::with_history();
    let before = world.files("r");
    let said = world.fails(1, &["amend", "r", "-m", "better"]);
    assert!(said.contains("needs spec version 2"), "{said}");
    assert!(said.contains("`icefield upgrade LOCATION`"), "{said}");
    assert_eq!(world.files("r"), before);
    world.ok(&["init", "new", "--spec", "2"]);
    let said = world.fails(1, &["amend", "new", "-m", "better"]);
    assert!(said.contains("cannot be amended"), "{said}");
    world.fails(2, &["amend", "new"]);
    world.fails(2, &["amend", "new", "--metadata", "=x"]);
    world.fails(4, &["amend", "new", "-m", "m", "--branch", "none"]);
}

#[test]
fn changes_follow_what_the_branch_has_moved() {
    let world = second();
    world.tree("three", 2, 3);
    world.ok(&["branch", "create", "r", "dev"]);
    world.ok(&["import", "three", "r", "--append", "t", "--branch", "dev"]);
    world.ok(&["mv", "r", "x", "moved"]);
    let said = world.fails(3, &["merge", "r", "dev"]);
    assert!(said.contains("`--follow-moves`"), "{said}");
    world.ok(&["merge", "r", "dev", "--follow-moves"]);
    assert_eq!(bytes(&world, "moved/c/3/0", "main"), vec![3; 700]);
    assert_eq!(bytes(&world, "moved/c/2/0", "main"), vec![2; 700]);
    assert_eq!(world.run(&["cat", "r", "x/c/3/0"]).code, 4);
}

#[test]
fn wrong_arguments_of_the_history_tools() {
    let world = World::with_history();
    for command in ["merge", "cherry-pick", "revert"] {
        world.fails(4, &[command, "r", "nothing"]);
        world.fails(4, &[command, "r", "main", "--branch", "nothing"]);
        world.fails(2, &[command, "r"]);
        world.fails(2, &[command, "r", "main", "--on-conflict", "mine"]);
    }
    world.file("fork", b"no fork at all");
    let said = world.fails(1, &["status", "r", "--fork", "fork"]);
    assert!(
        said.contains("fork: these bytes are neither a serialised fork nor"),
        "{said}"
    );
    world.fails(4, &["status", "r", "--fork", "missing"]);
    world.fails(4, &["status", "r", "--ref", "missing"]);
}
