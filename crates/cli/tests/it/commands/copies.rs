//! copy, bundle and unbundle.

use std::fs;
use std::io::Read as _;
use std::process::Stdio;

use serde_json::json;

use crate::world::World;

/// All objects of a repository on this disk.
fn objects(world: &World, root: &str) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut files = world.files(root);
    files.retain(|name, _| !name.starts_with(".icefield-local/"));
    files
}

#[test]
fn copy_moves_everything_once() {
    let world = World::with_history();
    let dry = world.ok(&["copy", "r", "to", "--dry-run"]);
    assert!(dry.starts_with("would copy r to to: 3 snapshots"), "{dry}");
    assert!(!world.path("to").exists());
    let text = world.ok(&["copy", "r", "to"]);
    assert!(text.contains("copied r to to: 3 snapshots"), "{text}");
    assert!(
        text.contains("branch main") && text.contains("tag v1") && text.contains("new"),
        "{text}"
    );
    assert_eq!(objects(&world, "r"), objects(&world, "to"));
    assert_eq!(world.ok(&["copy", "r", "to"]), "to has all of r already\n");
    let facts = world.facts(&["copy", "r", "to"]);
    for (name, value) in [
        ("dry_run", json!(false)),
        ("created", json!(false)),
        ("chunks", json!({"objects": 0, "bytes": 0})),
        ("snapshots", json!({"objects": 0, "bytes": 0})),
        ("config", json!("none")),
        ("shortened", json!([])),
    ] {
        assert_eq!(facts[name], value, "{name}");
    }
    assert_eq!(
        facts["refs"][0],
        json!({
            "kind": "tag", "name": "v1", "action": "unchanged", "snapshot_id": world.history("r")[1],
        })
    );
}

#[test]
fn only_what_is_new_is_copied_and_commits_of_the_destination_are_kept() {
    let world = World::with_history();
    world.ok(&["copy", "r", "to"]);
    world.ok(&["import", "two", "r", "--append", "t", "-m", "three"]);
    let facts = world.facts(&["copy", "r", "to"]);
    assert_eq!(facts["chunks"], json!({"objects": 1, "bytes": 700}));
    assert_eq!(facts["snapshots"]["objects"], 1);
    assert_eq!(world.history("r"), world.history("to"));

    world.ok(&["import", "one", "to", "--group", "own"]);
    let own = world.history("to");
    let error = world.fails(3, &["copy", "r", "to"]);
    assert!(
        error.contains("branch main") && error.contains(&own[0]) && error.contains("--force"),
        "{error}"
    );
    assert_eq!(world.history("to"), own);
    world.ok(&["copy", "r", "to", "--ref", "tag:v1"]);
    let text = world.ok(&["copy", "r", "to", "--force"]);
    assert!(text.contains("moved by force"), "{text}");
    assert_eq!(world.history("to"), world.history("r"));
}

#[test]
fn a_copy_has_the_version_of_its_source_unless_told_otherwise() {
    let world = World::with_history();
    let version = |root: &str| world.facts(&["info", root])["spec_version"].clone();
    let facts = world.facts(&["copy", "r", "newer", "--spec", "2"]);
    assert_eq!(facts["spec_version"], 2);
    assert_eq!(version("newer"), 2);
    assert_eq!(world.history("newer"), world.history("r"));
    world.ok(&["copy", "newer", "again"]);
    world.ok(&["bundle", "newer", "file"]);
    world.ok(&["unbundle", "file", "unbundled"]);
    for root in ["again", "unbundled"] {
        assert_eq!(version(root), 2, "{root}");
        assert_eq!(world.history(root), world.history("r"));
    }
    // Neither into a repository of another version, nor to an earlier one.
    let error = world.fails(1, &["copy", "r", "newer"]);
    assert!(
        error.contains("spec version 2") && error.contains("--spec"),
        "{error}"
    );
    let error = world.fails(1, &["copy", "newer", "older", "--spec", "1"]);
    assert!(error.contains("earlier version"), "{error}");
    assert!(!world.path("older").exists());
    world.ok(&["set-status", "again", "read-only"]);
    let error = world.fails(1, &["copy", "newer", "again"]);
    assert!(error.contains("read-only"), "{error}");
}

#[test]
fn a_part_of_a_repository() {
    let world = World::with_history();
    let text = world.ok(&["copy", "r", "to", "--ref", "main", "--depth", "1"]);
    let tip = &world.history("r")[0];
    assert!(
        text.contains(&format!("the history ends at {tip}")),
        "{text}"
    );
    assert_eq!(world.history("to").len(), 2);
    assert_eq!(
        world
            .ok(&["export", "to", "out", "--ref", "main"])
            .lines()
            .count(),
        1
    );
    world.ok(&["export", "r", "out of r"]);
    assert_eq!(world.files("out"), world.files("out of r"));
    world.ok(&["bundle", "r", "one.tar", "--ref", "main", "--depth", "1"]);
    world.ok(&["unbundle", "one.tar", "again"]);
    assert_eq!(objects(&world, "to"), objects(&world, "again"));
}

