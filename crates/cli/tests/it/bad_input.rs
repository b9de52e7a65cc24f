//! Sources that do not fit: each refused by name, and nothing half-visible.

use std::fs;

use serde_json::json;

use crate::world::{World, array, group};

/// Edits the tree `bad`, imports it, expects exit code 1 and a message that names the culprit.
fn refused(edit: impl FnOnce(&World), named: &str) {
    let world = World::with_history();
    world.tree("bad", 4, 9);
    edit(&world);
    let before = (world.history("r"), world.files("r/refs"));
    let error = world.fails(1, &["import", "bad", "r", "--group", "bad"]);
    assert!(error.contains(named), "{named} is not named by: {error}");
    assert_eq!((world.history("r"), world.files("r/refs")), before);
    world.fails(4, &["ls", "r", "bad"]);
}

#[test]
fn metadata_that_is_no_zarr_v3_node() {
    for document in [
        "",
        "{",
        "[]",
        "null",
        r#"{"zarr_format": 2, "node_type": "group"}"#,
        r#"{"zarr_format": 3, "node_type": "leaf"}"#,
    ] {
        refused(
            |world| world.file("bad/x/zarr.json", document),
            "bad/x/zarr.json",
        );
    }
    refused(
        |world| {
            let mut document = array(&[4, 3], &[2, 3], &["t", "y"]);
            document["chunk_grid"]["name"] = json!("hexagonal");
            world.json("bad/x/zarr.json", &document);
        },
        "hexagonal",
    );
    refused(
        |world| world.json("bad/x/zarr.json", &array(&[4, 3], &[2], &["t", "y"])),
        "bad/x/zarr.json",
    );
    refused(
        |world| {
            world.file(
                "bad/x/zarr.json",
                r#"{"zarr_format":3,"zarr_format":3,"node_type":"group"}"#,
            )
        },
        "twice",
    );
}

#[test]
fn chunks_that_are_none() {
    for key in [
        "x/c/0/1",
        "x/c/2/0",
        "x/c/0",
        "x/c/0/0/0",
        "x/c/00/0",
        "x/c/-1/0",
        "x/0.0",
        "x/data",
        "below/y/c/1",
    ] {
        refused(
            |world| {
                if key == "x/c/0" {
                    fs::remove_dir_all(world.path("bad/x/c/0")).unwrap();
                }
                if key == "x/c/0/0/0" {
                    fs::remove_file(world.path("bad/x/c/0/0")).unwrap();
                }
                world.file(&format!("bad/{key}"), "x");
            },
            &format!("bad/{}", key.trim_end_matches("/0/0/0")),
        );
    }
    refused(|world| world.file("bad/x/c/1/0", ""), "bad/x/c/1/0");
}

#[test]
fn an_array_among_the_chunks_of_another() {
    refused(
        |world| world.json("bad/x/inner/zarr.json", &group(json!({}))),
        "bad/x/inner",
    );
}

#[test]
fn zarr_format_2() {
    refused(
        |world| world.file("bad/old/.zarray", "{}"),
        "bad/old/.zarray",
    );
}

#[cfg(unix)]
#[test]
fn links() {
    use std::os::unix::fs::symlink;
    refused(
        |world| symlink("/etc", world.path("bad/etc")).unwrap(),
        "bad/etc",
    );
    refused(
        |world| {
            fs::remove_file(world.path("bad/x/c/1/0")).unwrap();
            symlink("/etc/passwd", world.path("bad/x/c/1/0")).unwrap();
        },
        "bad/x/c/1/0",
    );
}

#[test]
fn an_array_where_a_group_is_and_the_reverse() {
    let world = World::with_history();
    world.json("array/zarr.json", &array(&[1], &[1], &["t"]));
    assert!(
        world
            .fails(1, &["import", "array", "r", "--group", "below"])
            .contains("/below is a group here")
    );
    world.json("group/zarr.json", &group(json!({})));
    assert!(
        world
            .fails(1, &["import", "group", "r", "--group", "x"])
            .contains("/x is an array here")
    );
    assert!(
        world
            .fails(1, &["import", "group", "r", "--group", "x/y"])
            .contains("/x is an array")
    );
}

#[test]
fn places_that_are_no_repository() {
    let world = World::new();
    world.tree("tree", 2, 1);
    world.file("file", "x");
    world.fails(4, &["ls", "tree"]);
    let error = world.fails(3, &["init", "tree"]);
    assert!(error.contains("it is not empty"), "{error}");
    assert_ne!(world.run(&["ls", "file"]).code, 0);
    assert_ne!(world.run(&["init", "file"]).code, 0);
    assert_ne!(world.run(&["init", "file/below"]).code, 0);
    assert_eq!(world.files("tree").len(), 5);
    assert_eq!(fs::read(world.path("file")).unwrap(), b"x");
}

#[cfg(unix)]
#[test]
fn a_directory_that_cannot_be_written_is_readable() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::with_history();
    let repository = world.path("r");
    let restrict = |mode| {
        for entry in walk(&repository) {
            fs::set_permissions(entry, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    restrict(0o555);
    // Root may write anywhere; then there is nothing to see here.
    let root_like = fs::write(repository.join("probe"), "x").is_ok();
    let read = world.run(&["ls", "r"]);
    let written = world.run(&["import", "one", "r", "--group", "new"]);
    restrict(0o755);
    assert_eq!(read.code, 0, "{read:?}");
    if root_like {
        eprintln!("skipped: this user may write to directories without permission");
    } else {
        assert_eq!(written.code, 1, "{written:?}");
        assert!(written.stderr.contains("permission"), "{written:?}");
    }
}

#[cfg(unix)]
fn walk(root: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut next = 0;
    while next < found.len() {
        if found[next].is_dir() {
            let entries = fs::read_dir(&found[next]).unwrap();
            let below: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            found.extend(below.into_iter().filter(|path| path.is_dir()));
        }
        next += 1;
    }
    found
}
