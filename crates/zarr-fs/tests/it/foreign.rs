//! Files of other programs, and names of every kind.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use icefield_storage::{Clock, ManualClock, SystemClock};
use icefield_zarr_fs::{
    DirectoryTree, GetRange, NameError, ReadTree, TEMPORARY, TreeError, WhySkipped, WriteTree,
};

use crate::world::{Reports, dir, get, key, list, names, set, world};

#[tokio::test]
async fn fs13_foreign_files_are_values_and_special_ones_are_never_opened() {
    let world = world();
    for name in [".DS_Store", "x.partial", ".nfs0001", "a/.zattrs", ".tmp"] {
        world.put(name, "f");
    }
    world.put(&format!("{TEMPORARY}1"), "t");
    world.put(&format!("a/{TEMPORARY}2"), "t");
    world.put(&format!("only/{TEMPORARY}3"), "t");
    let fifo = world.base().join("fifo");
    let status = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(status.unwrap().success());
    let _socket = UnixListener::bind(world.base().join("socket")).unwrap();
    let reports = Reports::default();
    let tree = DirectoryTree::builder(world.base())
        .on_skipped(reports.report())
        .open()
        .unwrap();
    let keys = [".DS_Store", ".nfs0001", ".tmp", "a/.zattrs", "x.partial"];
    assert_eq!(list(&tree, "").await, keys);
    let skipped = reports.take();
    assert_eq!(
        skipped.iter().map(|s| &*s.name).collect::<Vec<_>>(),
        ["fifo", "socket"]
    );
    assert!(skipped.iter().all(|s| s.why == WhySkipped::NotAFile));
    assert_eq!(dir(&tree, "").await.1, ["a/"]);
    // Would wait for a writer for ever.
    for name in ["fifo", "socket"] {
        let read = tree.get(&key(name), GetRange::All).await.unwrap_err();
        assert!(matches!(read, TreeError::NotAFile { .. }), "{read}");
        let set = tree.set(&key(name), "v".into()).await.unwrap_err();
        assert!(matches!(set, TreeError::NotAFile { .. }), "{set}");
        let erased = tree.erase(&key(name)).await.unwrap_err();
        assert!(matches!(erased, TreeError::NotAFile { .. }), "{erased}");
    }
    assert_eq!(get(&tree, "fifo/x").await, None);
}

#[tokio::test]
async fn fs14_names_of_every_kind() {
    let world = world();
    let most = "y".repeat(255);
    let names = [
        "caf\u{e9}",
        "cafe\u{301}",
        "a b",
        "%20",
        "a#b",
        "q?",
        "line\nbreak",
        " ",
        "𝔘𝔫𝔦",
        &most,
    ];
    for (at, name) in names.iter().enumerate() {
        let value = at.to_string();
        world
            .tree
            .set(&key(&format!("d/{name}")), value.into())
            .await
            .unwrap();
    }
    for (at, name) in names.iter().enumerate() {
        let value = get(&world.tree, &format!("d/{name}")).await;
        assert_eq!(value, Some(at.to_string().into()), "{name}");
    }
    let mut expected: Vec<_> = names.iter().map(|name| format!("d/{name}")).collect();
    expected.sort();
    assert_eq!(list(&world.tree, "d/").await, expected);

    let long = key(&"y".repeat(256));
    for refused in [
        world.tree.set(&long, "v".into()).await.err(),
        world.tree.get(&long, GetRange::All).await.err(),
    ] {
        let Some(TreeError::Name { source, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert!(matches!(source, NameError::TooLong { length: 256, .. }));
    }
}

#[tokio::test]
async fn fs14_names_that_are_not_utf_8_are_skipped_with_a_report() {
    let world = world();
    set(&world.tree, "a/b", "v").await;
    let odd = OsStr::from_bytes(b"odd\xff");
    std::fs::write(world.base().join(odd), "v").unwrap();
    std::fs::create_dir(world.base().join("a").join(odd)).unwrap();
    std::fs::write(world.base().join("a").join(odd).join("x"), "v").unwrap();
    let reports = Reports::default();
    let tree = DirectoryTree::builder(world.base())
        .on_skipped(reports.report())
        .open()
        .unwrap();
    assert_eq!(list(&tree, "").await, ["a/b"]);
    let skipped: Vec<_> = reports.take();
    assert_eq!(
        skipped
            .iter()
            .map(|s| (&*s.name, s.why))
            .collect::<Vec<_>>(),
        [
            ("a/odd\u{fffd}", WhySkipped::NotUtf8),
            ("odd\u{fffd}", WhySkipped::NotUtf8),
        ]
    );
}

#[tokio::test]
async fn what_dead_writers_left_is_removed_by_lists_once_it_is_old() {
    let world = world();
    set(&world.tree, "a/b", "v").await;
    let left = format!("a/{TEMPORARY}0123");
    world.put(&left, "half");
    let clock = Arc::new(ManualClock::new(SystemClock.now()));
    let builder = || {
        DirectoryTree::builder(world.base())
            .clock(Arc::clone(&clock) as _)
            .leftover_age(Duration::from_secs(3600))
    };
    assert_eq!(list(&builder().open().unwrap(), "").await, ["a/b"]);
    assert!(names(world.base()).contains(&left), "too young");
    clock.advance(Duration::from_secs(3700));
    let reader = builder().read_only(true).open().unwrap();
    assert_eq!(list(&reader, "").await, ["a/b"]);
    assert!(
        names(world.base()).contains(&left),
        "a reader changes nothing"
    );
    assert_eq!(list(&builder().open().unwrap(), "").await, ["a/b"]);
    assert_eq!(names(world.base()), ["a", "a/b"]);
}

#[tokio::test]
async fn keys_that_differ_in_case_alone_are_refused_where_case_is_ignored() {
    let world = world();
    let tree = DirectoryTree::builder(world.base())
        .ignores_case(true)
        .open()
        .unwrap();
    set(&tree, "foo/bar", "v").await;
    set(&tree, "foo/bar", "again").await;
    for name in ["foo/BAR", "Foo/other", "FOO"] {
        let refused = tree.set(&key(name), "w".into()).await.unwrap_err();
        assert!(
            matches!(refused, TreeError::CaseCollision { .. }),
            "{name}: {refused}"
        );
    }
    assert_eq!(get(&tree, "foo/bar").await.as_deref(), Some(&b"again"[..]));
    assert_eq!(list(&tree, "").await, ["foo/bar"]);
    // Where case matters, they are different keys.
    set(&world.tree, "foo/BAR", "w").await;
    assert_eq!(list(&world.tree, "").await, ["foo/BAR", "foo/bar"]);
}
