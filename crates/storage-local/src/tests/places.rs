//! Cases 67 to 71, 77 and 78: the root is not left, what is no object is not touched, what others leave behind
//! does no harm.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::{
    Clock, CopyOptions, Deletion, GetOptions, Key, KeyError, ListOptions, ManualClock, ObjectClass,
    Payload, PutMode, SeededEntropy, Storage, StorageError, StorageExt, SystemClock,
};
use rustix::fs::{CWD, FileType, mkfifoat, mknodat};
use tempfile::TempDir;

use super::kit::{Rig, Speak, key, open, run, skipped, temporary, written};
use crate::sys::habits::Habits;
use crate::sys::{RealSys, Sys};
use crate::{Fsync, LocalStorage};

/// Opens a directory with the system calls of this kernel and with those of an old one.
fn both_ways(root: &Path) -> [LocalStorage; 2] {
    let ways: [Arc<dyn Sys>; 2] = [
        Arc::new(RealSys::new()),
        Arc::new(RealSys::without_openat2()),
    ];
    ways.map(|sys| {
        LocalStorage::builder(root)
            .fsync(Fsync::None)
            .sys(sys)
            .open()
            .expect("opened")
    })
}

#[track_caller]
fn is_not_an_object<T: std::fmt::Debug>(result: Result<T, StorageError>, what: &str) {
    match result {
        Err(StorageError::NotAnObject { found, .. }) if found == what => {}
        other => panic!("must be {what}, is {other:?}"),
    }
}

#[test]
fn e67_no_key_leaves_the_root() {
    for bad in [
        "../x",
        "a/../../x",
        "/etc/passwd",
        "a/./b",
        "a//b",
        "a\0b",
        "",
        "..",
    ] {
        assert!(Key::parse(bad).is_err(), "{bad:?}");
    }
    // These are ordinary names here.
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        for store in both_ways(&root) {
            for at in [
                "c:\\x",
                "..\\x",
                "%2e%2e/x",
                "CON",
                "a:stream",
                "...",
                "x\ny",
                "nul/aux.h",
            ] {
                store.write(at, at, PutMode::Overwrite).await;
                assert_eq!(store.text(at).await.as_deref(), Some(at));
            }
        }
        let beside: Vec<_> = std::fs::read_dir(outer.path()).expect("read").collect();
        assert_eq!(beside.len(), 1, "{beside:?}");
    });
}

#[test]
fn e67_the_hidden_directory_is_out_of_reach() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        store.write("a", "x", PutMode::Create).await;
        for at in [
            ".icefield-local/locks/0",
            ".icefield-local",
            ".Icefield-Local/tmp/x",
        ] {
            let put = store
                .try_put(at, "x", PutMode::Overwrite, ObjectClass::Metadata)
                .await;
            assert!(
                matches!(put, Err(StorageError::Unsupported { .. })),
                "{put:?}"
            );
            let put = store
                .try_put(at, "x", PutMode::Create, ObjectClass::Chunk)
                .await;
            assert!(
                matches!(put, Err(StorageError::Unsupported { .. })),
                "{put:?}"
            );
            let copy = store
                .copy(&key("a"), &key(at), CopyOptions::default())
                .await;
            assert!(
                matches!(copy, Err(StorageError::Unsupported { .. })),
                "{copy:?}"
            );
            let deleted = store.delete_one(key(at).into()).await;
            assert!(
                matches!(deleted, Err(StorageError::Unsupported { .. })),
                "{deleted:?}"
            );
            assert!(
                store
                    .head(&key(at))
                    .await
                    .expect_err("hidden")
                    .is_not_found()
            );
        }
        // Only at the root, and only this name.
        for at in ["x/.icefield-local/y", ".icefield-local2", ".icefield"] {
            store.write(at, "x", PutMode::Create).await;
        }
    });
}

