//! Lists: order, strange neighbours, and change under the walk.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::TryStreamExt;
use icefield_storage::{
    ListOptions, Listed, ObjectClass, Prefix, PutMode, SeededEntropy, Storage, StorageError,
    StorageExt,
};
use tempfile::TempDir;

use super::kit::{Rig, Speak, key, open, run};
use crate::sys::Errno;
use crate::sys::habits::Habits;
use crate::sys::real::RealSys;
use crate::sys::twin::Call;

async fn list(store: &crate::LocalStorage, prefix: &str, after: Option<&str>) -> Vec<String> {
    let mut options = ListOptions::prefix(Prefix::parse(prefix).expect("valid"));
    options.start_after = after.map(key);
    let list: Vec<_> = store.list(options).try_collect().await.expect("listed");
    list.into_iter().map(|meta| meta.key.to_string()).collect()
}

#[test]
fn keys_come_in_byte_order_from_every_start() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        let random = SeededEntropy::new(1);
        let mut expected = BTreeSet::new();
        let parts = [
            "a", "a-b", "a.b", "a0", "A", "b", "a b", "~", "é", "-", "z.z",
        ];
        for _ in 0..150 {
            let depth = 1 + random.below(4);
            let text: Vec<_> = (0..depth)
                .map(|_| parts[usize::try_from(random.below(parts.len() as u64)).expect("small")])
                .collect();
            let at = text.join("/");
            // A key next to a folder of its name is refused, whichever came first.
            if store
                .try_put(&at, "x", PutMode::Create, ObjectClass::Chunk)
                .await
                .is_ok()
            {
                expected.insert(at);
            }
        }
        let expected: Vec<_> = expected.into_iter().collect();
        assert!(expected.len() > 60, "{}", expected.len());
        assert_eq!(list(&store, "", None).await, expected);
        for (i, at) in expected.iter().enumerate() {
            assert_eq!(list(&store, "", Some(at)).await, expected[i + 1..]);
        }
        for prefix in parts
            .into_iter()
            .chain(["a/a", "a-b/a", "no", "a/no/thing"])
        {
            let prefix_of = Prefix::parse(prefix).expect("valid");
            let below: Vec<_> = expected
                .iter()
                .filter(|at| key(at).is_below(&prefix_of))
                .cloned()
                .collect();
            assert_eq!(list(&store, prefix, None).await, below, "{prefix}");
            for start in ["a", "a/a", "a/", "a0/x", "zzz", "\u{1}"] {
                let start = start.trim_end_matches('/');
                let after: Vec<_> = below
                    .iter()
                    .filter(|at| at.as_str() > start)
                    .cloned()
                    .collect();
                assert_eq!(
                    list(&store, prefix, Some(start)).await,
                    after,
                    "{prefix} {start}"
                );
            }
        }
    });
}

/// Lists to the end: keys, and what is unreadable with its problem.
async fn entries(store: &crate::LocalStorage, options: ListOptions) -> Vec<(String, String)> {
    let entries: Vec<_> = store
        .list_entries(options)
        .try_collect()
        .await
        .expect("listed");
    let entry = |entry| match entry {
        Listed::Object(meta) => (meta.key.to_string(), String::new()),
        Listed::Unreadable { raw, problem } => (raw, problem),
    };
    entries.into_iter().map(entry).collect()
}

#[test]
fn what_is_no_object_is_listed_as_unreadable() {
    for sys in [RealSys::new(), RealSys::without_openat2()] {
        run(async {
            let dir = TempDir::new().expect("a temporary directory");
            let builder = crate::LocalStorage::builder(dir.path()).sys(Arc::new(sys));
            unreadable_in(dir.path(), &builder.open().expect("opened"), false).await;
        });
    }
    // A file system that does not say in a directory what its entries are.
    run(async {
        let rig = Rig::new(Habits {
            untyped_entries: true,
            ..Habits::default()
        });
        unreadable_in(rig.dir.path(), &rig.store, true).await;
    });
}

