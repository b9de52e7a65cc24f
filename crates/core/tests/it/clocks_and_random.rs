//! Part H of the fault catalogue: random numbers that repeat, clocks that jump.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::test_suite::Trial;
use icefield_core::test_suite::walk::assert_sound;
use icefield_core::test_suite::words::*;
use icefield_core::{
    CommitError, CommitOutcome, Entropy, ManualClock, Repository, SessionError, SnapshotId,
};
use icefield_format::FormatError;
use icefield_storage::Storage;
use icefield_testkit::stores;

use crate::support::*;

/// A generator that is stuck.
#[derive(Debug)]
struct Stuck;

impl Entropy for Stuck {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.fill(0x42);
    }

    fn derive(&self) -> Arc<dyn Entropy> {
        Arc::new(Self)
    }
}

#[tokio::test]
async fn h112_a_stuck_generator_overwrites_nothing() {
    let storage = memory();
    let builder = Repository::builder(Arc::clone(&storage)).entropy(Arc::new(Stuck));
    let repository = builder.create().await.expect("created");
    let session = writer(&repository).await;
    set(&session, "/a", array(&[4], &[1])).await;
    write(&session, "/a", &[0], pattern(1, 1000)).await;
    is!(
        try_write(&session, "/a", &[1], pattern(2, 1000)).await,
        Err(SessionError::IdCollision { .. }),
    );
    let first = commit(&session, "one").await;
    let before = stores::dump(&storage).await;

    // The next commit draws the ids of the first one again.
    let session = writer(&repository).await;
    write(&session, "/a", &[2], "inline").await;
    is!(
        session.commit("two").await,
        Err(CommitError::Format(FormatError::OwnParent { .. })),
    );
    let after = stores::dump(&storage).await;
    for (key, bytes) in before {
        assert!(after.get(&key) == Some(&bytes), "{key} changed");
    }
    assert_eq!(tip(&repository, "main").await, first);
    assert_sound(&storage).await;
}

/// A generator that begins again with each process.
async fn again(storage: &Arc<dyn Storage>) -> Repository {
    let entropy = Arc::new(icefield_core::SeededEntropy::new(3));
    let builder = Repository::builder(Arc::clone(storage)).entropy(entropy);
    builder.open().await.expect("opened")
}

#[tokio::test]
async fn h112_ids_that_come_again_in_a_later_process_are_refused() {
    let (storage, _) = trial("h112").create().await;
    let nodes = [("/a", array(&[4], &[1]))];
    let one = commit_edits(&again(&storage).await, "one", &nodes, &[("/a", &[0], b"1")]).await;
    // The first id drawn is that of a node, in both processes.
    let session = writer(&again(&storage).await).await;
    set(&session, "/b", group()).await;
    is!(
        session.commit("two").await,
        Err(CommitError::Format(FormatError::DuplicateNodeId { .. })),
    );
    let repository = trial("h112, look").open(&storage).await;
    assert_eq!(tip(&repository, "main").await, one);
    assert_sound(&storage).await;
}

#[tokio::test]
async fn h112_two_nodes_of_one_id_are_refused() {
    let storage = memory();
    let builder = Repository::builder(Arc::clone(&storage)).entropy(Arc::new(Stuck));
    let repository = builder.create().await.expect("created");
    let session = writer(&repository).await;
    set(&session, "/a", group()).await;
    set(&session, "/b", group()).await;
    is!(
        session.commit("one").await,
        Err(CommitError::Format(FormatError::DuplicateNodeId { .. })),
    );
    assert_eq!(tip(&repository, "main").await, SnapshotId::INITIAL);
}

#[tokio::test]
async fn h112_a_process_and_its_twin_do_not_harm_each_other() {
    let trial = trial("h112");
    let (storage, _) = trial.create().await;
    let clock = ManualClock::new(Trial::start());
    let twin = || async {
        let entropy = Arc::new(icefield_core::SeededEntropy::new(9));
        let builder = Repository::builder(Arc::clone(&storage)).entropy(entropy);
        builder
            .clock(Arc::new(clock.clone()))
            .open()
            .await
            .expect("opened")
    };
    let (one, two, three) = (
        writer(&twin().await).await,
        writer(&twin().await).await,
        writer(&twin().await).await,
    );
    for session in [&one, &two, &three] {
        set(session, "/a", group()).await;
    }
    let first = commit(&one, "the same").await;
    // To the last byte the same commit: it is there, and it is there once.
    is!(
        two.commit("the same").await,
        Ok(CommitOutcome::BranchMoved { found, .. }) if found == Some(first),
    );
    // Another commit under the same id.
    is!(
        three.commit("another").await,
        Err(CommitError::Session(SessionError::IdCollision { .. })),
    );
    let repository = trial.open(&storage).await;
    assert_eq!(
        messages(&repository, "main").await,
        ["the same", "Repository initialized"]
    );
    assert_sound(&storage).await;
}

#[tokio::test]
async fn h111_a_clock_set_back_between_processes_keeps_times_rising() {
    let storage = memory();
    let times = [1_000_000, 10, 2_000_000, 0];
    let mut messages = Vec::new();
    for (i, seconds) in times.into_iter().enumerate() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let builder = Repository::builder(Arc::clone(&storage));
        let clock = Arc::new(ManualClock::new(now));
        let repository = builder.clock(clock).open_or_create().await.expect("opened");
        let at = format!("/g{i}");
        messages.push(commit_edits(&repository, &at, &[(&at, group())], &[]).await);
    }
    assert_sound(&storage).await;
    let repository = trial("h111").open(&storage).await;
    let last = history(&repository, messages[3]).await;
    assert_eq!(last.len(), 5);
    assert!(last.is_sorted_by(|newer, older| newer.written_at > older.written_at));
}

#[tokio::test]
async fn h111_a_clock_of_the_far_future_is_recorded() {
    let trial = trial("h111");
    let (storage, repository) = trial.create().await;
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(200_000_000_000);
    trial.clock().set(far);
    commit_edits(&repository, "far", &[("/a", group())], &[]).await;
    trial.clock().set(Trial::start());
    commit_edits(&repository, "home", &[("/b", group())], &[]).await;
    let repository = trial.open(&storage).await;
    let times = history(&repository, tip(&repository, "main").await).await;
    assert_eq!(times[1].written_at, far);
    assert_eq!(times[0].written_at, far + Duration::from_micros(1));
    assert_sound(&storage).await;
}
