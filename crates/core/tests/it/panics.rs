//! Part H of the fault catalogue: panics, and runtimes that go away.

use std::sync::Arc;
use std::time::Duration;

use icefield_core::test_suite::walk::assert_sound;
use icefield_core::test_suite::words::*;
use icefield_core::{ByteRange, CommitError, CommitOutcome, Session, SessionError};
use icefield_storage::Storage;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb, When};
use tokio::runtime::Runtime;

use crate::support::*;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a test can have a runtime")
}

/// A session with an edited array, on a store that can be told to fail.
async fn edited(name: &'static str) -> (Arc<dyn Storage>, FaultyStorage, Session) {
    let trial = trial(name);
    let (inner, repository) = trial.create().await;
    let nodes = [("/a", array(&[4], &[1]))];
    commit_edits(&repository, "base", &nodes, &[("/a", &[3], b"base")]).await;
    let (handle, storage) = faulty(&inner, Plan::none());
    let session = writer(&trial.open(&storage).await).await;
    write(&session, "/a", &[0], pattern(1, 1000)).await;
    (inner, handle, session)
}

async fn assert_committed_once(inner: &Arc<dyn Storage>) {
    let repository = trial("look").open(inner).await;
    let messages = messages(&repository, "main").await;
    assert_eq!(messages, ["edits", "base", "Repository initialized"]);
    holds(
        &read_main(&repository).await,
        "/a",
        &[0],
        Some(&pattern(1, 1000)),
    )
    .await;
    assert_sound(inner).await;
}

#[tokio::test]
async fn h106_a_panic_while_an_object_is_loaded_hangs_nobody() {
    let (_, handle, session) = edited("h106").await;
    let manifests = Matcher::verb(Verb::Get).below("manifests/");
    let gate = Gate::new();
    let slow: Arc<dyn Storage> = Arc::new(handle.clone().with_clock(Arc::new(gate.clone())));
    drop(session);
    let session = read_main(&trial("h106, again").open(&slow).await).await;
    handle.set_plan(Plan::none().on(manifests.clone(), 0, Decision::Panic).on(
        manifests,
        1,
        Decision::Delay(Duration::from_secs(1)),
    ));
    let readers: Vec<_> = (0..8)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { session.chunk(&path("/a"), &[3], ByteRange::All).await })
        })
        .collect();
    gate.reached().await;
    gate.pass();
    let mut panics = 0;
    for reader in readers {
        match reader.await {
            Ok(bytes) => is!(bytes, Ok(Some(bytes)) if bytes == "base"),
            Err(error) => {
                assert!(error.is_panic());
                panics += 1;
            }
        }
    }
    assert_eq!(panics, 1, "only the one that met it");
}

#[tokio::test]
async fn h106_a_cancelled_load_hangs_nobody() {
    let (_, handle, session) = edited("h106").await;
    let manifests = Matcher::verb(Verb::Get).below("manifests/");
    handle.set_plan(Plan::none().on(manifests, 0, Decision::Cancel(When::Before)));
    let first = {
        let session = session.clone();
        tokio::spawn(async move { session.chunk(&path("/a"), &[3], ByteRange::All).await })
    };
    tokio::task::yield_now().await;
    let second = {
        let session = session.clone();
        tokio::spawn(async move { session.chunk(&path("/a"), &[3], ByteRange::All).await })
    };
    tokio::task::yield_now().await;
    assert!(!second.is_finished(), "it waits for the first");
    first.abort();
    assert!(first.await.expect_err("it was dropped").is_cancelled());
    is!(second.await.expect("no panic"), Ok(Some(bytes)) if bytes == "base");
}

#[tokio::test]
async fn h106_a_failed_load_is_tried_again_by_the_next() {
    let (_, handle, session) = edited("h106").await;
    let manifests = Matcher::verb(Verb::Get).below("manifests/");
    handle.set_plan(Plan::none().on(manifests, 0, Decision::FailBefore));
    is!(
        session.chunk(&path("/a"), &[3], ByteRange::All).await,
        Err(SessionError::Fetch(_)),
    );
    holds(&session, "/a", &[3], Some(b"base")).await;
}

