//! Bases that are missing, no directories, or closed.

use std::io;
use std::os::unix::fs::PermissionsExt;

use icefield_zarr_fs::{DirectoryTree, Durability, GetRange, ReadTree, TreeError, WriteTree};

use crate::world::{get, key, list, names, set, world};

#[tokio::test]
async fn fs15_a_missing_base_is_empty_or_an_error_and_made_by_a_write() {
    let world = world();
    let path = world.outer.path().join("not/yet");
    let tree = DirectoryTree::open(&path).unwrap();
    assert_eq!(get(&tree, "a").await, None);
    assert!(list(&tree, "").await.is_empty());
    tree.erase(&key("a")).await.unwrap();
    tree.erase_prefix(&"".parse().unwrap()).await.unwrap();
    assert!(!path.exists(), "reading and erasing make nothing");
    let strict = DirectoryTree::builder(&path).must_exist(true).open();
    assert!(matches!(strict, Err(TreeError::Missing { .. })));
    set(&tree, "a/b", "v").await;
    assert_eq!(names(&path), ["a", "a/b"]);
    // It may go again.
    let strict = DirectoryTree::builder(&path)
        .must_exist(true)
        .open()
        .unwrap();
    std::fs::remove_dir_all(&path).unwrap();
    let gone = strict.get(&key("a/b"), GetRange::All).await;
    assert!(matches!(gone, Err(TreeError::Missing { .. })), "{gone:?}");
    assert_eq!(get(&tree, "a/b").await, None);
}

#[tokio::test]
async fn fs16_a_base_that_is_a_file() {
    let world = world();
    let path = world.outer.path().join("file");
    std::fs::write(&path, "v").unwrap();
    let refused = DirectoryTree::open(&path).unwrap_err();
    assert!(
        matches!(refused, TreeError::NotADirectory { .. }),
        "{refused}"
    );
    let below = DirectoryTree::open(path.join("x")).unwrap_err();
    assert!(matches!(below, TreeError::NotADirectory { .. }), "{below}");
}

#[tokio::test]
async fn fs16_what_is_closed_to_us_keeps_the_kind_of_error() {
    let world = world();
    set(&world.tree, "d/a", "old").await;
    let directory = world.base().join("d");
    let mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&directory, permissions).unwrap();
    };
    mode(0o500);
    let closed = std::fs::write(directory.join("try"), "").is_err();
    let set = world.tree.set(&key("d/a"), "new".into()).await;
    mode(0o700);
    // The superuser may do anything.
    if closed {
        let kind = set.unwrap_err().io_kind();
        assert_eq!(kind, Some(io::ErrorKind::PermissionDenied));
        assert_eq!(get(&world.tree, "d/a").await.as_deref(), Some(&b"old"[..]));
    }
}

#[tokio::test]
async fn fs16_a_tree_opened_to_be_read_takes_no_writes() {
    let world = world();
    set(&world.tree, "a", "v").await;
    let tree = DirectoryTree::builder(world.base())
        .read_only(true)
        .open()
        .unwrap();
    let refusals = [
        tree.set(&key("a"), "w".into()).await.unwrap_err(),
        tree.set_if_not_exists(&key("b"), "w".into())
            .await
            .unwrap_err(),
        tree.erase(&key("a")).await.unwrap_err(),
        tree.erase_prefix(&"".parse().unwrap()).await.unwrap_err(),
    ];
    for refused in refusals {
        assert!(matches!(refused, TreeError::ReadOnly { .. }), "{refused}");
        assert_eq!(refused.io_kind(), Some(io::ErrorKind::ReadOnlyFilesystem));
    }
    assert_eq!(get(&tree, "a").await.as_deref(), Some(&b"v"[..]));
}

#[tokio::test]
async fn every_durability_stores_and_erases() {
    for durability in [
        Durability::None,
        Durability::File,
        Durability::FileAndDirectory,
    ] {
        let world = world();
        let tree = DirectoryTree::builder(world.base())
            .durability(durability)
            .open()
            .unwrap();
        set(&tree, "a/b/c", "v").await;
        set(&tree, "a/b/c", "w").await;
        assert!(
            tree.set_if_not_exists(&key("a/d"), "x".into())
                .await
                .unwrap()
        );
        tree.erase(&key("a/b/c")).await.unwrap();
        assert_eq!(names(world.base()), ["a", "a/d"]);
        tree.erase_prefix(&"a/".parse().unwrap()).await.unwrap();
        assert!(names(world.base()).is_empty());
    }
}
