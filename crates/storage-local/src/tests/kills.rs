//! Cases 1, 65 and 105: processes that are killed.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::{
    Body, Clock, GetOptions, ManualClock, ObjectClass, Payload, PutMode, Storage, StorageExt,
    SystemClock,
};
use tempfile::TempDir;

use super::kit::{REF, Speak, key, open, open_twin, run, temporary, written};
use super::processes::{Child, say, stay};
use crate::LocalStorage;
use crate::sys::habits::Habits;
use crate::sys::twin::Twin;

/// Returns the text of a round: one letter, as often as the letter says.
fn pattern(round: usize) -> String {
    let letter = round % 26;
    char::from(b'a' + u8::try_from(letter).expect("a letter"))
        .to_string()
        .repeat(1 + letter * 997)
}

fn is_whole(bytes: &[u8]) -> bool {
    bytes
        .first()
        .is_some_and(|first| bytes == pattern(usize::from(first - b'a')).as_bytes())
}

pub(super) async fn overwrite(root: &Path) {
    let store = open(root);
    for round in 0.. {
        store.write(REF, &pattern(round), PutMode::Overwrite).await;
        if round == 50 {
            say("writing");
        }
    }
}

#[test]
fn e65_a_torn_reference_is_never_seen() {
    let dir = TempDir::new().expect("a temporary directory");
    run(async {
        let store = open(dir.path());
        store.write(REF, &pattern(0), PutMode::Create).await;
        for _ in 0..4 {
            let mut writers: Vec<_> = (0..2)
                .map(|_| Child::role("overwrite", dir.path(), ""))
                .collect();
            for writer in &mut writers {
                assert_eq!(writer.hears(), "writing");
            }
            let readers = (0..3).map(|i| {
                let (store, path) = (store.clone(), dir.path().join(REF));
                tokio::task::spawn_blocking(move || {
                    for _ in 0..500 {
                        let bytes = match i {
                            // Another program.
                            0 => std::fs::read(&path).expect("there"),
                            _ => {
                                let object = store.0.get(&key(REF), &GetOptions::default());
                                match object.expect("there").body {
                                    Body::Bytes(bytes) => bytes.to_vec(),
                                    Body::Stream(_) => panic!("a small object is read at once"),
                                }
                            }
                        };
                        assert!(is_whole(&bytes), "torn: {} bytes", bytes.len());
                    }
                })
            });
            for reader in futures::future::join_all(readers).await {
                reader.expect("nothing torn");
            }
            // In mid-write, as like as not.
            writers.into_iter().for_each(Child::kill);
            let bytes = std::fs::read(dir.path().join(REF)).expect("there");
            assert!(is_whole(&bytes), "torn by the kill: {} bytes", bytes.len());
        }
    });
}

/// Performs one operation and stops before the system call with the given number.
pub(super) async fn stop(root: &Path, argument: &str) {
    let (operation, number) = argument.split_once(' ').expect("two words");
    let number: usize = number.parse().expect("a number");
    let twin = Twin::new(Habits::default());
    let store = open_twin(root, &twin, |builder| builder);
    store.write("warm", "x", PutMode::Overwrite).await;
    twin.reset();
    twin.hook(move |now, _| {
        if now == number {
            say("stopped");
            stay();
        }
    });
    let bytes = Bytes::from_static(b"new");
    let metadata = ObjectClass::Metadata;
    match operation {
        "update" => {
            let (_, version) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            store.write(REF, "new", PutMode::Update(version)).await;
        }
        "create" => drop(store.write("created", "new", PutMode::Create).await),
        "stream" => {
            let parts = stream::iter([Ok(bytes.slice(..1)), Ok(bytes.slice(1..))]).boxed();
            let payload = Payload::Stream {
                size: Some(3),
                stream: parts,
            };
            written(
                store
                    .try_put(REF, payload, PutMode::Overwrite, metadata)
                    .await
                    .expect("put"),
            );
        }
        "chunk" => {
            store.chunk("chunks/1", bytes).await;
            store.sync().await.expect("flushed");
        }
        "delete" => {
            let _ = store.delete_one(key(REF).into()).await.expect("deleted");
        }
        other => panic!("{other}"),
    }
    say("done");
}

#[test]
fn e105_killed_before_any_system_call_the_state_is_old_or_new_and_nothing_is_stuck() {
    for operation in ["update", "create", "stream", "chunk", "delete"] {
        run(async {
            let dir = TempDir::new().expect("a temporary directory");
            let store = open(dir.path());
            for number in 0.. {
                store.write(REF, "old", PutMode::Overwrite).await;
                for at in ["created", "chunks/1"] {
                    let _ = store.delete_one(key(at).into()).await.expect("deleted");
                }
                let argument = format!("{operation} {number}");
                let mut child = Child::role("stop", dir.path(), &argument);
                let heard = child.hears();
                child.kill();
                let (reference, created, chunk) = (
                    store.text(REF).await,
                    store.text("created").await,
                    store.text("chunks/1").await,
                );
                let done = heard == "done";
                let fine = match operation {
                    "update" | "stream" => {
                        reference.as_deref() == Some("new")
                            || !done && reference.as_deref() == Some("old")
                    }
                    "create" => created.as_deref() == Some("new") || !done && created.is_none(),
                    "delete" => reference.is_none() || !done && reference.as_deref() == Some("old"),
                    // In place: torn is allowed under a name that nothing refers to.
                    _ => !done || chunk.as_deref() == Some("new"),
                };
                assert!(
                    fine,
                    "{argument}: {heard} {reference:?} {created:?} {chunk:?}"
                );
                if done {
                    assert!(number > 5, "{operation} made only {number} calls");
                    break;
                }
            }
            // The files that the dead writer left are out of sight, and gone a day later.
            store.write("after", "x", PutMode::Create).await;
            let listed = store.keys().await;
            assert!(listed.iter().all(|at| !at.starts_with('.')), "{listed:?}");
            let clock = ManualClock::new(SystemClock.now() + Duration::from_secs(25 * 3600));
            let later = LocalStorage::builder(dir.path())
                .clock(Arc::new(clock))
                .open();
            later
                .expect("opened")
                .write("later", "x", PutMode::Create)
                .await;
            assert!(temporary(dir.path()).is_empty());
        });
    }
}