#[test]
fn h110_a_runtime_that_is_shut_down_leaves_the_session_usable() {
    let home = runtime();
    let (_, handle, session) = home.block_on(edited("h110"));
    home.block_on(async {
        is!(
            session.commit("edits").await,
            Ok(CommitOutcome::Committed(_))
        )
    });
    for k in 0..handle.operations() - 1 {
        let (inner, handle, session) = home.block_on(edited("h110"));
        handle.set_plan(Plan::cancel_at(k, When::After));
        let doomed = runtime();
        let committing = {
            let (session, handle) = (session.clone(), handle.clone());
            doomed.spawn(async move {
                // Ends at the operation that hangs, or with a commit.
                handle
                    .run_until_hung(async { session.commit("edits").await })
                    .await
            })
        };
        let hung = home.block_on(committing).expect("no panic");
        doomed.shutdown_background();
        if let Some(outcome) = hung {
            is!(outcome, Ok(CommitOutcome::Committed(_)));
            continue;
        }
        handle.set_plan(Plan::none());
        home.block_on(async {
            match session.commit("edits").await {
                Ok(CommitOutcome::Committed(_)) => {}
                Err(CommitError::Session(SessionError::Unresolved(_))) => {
                    is!(session.resolve().await, Ok(CommitOutcome::Committed(_)));
                }
                other => panic!("{k}: {other:?}"),
            }
            assert_committed_once(&inner).await;
        });
    }
}

#[test]
fn h110_a_task_that_dies_with_its_runtime_is_an_error_to_who_waits() {
    let home = runtime();
    let (inner, handle, session) = home.block_on(edited("h110"));
    let publish = Matcher::verb(Verb::Put).below("refs/");
    handle.set_plan(Plan::none().on(publish, 0, Decision::Cancel(When::Late)));
    let doomed = runtime();
    let committing = {
        let session = session.clone();
        doomed.spawn(async move { session.commit("edits").await })
    };
    home.block_on(async {
        while handle.pending() == 0 {
            tokio::task::yield_now().await;
        }
    });
    doomed.shutdown_background();
    let error = home.block_on(committing).expect_err("its runtime is gone");
    assert!(error.is_cancelled());
    home.block_on(async {
        is!(
            try_write(&session, "/a", &[1], "x").await,
            Err(SessionError::Unresolved(_)),
        );
        is!(session.resolve().await, Ok(CommitOutcome::Committed(_)));
        handle.deliver_pending().await;
        assert_committed_once(&inner).await;
    });
}

#[test]
fn h110_a_commit_inside_a_dead_runtime_is_a_typed_error() {
    let home = runtime();
    let (inner, _, session) = home.block_on(edited("h110"));
    home.block_on(async {
        // So many references that merging them is work for a thread of its own.
        set(&session, "/many", array(&[1200], &[1])).await;
        for index in 0..1200 {
            write(&session, "/many", &[index], "x").await;
        }
    });
    let dead = runtime();
    let handle = dead.handle().clone();
    dead.shutdown_background();
    let outcome = {
        let _inside = handle.enter();
        without_runtime(async { session.commit("edits").await })
    };
    is!(outcome, Err(CommitError::Session(SessionError::Aborted(_))));
    home.block_on(async {
        commit(&session, "edits").await;
        assert_committed_once(&inner).await;
    });
}

#[test]
fn h110_no_runtime_is_needed_on_a_store_that_needs_none() {
    let (inner, repository) = without_runtime(trial("h110").create());
    without_runtime(async {
        let nodes = [("/a", array(&[4], &[1]))];
        commit_edits(&repository, "base", &nodes, &[("/a", &[3], b"base")]).await;
        let session = writer(&repository).await;
        write(&session, "/a", &[0], pattern(1, 1000)).await;
        commit(&session, "edits").await;
        assert_committed_once(&inner).await;
    });
}