#[test]
fn e68_symbolic_links_inside_the_root_are_refused() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        let secret = outer.path().join("secret");
        std::fs::create_dir_all(secret.join("below")).expect("made");
        std::fs::write(secret.join("file"), "secret").expect("written");
        for store in both_ways(&root) {
            store.write("a/b", "x", PutMode::Overwrite).await;
            for (link, target) in [
                ("file-link", "../secret/file"),
                ("dir-link", "../secret"),
                ("inner-link", "a"),
                ("dangling", "nowhere"),
                ("absolute", "/etc/passwd"),
                ("a/loop", "loop"),
            ] {
                let _ = std::fs::remove_file(root.join(link));
                symlink(target, root.join(link)).expect("linked");
            }
            let link = "a symbolic link";
            for at in [
                "file-link",
                "dir-link",
                "dir-link/file",
                "dir-link/below/x",
                "inner-link",
                "inner-link/b",
                "dangling",
                "dangling/x",
                "absolute",
                "a/loop",
                "a/loop/x",
            ] {
                is_not_an_object(store.get(&key(at), GetOptions::default()).await, link);
                is_not_an_object(store.head(&key(at)).await, link);
                for (mode, class) in [
                    (PutMode::Overwrite, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Chunk),
                ] {
                    is_not_an_object(store.try_put(at, "x", mode, class).await, link);
                }
                is_not_an_object(store.delete_one(key(at).into()).await, link);
                let copy = store
                    .copy(&key("a/b"), &key(at), CopyOptions::default())
                    .await;
                is_not_an_object(copy, link);
                let copy = store
                    .copy(&key(at), &key("c"), CopyOptions::default())
                    .await;
                is_not_an_object(copy, link);
            }
            assert_eq!(store.keys().await, ["a/b"]);
        }
        assert_eq!(
            std::fs::read(secret.join("file")).expect("there"),
            b"secret"
        );
        assert_eq!(std::fs::read_dir(&secret).expect("read").count(), 2);
    });
}

#[test]
fn e68_the_root_may_be_a_symbolic_link() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        std::fs::create_dir(outer.path().join("real")).expect("made");
        symlink("real", outer.path().join("link")).expect("linked");
        let store = LocalStorage::open(outer.path().join("link")).expect("opened");
        store.write("a/b", "x", PutMode::Create).await;
        assert!(outer.path().join("real/a/b").is_file());
        // Resolved once: pointing the link elsewhere later moves nothing.
        std::fs::remove_file(outer.path().join("link")).expect("removed");
        symlink("/", outer.path().join("link")).expect("linked");
        assert_eq!(store.text("a/b").await.as_deref(), Some("x"));
    });
}

/// While another thread swaps a directory and a link to the outside, nothing is ever read or written outside.
#[test]
fn e68_a_link_swapped_in_at_any_moment_leads_nowhere() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        let outside = outer.path().join("outside");
        std::fs::create_dir_all(&outside).expect("made");
        std::fs::write(outside.join("file"), "outside").expect("written");
        for store in both_ways(&root) {
            store.write("d/file", "inside", PutMode::Overwrite).await;
            let over = Arc::new(AtomicBool::new(false));
            let swapping = {
                let (root, outside, over) = (root.clone(), outside.clone(), Arc::clone(&over));
                std::thread::spawn(move || {
                    symlink(&outside, root.join("link")).expect("linked");
                    let (d, link) = (root.join("d"), root.join("link"));
                    while !over.load(Ordering::Relaxed) {
                        let exchange = rustix::fs::RenameFlags::EXCHANGE;
                        rustix::fs::renameat_with(CWD, &d, CWD, &link, exchange).expect("swapped");
                    }
                    std::fs::remove_file(&link)
                        .or_else(|_| std::fs::remove_file(&d))
                        .expect("removed");
                    if link.exists() {
                        std::fs::rename(&link, &d).expect("back in place");
                    }
                })
            };
            let (mut seen, mut blocked) = (0, 0);
            for i in 0..2000 {
                match store.get(&key("d/file"), GetOptions::default()).await {
                    Ok(object) => {
                        assert_eq!(object.bytes().await.expect("read"), "inside");
                        seen += 1;
                    }
                    Err(StorageError::NotAnObject { .. }) => blocked += 1,
                    Err(error) => panic!("{error:?}"),
                }
                let (at, mode, class) = match i % 3 {
                    0 => (format!("d/c{i}"), PutMode::Create, ObjectClass::Chunk),
                    1 => (format!("d/m{i}"), PutMode::Create, ObjectClass::Metadata),
                    _ => (
                        "d/new".to_owned(),
                        PutMode::Overwrite,
                        ObjectClass::Metadata,
                    ),
                };
                let _ = store.try_put(&at, "inside", mode, class).await;
                let _ = store.delete_one(key("d/outside").into()).await;
            }
            over.store(true, Ordering::Relaxed);
            swapping.join().expect("swapped to the end");
            assert!(seen > 0 && blocked > 0, "{seen} reads, {blocked} blocked");
            let names: Vec<_> = std::fs::read_dir(&outside)
                .expect("read")
                .map(|entry| entry.expect("read").file_name())
                .collect();
            assert_eq!(names, ["file"], "something was written outside");
        }
        assert_eq!(
            std::fs::read(outside.join("file")).expect("there"),
            b"outside"
        );
    });
}