#[test]
fn bundles() {
    let world = World::with_history();
    let text = world.ok(&["bundle", "r", "r.tar"]);
    assert!(
        text.starts_with("bundled r as r.tar: 3 snapshots"),
        "{text}"
    );
    let error = world.fails(3, &["bundle", "r", "r.tar"]);
    assert!(error.contains("r.tar exists already"), "{error}");
    let before = fs::read(world.path("r.tar")).unwrap();
    let facts = world.facts(&["bundle", "r", "r.tar", "--force"]);
    assert_eq!(facts["snapshots"]["objects"], 3);
    assert_eq!(fs::read(world.path("r.tar")).unwrap(), before);
    let text = world.ok(&["unbundle", "r.tar", "to"]);
    assert!(
        text.starts_with("unbundled r.tar (of r) to to: 3 snapshots"),
        "{text}"
    );
    assert_eq!(objects(&world, "r"), objects(&world, "to"));
    let facts = world.facts(&["unbundle", "r.tar", "to"]);
    assert_eq!(facts["chunks"]["objects"], 0);
    // Nothing is left beside it.
    let names = fs::read_dir(world.path(""))
        .unwrap()
        .map(|it| it.unwrap().file_name());
    let partial: Vec<_> = names
        .filter(|name| name.to_string_lossy().contains("partial"))
        .collect();
    assert!(partial.is_empty(), "{partial:?}");
}

#[test]
fn a_bundle_on_standard_output_is_that_of_a_file() {
    let world = World::with_history();
    world.ok(&["bundle", "r", "r.tar"]);
    let mut command = world.command(&["bundle", "r", "-"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut bytes = Vec::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut bytes)
        .unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(bytes, fs::read(world.path("r.tar")).unwrap());
    let error = world.fails(2, &["bundle", "r", "-", "--json"]);
    assert!(error.contains("standard output"), "{error}");
}

#[test]
fn incremental_bundles() {
    let world = World::with_history();
    world.ok(&["bundle", "r", "first.tar", "--ref", "tag:v1"]);
    let text = world.ok(&["bundle", "r", "second.tar", "--since", "v1"]);
    assert!(
        text.contains("1 snapshot,")
            && text.contains("the destination of `icefield unbundle` needs snapshot"),
        "{text}"
    );
    let error = world.fails(4, &["unbundle", "second.tar", "to"]);
    assert!(error.contains("builds on snapshot"), "{error}");
    assert!(!world.path("to/refs").exists());
    world.ok(&["unbundle", "first.tar", "to"]);
    world.ok(&["unbundle", "second.tar", "to"]);
    assert_eq!(objects(&world, "r"), objects(&world, "to"));
}

#[test]
fn damaged_bundles_are_refused() {
    let world = World::with_history();
    world.ok(&["bundle", "r", "r.tar"]);
    let good = fs::read(world.path("r.tar")).unwrap();
    for (name, bytes) in [
        ("cut.tar", good[..good.len() / 2].to_vec()),
        ("cut late.tar", good[..good.len() - 1024].to_vec()),
        ("empty.tar", Vec::new()),
        ("flipped.tar", {
            let mut bad = good.clone();
            let at = bad.len() / 2;
            bad[at] ^= 4;
            bad
        }),
        ("other.tar", b"no bundle at all".repeat(100)),
    ] {
        world.file(name, bytes);
        let error = world.fails(5, &["unbundle", name, "to"]);
        assert!(error.contains("the bundle is damaged"), "{name}: {error}");
        assert!(!world.path("to/refs").exists(), "{name}");
    }
}

#[test]
fn a_large_chunk_goes_through_as_it_comes() {
    let world = World::new();
    world.json("big/zarr.json", &crate::world::group(json!({})));
    let length = 9 << 20;
    world.json(
        "big/x/zarr.json",
        &crate::world::array(&[length], &[length], &["t"]),
    );
    let bytes: Vec<u8> = (0..length).map(|at| ((at * 31) >> 7) as u8).collect();
    world.file("big/x/c/0", &bytes);
    world.ok(&["init", "r"]);
    world.ok(&["import", "big", "r"]);
    world.ok(&["copy", "r", "to"]);
    world.ok(&["bundle", "r", "r.tar"]);
    world.ok(&["unbundle", "r.tar", "again"]);
    assert_eq!(objects(&world, "r"), objects(&world, "to"));
    assert_eq!(objects(&world, "r"), objects(&world, "again"));
}

#[test]
fn wrong_input() {
    let world = World::with_history();
    world.file("file", "x");
    for (code, args) in [
        (1, &["copy", "r", "r"][..]),
        (2, &["copy", "r"]),
        (2, &["copy", "r", "to", "--depth", "0"]),
        (2, &["copy", "r", "to", "--ref", "a/b"]),
        (2, &["copy", "r", "gopher://x"]),
        (4, &["copy", "nowhere", "to"]),
        (4, &["copy", "r", "to", "--ref", "none"]),
        (4, &["copy", "r", "to", "--ref", "tag:main"]),
        (3, &["copy", "r", "one"]),
        (4, &["bundle", "nowhere", "x.tar"]),
        (4, &["bundle", "r", "x.tar", "--since", "none"]),
        (2, &["bundle", "r", "x.tar", "--since", "~1"]),
        (1, &["bundle", "r", "no/such/folder.tar"]),
        (2, &["bundle", "r", "x.tar", "--depth", "-1"]),
        (4, &["unbundle", "nowhere.tar", "to"]),
        (2, &["unbundle", "one", "to"]),
        (2, &["unbundle", "file"]),
        (5, &["unbundle", "file", "to"]),
    ] {
        let error = world.fails(code, args);
        assert!(error.len() > 20, "{args:?}: {error}");
    }
    assert!(!world.path("x.tar").exists() && !world.path("to/refs").exists());
}

#[test]
fn a_damaged_source_is_named() {
    let world = World::with_history();
    let chunk = objects(&world, "r")
        .into_keys()
        .find(|key| key.starts_with("chunks/"))
        .unwrap();
    fs::remove_file(world.path(&format!("r/{chunk}"))).unwrap();
    for args in [&["copy", "r", "to"][..], &["bundle", "r", "r.tar"]] {
        let error = world.fails(5, args);
        assert!(error.contains(&chunk), "{error}");
    }
    assert!(!world.path("r.tar").exists());
    assert_eq!(world.history("to").len(), 1);
}
