//! Case 64: power is lost at any moment, and what was not flushed is lost in any combination.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use icefield_storage::{ObjectClass, PutMode, PutOptions, PutOutcome, Storage, StorageExt};

use super::kit::{REF, Speak, key};
use super::replay::{Tree, record, replay};
use crate::sys::Errno;
use crate::sys::habits::{Habits, Lazy};
use crate::sys::record::Event;
use crate::sys::twin::{Call, Twin};
use crate::{Fsync, LocalStorage};

/// The chunks and other objects that a commit writes.
const CHUNKS: [&str; 3] = ["chunks/C1", "chunks/C2", "chunks/C3"];
const OBJECTS: [&str; 3] = ["manifests/M1", "snapshots/S2", "transactions/S2"];

async fn write_objects(store: &LocalStorage) {
    for at in CHUNKS {
        store.chunk(at, format!("bytes of {at}")).await;
    }
    let puts = OBJECTS.map(|at| async move {
        store
            .write(at, &format!("bytes of {at}"), PutMode::Create)
            .await
    });
    futures::future::join_all(puts).await;
}

/// The reference is one of `allowed`; if it names the commit, everything that the commit wrote is whole;
/// and once it was acknowledged it names the commit.
fn commit_law(
    allowed: &'static [Option<&'static str>],
) -> impl Fn(&Tree, &[&str]) -> Result<(), String> {
    move |tree, marks| {
        let tip = tree
            .get(REF)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        if !allowed.contains(&tip.as_deref()) {
            return Err(format!("the reference is torn: {tip:?}"));
        }
        if tip.as_deref() == Some("S2") {
            for at in CHUNKS.into_iter().chain(OBJECTS) {
                if tree.get(at).map(Vec::as_slice) != Some(format!("bytes of {at}").as_bytes()) {
                    return Err(format!(
                        "the reference names {at}, which is {:?}",
                        tree.get(at)
                    ));
                }
            }
        } else if marks.contains(&"committed") {
            return Err("an acknowledged commit is lost".into());
        }
        for at in OBJECTS {
            if let Some(bytes) = tree
                .get(at)
                .filter(|bytes| **bytes != *format!("bytes of {at}").as_bytes())
            {
                return Err(format!("{at} is torn: {bytes:?}"));
            }
        }
        Ok(())
    }
}

async fn commit(store: LocalStorage, twin: Arc<Twin>) {
    let (_, tip) = store
        .try_read(&key(REF))
        .await
        .expect("read")
        .expect("there");
    write_objects(&store).await;
    store.sync().await.expect("flushed");
    store.write(REF, "S2", PutMode::Update(tip)).await;
    twin.mark("committed");
}

#[test]
fn e64_a_commit_is_whole_or_absent_after_a_loss_of_power() {
    let recording = record(Habits::default(), Fsync::Commit, &[(REF, "S1")], commit);
    let tried = replay(&recording, &commit_law(&[Some("S1"), Some("S2")])).expect("the law holds");
    assert!(tried > 100, "only {tried} trees");
}

#[test]
fn e64_a_first_commit_is_whole_or_absent_after_a_loss_of_power() {
    let recording = record(
        Habits::default(),
        Fsync::Commit,
        &[],
        async |store, twin| {
            write_objects(&store).await;
            store.sync().await.expect("flushed");
            store.write(REF, "S2", PutMode::Create).await;
            store.sync().await.expect("flushed");
            twin.mark("committed");
        },
    );
    replay(&recording, &commit_law(&[None, Some("S2")])).expect("the law holds");
}

#[test]
fn e64_each_put_is_durable_when_it_is_acknowledged() {
    let recording = record(Habits::default(), Fsync::Each, &[], async |store, twin| {
        write_objects(&store).await;
        twin.mark("objects");
        store.write(REF, "S2", PutMode::Create).await;
        twin.mark("committed");
    });
    let law = commit_law(&[None, Some("S2")]);
    let law = move |tree: &Tree, marks: &[&str]| {
        law(tree, marks)?;
        match marks.contains(&"objects") && !CHUNKS.iter().all(|at| tree.contains_key(*at)) {
            true => Err("an acknowledged chunk is lost".into()),
            false => Ok(()),
        }
    };
    replay(&recording, &law).expect("the law holds");
}

