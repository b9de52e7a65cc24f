//! The behaviour of every command if there are files below `refs/` that are no refs.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use serde_json::json;

use crate::world::World;

const GOOD: &str = r#"{"snapshot":"1CECHNKREP0F1RSTCMT0"}"#;

/// A place below `refs/`, and what to make there.
enum Oddity {
    File(&'static str, &'static str),
    Link(&'static str, &'static str),
    Fifo(&'static str),
    Bytes(&'static [u8]),
}

use Oddity::{Bytes, Fifo, File, Link};

const ODDITIES: [Oddity; 32] = [
    File("foo", GOOD),
    File("foo/ref.json", GOOD),
    File("ref.json", GOOD),
    File("note.txt", ""),
    File(".gitkeep", ""),
    File("._ref.json", ""),
    File("thumbs.db", ""),
    File(".DS_Store/x", ""),
    File("branch", GOOD),
    File("branch.x/other.json", GOOD),
    File("branch.x/ref.json/inner", GOOD),
    File("branch.x/ref.json.deleted", ""),
    File("branch.x/ref.json.bak", GOOD),
    File("branch.x/REF.JSON", GOOD),
    File("branch.x/.ref.json.swp", GOOD),
    File("Branch.x/ref.json", GOOD),
    File("tags.v/ref.json", GOOD),
    File("tag.v/ref.json.deleted~", ""),
    File("branch.x/ref.json", ""),
    File("branch.x/ref.json", "{"),
    File("branch.x/ref.json", r#"{"a":1}"#),
    File("branch.x/ref.json", r#"{"snapshot":"no id"}"#),
    File("branch./ref.json", ""),
    File("tag.y/ref.json", "[]"),
    File("tag.x/ref.json", ""),
    Link("branch.x/ref.json", "../branch.main/ref.json"),
    Link("branch.x/ref.json", "nowhere"),
    Link("branch.x", "branch.main"),
    Link(".DS_Store", "nowhere"),
    Fifo("branch.x/ref.json"),
    Fifo("pipe"),
    Bytes(b"branch.\xff"),
];

impl Oddity {
    fn name(&self) -> &[u8] {
        match self {
            File(name, _) | Link(name, _) | Fifo(name) => name.as_bytes(),
            Bytes(name) => name,
        }
    }

    fn plant(&self, world: &World) -> PathBuf {
        let name = std::ffi::OsStr::from_bytes(self.name());
        let path = world.path("r/refs").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            File(_, bytes) => fs::write(&path, bytes).unwrap(),
            Bytes(_) => fs::write(&path, GOOD).unwrap(),
            Link(_, to) => std::os::unix::fs::symlink(to, &path).unwrap(),
            Fifo(_) => {
                let made = std::process::Command::new("mkfifo").arg(&path).status();
                assert!(made.unwrap().success());
            }
        }
        path
    }
}

/// All files of a repository but our own state, by name; links and FIFOs are not followed.
fn names(world: &World) -> Vec<PathBuf> {
    fn walk(folder: PathBuf, names: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            match entry.file_type().unwrap().is_dir() {
                true => walk(entry.path(), names),
                false => names.push(entry.path()),
            }
        }
    }
    let mut found = Vec::new();
    walk(world.path("r"), &mut found);
    let root = world.path("r");
    let own = |path: &PathBuf| {
        let below = path.strip_prefix(&root).unwrap();
        below.starts_with("icefield") || below.starts_with(".icefield-local")
    };
    found.retain(|path| !own(path));
    found.sort();
    found
}

#[test]
fn nothing_is_deleted_beside_what_is_not_understood() {
    let world = World::with_history();
    world.ok(&["branch", "create", "r", "side"]);
    world.ok(&["branch", "delete", "r", "side"]);
    for oddity in ODDITIES {
        let path = oddity.plant(&world);
        let before = names(&world);
        for args in [
            &["gc", "r", "--older-than", "0s", "--force-age"][..],
            &["gc", "r", "--dry-run"],
            &["expire", "r", "--keep-last", "1"],
            &["expire", "r", "--keep-last", "1", "--dry-run"],
            &["copy", "r", "copied"],
            &["bundle", "r", "r.bundle"],
        ] {
            let error = world.fails(1, args);
            assert!(
                error.contains("not understood") && error.contains("fsck"),
                "{error}"
            );
        }
        assert_eq!(world.run(&["fsck", "r"]).code, 5, "{path:?}");
        assert_eq!(world.run(&["fsck", "r", "--repair"]).code, 5, "{path:?}");
        assert_eq!(world.run(&["doctor", "r"]).code, 1, "{path:?}");
        assert_eq!(names(&world), before, "{path:?}");
        fs::remove_file(&path).unwrap();
        let folder = path.parent().unwrap();
        if folder != world.path("r/refs") {
            // A folder may be in the way of the next one.
            fs::remove_dir(folder).unwrap();
            let _ = fs::remove_dir(folder.parent().unwrap());
        }
    }
    world.ok(&["gc", "r"]);
    world.ok(&["expire", "r", "--keep-last", "1"]);
    world.ok(&["copy", "r", "copied"]);
}

#[test]
fn raw_names_are_read_and_a_repair_renames_them() {
    let world = World::with_history();
    world.ok(&["branch", "create", "r", "wip#1"]);
    let (own, raw) = (
        world.path("r/refs/branch.wip%231"),
        world.path("r/refs/branch.wip#1"),
    );
    fs::rename(&own, &raw).unwrap();
    // As operating systems leave them.
    for name in [
        ".DS_Store",
        "Thumbs.db",
        "branch.main/desktop.ini",
        ".nfs01",
    ] {
        world.file(&format!("r/refs/{name}"), "x");
    }
    world.ok(&["ls", "r", "--ref", "wip#1"]);
    let list = world.run(&["branch", "list", "r"]);
    assert!(list.code == 0 && list.stdout.contains("wip#1"), "{list:?}");
    for warned in ["branch.wip#1", "--repair", ".DS_Store"] {
        assert!(list.stderr.contains(warned), "{list:?}");
    }
    world.ok(&["gc", "r"]);
    world.ok(&["fsck", "r"]);
    assert!(raw.exists());
    let planned = world.ok(&["fsck", "r", "--repair", "--dry-run"]);
    assert!(planned.contains("would be renamed"), "{planned}");
    assert!(raw.exists() && !own.exists());
    let renamed = world.ok(&["fsck", "r", "--repair"]);
    assert!(
        renamed.contains("renamed refs/branch.wip#1/ref.json"),
        "{renamed}"
    );
    assert!(own.join("ref.json").exists() && !raw.join("ref.json").exists());
    world.ok(&["ls", "r", "--ref", "wip#1"]);
}

#[test]
fn what_is_not_understood_is_shown_beside_the_refs() {
    let world = World::with_history();
    world.file("r/refs/stray.txt", "x");
    for command in ["branch", "tag"] {
        let list = world.run(&[command, "list", "r", "--json"]);
        assert_eq!(list.code, 0, "{list:?}");
        let facts: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
        assert_eq!(facts["stray_files"], json!(["refs/stray.txt"]));
        assert!(list.stderr.contains("refs/stray.txt"), "{list:?}");
    }
}
