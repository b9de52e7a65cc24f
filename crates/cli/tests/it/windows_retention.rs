//! Old windows: kept by a tag, gone with expiration and collection, and the current one whole, however late the next comes.

use serde_json::{Value, json};

use crate::windows::tree;
use crate::world::{World, array};

/// Columns of `/x`: so many that chunks are objects of their own.
const COLUMNS: u64 = 700;

/// Writes a tree with two hours, of which each fills a chunk.
fn two_hours(world: &World, first: u8) {
    let name = format!("from-{first}");
    tree(world, &name, first..first + 2);
    let x = array(&[2, COLUMNS], &[1, COLUMNS], &["time", "y"]);
    world.json(&format!("{name}/x/zarr.json"), &x);
    for hour in 0..2 {
        let bytes = vec![first + hour; COLUMNS as usize];
        world.file(&format!("{name}/x/c/{hour}/0"), bytes);
    }
}

/// A window of four hours.
fn world() -> World {
    let world = World::new();
    world.ok(&["init", "r"]);
    two_hours(&world, 0);
    world.ok(&["import", "from-0", "r"]);
    two_hours(&world, 2);
    world.ok(&["import", "from-2", "r", "--append", "time"]);
    world
}

fn roll(world: &World, first: u8) {
    two_hours(world, first);
    let source = format!("from-{first}");
    world.ok(&["roll", "r", "--from", &source, "-d", "time"]);
}

/// Asserts that a version has these hours, all of them readable and under their labels.
fn shows(world: &World, version: &str, hours: std::ops::Range<u8>) {
    let cat = |key: &str| {
        let output = world.command(&["cat", "r", key, "--ref", version]).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{key}: {output:?}");
        output.stdout
    };
    let x: Value = serde_json::from_slice(&cat("x/zarr.json")).unwrap();
    assert_eq!(x["shape"], json!([hours.len(), COLUMNS]));
    let labels = cat("time/c/0");
    for (number, hour) in hours.enumerate() {
        let label = f64::from(hour).to_le_bytes();
        assert_eq!(labels[8 * number..8 * number + 8], label);
        assert_eq!(
            cat(&format!("x/c/{number}/0")),
            vec![hour; COLUMNS as usize]
        );
    }
}

fn chunks(world: &World) -> usize {
    let files = world.files("r");
    files
        .into_keys()
        .filter(|key| key.starts_with("chunks/"))
        .count()
}

/// Collects all that no version needs. The store's times may be cut to the second: what was written within the last one stays.
fn collect(world: &World, left: usize) {
    let all = ["gc", "r", "--older-than", "0s", "--force-age"];
    let done = std::iter::repeat_with(|| drop(world.ok(&all)))
        .take(500)
        .any(|()| chunks(world) <= left);
    assert!(done && chunks(world) == left, "{} chunks", chunks(world));
    world.ok(&["fsck", "r", "--read"]);
}

#[test]
fn old_windows_go_and_a_tag_keeps_one() {
    let world = world();
    assert_eq!(chunks(&world), 4);
    roll(&world, 4);
    world.ok(&["tag", "create", "r", "monday"]);
    roll(&world, 6);
    roll(&world, 8);
    shows(&world, "main", 6..10);
    shows(&world, "main~2", 2..6);
    assert_eq!(
        chunks(&world),
        10,
        "a roll deletes nothing, and copies nothing"
    );
    // Nothing goes while it is in the history.
    world.ok(&["gc", "r", "--older-than", "0s", "--force-age"]);
    shows(&world, "main~1", 4..8);
    world.ok(&["expire", "r", "--keep-last", "1"]);
    // Hours 0 and 1 were in no window that is left.
    collect(&world, 8);
    shows(&world, "main", 6..10);
    shows(&world, "tag:monday", 2..6);
    world.ok(&["tag", "delete", "r", "monday"]);
    world.ok(&["expire", "r", "--keep-last", "1"]);
    collect(&world, 4);
    shows(&world, "main", 6..10);
}

#[test]
fn a_window_that_is_late_loses_nothing() {
    let world = world();
    roll(&world, 4);
    // No roll for longer than anything is kept: every object is older than that, and stays.
    for _ in 0..2 {
        world.ok(&["expire", "r", "--older-than", "0s"]);
        collect(&world, 4);
        shows(&world, "main", 2..6);
    }
    // On with what comes then.
    roll(&world, 6);
    shows(&world, "main", 4..8);
    shows(&world, "main~1", 2..6);
    world.ok(&["expire", "r", "--older-than", "0s"]);
    collect(&world, 4);
    shows(&world, "main", 4..8);
}

#[test]
fn so_many_windows_stay_as_are_asked_for() {
    let world = world();
    for first in [4, 6, 8] {
        roll(&world, first);
    }
    world.ok(&["expire", "r", "--keep-last", "2"]);
    collect(&world, 6);
    shows(&world, "main", 6..10);
    shows(&world, "main~1", 4..8);
    let gone = world.run(&["cat", "r", "x/zarr.json", "--ref", "main~2"]);
    assert_ne!(gone.code, 0, "{gone:?}");
}

#[test]
fn the_way_back_is_an_earlier_window() {
    let world = world();
    roll(&world, 4);
    world.ok(&["branch", "create", "r", "yesterday", "--ref", "main~1"]);
    roll(&world, 6);
    world.ok(&["expire", "r", "--keep-last", "1"]);
    collect(&world, 8);
    shows(&world, "yesterday", 0..4);
    shows(&world, "main", 4..8);
}