#[test]
fn e64_overwriting_leaves_old_or_new() {
    let before = [("config.yaml", "old")];
    let recording = record(
        Habits::default(),
        Fsync::Commit,
        &before,
        async |store, twin| {
            store.write("config.yaml", "new", PutMode::Overwrite).await;
            twin.mark("new");
        },
    );
    let law = |tree: &Tree, marks: &[&str]| match tree.get("config.yaml").map(Vec::as_slice) {
        Some(b"new") => Ok(()),
        Some(b"old") if !marks.contains(&"new") => Ok(()),
        other => Err(format!("{other:?}")),
    };
    replay(&recording, &law).expect("the law holds");
}

#[test]
fn e64_a_synchronised_delete_stays_deleted() {
    let recording = record(
        Habits::default(),
        Fsync::Commit,
        &[(REF, "S1")],
        async |store, twin| {
            let _ = store.delete_one(key(REF).into()).await.expect("deleted");
            store.sync().await.expect("flushed");
            twin.mark("deleted");
        },
    );
    let law = |tree: &Tree, marks: &[&str]| match tree.get(REF).map(Vec::as_slice) {
        None => Ok(()),
        Some(b"S1") if !marks.contains(&"deleted") => Ok(()),
        other => Err(format!("{other:?}")),
    };
    replay(&recording, &law).expect("the law holds");
}

#[test]
fn e64_a_copy_is_whole_or_absent() {
    let before = [(REF, "S1"), ("big", "x")];
    let big = "0123456789".repeat(7000);
    let expected = big.clone();
    let recording = record(
        Habits::default(),
        Fsync::Commit,
        &before,
        async move |store, twin| {
            store.write("big", &big, PutMode::Overwrite).await;
            twin.mark("written");
            let options = icefield_storage::CopyOptions::default();
            let copied = store.copy(&key("big"), &key("copies/big"), options).await;
            super::kit::written(copied.expect("copied"));
            twin.mark("copied");
        },
    );
    let law = move |tree: &Tree, marks: &[&str]| match tree.get("copies/big") {
        None if !marks.contains(&"copied") => Ok(()),
        Some(bytes) if **bytes == *expected.as_bytes() => Ok(()),
        other => Err(format!("{:?} bytes", other.map(Vec::len))),
    };
    replay(&recording, &law).expect("the law holds");
}

#[test]
fn e64_more_chunks_than_may_be_held_open_are_flushed_all_the_same() {
    // A quarter of these may wait for `sync` with their file open.
    for no_syncfs in [false, true] {
        let habits = Habits {
            open_files: Some(8),
            no_syncfs,
            ..Habits::default()
        };
        let recording = record(habits, Fsync::Commit, &[(REF, "S1")], commit);
        let whole = recording.events.contains(&Event::Syncfs);
        assert_eq!(
            whole, !no_syncfs,
            "flushed as a whole where that can be trusted"
        );
        replay(&recording, &commit_law(&[Some("S1"), Some("S2")])).expect("the law holds");
    }
}

#[test]
fn e64_a_file_system_without_rename_that_refuses_is_as_safe() {
    let habits = Habits {
        no_rename_new: true,
        short_writes: Some(3),
        ..Habits::default()
    };
    let recording = record(habits, Fsync::Commit, &[(REF, "S1")], commit);
    replay(&recording, &commit_law(&[Some("S1"), Some("S2")])).expect("the law holds");
}

