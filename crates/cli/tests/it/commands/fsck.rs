//! `fsck`.

use std::fs;

use serde_json::{Value, json};

use crate::world::{World, facts};

/// The key of the object of the newest chunk of `x`.
fn newest_chunk(world: &World) -> String {
    let head = world.history("r")[0].clone();
    let snapshot = world.facts(&["inspect", "r", "snapshot", &head]);
    let nodes = snapshot["nodes"].as_array().unwrap();
    let x = nodes.iter().find(|node| node["path"] == "/x").unwrap();
    let manifest = x["manifests"][0]["id"].as_str().unwrap();
    let manifest = world.facts(&["inspect", "r", "manifest", manifest]);
    let refs = manifest["arrays"][0]["refs"].as_array().unwrap();
    format!(
        "chunks/{}",
        refs.last().unwrap()["chunk_id"].as_str().unwrap()
    )
}

/// The report of `fsck` for a damaged repository.
fn damaged(world: &World, args: &[&str]) -> Value {
    let args = [&["fsck", "r", "--json"], args].concat();
    let run = world.run(&args);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stderr.starts_with("error: "), "{run:?}");
    facts(&run.stdout)
}

#[test]
fn a_sound_repository_is_said_to_be_sound_in_one_line() {
    let world = World::with_history();
    let said = world.ok(&["fsck", "r"]);
    assert_eq!(
        said,
        "sound: 2 refs, 3 snapshots, 3 manifests, 2 transaction logs, 3 chunk objects (2.1 KiB)\n"
    );
    let read = world.ok(&["fsck", "r", "--read"]);
    assert!(read.contains("(2.1 KiB, all read)"), "{read}");
    let facts = world.facts(&["fsck", "r"]);
    assert_eq!(
        (&facts["sound"], &facts["damage"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(facts["garbage"]["objects"], 0);
    let one = world.facts(&["fsck", "r", "--ref", "tag:v1"]);
    assert_eq!(
        (&one["snapshots"], &one["garbage"]),
        (&json!(2), &Value::Null)
    );
    let tips = world.facts(&["fsck", "r", "--tips"]);
    assert_eq!(
        (&tips["snapshots"], &tips["transaction_logs"]),
        (&json!(2), &json!(0))
    );
    let repair = world.ok(&["fsck", "r", "--repair"]);
    assert!(repair.ends_with("no branch needs a repair\n"), "{repair}");
}

#[test]
fn damage_ends_with_5_and_names_the_object() {
    let world = World::with_history();
    let key = newest_chunk(&world);
    fs::remove_file(world.path(&format!("r/{key}"))).unwrap();
    let run = world.run(&["fsck", "r"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(
        run.stdout
            .contains(&format!("  {key}: it does not exist\n")),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains("/x chunk [2, 0]"), "{}", run.stdout);
    assert!(
        run.stdout.contains("seen now at branch:main"),
        "{}",
        run.stdout
    );
    let verdict = run.stdout.lines().last().unwrap();
    assert!(verdict.starts_with("DAMAGED (1 finding): "), "{verdict}");
    assert_eq!(run.stderr.lines().count(), 2, "{run:?}");
    let facts = damaged(&world, &[]);
    let findings = facts["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (
            &findings[0]["severity"],
            &findings[0]["kind"],
            &findings[0]["key"]
        ),
        (&json!("damage"), &json!("chunk-missing"), &json!(key))
    );
    assert_eq!(
        (&findings[0]["path"], &findings[0]["index"]),
        (&json!("/x"), &json!([2, 0]))
    );
    assert_eq!(facts["kinds"], json!({"chunk-missing": 1}));
    // The tag does not show it.
    world.ok(&["fsck", "r", "--ref", "tag:v1"]);
}

#[test]
fn a_repair_says_what_it_would_do_does_it_and_leaves_the_past_as_it_is() {
    let world = World::with_history();
    let key = newest_chunk(&world);
    fs::remove_file(world.path(&format!("r/{key}"))).unwrap();
    let before = world.files("r");
    let planned = world.run(&["fsck", "r", "--repair", "--dry-run"]);
    assert_eq!(planned.code, 5, "{planned:?}");
    assert!(
        planned.stdout.contains("drop 1 chunk of /x: [2, 0]"),
        "{}",
        planned.stdout
    );
    assert_eq!(world.files("r"), before);
    let done = world.ok(&["fsck", "r", "--repair"]);
    assert!(done.contains("  drop 1 chunk of /x: [2, 0]\n"), "{done}");
    assert_eq!(world.history("r").len(), 4);
    let log = world.facts(&["log", "r", "-n", "1"]);
    assert_eq!(
        log["snapshots"][0]["message"],
        "Repair: drop 1 unreadable chunks of /x"
    );
    let said = &log["snapshots"][0]["metadata"]["icefield_repair"]["arrays"][0];
    assert_eq!(
        (&said["path"], &said["chunks"]),
        (&json!("/x"), &json!([[2, 0]]))
    );
    world.ok(&["fsck", "r", "--tips"]);
    assert_eq!(world.run(&["cat", "r", "x/c/2/0"]).code, 4);
    world.ok(&["export", "r", "out"]);
    let facts = damaged(&world, &[]);
    assert_eq!(facts["findings"][0]["tips"], json!([]));
}

#[test]
fn a_repair_in_json_says_what_was_dropped_and_what_is_left() {
    let world = World::with_history();
    world.ok(&["tag", "create", "r", "v2"]);
    let key = newest_chunk(&world);
    fs::write(world.path(&format!("r/{key}")), "short").unwrap();
    let run = world.run(&["fsck", "r", "--repair", "--json"]);
    // The tag still shows it, for ever.
    assert_eq!(run.code, 5, "{run:?}");
    let facts = facts(&run.stdout);
    let main = &facts["branches"][0];
    assert_eq!(
        (&main["branch"], &main["outcome"]),
        (&json!("main"), &json!("done"))
    );
    assert_eq!(main["snapshot"], world.history("r")[0]);
    assert_eq!(main["arrays"][0]["chunks"], json!([[2, 0]]));
    assert_eq!(facts["left"][0]["tips"], json!(["branch:main", "tag:v2"]));
    assert_eq!(facts["check"]["kinds"], json!({"chunk-short": 1}));
}

#[test]
fn a_repository_that_does_not_open_is_checked_all_the_same() {
    let world = World::with_history();
    let main = fs::read(world.path("r/refs/branch.main/ref.json")).unwrap();
    fs::write(world.path("r/config.yaml"), "{ never closed").unwrap();
    let facts = damaged(&world, &[]);
    assert_eq!(facts["findings"][0]["key"], "config.yaml");
    fs::remove_file(world.path("r/config.yaml")).unwrap();
    fs::remove_file(world.path("r/refs/branch.main/ref.json")).unwrap();
    let facts = damaged(&world, &[]);
    assert_eq!(facts["findings"][0]["kind"], "main-missing");
    assert_eq!(facts["proposals"][0]["branch"], "main");
    world.fails_with(5, &["fsck", "r", "--repair"]);
    world.ok(&["fsck", "r", "--repair", "--restore-branch", "main"]);
    assert_eq!(
        fs::read(world.path("r/refs/branch.main/ref.json")).unwrap(),
        main
    );
    world.ok(&["fsck", "r"]);
}

#[test]
fn a_place_without_a_repository_is_not_found() {
    let world = World::new();
    world.file("file", "x");
    fs::create_dir(world.path("empty")).unwrap();
    for place in ["nowhere", "empty", "file", "memory:"] {
        world.fails(4, &["fsck", place]);
    }
    world.fails(2, &["fsck"]);
    world.fails(2, &["fsck", "r", "--dry-run"]);
    world.fails(2, &["fsck", "r", "--repair", "--tips"]);
    world.ok(&["init", "r"]);
    world.fails(4, &["fsck", "r", "--ref", "nobranch"]);
    world.fails(3, &["fsck", "r", "--repair", "--restore-branch", "main"]);
}

#[test]
fn a_check_writes_nothing_and_needs_no_right_to() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::with_history();
    world.file("r/notes.txt", "mine");
    let before = world.files("r");
    let said = world.ok(&["fsck", "r"]);
    assert!(
        said.starts_with("note: objects that do not belong to the repository (1)\n"),
        "{said}"
    );
    assert_eq!(world.files("r"), before);
    let directories = [
        "r",
        "r/refs",
        "r/snapshots",
        "r/manifests",
        "r/chunks",
        "r/transactions",
    ];
    let allow = |mode| {
        for directory in directories {
            let path = world.path(directory);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    allow(0o555);
    let run = world.run(&["fsck", "r"]);
    allow(0o755);
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(run.stdout, said);
}

#[test]
fn files_that_chunks_refer_to_are_looked_at_where_that_is_granted() {
    let world = World::new();
    world.tree("one", 4, 1);
    world.ok(&["init", "r"]);
    let folder = format!("file://{}", world.path("one").display());
    world.ok(&["import", "one", "r", "--virtual", "--grant", &folder]);
    let counted = world.ok(&["fsck", "r"]);
    assert!(
        counted.contains("note: virtual chunks that were counted"),
        "{counted}"
    );
    let looked = world.ok(&["fsck", "r", "--virtual", "--grant", &folder]);
    assert!(looked.starts_with("sound: "), "{looked}");
    fs::remove_file(world.path("one/x/c/1/0")).unwrap();
    let grant = ["--virtual", "--grant", &folder];
    let facts = damaged(&world, &grant);
    assert_eq!(facts["kinds"], json!({"virtual-missing": 1}));
    world.fails_with(5, &[&["fsck", "r", "--repair"], &grant[..]].concat());
    assert_eq!(world.history("r").len(), 2);
    world.ok(&[&["fsck", "r", "--repair", "--drop-virtual"], &grant[..]].concat());
    assert_eq!(world.history("r").len(), 3);
    world.ok(&[&["fsck", "r", "--tips"], &grant[..]].concat());
}

impl World {
    /// Runs a command that prints its facts and then fails.
    fn fails_with(&self, code: i32, args: &[&str]) {
        let run = self.run(args);
        assert_eq!(run.code, code, "{args:?}: {run:?}");
        assert!(run.stderr.starts_with("error: "), "{run:?}");
    }
}