#[test]
fn e68_a_planted_temporary_name_is_not_followed() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        std::fs::write(outer.path().join("victim"), "victim").expect("written");
        let builder = || LocalStorage::builder(&root).fsync(Fsync::None);
        // The attacker knows every name that will be drawn.
        let seeded = || Arc::new(SeededEntropy::new(7));
        let store = builder().entropy(seeded()).open().expect("opened");
        store.0.facts().expect("probed");
        let next = {
            let twin = builder().entropy(seeded()).open().expect("opened");
            twin.0.random_name();
            twin.0.random_name()
        };
        symlink(
            "../../../victim",
            root.join(".icefield-local/tmp").join(&next),
        )
        .expect("linked");
        store.write("a", "x", PutMode::Overwrite).await;
        assert_eq!(
            std::fs::read(outer.path().join("victim")).expect("there"),
            b"victim"
        );
        assert_eq!(
            temporary(&root),
            [next],
            "the name was taken, so another was drawn"
        );
    });
}

#[test]
fn e69_what_is_no_object_is_a_typed_error_at_once() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let root = dir.path();
        for store in both_ways(root) {
            store.write("a/b", "x", PutMode::Overwrite).await;
            let _ = std::fs::remove_file(root.join("fifo"));
            let _ = std::fs::remove_file(root.join("device"));
            mkfifoat(CWD, root.join("fifo"), 0o600.into()).expect("made");
            let mut places = vec![("fifo", "a FIFO")];
            // /dev/null; needs rights that not everybody has.
            let null = rustix::fs::makedev(1, 3);
            let mode = 0o600.into();
            match mknodat(
                CWD,
                root.join("device"),
                FileType::CharacterDevice,
                mode,
                null,
            ) {
                Ok(()) => places.push(("device", "a device")),
                Err(errno) => skipped("the device of e69", &errno.to_string()),
            }
            let _ = std::fs::remove_file(root.join("socket"));
            let _socket =
                std::os::unix::net::UnixListener::bind(root.join("socket")).expect("bound");
            places.push(("socket", "a socket"));
            for (at, what) in places {
                is_not_an_object(store.get(&key(at), GetOptions::default()).await, what);
                is_not_an_object(store.head(&key(at)).await, what);
                for (mode, class) in [
                    (PutMode::Overwrite, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Chunk),
                ] {
                    is_not_an_object(store.try_put(at, "x", mode, class).await, what);
                }
                is_not_an_object(store.delete_one(key(at).into()).await, what);
                assert!(store.text(&format!("{at}/below")).await.is_none());
            }
            // A directory: nothing is under its name, and nothing can be.
            assert!(
                store
                    .head(&key("a"))
                    .await
                    .expect_err("no object")
                    .is_not_found()
            );
            let put = store
                .try_put("a", "x", PutMode::Overwrite, ObjectClass::Metadata)
                .await;
            is_not_an_object(put, "a directory");
            let put = store
                .try_put("a/b/c", "x", PutMode::Create, ObjectClass::Chunk)
                .await;
            let message = put.expect_err("below an object").to_string();
            assert!(message.contains("a/b is an object"), "{message}");
        }
    });
}

