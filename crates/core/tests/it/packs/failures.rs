//! Packs that the store does not take.

use futures::FutureExt;
use icefield_core::{CommitError, ForkError};
use icefield_storage::wrap::fault::When;

use super::*;

/// A repository on a store that does as it is told, and the store below.
async fn on_faulty(spec: SpecVersion) -> (FaultyStorage, Arc<dyn Storage>, Repository) {
    let inner = memory();
    let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
    let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
    let repository = repository(&storage, spec, packs(2000, 6000), 32).await;
    (faulty, inner, repository)
}

fn no_chunks(decision: Decision) -> Plan {
    Plan::none().always(Matcher::verb(Verb::Put).below("chunks/"), decision)
}

/// Returns the chunks of `/a` that an error names.
fn named(error: &SessionError) -> Vec<u32> {
    let SessionError::ChunksNotStored { chunks, key, .. } = error else {
        panic!("{error:?}")
    };
    let said = error.to_string();
    assert!(
        said.contains(key.as_str()) && said.contains("of /a"),
        "{said}"
    );
    assert!(chunks.iter().all(|(at, _)| at.as_str() == "/a"));
    chunks.iter().map(|(_, index)| index[0]).collect()
}

async fn write_five(session: &Session) {
    for i in 0..5 {
        write(session, "/a", &[i], pattern(i.into(), 900)).await;
    }
}

async fn five_are_there(inner: &Arc<dyn Storage>) {
    let session = reopened(inner).await;
    for i in 0..5 {
        holds(&session, "/a", &[i], Some(&pattern(i.into(), 900))).await;
    }
    assert_eq!(chunk_objects(inner).await.len(), 3, "none is stored twice");
}

#[tokio::test]
async fn a_commit_names_the_chunks_that_could_not_be_stored_and_can_be_tried_again() {
    for spec in VERSIONS {
        let (faulty, inner, repository) = on_faulty(spec).await;
        let session = writer(&repository).await;
        faulty.set_plan(no_chunks(Decision::FailBefore));
        write_five(&session).await;
        for _ in 0..2 {
            match session.commit("five").await {
                Err(CommitError::Session(error)) => assert_eq!(named(&error), [0, 1, 2, 3, 4]),
                other => panic!("{other:?}"),
            }
            // They are read from memory meanwhile.
            is_read(&session, 2, &pattern(2, 900)).await;
        }
        faulty.set_plan(Plan::none());
        commit(&session, "five").await;
        five_are_there(&inner).await;
    }
}

/// A put that was stored and failed to say so is found by a look, or by the next put of the same bytes.
#[tokio::test]
async fn a_pack_whose_answer_was_lost_is_stored_once() {
    for spec in VERSIONS {
        for looks in [true, false] {
            let (faulty, inner, repository) = on_faulty(spec).await;
            let session = writer(&repository).await;
            let mut plan = no_chunks(Decision::FailAfter);
            if !looks {
                let gets = Matcher::verb(Verb::Get).below("chunks/");
                plan = plan.always(gets, Decision::FailBefore);
            }
            faulty.set_plan(plan);
            write_five(&session).await;
            let committed = session.commit("five").await;
            assert_eq!(committed.is_ok(), looks, "{committed:?}");
            faulty.set_plan(Plan::none());
            if !looks {
                commit(&session, "five").await;
            }
            five_are_there(&inner).await;
        }
    }
}

#[tokio::test]
async fn a_flush_and_a_fork_that_is_sent_name_them_too() {
    for spec in VERSIONS {
        let (faulty, inner, repository) = on_faulty(spec).await;
        let session = writer(&repository).await;
        let fork = session.fork().expect("open");
        write_five(&fork).await;
        faulty.set_plan(no_chunks(Decision::FailBefore));
        for error in [fork.to_bytes().await, fork.to_answer().await].map(Result::unwrap_err) {
            match error {
                ForkError::Session(error) => assert_eq!(named(&error), [0, 1, 2, 3, 4]),
                other => panic!("{other:?}"),
            }
        }
        match fork.flush("flushed").await {
            Err(CommitError::Session(error)) => assert_eq!(named(&error), [0, 1, 2, 3, 4]),
            other => panic!("{other:?}"),
        }
        faulty.set_plan(Plan::none());
        let bytes = fork.to_bytes().await.expect("sent");
        let session = repository.open_fork(&bytes).await.expect("a fork");
        holds(&session, "/a", &[4], Some(&pattern(4, 900))).await;
        assert_eq!(chunk_objects(&inner).await.len(), 3);
    }
}

#[tokio::test]
async fn a_write_without_room_fails_and_changes_nothing() {
    let (faulty, inner, repository) = on_faulty(SpecVersion::V1).await;
    let session = writer(&repository).await;
    faulty.set_plan(no_chunks(Decision::FailBefore));
    for i in 0..6 {
        write(&session, "/a", &[i], pattern(i.into(), 900)).await;
    }
    let refused = try_write(&session, "/a", &[6], pattern(6, 900)).await;
    assert_eq!(named(&refused.expect_err("no room")), [0, 1, 2, 3, 4, 5]);
    holds(&session, "/a", &[6], None).await;
    assert!(session.buffered_bytes() <= 6000);
    faulty.set_plan(Plan::none());
    write(&session, "/a", &[6], pattern(6, 900)).await;
    commit(&session, "seven").await;
    let session = reopened(&inner).await;
    for i in 0..7 {
        holds(&session, "/a", &[i], Some(&pattern(i.into(), 900))).await;
    }
}

