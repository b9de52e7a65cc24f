//! Symbolic links.

use std::os::unix::fs::symlink;

use futures::TryStreamExt;
use icefield_zarr_fs::{
    DirectoryTree, GetRange, Links, ReadTree, TreeError, TreePrefix, WhySkipped, WriteTree,
};

use crate::world::{Reports, World, dir, get, key, list, names, prefix, world};

/// Links of every kind beside `a/b` and `real`.
fn linked() -> World {
    let world = world();
    world.put("a/b", "ab");
    world.put("real", "r");
    std::fs::create_dir(world.outer.path().join("outside")).unwrap();
    std::fs::write(world.outer.path().join("outside/secret"), "s").unwrap();
    let at = |name: &str| world.base().join(name);
    symlink("real", at("file")).unwrap();
    symlink("a", at("folder")).unwrap();
    symlink("../real", at("a/up")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    symlink("circle", at("circle")).unwrap();
    symlink("..", at("a/parent")).unwrap();
    symlink("../outside", at("out")).unwrap();
    symlink("../outside/secret", at("leak")).unwrap();
    symlink(at("real"), at("absolute")).unwrap();
    world
}

#[tokio::test]
async fn fs12_links_are_refused_by_name() {
    let world = linked();
    for name in [
        "file",
        "folder/b",
        "a/up",
        "dangling",
        "circle",
        "out/secret",
        "leak",
    ] {
        let read = world.tree.get(&key(name), GetRange::All).await.unwrap_err();
        assert!(matches!(read, TreeError::Link { .. }), "{name}: {read}");
        let size = world.tree.size(&key(name)).await.unwrap_err();
        assert!(matches!(size, TreeError::Link { .. }), "{name}: {size}");
    }
    let listed: Result<Vec<_>, _> = world.tree.list(&TreePrefix::all()).try_collect().await;
    assert!(matches!(listed, Err(TreeError::Link { .. })), "{listed:?}");
    let children = world.tree.children(&prefix("a/")).await;
    assert!(matches!(children, Err(TreeError::Link { .. })));
    assert_eq!(get(&world.tree, "a/b").await.as_deref(), Some(&b"ab"[..]));
}

#[tokio::test]
async fn fs12_links_inside_are_followed_when_that_is_asked_for() {
    let world = linked();
    let reports = Reports::default();
    let tree = DirectoryTree::builder(world.base())
        .links(Links::FollowInside)
        .on_skipped(reports.report())
        .open()
        .unwrap();
    for (name, value) in [
        ("file", "r"),
        ("folder/b", "ab"),
        ("folder/up", "r"),
        ("a/up", "r"),
    ] {
        assert_eq!(
            get(&tree, name).await.as_deref(),
            Some(value.as_bytes()),
            "{name}"
        );
    }
    assert_eq!(
        get(&tree, "a/parent/a/parent/real").await.as_deref(),
        Some(&b"r"[..])
    );
    assert_eq!(get(&tree, "dangling").await, None);
    assert_eq!(get(&tree, "circle").await, None);
    for name in ["out/secret", "leak", "absolute"] {
        let read = tree.get(&key(name), GetRange::All).await.unwrap_err();
        assert!(
            matches!(read, TreeError::LinkOutside { .. }),
            "{name}: {read}"
        );
    }
    let all = ["a/b", "a/up", "file", "folder/b", "folder/up", "real"];
    assert_eq!(list(&tree, "").await, all);
    let mut skipped: Vec<_> = reports
        .take()
        .into_iter()
        .map(|s| (s.name, s.why))
        .collect();
    skipped.dedup();
    let expected = [
        "a/parent",
        "absolute",
        "circle",
        "dangling",
        "folder/parent",
        "leak",
        "out",
    ];
    let links = expected.map(|name| (name.to_owned(), WhySkipped::Link));
    assert_eq!(skipped, links);
    let (keys, prefixes) = dir(&tree, "").await;
    assert_eq!(
        (keys.len(), prefixes),
        (2, vec!["a/".to_owned(), "folder/".to_owned()])
    );
}

#[tokio::test]
async fn fs12_nothing_is_written_through_links() {
    for links in [Links::Refuse, Links::FollowInside] {
        let world = linked();
        let tree = DirectoryTree::builder(world.base())
            .links(links)
            .open()
            .unwrap();
        let before = names(world.outer.path());
        for name in [
            "file",
            "folder/new",
            "out/new",
            "leak",
            "dangling",
            "out/secret",
        ] {
            let set = tree.set(&key(name), "w".into()).await.unwrap_err();
            assert!(matches!(set, TreeError::Link { .. }), "{name}: {set}");
            let new = tree
                .set_if_not_exists(&key(name), "w".into())
                .await
                .unwrap_err();
            assert!(matches!(new, TreeError::Link { .. }), "{name}: {new}");
        }
        for name in ["out/secret", "folder/b"] {
            let erased = tree.erase(&key(name)).await.unwrap_err();
            assert!(matches!(erased, TreeError::Link { .. }), "{name}: {erased}");
        }
        assert!(tree.erase_prefix(&prefix("out/")).await.is_err());
        assert_eq!(names(world.outer.path()), before);
        // Erasing everything removes links, not what they lead to.
        tree.erase_prefix(&TreePrefix::all()).await.unwrap();
        assert_eq!(
            names(world.outer.path()),
            ["base", "outside", "outside/secret"]
        );
    }
}

#[tokio::test]
async fn the_base_itself_may_be_a_link() {
    let world = linked();
    let link = world.outer.path().join("way");
    symlink("base", &link).unwrap();
    let tree = DirectoryTree::open(link).unwrap();
    assert_eq!(get(&tree, "a/b").await.as_deref(), Some(&b"ab"[..]));
}