async fn unreadable_in(root: &Path, store: &crate::LocalStorage, untyped: bool) {
    store.write("a/b", "x", PutMode::Create).await;
    std::fs::create_dir_all(root.join("empty/er")).expect("made");
    std::fs::write(root.join(OsStr::from_bytes(b"a/\xff\xfe")), "x").expect("written");
    std::fs::create_dir(root.join(OsStr::from_bytes(b"a/\xffd"))).expect("made");
    std::fs::write(root.join(OsStr::from_bytes(b"a/\xffd/x")), "x").expect("written");
    std::os::unix::fs::symlink("b", root.join("a/link")).expect("linked");
    std::os::unix::fs::symlink("/", root.join("a/way-out")).expect("linked");
    std::os::unix::fs::symlink("loop", root.join("loop")).expect("linked");
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("a/fifo"), 0o600.into()).expect("made");
    let _socket = std::os::unix::net::UnixListener::bind(root.join("a/socket")).expect("bound");
    std::fs::write(root.join("a/.DS_Store"), "x").expect("written");
    let link = "it is a symbolic link, which is not followed";
    let directory = match untyped {
        true => ("a/\\xffd", "its name is not UTF-8"),
        false => ("a/\\xffd/", "it is a directory whose name is not UTF-8"),
    };
    let all = [
        ("a/.DS_Store", ""),
        ("a/b", ""),
        ("a/fifo", "it is a FIFO, not an object"),
        ("a/link", link),
        ("a/socket", "it is a socket, not an object"),
        ("a/way-out", link),
        directory,
        ("a/\\xff\\xfe", "its name is not UTF-8"),
        ("loop", link),
    ]
    .map(|(name, problem)| (name.to_owned(), problem.to_owned()));
    for options in [
        ListOptions::default(),
        ListOptions::default().without_versions(),
    ] {
        assert_eq!(entries(store, options).await, all);
    }
    let below = ListOptions::prefix(Prefix::parse("a").expect("valid"));
    assert_eq!(entries(store, below.clone()).await, all[..8]);
    for (at, start) in [
        (2, "a/b"),
        (4, "a/link"),
        (4, "a/link/x"),
        (6, "a/way-out"),
        (8, "b"),
    ] {
        let options = below.clone().with_start_after(key(start));
        assert_eq!(entries(store, options).await, all[at..8], "{start}");
        let options = ListOptions::default().with_start_after(key(start));
        assert_eq!(entries(store, options).await, all[at..], "{start}");
    }
    assert!(
        root.join(".icefield-local/locks").is_dir(),
        "and yet never listed:"
    );
    for reserved in [
        ".icefield-local",
        ".icefield-local/tmp",
        ".ICEFIELD-local/locks",
    ] {
        assert!(list(store, reserved, None).await.is_empty(), "{reserved}");
    }
    assert!(
        list(store, "a/b", None).await.is_empty(),
        "an object is no folder"
    );
    let options = ListOptions::prefix(Prefix::parse("a/way-out").expect("valid"));
    let out: Result<Vec<_>, _> = store.list(options).try_collect().await;
    assert!(
        matches!(out, Err(StorageError::NotAnObject { .. })),
        "{out:?}"
    );
}

/// Tools that copy a bucket to a disk know nothing of the encoding of names.
#[test]
fn raw_names_of_refs_are_ordinary_keys() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        let mut expected = Vec::new();
        for odd in [
            "\\", "{", "^", "}", "%", "]", "`", "\"", ">", "[", "~", "<", "#", "|", "*", "?", "é",
            " ", "%23",
        ] {
            let at = format!("refs/branch.wip{odd}1/ref.json");
            let path = dir.path().join(&at);
            std::fs::create_dir_all(path.parent().expect("below")).expect("made");
            std::fs::write(path, odd).expect("written");
            let (bytes, _) = store.read(&key(&at)).await.expect("read");
            assert_eq!(bytes, odd.as_bytes());
            expected.push(at);
        }
        expected.sort();
        assert_eq!(store.keys().await, expected);
    });
}

#[test]
fn a_tree_of_300_levels_and_a_directory_of_5000_files() {
    run(async {
        let rig = Rig::new(Habits::default());
        let deep = vec!["d"; 300].join("/");
        rig.store
            .write(&format!("{deep}/x"), "x", PutMode::Create)
            .await;
        rig.store
            .write(&format!("{deep}.x"), "x", PutMode::Create)
            .await;
        std::fs::create_dir(rig.dir.path().join("flat")).expect("made");
        for i in 0..5000 {
            std::fs::write(rig.dir.path().join(format!("flat/{i:05}")), "x").expect("written");
        }
        let keys = rig.store.keys().await;
        assert_eq!(keys.len(), 5002);
        assert!(keys.is_sorted());
        assert_eq!(keys[0], format!("{deep}.x"));
        // Deeper than any key: not walked, and named.
        let mut path = rig.dir.path().join("e");
        for _ in 0..5 {
            path = path.join("e".repeat(250));
        }
        std::fs::create_dir_all(&path).expect("made");
        let listed = rig.store.list_all(&Prefix::all()).await;
        assert_eq!(listed.expect("an empty directory is nothing").len(), 5002);
        std::fs::write(path.join("x"), "x").expect("written");
        let listed = entries(&rig.store, ListOptions::default()).await;
        let named: Vec<_> = listed
            .iter()
            .filter(|(_, problem)| !problem.is_empty())
            .collect();
        assert_eq!((listed.len(), named.len()), (5003, 1));
        assert!(
            named[0].0.ends_with("e/") && named[0].1.contains("too long"),
            "{named:?}"
        );
    });
}