#[test]
fn e69_a_hard_link_is_an_object_and_a_write_leaves_the_other_name_alone() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        std::fs::write(dir.path().join("one"), "old").expect("written");
        std::fs::hard_link(dir.path().join("one"), dir.path().join("two")).expect("linked");
        assert_eq!(store.text("two").await.as_deref(), Some("old"));
        store.write("one", "new", PutMode::Overwrite).await;
        assert_eq!(store.text("two").await.as_deref(), Some("old"));
        let _ = store.delete_one(key("one").into()).await.expect("deleted");
        assert_eq!(store.text("two").await.as_deref(), Some("old"));
    });
}

#[test]
fn e71_the_longest_names_work_and_longer_ones_are_refused() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        // A long root as well: paths are never longer than the kernel takes, being relative.
        let mut root = dir.path().to_owned();
        for _ in 0..14 {
            root = root.join("r".repeat(200));
        }
        for store in both_ways(&root) {
            let longest = [
                &*"k".repeat(255),
                &"l".repeat(255),
                &"m".repeat(255),
                &"n".repeat(256)[..255],
            ]
            .join("/");
            store.write(&longest, "x", PutMode::Overwrite).await;
            assert_eq!(store.keys().await, [longest]);
        }
        assert!(matches!(
            Key::parse(&"x".repeat(256)),
            Err(KeyError::SegmentTooLong { .. })
        ));
        assert!(matches!(
            Key::parse(&"x/".repeat(600)),
            Err(KeyError::TooLong { .. })
        ));
    });
}

#[test]
fn e76_another_file_system_mounted_inside_is_read_and_not_written_to() {
    let dir = TempDir::new().expect("a temporary directory");
    let inside = dir.path().join("chunks");
    std::fs::create_dir(&inside).expect("made");
    let mount = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "none"])
        .arg(&inside)
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        skipped(
            "e76_another_file_system_mounted_inside",
            "this machine cannot mount",
        );
        return;
    }
    std::fs::write(inside.join("there"), "x").expect("written");
    let result = std::panic::catch_unwind(|| {
        run(async {
            for store in both_ways(dir.path()) {
                assert_eq!(store.text("chunks/there").await.as_deref(), Some("x"));
                assert_eq!(store.keys().await, ["chunks/there"]);
                for (mode, class) in [
                    (PutMode::Overwrite, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Metadata),
                    (PutMode::Create, ObjectClass::Chunk),
                ] {
                    let put = store.try_put("chunks/new", "x", mode, class).await;
                    let error = put.expect_err("neither moved there nor flushed with the rest");
                    assert!(matches!(error, StorageError::Failed { .. }), "{error:?}");
                }
                assert_eq!(store.keys().await, ["chunks/there"]);
            }
        });
    });
    let _ = std::process::Command::new("umount").arg(&inside).output();
    result.expect("the laws hold");
}

#[test]
fn e77_leftovers_of_dead_writers_are_ignored_then_removed() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let clock = Arc::new(ManualClock::new(SystemClock.now()));
        let open = || {
            let clock: Arc<ManualClock> = Arc::clone(&clock);
            LocalStorage::builder(dir.path())
                .clock(clock)
                .open()
                .expect("opened")
        };
        open().write("a", "x", PutMode::Create).await;
        let tmp = dir.path().join(".icefield-local/tmp");
        std::fs::write(tmp.join("dead"), "torn").expect("written");
        // A writer that lives holds the lock on its file, however long it takes.
        let busy = open();
        let (send, receive) = futures::channel::mpsc::unbounded();
        let payload = Payload::Stream {
            size: None,
            stream: receive.boxed(),
        };
        let (at, options) = (key("slow"), PutMode::Overwrite.into());
        let slow = busy.put(&at, payload, options);
        futures::pin_mut!(slow);
        while temporary(dir.path()).len() < 2 {
            assert!(futures::poll!(&mut slow).is_pending());
            tokio::task::yield_now().await;
        }
        let fresh = open();
        fresh.write("b", "x", PutMode::Create).await;
        assert_eq!(
            temporary(dir.path()).len(),
            2,
            "younger than a day: not touched"
        );
        assert_eq!(fresh.keys().await, ["a", "b"]);
        clock.advance(Duration::from_secs(25 * 3600));
        open().write("c", "x", PutMode::Create).await;
        assert_eq!(
            temporary(dir.path()).len(),
            1,
            "the dead one is gone, the busy one stays"
        );
        assert!(!tmp.join("dead").exists());
        send.unbounded_send(Ok(Bytes::from_static(b"done")))
            .expect("received");
        drop(send);
        written(slow.await.expect("written"));
        assert_eq!(fresh.text("slow").await.as_deref(), Some("done"));
        assert!(temporary(dir.path()).is_empty());
    });
}

