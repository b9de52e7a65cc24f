//! The entries of a directory, of whatever kind; and values of a size that was told.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use futures::TryStreamExt;
use icefield_zarr_fs::{
    DirectoryTree, GetRange, Links, RawEntry, RawKind, ReadTree, TreeError, TreePrefix, WriteTree,
};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::world::{World, get, key, list, names, prefix, set, words, world};

async fn raw(
    tree: &DirectoryTree,
    below: &str,
    enter: impl FnMut(&RawEntry) -> bool + Send + 'static,
) -> Result<Vec<RawEntry>, TreeError> {
    let entries = tree.raw_entries(&prefix(below), enter);
    let mut entries: Vec<_> = entries.try_collect().await?;
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

fn told(entries: &[RawEntry]) -> Vec<(&str, RawKind)> {
    entries.iter().map(|e| (&*e.path, e.kind)).collect()
}

fn fifo(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR, 0).unwrap();
}

/// Everything that can stand in a directory without a superuser.
fn motley() -> World {
    let world = world();
    world.put("a/c/0", "four");
    world.put("a/.hidden/x", "x");
    world.put(&format!("a/{}1", icefield_zarr_fs::TEMPORARY), "left");
    let at = |name: &str| world.base().join(name);
    fs::create_dir(at("a/empty")).unwrap();
    symlink("c", at("a/link")).unwrap();
    symlink("nowhere", at("a/dangling")).unwrap();
    fifo(&at("a/pipe"));
    UnixListener::bind(at("a/socket")).unwrap();
    fs::write(at("a").join(OsStr::from_bytes(b"\xff")), "u").unwrap();
    world
}

#[tokio::test]
async fn all_that_stands_in_a_directory_is_told_and_nothing_else_looked_into() {
    let world = motley();
    let all = raw(&world.tree, "a/", |_| false).await.unwrap();
    let temporary = format!("a/{}1", icefield_zarr_fs::TEMPORARY);
    let expected = [
        ("a/.hidden", RawKind::Directory),
        (&*temporary, RawKind::File { size: 4 }),
        ("a/c", RawKind::Directory),
        ("a/dangling", RawKind::Link),
        ("a/empty", RawKind::Directory),
        ("a/link", RawKind::Link),
        ("a/pipe", RawKind::Other("a FIFO")),
        ("a/socket", RawKind::Other("a socket")),
        ("a/\u{fffd}", RawKind::File { size: 1 }),
    ];
    assert_eq!(told(&all), expected);
    let odd: Vec<_> = all.iter().filter(|entry| !entry.is_utf8).collect();
    assert_eq!((odd.len(), odd[0].name()), (1, "\u{fffd}"));
    // Following links is for keys, not for what stands there.
    let following = DirectoryTree::builder(world.base()).links(Links::FollowInside);
    let following = following.open().unwrap();
    assert_eq!(raw(&following, "a/", |_| false).await.unwrap(), all);
    let below = raw(&following, "a/link/", |_| false).await.unwrap();
    assert_eq!(told(&below), [("a/link/0", RawKind::File { size: 4 })]);
}

#[tokio::test]
async fn directories_are_entered_where_that_is_asked_for() {
    let world = motley();
    fs::create_dir_all(world.base().join(OsStr::from_bytes(b"b/\xfe"))).unwrap();
    world.put("b/x/y", "v");
    let odd = world.base().join(OsStr::from_bytes(b"b/\xfe"));
    fs::write(odd.join("zarr.json"), "{}").unwrap();
    let entered = raw(&world.tree, "", |entry| entry.path != "a")
        .await
        .unwrap();
    let expected = [
        ("a", true),
        ("b", true),
        ("b/x", true),
        ("b/x/y", true),
        ("b/\u{fffd}", false),
        ("b/\u{fffd}/zarr.json", false),
    ];
    let found: Vec<_> = entered.iter().map(|e| (&*e.path, e.is_utf8)).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn more_entries_than_come_at_once() {
    let world = world();
    for at in 0..1500 {
        world.put(&format!("c/{}/{at}", at % 3), "v");
    }
    world.put("c/last", "v");
    let all = raw(&world.tree, "", |_| true).await.unwrap();
    assert_eq!(all.len(), 1 + 3 + 1500 + 1);
    assert!(all.is_sorted_by(|a, b| a.path < b.path), "once each");
    let files = all.iter().filter(|e| e.kind == RawKind::File { size: 1 });
    assert_eq!(files.count(), 1501);
}

#[tokio::test]
async fn a_link_in_the_place_of_a_directory_is_not_gone_into() {
    let world = world();
    world.put("a/d/in", "v");
    fs::create_dir(world.outer.path().join("outside")).unwrap();
    fs::write(world.outer.path().join("outside/secret"), "s").unwrap();
    let place = world.base().join("a/d");
    let outside = world.outer.path().join("outside");
    // Between what is told of it and the opening.
    let swap = move |entry: &RawEntry| {
        assert_eq!((&*entry.path, entry.kind), ("a/d", RawKind::Directory));
        fs::remove_dir_all(&place).unwrap();
        symlink(&outside, &place).unwrap();
        true
    };
    let error = raw(&world.tree, "a/", swap).await.unwrap_err();
    assert!(
        matches!(&error, TreeError::Link { name, .. } if name == "a/d"),
        "{error}"
    );
    for below in ["a/d/", "a/d/e/f/"] {
        let error = raw(&world.tree, below, |_| true).await.unwrap_err();
        assert!(matches!(error, TreeError::Link { .. }), "{error}");
    }
    let gone = world.base().join("b/d");
    fs::create_dir_all(&gone).unwrap();
    let remove = move |_: &RawEntry| {
        fs::remove_dir(&gone).unwrap();
        true
    };
    let error = raw(&world.tree, "b/", remove).await.unwrap_err();
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::NotFound));
}

