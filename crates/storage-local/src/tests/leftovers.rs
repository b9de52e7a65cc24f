//! Cases 77 and 78: what the dead leave behind, and a root that comes, goes, or is not ours to write to.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::{
    Clock, CopyOptions, Deletion, GetOptions, ListOptions, ManualClock, ObjectClass, Payload,
    PutMode, Storage, StorageError, StorageExt, SystemClock,
};
use tempfile::TempDir;

use super::kit::{Rig, Speak, key, open, run, temporary, written};
use crate::LocalStorage;
use crate::sys::habits::Habits;

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
        // Its first write probes the disk, with temporary files of its own.
        busy.write("a", "x", PutMode::Overwrite).await;
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
        gone(store.sync().await.expect_err("gone"));
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
