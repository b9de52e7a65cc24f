//! Packs of sessions and their forks.

use icefield_core::{MergeOutcome, VersionSelection};

use super::*;
use crate::support::without_runtime;

async fn merge(session: &Session, forks: &[&Session]) {
    let merged = session
        .merge_forks(forks.iter().copied(), VersionSelection::Fail)
        .await;
    assert_eq!(merged.expect("mergeable"), MergeOutcome::Merged);
}

#[tokio::test]
async fn forks_read_what_is_not_stored_and_share_packs() {
    for spec in VERSIONS {
        let storage = memory();
        let repository = repository(&storage, spec, packs(1 << 20, 4 << 20), 16).await;
        let session = writer(&repository).await;
        write(&session, "/a", &[0], pattern(0, 600)).await;
        let (one, two) = (session.fork().expect("open"), session.fork().expect("open"));
        for (fork, i) in [(&one, 1), (&two, 2)] {
            is_read(fork, 0, &pattern(0, 600)).await;
            write(fork, "/a", &[i], pattern(i.into(), 700)).await;
        }
        // Chunks that a fork overwrites or discards stay for the others.
        write(&one, "/a", &[0], pattern(9, 600)).await;
        one.discard_changes().expect("open");
        write(&one, "/a", &[1], pattern(1, 700)).await;
        is_read(&session, 0, &pattern(0, 600)).await;
        merge(&session, &[&one, &two]).await;
        // After a merge, both have the chunk.
        write(&two, "/a", &[2], pattern(99, 700)).await;
        is_read(&session, 2, &pattern(2, 700)).await;
        drop((one, two));
        commit(&session, "all").await;
        assert_eq!(chunk_objects(&storage).await.len(), 1);
        let session = reopened(&storage).await;
        for (i, length) in [(0, 600), (1, 700), (2, 700)] {
            holds(&session, "/a", &[i], Some(&pattern(i.into(), length))).await;
        }
    }
}

#[tokio::test]
async fn forks_that_are_sent_are_stored_before() {
    for spec in VERSIONS {
        let storage = memory();
        let repository = repository(&storage, spec, packs(1 << 20, 4 << 20), 16).await;
        let session = writer(&repository).await;
        write(&session, "/a", &[0], pattern(0, 600)).await;
        let fork = session.fork().expect("open");
        write(&fork, "/a", &[1], pattern(1, 600)).await;
        let sent = fork.to_bytes().await.expect("a fork");
        assert_eq!(chunk_objects(&storage).await.len(), 1);
        // In another process.
        let elsewhere = Repository::open(Arc::clone(&storage))
            .await
            .expect("opened");
        let worker = elsewhere
            .open_fork(&sent)
            .await
            .expect("of this repository");
        for i in 0..2 {
            holds(&worker, "/a", &[i], Some(&pattern(i.into(), 600))).await;
        }
        write(&worker, "/a", &[2], pattern(2, 600)).await;
        let answer = worker.to_answer().await.expect("a fork");
        let merged = session.merge_forks([&answer], VersionSelection::Fail).await;
        assert_eq!(merged.expect("mergeable"), MergeOutcome::Merged);
        commit(&session, "all").await;
        let session = reopened(&storage).await;
        for i in [0, 1, 2] {
            holds(&session, "/a", &[i], Some(&pattern(i.into(), 600))).await;
        }
    }
}

/// A fork that was opened here has packs of its own, which are stored when it is merged.
#[tokio::test]
async fn a_fork_of_another_handle_is_stored_when_it_is_merged() {
    let storage = memory();
    let repository = repository(&storage, SpecVersion::V1, packs(1 << 20, 4 << 20), 16).await;
    let session = writer(&repository).await;
    let sent = session
        .fork()
        .expect("open")
        .to_bytes()
        .await
        .expect("a fork");
    let other = Repository::builder(Arc::clone(&storage))
        .settings(Settings::default().with_packs(packs(1 << 20, 4 << 20)))
        .open()
        .await
        .expect("opened");
    let fork = other.open_fork(&sent).await.expect("of this repository");
    write(&fork, "/a", &[1], pattern(1, 600)).await;
    assert_eq!(
        (fork.buffered_bytes(), chunk_objects(&storage).await.len()),
        (600, 0)
    );
    merge(&session, &[&fork]).await;
    drop((fork, other));
    is_read(&session, 1, &pattern(1, 600)).await;
    commit(&session, "merged").await;
    holds(
        &reopened(&storage).await,
        "/a",
        &[1],
        Some(&pattern(1, 600)),
    )
    .await;
}

/// A chunk is overwritten while a merge compares it with the same chunk of a fork.
#[tokio::test]
async fn what_is_written_during_a_merge_is_not_lost() {
    // Of equal chunks the one with the lower id stays, and ids are random.
    for spec in [VERSIONS; 8].concat() {
        let inner = memory();
        let gate = Gate::new();
        let slow = FaultyStorage::new(Arc::clone(&inner), Plan::none());
        let slow = slow.with_clock(Arc::new(gate.clone()));
        let storage: Arc<dyn Storage> = Arc::new(slow.clone());
        let repository = repository(&storage, spec, packs(1 << 20, 4 << 20), 16).await;
        let session = writer(&repository).await;
        let sent = session.fork().expect("open").to_bytes().await;
        let elsewhere = Repository::open(Arc::clone(&inner)).await.expect("opened");
        let worker = elsewhere.open_fork(&sent.expect("a fork")).await;
        let worker = worker.expect("of this repository");
        write(&worker, "/a", &[0], pattern(0, 600)).await;
        let answer = worker.to_answer().await.expect("a fork");
        // The pack that the fork saw is closed.
        write(&session, "/a", &[1], pattern(1, 600)).await;
        session.store_packs().await.expect("stored");
        write(&session, "/a", &[0], pattern(0, 600)).await;
        slow.set_plan(Plan::none().always(
            Matcher::verb(Verb::Get).below("chunks/"),
            Decision::Delay(Duration::from_secs(1)),
        ));
        let (merging, answer) = (session.clone(), answer.clone());
        let merging =
            tokio::spawn(
                async move { merging.merge_forks([&answer], VersionSelection::Fail).await },
            );
        gate.reached().await;
        write(&session, "/a", &[0], pattern(9, 600)).await;
        for _ in 0..10 {
            gate.pass();
        }
        let merged = merging.await.expect("no panic").expect("mergeable");
        // A conflict if the fork's is the one that stays: then both sides changed it.
        is!(merged, MergeOutcome::Conflicts(_) | MergeOutcome::Merged);
        is_read(&session, 0, &pattern(9, 600)).await;
    }
}

#[test]
fn packs_need_no_runtime() {
    let storage = memory();
    without_runtime(async {
        let repository = repository(&storage, SpecVersion::V1, packs(2000, 4000), 16).await;
        let session = writer(&repository).await;
        for i in 0..16 {
            write(&session, "/a", &[i], pattern(i.into(), 900)).await;
        }
        commit(&session, "chunks").await;
        let session = reopened(&storage).await;
        for i in 0..16 {
            holds(&session, "/a", &[i], Some(&pattern(i.into(), 900))).await;
        }
    });
}