#[test]
fn e64_another_handle_that_made_the_directory_a_moment_ago_is_not_relied_on() {
    let recording = record(
        Habits::default(),
        Fsync::Commit,
        &[],
        async |store, twin| {
            // The first handle makes `refs/…` and does not flush it.
            store
                .write("refs/branch.main/other", "x", PutMode::Create)
                .await;
            let second = LocalStorage::builder(store.to_string())
                .sys(Arc::<Twin>::clone(&twin))
                .open()
                .expect("opened");
            second.write(REF, "S1", PutMode::Overwrite).await;
            twin.mark("written");
        },
    );
    let law = |tree: &Tree, marks: &[&str]| match tree.get(REF).map(Vec::as_slice) {
        None if !marks.contains(&"written") => Ok(()),
        Some(b"S1") => Ok(()),
        other => Err(format!("{other:?}")),
    };
    replay(&recording, &law).expect("the law holds");
}

/// A first writer is killed before it has flushed anything. A second one, which was to write the same, finds
/// everything there, and its commit stands on it.
#[test]
fn e64_what_a_killed_writer_left_is_made_durable_by_who_adopts_it() {
    for fsync in [Fsync::Commit, Fsync::Each] {
        let adopt = async |store: LocalStorage, twin: Arc<Twin>| {
            let killed = LocalStorage::builder(store.to_string())
                .fsync(Fsync::None)
                .sys(Arc::<Twin>::clone(&twin))
                .open()
                .expect("opened");
            write_objects(&killed).await;
            drop(killed);
            let (_, tip) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            for (at, class) in CHUNKS
                .map(|at| (at, ObjectClass::Chunk))
                .into_iter()
                .chain(OBJECTS.map(|at| (at, ObjectClass::Metadata)))
            {
                let bytes = format!("bytes of {at}").into();
                let options = PutOptions::default().with_class(class);
                let put = store.put_immutable(&key(at), bytes, options).await;
                super::kit::written(put.expect("adopted"));
            }
            if fsync == Fsync::Commit {
                store.sync().await.expect("flushed");
            }
            store.write(REF, "S2", PutMode::Update(tip)).await;
            twin.mark("committed");
        };
        let recording = record(Habits::default(), fsync, &[(REF, "S1")], adopt);
        // The first writer flushes nothing, so its objects may be torn until they are adopted.
        let law = commit_law(&[Some("S1"), Some("S2")]);
        let law = move |tree: &Tree, marks: &[&str]| match tree.get(REF).map(Vec::as_slice) {
            Some(b"S1") if !marks.contains(&"committed") => Ok(()),
            _ => law(tree, marks),
        };
        replay(&recording, &law).expect("the law holds");
    }
}

/// The file system says that it failed and cannot say whether it did. The writer reads its object back, finds it
/// whole, and goes on.
#[test]
fn e64_a_write_of_unknown_outcome_is_made_durable_as_well() {
    for panics in [false, true] {
        let scenario = async move |store: LocalStorage, twin: Arc<Twin>| {
            let (_, tip) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            for at in CHUNKS {
                store.chunk(at, format!("bytes of {at}")).await;
            }
            for at in OBJECTS {
                let once = AtomicBool::new(true);
                let weak = Arc::downgrade(&twin);
                match panics {
                    true => twin.hook(move |_, call| {
                        let now = call == Call::Unlock && once.swap(false, Ordering::Relaxed);
                        assert!(!now, "planted");
                    }),
                    false => {
                        twin.fail_late(Call::RenameNew, 0, Errno::IO);
                        twin.hook(move |_, call| {
                            if call == Call::RenameNew && once.swap(false, Ordering::Relaxed) {
                                let twin = weak.upgrade().expect("in use");
                                twin.fail(Call::StatAt, 0, 2, Errno::IO);
                            }
                        });
                    }
                }
                let bytes = format!("bytes of {at}");
                let put = store
                    .try_put(at, bytes, PutMode::Create, ObjectClass::Metadata)
                    .await;
                assert!(matches!(put, Ok(PutOutcome::Unknown(_))), "{put:?}");
                twin.hook(|_, _| ());
                assert!(store.text(at).await.is_some());
            }
            store.sync().await.expect("flushed");
            store.write(REF, "S2", PutMode::Update(tip)).await;
            twin.mark("committed");
        };
        let recording = record(Habits::default(), Fsync::Commit, &[(REF, "S1")], scenario);
        replay(&recording, &commit_law(&[Some("S1"), Some("S2")])).expect("the law holds");
    }
}