/// A commit that waits for a pack is given up.
#[tokio::test]
async fn a_commit_that_is_dropped_while_it_waits_for_a_pack_leaves_the_session_usable() {
    for when in [When::Before, When::After, When::Late] {
        let (faulty, _, repository) = on_faulty(SpecVersion::V1).await;
        let session = writer(&repository).await;
        write(&session, "/a", &[0], pattern(0, 900)).await;
        faulty.set_plan(no_chunks(Decision::Cancel(when)));
        let committing = async { session.commit("one").await.map(drop) };
        assert!(faulty.run_until_hung(committing).await.is_none());
        faulty.set_plan(Plan::none());
        write(&session, "/a", &[1], pattern(1, 900)).await;
        for i in 0..2 {
            is_read(&session, i, &pattern(i.into(), 900)).await;
        }
    }
}

#[tokio::test]
async fn a_panic_in_an_upload_is_an_error_and_no_end() {
    let (faulty, inner, repository) = on_faulty(SpecVersion::V1).await;
    let session = writer(&repository).await;
    write_five(&session).await;
    session.store_packs().await.expect("stored");
    write(&session, "/a", &[5], pattern(5, 900)).await;
    faulty.set_plan(no_chunks(Decision::Panic));
    match session.commit("six").await {
        Err(CommitError::Session(error)) => assert_eq!(named(&error), [5]),
        other => panic!("{other:?}"),
    }
    faulty.set_plan(Plan::none());
    commit(&session, "six").await;
    holds(&reopened(&inner).await, "/a", &[5], Some(&pattern(5, 900))).await;
}

/// The pack of a commit fails, and before the commit goes on, a fork that shares the packs sends it again.
#[tokio::test]
async fn a_commit_waits_for_a_pack_that_a_fork_sends_again() {
    for spec in VERSIONS {
        let inner = memory();
        let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let gate = Gate::new();
        let delay = no_chunks(Decision::Delay(Duration::from_secs(1)));
        let slow = FaultyStorage::new(Arc::new(faulty.clone()), delay);
        let slow: Arc<dyn Storage> = Arc::new(slow.with_clock(Arc::new(gate.clone())));
        let repository = repository(&slow, spec, packs(2000, 6000), 32).await;
        let session = writer(&repository).await;
        write(&session, "/a", &[0], pattern(0, 900)).await;
        let fork = session.fork().expect("open");
        faulty.set_plan(no_chunks(Decision::FailBefore));
        let mut committing = session.commit("one").into_future();
        while gate.waiting.available_permits() == 0 {
            assert!((&mut committing).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        gate.reached().await;
        gate.pass();
        // The runtime drives the upload to its failure; the commit is not polled.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let mut again = std::pin::pin!(fork.store_packs());
        assert!(again.as_mut().now_or_never().is_none());
        for _ in 0..100 {
            assert!((&mut committing).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        holds(&reopened(&inner).await, "/a", &[0], None).await;
        faulty.set_plan(Plan::none());
        gate.pass();
        again.await.expect("stored");
        is!(
            committing.await,
            Ok(icefield_core::CommitOutcome::Committed(_))
        );
        holds(&reopened(&inner).await, "/a", &[0], Some(&pattern(0, 900))).await;
    }
}

/// Chunks that were given up, and those of forks, do not hold a commit back.
#[tokio::test]
async fn a_commit_asks_for_the_packs_alone_that_it_refers_to() {
    for spec in VERSIONS {
        let (faulty, inner, repository) = on_faulty(spec).await;
        let session = writer(&repository).await;
        let fork = session.fork().expect("open");
        faulty.set_plan(no_chunks(Decision::FailBefore));
        write_five(&session).await;
        assert!(session.commit("five").await.is_err());
        session.discard_changes().expect("open");
        assert_eq!(session.buffered_bytes(), 0, "nothing refers to them");
        write(&fork, "/a", &[7], pattern(7, 900)).await;
        assert!(fork.store_packs().await.is_err());
        set(&session, "/b", array(&[4], &[1])).await;
        commit(&session, "an array").await;
        assert_eq!(chunk_objects(&inner).await.len(), 0);
        is_read(&fork, 7, &pattern(7, 900)).await;
        assert!(fork.to_bytes().await.is_err());
        faulty.set_plan(Plan::none());
        fork.to_bytes().await.expect("sent");
        assert_eq!(chunk_objects(&inner).await.len(), 1);
    }
}

/// Commits, forks that are sent and writes race each other to a store that takes about every second pack: what a commit says is
/// there, is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_is_whole_whatever_becomes_of_packs_beside_it() {
    for seed in 0..20 {
        let inner = memory();
        let mut plan = Plan::none();
        for nth in (0..64).filter(|nth| (nth * 7 + seed) % 3 != 0) {
            let puts = Matcher::verb(Verb::Put).below("chunks/");
            plan = plan.on(puts, nth, Decision::FailBefore);
        }
        let faulty = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let storage: Arc<dyn Storage> = Arc::new(faulty.clone());
        let repository = repository(&storage, SpecVersion::V2, packs(2000, 6000), 64).await;
        let session = writer(&repository).await;
        let fork = session.fork().expect("open");
        faulty.set_plan(plan);
        let beside = tokio::spawn(async move {
            for i in 32..48 {
                let _ = try_write(&fork, "/a", &[i], pattern(i.into(), 900)).await;
                let _ = fork.to_bytes().await;
            }
        });
        let mut written = Vec::new();
        for i in 0..16 {
            if try_write(&session, "/a", &[i], pattern(i.into(), 900))
                .await
                .is_ok()
            {
                written.push(i);
            }
        }
        let mut tries = 0;
        while session.commit("racing").await.is_err() {
            tries += 1;
            assert!(tries < 100, "the store takes all after a while");
            tokio::task::yield_now().await;
        }
        let there = reopened(&inner).await;
        for i in written {
            holds(&there, "/a", &[i], Some(&pattern(i.into(), 900))).await;
        }
        beside.await.expect("no panic");
    }
}