#[test]
fn files_and_directories_that_vanish_during_the_walk_are_left_out() {
    run(async {
        let rig = Rig::new(Habits::default());
        for i in 0..100 {
            rig.store.chunk(&format!("{}/{i}", i % 10), "x").await;
        }
        let root = rig.dir.path().to_owned();
        rig.twin.reset();
        rig.twin.hook(move |number, call| match (number, call) {
            (_, Call::ReadDir) if number == 3 => {
                std::fs::remove_dir_all(root.join("3")).expect("removed");
            }
            (40, _) => {
                for i in 0..10 {
                    let _ = std::fs::remove_file(root.join(format!("5/{}", i * 10 + 5)));
                }
            }
            (80, _) => {
                let _ = std::fs::remove_dir_all(root.join("7"));
            }
            _ => {}
        });
        let keys = rig.store.keys().await;
        assert!(keys.is_sorted());
        for i in [0, 1, 2, 4, 6, 8, 9] {
            let below = format!("{i}/");
            assert_eq!(
                keys.iter().filter(|at| at.starts_with(&below)).count(),
                10,
                "{i}"
            );
        }
    });
}

#[test]
fn an_object_that_is_replaced_during_the_walk_is_listed_once() {
    // Also where the time stamp of the directory has not ticked since.
    for grain in [None, Some(2_000_000_000)] {
        run(async {
            let rig = Rig::new(Habits {
                grain,
                ..Habits::default()
            });
            for i in 0..5 {
                rig.store.chunk(&format!("refs/{i}"), "x").await;
            }
            let root = rig.dir.path().to_owned();
            let twin = Arc::downgrade(&rig.twin);
            rig.twin.reset();
            let readings = AtomicUsize::new(0);
            rig.twin.hook(move |_, call| {
                // The second directory that is read: `refs`.
                if call == Call::ReadDir && readings.fetch_add(1, Ordering::Relaxed) == 1 {
                    std::fs::write(root.join("new"), "y").expect("written");
                    std::fs::rename(root.join("new"), root.join("refs/3")).expect("replaced");
                    twin.upgrade().expect("in use").overlook("3");
                }
            });
            let expected: Vec<_> = (0..5).map(|i| format!("refs/{i}")).collect();
            assert_eq!(rig.store.keys().await, expected);
        });
    }
}

#[test]
fn a_list_survives_a_moment_without_descriptors() {
    run(async {
        let rig = Rig::with(Habits::default(), |builder| {
            let now = std::time::SystemTime::UNIX_EPOCH;
            builder.clock(Arc::new(icefield_storage::ManualClock::new(now)))
        });
        for i in 0..30 {
            rig.store.chunk(&format!("{}/{i}", i % 3), "x").await;
        }
        rig.twin.reset();
        let expected = rig.store.keys().await;
        let calls = rig.twin.reset();
        for (number, call) in calls.into_iter().enumerate() {
            if matches!(call, Call::OpenRead | Call::OpenDirectory | Call::ReadDir) {
                rig.twin.fail(None, number, 2, Errno::MFILE);
                assert_eq!(rig.store.keys().await, expected, "{call:?} {number}");
                rig.twin.reset();
            }
        }
    });
}

#[test]
fn a_list_is_not_all_read_before_it_begins() {
    run(async {
        let rig = Rig::new(Habits::default());
        for i in 0..200 {
            rig.store.chunk(&format!("{:02}/{i}", i % 50), "x").await;
        }
        let readings = |rig: &Rig| {
            let calls = rig.twin.reset().into_iter();
            calls.filter(|call| *call == Call::ReadDir).count()
        };
        rig.twin.reset();
        assert_eq!(rig.store.keys().await.len(), 200);
        let all = readings(&rig);
        let mut list = rig.store.list(ListOptions::default());
        let first = list.try_next().await.expect("listed").expect("not empty");
        assert_eq!(first.key.as_str(), "00/0");
        drop(list);
        let read = readings(&rig);
        assert!(
            read * 3 < all,
            "{read} of {all} readings of directories for one key"
        );
    });
}

#[test]
fn a_list_that_ends_at_a_directory_does_not_read_it() {
    run(async {
        let rig = Rig::new(Habits::default());
        let all = [
            "a/1",
            "chunks-old/1",
            "chunks/1",
            "chunks/2",
            "chunks0",
            "d/1",
        ];
        for at in all {
            rig.store.chunk(at, "x").await;
        }
        let list = async |options: ListOptions| {
            rig.twin.reset();
            let list: Vec<_> = rig.store.list(options).try_collect().await.expect("listed");
            let calls = rig.twin.reset().into_iter();
            let read = calls.filter(|call| *call == Call::ReadDir).count();
            let keys: Vec<_> = list.into_iter().map(|it| it.key.to_string()).collect();
            (keys, read)
        };
        let (keys, whole) = list(ListOptions::default()).await;
        assert_eq!(keys, all);
        let end = Prefix::parse("chunks").expect("valid");
        let (keys, read) = list(ListOptions::default().with_end_at(end)).await;
        assert_eq!(keys, all[..2]);
        assert!(read < whole, "{read} of {whole} readings of directories");
    });
}

#[test]
fn versions_in_a_list_are_those_of_head() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        store.write("small", "x", PutMode::Create).await;
        store
            .write("large", &"x".repeat(70_000), PutMode::Create)
            .await;
        store.write("empty", "", PutMode::Create).await;
        for meta in store.list_all(&Prefix::all()).await.expect("listed") {
            assert_eq!(store.head(&meta.key).await.expect("there"), meta);
        }
    });
}