/// A writer goes away after its object has taken its name and before the directory is flushed. Another one of the same
/// handle finds the object, calls `sync`, and acknowledges it.
#[test]
fn e64_a_name_that_a_writer_which_went_away_has_taken_is_durable_after_sync() {
    // A replaced object flushes its directory itself; a created one leaves that to `sync`.
    for (mode, at, stalled_at) in [
        (None, REF, Call::Fsync),
        (Some(PutMode::Create), "snapshots/S2", Call::Unlock),
    ] {
        let scenario = async move |store: LocalStorage, twin: Arc<Twin>| {
            let (_, tip) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            // A first object makes the directory, so that only the new name is at stake.
            store.write("snapshots/S1", "x", PutMode::Create).await;
            store.sync().await.expect("flushed");
            let (is_there, reached) = tokio::sync::oneshot::channel();
            let (go_on, held) = std::sync::mpsc::channel::<()>();
            let once = std::sync::Mutex::new(Some((is_there, held)));
            let renamed = AtomicBool::new(false);
            twin.hook(move |_, call| {
                if matches!(call, Call::Rename | Call::RenameNew) {
                    renamed.store(true, Ordering::Relaxed);
                } else if call == stalled_at && renamed.load(Ordering::Relaxed) {
                    let first = once.lock().expect("not poisoned").take();
                    if let Some((is_there, held)) = first {
                        is_there.send(()).expect("awaited");
                        // Until the test lets go, or ends.
                        let _ = held.recv();
                    }
                }
            });
            let mode = mode.unwrap_or(PutMode::Update(tip));
            let writer = tokio::spawn({
                let store = store.clone();
                async move { store.write(at, "S2", mode).await }
            });
            reached.await.expect("the writer gets there");
            writer.abort();
            assert!(writer.await.is_err_and(|it| it.is_cancelled()));
            assert_eq!(store.text(at).await.as_deref(), Some("S2"));
            store.sync().await.expect("flushed");
            twin.mark("acknowledged");
            go_on.send(()).expect("held");
        };
        let recording = record(Habits::default(), Fsync::Commit, &[(REF, "S1")], scenario);
        let law = |tree: &Tree, marks: &[&str]| match tree.get(at).map(Vec::as_slice) {
            Some(b"S2") => Ok(()),
            _ if !marks.contains(&"acknowledged") => Ok(()),
            other => Err(format!("an acknowledged write is lost: {other:?}")),
        };
        replay(&recording, &law).expect("the law holds");
    }
}

#[test]
fn e64_the_replay_finds_a_store_that_does_not_flush() {
    for lazy in [Lazy::Files, Lazy::Directories] {
        let habits = Habits {
            lazy,
            ..Habits::default()
        };
        let recording = record(habits, Fsync::Commit, &[(REF, "S1")], commit);
        let law = commit_law(&[Some("S1"), Some("S2")]);
        let broken = replay(&recording, &law).expect_err("a planted bug is found");
        assert!(broken.contains("crash after event"), "{broken}");
    }
    let recording = record(Habits::default(), Fsync::None, &[(REF, "S1")], commit);
    replay(&recording, &commit_law(&[Some("S1"), Some("S2")])).expect_err("nothing is flushed");
    // A commit that forgets the barrier.
    let recording = record(
        Habits::default(),
        Fsync::Commit,
        &[(REF, "S1")],
        async |store, twin| {
            let (_, tip) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            write_objects(&store).await;
            store.write(REF, "S2", PutMode::Update(tip)).await;
            twin.mark("committed");
        },
    );
    replay(&recording, &commit_law(&[Some("S1"), Some("S2")])).expect_err("no barrier");
}