#[test]
fn e77_a_put_that_is_given_up_leaves_nothing() {
    run(async {
        let rig = Rig::new(Habits::default());
        let (send, receive) = futures::channel::mpsc::unbounded();
        let payload = Payload::Stream {
            size: None,
            stream: receive.boxed(),
        };
        let (at, options) = (key("a"), PutMode::Overwrite.into());
        let mut put = rig.store.put(&at, payload, options);
        send.unbounded_send(Ok(Bytes::from(vec![1; 3 << 20])))
            .expect("received");
        while rig.temporary().is_empty() {
            assert!(futures::poll!(&mut put).is_pending());
            tokio::task::yield_now().await;
        }
        drop(put);
        while !rig.temporary().is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(rig.store.keys().await.is_empty());
    });
}

#[test]
fn e77_a_hidden_directory_that_was_removed_is_made_again() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        let hidden = dir.path().join(".icefield-local");
        let version = store.write("a", "1", PutMode::Create).await;
        std::fs::remove_dir_all(&hidden).expect("removed");
        let version = store.write("a", "2", PutMode::Update(version)).await;
        std::fs::remove_dir_all(&hidden).expect("removed");
        store.chunk("chunks/1", "x").await;
        let deletion = Deletion {
            key: key("a"),
            version: Some(version),
        };
        let _ = store.delete_one(deletion).await.expect("deleted");
        std::fs::remove_dir_all(&hidden).expect("removed");
        let parts = stream::iter([Ok(Bytes::from_static(b"x"))]).boxed();
        let payload = Payload::Stream {
            size: Some(1),
            stream: parts,
        };
        let put = store
            .try_put("s", payload, PutMode::Create, ObjectClass::Chunk)
            .await;
        written(put.expect("written"));
        store.sync().await.expect("flushed");
    });
}

#[test]
fn e78_a_root_that_was_removed_is_an_error_not_an_empty_store() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("root");
        let store = LocalStorage::open(&root).expect("opened");
        store.write("a/b", "x", PutMode::Create).await;
        std::fs::remove_dir_all(&root).expect("removed");
        let gone = |error: StorageError| {
            assert!(matches!(error, StorageError::Failed { .. }), "{error:?}");
            let source = std::error::Error::source(&error).map(ToString::to_string);
            assert!(
                source.is_some_and(|why| why.contains("removed")),
                "{error:?}"
            );
        };
        gone(
            store
                .get(&key("a/b"), GetOptions::default())
                .await
                .expect_err("gone"),
        );
        gone(store.head(&key("x")).await.expect_err("gone"));
        gone(store.list_all(&Default::default()).await.expect_err("gone"));
        gone(store.delete_one(key("a/b").into()).await.expect_err("gone"));
        for (mode, class) in [
            (PutMode::Overwrite, ObjectClass::Metadata),
            (PutMode::Create, ObjectClass::Metadata),
            (PutMode::Create, ObjectClass::Chunk),
            (
                PutMode::Update(icefield_storage::Version::new("x")),
                ObjectClass::Metadata,
            ),
        ] {
            gone(
                store
                    .try_put("a/b", "x", mode, class)
                    .await
                    .expect_err("gone"),
            );
        }
        let copy = store
            .copy(&key("a/b"), &key("c"), CopyOptions::default())
            .await;
        gone(copy.expect_err("gone"));
        // A new directory of the same name is another store.
        std::fs::create_dir(&root).expect("made");
        gone(store.head(&key("x")).await.expect_err("gone"));
    });
}

