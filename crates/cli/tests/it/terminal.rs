//! Output: escaped for terminals, and no failure when nobody reads it.

use std::process::Stdio;

use serde_json::json;

use crate::world::{World, group};

const NASTY: &str = "a\u{1b}[31mred\u{202e}\nb";

/// Whether a text holds nothing that a terminal acts on, but the ends of its lines.
fn is_clean(text: &str) -> bool {
    text.chars()
        .all(|char| char == '\n' || !(char.is_control() || char == '\u{202e}'))
}

#[test]
fn h103_names_and_messages_cannot_write_to_the_terminal() {
    let world = World::new();
    world.tree("tree", 2, 1);
    world.json(&format!("tree/{NASTY}/zarr.json"), &group(json!({})));
    world.file(&format!("tree/{NASTY}.txt"), "x");
    world.ok(&["init", "r"]);
    let imported = world.ok(&["import", "tree", "r", "-m", NASTY]);
    assert!(is_clean(&imported), "{imported:?}");
    for args in [
        &["ls", "r"][..],
        &["ls", "-l", "r"],
        &["tree", "r"],
        &["log", "r"],
        &["info", "r"],
        &["diff", "r", "main~1", "main"],
    ] {
        let text = world.ok(args);
        assert!(is_clean(&text), "{args:?}: {text:?}");
    }
    let id = world.history("r")[0].clone();
    assert!(is_clean(&world.ok(&["inspect", "r", "snapshot", &id])));
    assert!(
        world
            .ok(&["ls", "r"])
            .contains("a\\u{1b}[31mred\\u{202e}\\nb/")
    );
    for args in [
        &["ls", "r", NASTY, "--ref", "v1"][..],
        &["cat", "r", &format!("{NASTY}/x")],
        &["ls", NASTY],
    ] {
        let run = world.run(args);
        assert_ne!(run.code, 0);
        assert!(is_clean(&run.stderr), "{:?}", run.stderr);
    }
    // JSON has its own escapes, and loses nothing.
    let log = world.facts(&["log", "r"]);
    assert_eq!(log["snapshots"][0]["message"], NASTY);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let world = World::with_history();
    for args in [
        &["log", "r"][..],
        &["tree", "r", "--json"],
        &["cat", "r", "x/c/0/0"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = world
            .command(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}: {output:?}");
        assert_eq!(output.stderr, b"", "{args:?}");
    }
}

#[test]
fn no_progress_bar_without_a_terminal() {
    let world = World::new();
    world.tree("tree", 200, 1);
    world.ok(&["init", "r"]);
    // `ok` checks that standard error is empty.
    world.ok(&["import", "tree", "r"]);
    world.ok(&["export", "r", "out"]);
}
