//! Output: escaped for terminals, and no failure on a closed pipe.

use std::process::Stdio;

use serde_json::json;

use crate::world::{PROGRAM, World, array, group};

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

/// A standard error that takes nothing: the reader of a pipe has gone.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn a_failure_that_nobody_can_be_told_keeps_its_exit_code() {
    let world = World::with_history();
    let codes: &[(i32, &[&str])] = &[
        (4, &["log", "nowhere"]),
        (2, &["log"]),
        (3, &["import", "one", "r"]),
        (0, &["-vv", "log", "r"]),
    ];
    for (code, args) in codes {
        let status = |stderr| {
            let mut command = world.command(args);
            command.stdout(Stdio::null()).stderr(stderr);
            command.status().unwrap().code()
        };
        assert_eq!(status(closed_pipe()), Some(*code), "{args:?}");
        if let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") {
            assert_eq!(status(full.into()), Some(*code), "{args:?} to a full disk");
        }
    }
    let status = world
        .command(&["log", "r"])
        .env("ICEFIELD_LOG", "=[")
        .stdout(Stdio::null())
        .stderr(closed_pipe())
        .status();
    assert_eq!(status.unwrap().code(), Some(0));
}

/// Runs the program under a pseudo-terminal, and returns all that was drawn; `None` where no program `script` makes one.
fn drawn(world: &World, command: &str) -> Option<String> {
    let output = std::process::Command::new("script")
        .args(["-qec", &format!("{PROGRAM} {command}"), "/dev/null"])
        .current_dir(world.path(""))
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_progress_bar_knows_its_end_and_what_it_does() {
    let world = World::new();
    // Enough for the bar to be drawn a few times.
    world.json("tree/x/zarr.json", &array(&[3000], &[1], &["t"]));
    for chunk in 0..2500 {
        world.file(&format!("tree/x/c/{chunk}"), vec![chunk as u8; 2000]);
    }
    world.ok(&["init", "r"]);
    let Some(import) = drawn(&world, "import tree r --fsync each") else {
        eprintln!(
            "SKIPPED the_progress_bar_knows_its_end_and_what_it_does: no program `script` here"
        );
        return;
    };
    assert!(import.contains(" of 3000 chunks"), "{import:?}");
    assert!(import.contains("/x"), "{import:?}");
    let export = drawn(&world, "export r out").unwrap();
    assert!(export.contains(" of 3000 chunks"), "{export:?}");
    assert!(!export.contains("committing"), "{export:?}");
}