#[test]
fn e78_a_root_that_does_not_exist_yet_is_empty_and_is_seen_when_it_does() {
    run(async {
        let outer = TempDir::new().expect("a temporary directory");
        let root = outer.path().join("not/yet/there");
        let store = LocalStorage::open(&root).expect("opened");
        assert!(store.keys().await.is_empty());
        assert!(
            store
                .head(&key("a"))
                .await
                .expect_err("nothing")
                .is_not_found()
        );
        let _ = store
            .delete_one(key("a").into())
            .await
            .expect("nothing to delete");
        store.sync().await.expect("nothing to flush");
        assert!(!outer.path().join("not").exists(), "reading makes nothing");
        let strict = LocalStorage::builder(&root)
            .create_root(false)
            .open()
            .expect("opened");
        let put = strict
            .try_put("a", "x", PutMode::Create, ObjectClass::Metadata)
            .await;
        put.expect_err("must not be made");
        open(&root).write("a", "x", PutMode::Create).await;
        assert_eq!(store.text("a").await.as_deref(), Some("x"));
        strict.write("a", "y", PutMode::Overwrite).await;
    });
}

#[test]
fn a_root_that_is_a_file_is_refused_at_open() {
    let dir = TempDir::new().expect("a temporary directory");
    std::fs::write(dir.path().join("file"), "x").expect("written");
    let opened = LocalStorage::open(dir.path().join("file"));
    assert!(
        matches!(
            opened,
            Err(StorageError::NotAnObject {
                found: "a file",
                ..
            })
        ),
        "{opened:?}"
    );
    let opened = LocalStorage::open(dir.path().join("file/below"));
    assert!(
        matches!(opened, Err(StorageError::NotAnObject { .. })),
        "{opened:?}"
    );
}

#[test]
fn a_read_only_handle_refuses_every_write() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        open(dir.path()).write("a", "x", PutMode::Create).await;
        let store = LocalStorage::builder(dir.path())
            .read_only(true)
            .open()
            .expect("opened");
        assert!(!store.capabilities().writable);
        let refused = |error: StorageError| {
            assert!(matches!(error, StorageError::ReadOnly { .. }), "{error:?}");
        };
        for class in [ObjectClass::Metadata, ObjectClass::Chunk] {
            let put = store.try_put("b", "x", PutMode::Create, class).await;
            refused(put.expect_err("read-only"));
        }
        refused(
            store
                .delete_one(key("a").into())
                .await
                .expect_err("read-only"),
        );
        let copy = store
            .copy(&key("a"), &key("b"), CopyOptions::default())
            .await;
        refused(copy.expect_err("read-only"));
        store.sync().await.expect("nothing to flush");
        assert_eq!(store.text("a").await.as_deref(), Some("x"));
        assert_eq!(store.keys().await, ["a"]);
        let _ = store.list(ListOptions::default());
    });
}

#[test]
fn the_version_sees_a_change_by_another_program() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let store = open(dir.path());
        let version = store.write("ref", "AAAA", PutMode::Create).await;
        // In place, the same size, the same time stamp: only the bytes tell.
        let path = dir.path().join("ref");
        let before = std::fs::metadata(&path)
            .expect("there")
            .modified()
            .expect("a time");
        std::fs::write(&path, "BBBB").expect("written");
        let file = std::fs::File::options()
            .write(true)
            .open(&path)
            .expect("opened");
        file.set_modified(before).expect("set");
        let meta = store.head(&key("ref")).await.expect("there");
        assert_eq!(meta.last_modified, before);
        assert_ne!(meta.version, version);
        let update = PutMode::Update(version);
        let put = store
            .try_put("ref", "CCCC", update, ObjectClass::Metadata)
            .await;
        super::kit::refused(&put.expect("answered"));
        let far = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 33);
        file.set_modified(far).expect("set");
        let version = store.head(&key("ref")).await.expect("there").version;
        store.write("ref", "CCCC", PutMode::Update(version)).await;
        let now = store.head(&key("ref")).await.expect("there").last_modified;
        assert!(now > far, "past the state that it replaces");
        // But a deleted object of the future does not date all later ones.
        let _ = store.delete_one(key("ref").into()).await.expect("deleted");
        store.write("ref", "DDDD", PutMode::Create).await;
        let now = store.head(&key("ref")).await.expect("there").last_modified;
        assert!(now < far);
    });
}
