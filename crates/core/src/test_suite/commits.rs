//! Commits: their outcomes, races, and the session afterwards.

mod races;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::FutureExt;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage::{Clock, Storage};
use serde_json::json;
use tokio::sync::Semaphore;

pub(super) use races::*;

use super::Trial;
use super::words::*;
use crate::{CommitError, CommitOutcome, SessionError, SnapshotId};

pub(super) async fn what_is_committed_is_read_back(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    let (inline, native) = (pattern(1, 10), pattern(2, 1000));
    set(&session, "/", group()).await;
    set(&session, "/a", array(&[4, 4], &[2, 2])).await;
    write(&session, "/a", &[0, 1], inline.clone()).await;
    write(&session, "/a", &[1, 1], native.clone()).await;
    let first = commit(&session, "first").await;
    is!(session.snapshot_id(), Ok(id) if id == first);
    is!(session.has_changes(), Ok(false));
    assert_eq!(tip(&repository, "main").await, first);
    let again = trial.open(&storage).await;
    for session in [
        session,
        read_main(&again).await,
        reader(&again, first).await,
    ] {
        assert_eq!(paths(&session, "/"), ["/", "/a"]);
        holds(&session, "/a", &[0, 1], Some(&inline)).await;
        holds(&session, "/a", &[1, 1], Some(&native)).await;
        holds(&session, "/a", &[0, 0], None).await;
    }
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn message_and_metadata_come_back(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let message = "zwei\nZeilen, „schön“ \u{1F9CA}";
    let session = writer(&repository).await;
    set(&session, "/a", group()).await;
    let nested = json!({"list": [1, -1, 2.5, null, true, "é"], "": {}, "big": u64::MAX});
    let outcome = session
        .commit(message)
        .metadata("author", "first author")
        .metadata("nested", nested.clone())
        .metadata("author", "second author")
        .await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    let repository = trial.open(&storage).await;
    let info = &history(&repository, tip(&repository, "main").await).await[0];
    assert_eq!(info.message, message);
    assert_eq!(info.metadata.len(), 2);
    assert_eq!(info.metadata["author"], "second author");
    assert_eq!(info.metadata["nested"], nested);
}

pub(super) async fn a15_an_empty_commit_is_refused_unless_allowed(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let before = keys(&storage).await;
    let session = writer(&repository).await;
    is!(
        session.commit("empty").await,
        Err(CommitError::NothingToCommit)
    );
    assert_eq!(keys(&storage).await, before, "nothing was written");
    set(&session, "/brief", group()).await;
    is!(session.delete_node(&path("/brief")).await, Ok(true));
    is!(
        session.commit("empty").await,
        Err(CommitError::NothingToCommit)
    );
    let outcome = session.commit("empty on purpose").allow_empty().await;
    is!(outcome, Ok(CommitOutcome::Committed(_)));
    assert_eq!(messages(&repository, "main").await[0], "empty on purpose");
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn a15_a_session_is_committed_once(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", group()).await;
    let clone = session.clone();
    let id = commit(&session, "one").await;
    for session in [session, clone] {
        for commit in [session.commit("two"), session.commit("two").allow_empty()] {
            is!(
                commit.await,
                Err(CommitError::Session(SessionError::Committed(found))) if found == id,
            );
        }
        is!(session.resolve().await, Ok(CommitOutcome::Committed(found)) if found == id);
    }
    assert_eq!(messages(&repository, "main").await.len(), 2);
}

/// A clock whose sleepers wait until the test opens the gate.
#[derive(Debug)]
struct Gate(Arc<Semaphore>);

impl Clock for Gate {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> futures::future::BoxFuture<'static, ()> {
        let gate = Arc::clone(&self.0);
        async move {
            let _pass = gate.acquire().await;
        }
        .boxed()
    }
}

/// Returns the store with its writes of chunks waiting for the gate.
fn gated(storage: &Arc<dyn Storage>) -> (Arc<dyn Storage>, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let puts = Matcher::verb(Verb::Put).below("chunks/");
    let plan = Plan::none().always(puts, Decision::Delay(Duration::from_secs(1)));
    let clock = Arc::new(Gate(Arc::clone(&gate)));
    let slow = FaultyStorage::new(Arc::clone(storage), plan).with_clock(clock);
    (Arc::new(slow), gate)
}

pub(super) async fn writes_in_flight_belong_to_the_commit(trial: Trial) {
    let trial = trial.unpacked();
    let (storage, repository) = trial.create().await;
    commit_edits(&repository, "array", &[("/a", array(&[3], &[1]))], &[]).await;
    let (slow, gate) = gated(&storage);
    let session = writer(&trial.open(&slow).await).await;
    let chunk = pattern(1, 1000);
    let writing = {
        let (session, chunk) = (session.clone(), chunk.clone());
        tokio::spawn(async move { try_write(&session, "/a", &[0], chunk).await })
    };
    tokio::task::yield_now().await;
    let committing = {
        let session = session.clone();
        tokio::spawn(async move { session.commit("chunk").allow_empty().await })
    };
    tokio::task::yield_now().await;
    assert!(!committing.is_finished(), "the commit waits for the write");
    is!(
        try_write(&session, "/a", &[1], "late").await,
        Err(SessionError::CommitInProgress),
    );
    is!(
        session.delete_node(&path("/a")).await,
        Err(SessionError::CommitInProgress),
    );
    is!(
        session.commit("again").await,
        Err(CommitError::Session(SessionError::CommitInProgress)),
    );
    holds(&session, "/a", &[1], None).await;
    gate.add_permits(1);
    is!(writing.await.expect("no panic"), Ok(true));
    is!(
        committing.await.expect("no panic"),
        Ok(CommitOutcome::Committed(_))
    );
    let session = read_main(&trial.open(&storage).await).await;
    holds(&session, "/a", &[0], Some(&chunk)).await;
    holds(&session, "/a", &[1], None).await;
}

pub(super) async fn an_array_that_changes_under_a_write_refuses_it(trial: Trial) {
    let trial = trial.unpacked();
    let (storage, repository) = trial.create().await;
    commit_edits(&repository, "array", &[("/a", array(&[3], &[1]))], &[]).await;
    let (slow, gate) = gated(&storage);
    let repository = trial.open(&slow).await;
    for recreate in [false, true] {
        let session = writer(&repository).await;
        let writing = {
            let session = session.clone();
            tokio::spawn(async move { try_write(&session, "/a", &[2], pattern(1, 1000)).await })
        };
        tokio::task::yield_now().await;
        if recreate {
            is!(session.delete_node(&path("/a")).await, Ok(true));
        }
        set(&session, "/a", array(&[if recreate { 3 } else { 2 }], &[1])).await;
        gate.add_permits(1);
        is!(
            writing.await.expect("no panic"),
            Err(SessionError::ArrayChanged { path, index })
                if path.as_str() == "/a" && *index == [2],
        );
        holds(&session, "/a", &[2], None).await;
        gate.forget_permits(1);
    }
}

pub(super) async fn h111_times_rise_whatever_the_clock_does(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let day = Duration::from_secs(86_400);
    let start = Trial::start();
    let clocks = [
        start,
        start + day,
        start - day,
        SystemTime::UNIX_EPOCH,
        start + 2 * day,
    ];
    for (i, now) in clocks.into_iter().enumerate() {
        trial.clock().set(now);
        let at = format!("/g{i}");
        if !trial.is_v1() && now < start {
            // The times of the operations log would go on from one that the clock does not know.
            let session = writer(&repository).await;
            set(&session, &at, group()).await;
            let error = session.commit(&at).await;
            is!(
                error,
                Err(CommitError::Refs(icefield_refs::RefsError::LogAhead { .. })),
            );
            continue;
        }
        commit_edits(&repository, &at, &[(&at, group())], &[]).await;
    }
    let history = history(&repository, tip(&repository, "main").await).await;
    let times: Vec<SystemTime> = history.iter().rev().map(|info| info.written_at).collect();
    let tick = Duration::from_micros(1);
    if !trial.is_v1() {
        assert_eq!(times, [start, start + tick, start + day, start + 2 * day]);
        return;
    }
    assert_eq!(
        times,
        [
            start,
            start + tick,
            start + day,
            start + day + tick,
            start + day + 2 * tick,
            start + 2 * day,
        ]
    );
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn untouched_arrays_keep_their_manifests(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let document = || array(&[4], &[1]);
    let nodes = [("/a", document()), ("/b", document()), ("/c", document())];
    let chunks: &[Chunk<'_>] = &[("/a", &[0], b"a"), ("/b", &[0], b"b"), ("/c", &[0], b"c")];
    let one = commit_edits(&repository, "one", &nodes, chunks).await;
    let session = writer(&trial.open(&storage).await).await;
    write(&session, "/b", &[1], "new").await;
    set(
        &session,
        "/c",
        array_with(&[4], &[1], json!({"units": "m"})),
    )
    .await;
    set(&session, "/d", group()).await;
    let two = commit(&session, "two").await;
    let manifests = async |id: SnapshotId, at: &str| {
        let snapshot = repository.snapshot(id).await.expect("readable");
        let record = snapshot.node(&path(at)).expect("it is there");
        let array = record.array().expect("an array");
        array.manifests().map(|it| it.id()).collect::<Vec<_>>()
    };
    assert_eq!(manifests(one, "/a").await, manifests(two, "/a").await);
    assert_ne!(manifests(one, "/b").await, manifests(two, "/b").await);
    assert_eq!(manifests(one, "/c").await, manifests(two, "/c").await);
    super::walk::assert_sound(&storage).await;
}
