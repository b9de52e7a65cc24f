//! Cases 66 and 73: several processes on one directory, and one with few descriptors.

use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, StreamExt};
use icefield_storage::{ObjectClass, PutMode, PutOutcome, Storage, StorageExt};
use tempfile::TempDir;

use super::kit::{REF, Speak, key, open, run, temporary, written};
use super::processes::{Child, command, listen, say, stay};
use crate::lock::KeyLock;
use crate::{Fsync, LocalStorage};

pub(super) async fn create(root: &Path, argument: &str) {
    let class = match argument.contains("chunk") {
        true => ObjectClass::Chunk,
        false => ObjectClass::Metadata,
    };
    let store = open(root);
    say("ready");
    listen();
    let text = Bytes::copy_from_slice(argument.as_bytes());
    match store
        .try_put("a/b", text, PutMode::Create, class)
        .await
        .expect("answered")
    {
        PutOutcome::Written(_) => say("won"),
        PutOutcome::Refused => say("lost"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn e66_of_sixteen_processes_that_create_one_key_one_wins() {
    for class in ["metadata", "chunk"] {
        let dir = TempDir::new().expect("a temporary directory");
        // Also the directories and the hidden directory are made in the race.
        let root = dir.path().join("root");
        let mut children: Vec<_> = (0..16)
            .map(|i| Child::role("create", &root, &format!("{class} {i}")))
            .collect();
        for child in &mut children {
            assert_eq!(child.hears(), "ready");
        }
        for child in &mut children {
            child.tell("go");
        }
        let winners: Vec<_> = (0..16).filter(|i| children[*i].hears() == "won").collect();
        assert_eq!(winners.len(), 1, "{class}: {winners:?}");
        children.into_iter().for_each(Child::ends_well);
        let there = run(open(&root).text("a/b"));
        assert_eq!(there, Some(format!("{class} {}", winners[0])));
        assert!(temporary(&root).is_empty());
    }
}

pub(super) async fn count(root: &Path, argument: &str) {
    let store = open(root);
    say("ready");
    listen();
    for _ in 0..argument.parse::<u32>().expect("a number") {
        loop {
            let (bytes, version) = store
                .try_read(&key(REF))
                .await
                .expect("read")
                .expect("there");
            let number: u32 = std::str::from_utf8(&bytes)
                .expect("text")
                .parse()
                .expect("a number");
            let (next, mode) = ((number + 1).to_string(), PutMode::Update(version));
            match store
                .try_put(REF, next, mode, ObjectClass::Metadata)
                .await
                .expect("answered")
            {
                PutOutcome::Written(_) => break,
                PutOutcome::Refused => {}
                other => panic!("{other:?}"),
            }
        }
    }
    say("done");
}

#[test]
fn e66_four_processes_count_together_without_losing_one() {
    let dir = TempDir::new().expect("a temporary directory");
    run(open(dir.path()).write(REF, "0", PutMode::Create));
    let mut children: Vec<_> = (0..4)
        .map(|_| Child::role("count", dir.path(), "100"))
        .collect();
    for child in &mut children {
        assert_eq!(child.hears(), "ready");
    }
    for child in &mut children {
        child.tell("go");
    }
    for child in &mut children {
        assert_eq!(child.hears(), "done");
    }
    children.into_iter().for_each(Child::ends_well);
    assert_eq!(run(open(dir.path()).text(REF)).as_deref(), Some("400"));
}

pub(super) fn hold(root: &Path) {
    let store = open(root);
    let folder = std::fs::File::open(root).expect("there");
    let _lock = KeyLock::acquire(&store.0, &key(REF), folder.as_fd()).expect("locked");
    say("held");
    stay();
}

#[test]
fn e66_a_lock_dies_with_its_owner() {
    let dir = TempDir::new().expect("a temporary directory");
    run(async {
        let store = open(dir.path());
        let mut version = store.write(REF, "0", PutMode::Create).await;
        for round in 0..5 {
            let mut holder = Child::role("hold", dir.path(), "");
            assert_eq!(holder.hears(), "held");
            // Readers do not care.
            assert!(store.text(REF).await.is_some());
            assert_eq!(store.keys().await, [REF]);
            let bytes = Bytes::from(round.to_string());
            let mode = PutMode::Update(version.clone());
            let update = store.try_put(REF, bytes, mode, ObjectClass::Metadata);
            futures::pin_mut!(update);
            for _ in 0..100 {
                assert!(
                    futures::poll!(&mut update).is_pending(),
                    "the lock excludes no other writer"
                );
                tokio::task::yield_now().await;
            }
            // A reader that comes while a writer of this process waits.
            assert!(store.text(REF).await.is_some());
            holder.kill();
            let outcome = tokio::time::timeout(Duration::from_secs(60), update).await;
            version = written(outcome.expect("not stuck").expect("answered"));
        }
    });
}

pub(super) async fn few_files(root: &Path) {
    let store = LocalStorage::builder(root)
        .fsync(Fsync::Commit)
        .open()
        .expect("opened");
    let chunks = (0..300).map(|i| {
        let store = store.clone();
        async move { store.chunk(&format!("chunks/{i}"), vec![b'x'; 100]).await }
    });
    futures::future::join_all(chunks).await;
    let objects = (0..100).map(|i| {
        let store = store.clone();
        async move {
            store
                .write(&format!("o/{i}/p"), "x", PutMode::Overwrite)
                .await
        }
    });
    futures::future::join_all(objects).await;
    store.sync().await.expect("flushed");
    let reads = (0..300).map(|i| {
        let store = store.clone();
        async move {
            store
                .text(&format!("chunks/{i}"))
                .await
                .expect("there")
                .len()
        }
    });
    let read: usize = futures::future::join_all(reads).await.into_iter().sum();
    assert_eq!(read, 30_000);
    let lists = futures::future::join_all((0..10).map(|_| store.keys())).await;
    assert!(lists.iter().all(|list| list.len() == 400));
    let deletions = (0..300).map(|i| key(&format!("chunks/{i}")).into());
    let deleted: Vec<_> = store
        .delete(stream::iter(deletions).boxed())
        .collect()
        .await;
    assert!(
        deleted.iter().all(|(_, result)| result.is_ok()),
        "{deleted:?}"
    );
    say("done");
}

#[test]
fn e73_sixty_four_descriptors_are_enough() {
    let dir = TempDir::new().expect("a temporary directory");
    let program = std::env::current_exe().expect("known");
    let inner = command(&program, "few files", dir.path(), "");
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""])
        .arg(inner.get_program());
    shell.args(inner.get_args());
    for (name, value) in inner.get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    let mut child = Child::start(shell);
    assert_eq!(child.hears(), "done");
    child.ends_well();
}