#[tokio::test]
async fn a_directory_that_is_none_is_an_error() {
    let world = motley();
    for (below, kind) in [
        ("no/", std::io::ErrorKind::NotFound),
        ("a/c/0/", std::io::ErrorKind::NotADirectory),
        ("a/pipe/", std::io::ErrorKind::NotADirectory),
    ] {
        let error = raw(&world.tree, below, |_| true).await.unwrap_err();
        assert_eq!(error.io_kind(), Some(kind), "{below}");
    }
}

#[tokio::test]
async fn what_stands_under_a_key() {
    let world = motley();
    for (name, kind) in [
        ("a", Some(RawKind::Directory)),
        ("a/c/0", Some(RawKind::File { size: 4 })),
        ("a/link", Some(RawKind::Link)),
        ("a/dangling", Some(RawKind::Link)),
        ("a/pipe", Some(RawKind::Other("a FIFO"))),
        ("a/socket", Some(RawKind::Other("a socket"))),
        ("a/no", None),
        ("no/no/no", None),
        ("a/c/0/below", None),
    ] {
        let found = world.tree.raw_kind(&key(name)).await.unwrap();
        assert_eq!(found, kind, "{name}");
    }
    let temporary = format!("a/{}1", icefield_zarr_fs::TEMPORARY);
    let found = world.tree.raw_kind(&key(&temporary)).await.unwrap();
    assert_eq!(found, Some(RawKind::File { size: 4 }));
    let over = world.tree.raw_kind(&key("a/link/0")).await.unwrap_err();
    assert!(matches!(over, TreeError::Link { .. }), "{over}");
}

#[tokio::test]
async fn a_value_of_another_size_than_was_told_is_refused() {
    let world = motley();
    let tree = &world.tree;
    let chunk = key("a/c/0");
    for sizes in [4..=4, 0..=4, 0..=u64::MAX] {
        let value = tree.get_sized(&chunk, sizes).await.unwrap();
        assert_eq!(value.as_deref(), Some(&b"four"[..]));
    }
    for (sizes, text) in [
        (5..=5, "has 4 bytes, and 5 were expected"),
        (0..=3, "has 4 bytes, and 0 to 3 were expected"),
    ] {
        let error = tree.get_sized(&chunk, sizes).await.unwrap_err();
        assert!(matches!(error, TreeError::Size { size: 4, .. }), "{error}");
        assert!(words(&error).contains(text), "{error}");
    }
    world.put("a/c/0", "longer");
    assert!(tree.get_sized(&chunk, 4..=4).await.is_err());
    for absent in ["a/c/1", "a/c", "no/no/no"] {
        let found = tree.get_sized(&key(absent), 0..=9).await.unwrap();
        assert_eq!(found, None, "{absent}");
    }
    let pipe = tree.get_sized(&key("a/pipe"), 0..=9).await.unwrap_err();
    assert!(matches!(pipe, TreeError::NotAFile { .. }), "{pipe}");
    let link = tree.get_sized(&key("a/link/0"), 0..=9).await.unwrap_err();
    assert!(matches!(link, TreeError::Link { .. }), "{link}");
}

#[tokio::test]
async fn values_that_share_buffers_do_not_share_bytes() {
    let world = world();
    let long = |letter: u8| vec![letter; 200_000];
    for (name, letter) in [("a/b/c/0", b'0'), ("a/b/c/1", b'1')] {
        world.put(name, long(letter));
    }
    let read = async |name: &str| world.tree.get_sized(&key(name), 0..=200_000).await;
    for _ in 0..3 {
        let zero = read("a/b/c/0").await.unwrap().unwrap();
        let one = read("a/b/c/1").await.unwrap().unwrap();
        let range = world.tree.get(&key("a/b/c/0"), GetRange::From(1)).await;
        assert_eq!(range.unwrap().unwrap(), long(b'0')[1..]);
        assert!(zero == long(b'0') && one == long(b'1'));
    }
}

#[tokio::test]
async fn a_base_that_is_held_is_the_one_that_was_opened() {
    let world = world();
    set(&world.tree, "a/b/c", "first").await;
    fs::create_dir(world.outer.path().join("second")).unwrap();
    fs::write(world.outer.path().join("second/x"), "other").unwrap();
    let link = world.outer.path().join("latest");
    symlink("base", &link).unwrap();
    let tree = DirectoryTree::builder(&link).hold(true).open().unwrap();
    fs::remove_file(&link).unwrap();
    symlink("second", &link).unwrap();
    assert_eq!(get(&tree, "x").await, None);
    assert_eq!(get(&tree, "a/b/c").await.as_deref(), Some(&b"first"[..]));
    assert_eq!(list(&tree, "").await, ["a/b/c"]);
    set(&tree, "d/e", "new").await;
    assert_eq!(names(world.base()), ["a", "a/b", "a/b/c", "d", "d/e"]);
    tree.erase_prefix(&TreePrefix::all()).await.unwrap();
    assert!(names(world.base()).is_empty());
    // When it is gone nothing takes its place, also if there is a directory of that name.
    for again in [false, true] {
        match again {
            true => world.put("a", "another"),
            false => fs::remove_dir(world.base()).unwrap(),
        }
        let read = tree.get(&key("a"), GetRange::All).await;
        assert!(!matches!(read, Ok(Some(_))), "{read:?}");
        assert!(tree.set(&key("b"), "v".into()).await.is_err());
        assert_eq!(world.base().exists(), again);
    }
    fs::remove_dir_all(world.base()).unwrap();
    let missing = DirectoryTree::builder(world.base()).hold(true).open();
    assert!(matches!(missing, Err(TreeError::Missing { .. })));
}
