//! An import that is killed or interrupted half-way leaves the branch and the log as they were.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::world::{World, array};

#[test]
fn a_killed_import_changes_nothing() {
    let world = World::with_history();
    world.json("big/x/zarr.json", &array(&[2000], &[1], &["t"]));
    for chunk in 0..2000 {
        world.file(&format!("big/x/c/{chunk}"), vec![chunk as u8; 3000]);
    }
    let before = (world.ok(&["log", "r"]), world.files("r/refs"));
    let chunks = || fs::read_dir(world.path("r/chunks")).map_or(0, Iterator::count);
    for round in 0..3 {
        let (first, already) = (round * 50, chunks());
        let mut child = world
            .command(&["import", "big", "r", "--group", "big", "--fsync", "each"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while chunks() <= already + first && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert_eq!(
            status.signal(),
            Some(9),
            "it ended before it was killed: make the tree bigger"
        );
        assert_eq!((world.ok(&["log", "r"]), world.files("r/refs")), before);
        world.fails(4, &["ls", "r", "big"]);
    }
    // No lock is stuck, and the import can be done again.
    world.ok(&["import", "big", "r", "--group", "big", "--fsync", "none"]);
    assert_eq!(
        world.facts(&["ls", "-l", "r", "big"])["nodes"][0]["chunks"]["native"]["count"],
        2000
    );
}

#[test]
fn ctrl_c_ends_an_import_before_its_commit() {
    let world = World::with_history();
    world.json("big/x/zarr.json", &array(&[2000], &[1], &["t"]));
    for chunk in 0..2000 {
        world.file(&format!("big/x/c/{chunk}"), vec![chunk as u8; 3000]);
    }
    let before = (world.ok(&["log", "r"]), world.files("r/refs"));
    let chunks = || fs::read_dir(world.path("r/chunks")).map_or(0, Iterator::count);
    let already = chunks();
    let mut child = world
        .command(&["import", "big", "r", "--group", "big", "--fsync", "each"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while chunks() <= already + 50 && child.try_wait().unwrap().is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let error = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{error}");
    assert!(error.contains("the branch is where it was"), "{error}");
    assert_eq!((world.ok(&["log", "r"]), world.files("r/refs")), before);
    world.ok(&["fsck", "r"]);
}

#[test]
fn two_imports_at_once_are_one_commit_and_one_conflict() {
    let world = World::with_history();
    let before = world.history("r").len();
    let children: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|group| {
            world
                .command(&["import", "one", "r", "--group", group])
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut landed = 0;
    for child in children {
        let output = child.wait_with_output().unwrap();
        match output.status.code() {
            Some(0) => landed += 1,
            Some(3) => {
                let error = String::from_utf8(output.stderr).unwrap();
                assert!(error.contains("hint: import again"), "{error}");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(landed >= 1);
    assert_eq!(world.history("r").len(), before + landed);
}
