//! Forked sessions: over process boundaries, in any order, against each other.

use std::sync::Arc;

use icefield_core::{
    Conflict, ForkBlobError, ForkError, MergeOutcome, Repository, SeededEntropy, Session,
    SessionError, VersionSelection, WriteMode,
};
use icefield_storage::Storage;
use icefield_storage::wrap::CountingStorage;
use icefield_storage_memory::MemoryStorage;

use crate::edits::*;

const FAIL: VersionSelection = VersionSelection::Fail;

async fn merged(session: &Session, forks: &[&Session]) {
    let outcome = session.merge_forks(forks.iter().copied(), FAIL).await;
    assert_eq!(outcome.expect("mergeable"), MergeOutcome::Merged);
}

async fn conflicts(session: &Session, forks: &[&Session]) -> Vec<Conflict> {
    match session
        .merge_forks(forks.iter().copied(), FAIL)
        .await
        .expect("mergeable")
    {
        MergeOutcome::Conflicts(conflicts) => conflicts,
        MergeOutcome::Merged => panic!("nothing collided"),
    }
}

/// Sends a fork to another process and its result back.
async fn over_the_wire(repository: &Repository, fork: &Session) -> Session {
    let bytes = fork.to_bytes().await.expect("a fork");
    repository
        .open_fork(&bytes)
        .await
        .expect("of this repository")
}

#[tokio::test]
async fn a_fork_that_is_discarded_undoes_nothing_of_its_session() {
    let repository = start().await;
    let session = writer(&repository).await;
    let before = [
        Meta("/n", array(30, "")),
        Chunk("/n", 0, 50),
        Chunk("/b", 9, 9),
    ];
    apply(&session, &before).await;
    let edits = session.status().await.expect("sound");
    let fork = session.fork().expect("open");
    let sent = over_the_wire(&repository, &session.fork().expect("open")).await;
    for fork in [fork, sent] {
        apply(&fork, &[Chunk("/n", 0, 1), Chunk("/b", 4, 4)]).await;
        fork.discard_changes().expect("open");
        assert_eq!(fork.status().await.expect("sound"), edits);
        let answer = fork.to_answer().await.expect("a fork");
        merged(&session, &[&fork]).await;
        merged(&session, &[&session.open_answer(&answer).expect("ours")]).await;
        assert_eq!(session.status().await.expect("sound"), edits);
        // It goes on.
        apply(&fork, &[Chunk("/n", 7, 7)]).await;
        fork.discard_changes().expect("open");
    }
}

#[tokio::test]
async fn b27_forks_merge_in_any_order_and_grouping() {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(
        &session,
        &[
            Meta("/n", array(30, "")),
            Chunk("/n", 0, 50),
            Chunk("/b", 9, 9),
        ],
    )
    .await;
    let forks: Vec<Session> = (0..3).map(|_| session.fork().expect("open")).collect();
    for (number, fork) in (0u32..).zip(&forks) {
        let first = 3 + number * 2;
        let edits = [
            Chunk("/n", first, first as u8),
            Chunk("/b", number, number as u8 + 1),
            NoChunk("/g/a", number),
            // Alike in all forks.
            Meta("/m", group("{}")),
            Chunk("/n", 20, 20),
        ];
        apply(fork, &edits).await;
    }
    let mut trees = Vec::new();
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let all = session.fork().expect("open");
        let sent = [
            over_the_wire(&repository, &forks[order[0]]).await,
            over_the_wire(&repository, &forks[order[1]]).await,
            over_the_wire(&repository, &forks[order[2]]).await,
        ];
        // Two into one first, and that one together with the third.
        merged(&sent[1], &[&sent[2]]).await;
        merged(&all, &[&sent[0], &sent[1], &sent[0]]).await;
        trees.push(icefield_core::test_suite::view::tree(&all).await);
    }
    assert_eq!(trees[0], trees[1]);
    assert_eq!(trees[0], trees[2]);
    merged(&session, &[&forks[2], &forks[0]]).await;
    merged(&session, &[&forks[1]]).await;
    // A fork that was merged adds nothing more.
    merged(&session, &[&forks[2]]).await;
    assert_eq!(
        trees[0],
        icefield_core::test_suite::view::tree(&session).await
    );
    let session = committed(&repository, &session).await;
    for (index, value) in [(0, 50), (3, 3), (5, 5), (7, 7), (20, 20)] {
        assert_eq!(byte(&session, "/n", index).await, Some(value), "{index}");
    }
    for (index, value) in [(0, Some(1)), (2, Some(3)), (3, Some(100)), (9, Some(9))] {
        assert_eq!(byte(&session, "/b", index).await, value, "{index}");
    }
    assert_eq!(byte(&session, "/g/a", 1).await, None);
}

#[tokio::test]
async fn forks_that_wrote_one_chunk_differently_collide() {
    let repository = start().await;
    let session = writer(&repository).await;
    let (one, two) = (session.fork().expect("open"), session.fork().expect("open"));
    apply(&one, &[Chunk("/b", 1, 1), Chunk("/b", 2, 2)]).await;
    apply(&two, &[Chunk("/b", 1, 3), Chunk("/b", 2, 2)]).await;
    let found = conflicts(&session, &[&one, &two]).await;
    assert!(
        matches!(&found[..], [Conflict::ChunkDoubleUpdate { chunks, .. }] if chunks.len() == 1),
        "{found:?}"
    );
    assert!(!session.has_changes().expect("sound"), "nothing was merged");
    for (policy, value) in [
        (VersionSelection::UseOurs, 1),
        (VersionSelection::UseTheirs, 3),
    ] {
        let into = session.fork().expect("open");
        let outcome = into
            .merge_forks([&one, &two], policy)
            .await
            .expect("mergeable");
        assert_eq!(outcome, MergeOutcome::Merged);
        assert_eq!(byte(&into, "/b", 1).await, Some(value));
    }
}

#[tokio::test]
async fn what_forks_do_to_nodes_collides_where_it_differs() {
    let repository = start().await;
    let other = |length| array(length, r#","attributes":{"x":1,"y":1}"#);
    for (one, two, kind) in [
        (
            vec![Meta("/n", group("{}"))],
            vec![Meta("/n", group(r#"{"a":1}"#))],
            "NewNodeConflicts",
        ),
        (
            vec![Meta("/b", other(8))],
            vec![Meta("/b", other(7))],
            "ZarrMetadataDoubleUpdate",
        ),
        (
            vec![Delete("/b")],
            vec![Chunk("/b", 1, 1)],
            "Deleted|DeleteOf",
        ),
        (
            vec![Delete("/b")],
            vec![Meta("/b", other(8))],
            "Deleted|DeleteOf",
        ),
        (
            vec![Meta("/b", other(8))],
            vec![Chunk("/b", 9, 1)],
            "UpdatedChunks|UpdatedArray",
        ),
        (
            vec![Delete("/g")],
            vec![Meta("/g/n", group("{}"))],
            "NewNodeInDeletedGroup",
        ),
        (
            vec![Meta("/n", array(1, ""))],
            vec![Meta("/n/m", group("{}"))],
            "NewNodeInInvalidGroup",
        ),
    ] {
        for (first, second) in [(&one, &two), (&two, &one)] {
            let session = writer(&repository).await;
            let forks = (session.fork().expect("open"), session.fork().expect("open"));
            apply(&forks.0, first).await;
            apply(&forks.1, second).await;
            let found = format!("{:?}", conflicts(&session, &[&forks.0, &forks.1]).await);
            assert!(
                kind.split('|').any(|kind| found.contains(kind)),
                "{first:?}, {second:?}: {found}"
            );
        }
    }
    // Compatible edits.
    for (one, two) in [
        (vec![Meta("/b", other(8))], vec![Chunk("/b", 7, 1)]),
        (vec![Delete("/b")], vec![Delete("/b"), Chunk("/g/a", 1, 1)]),
        (
            vec![Meta("/b", other(8))],
            vec![Meta("/b", other(8)), Chunk("/b", 7, 1)],
        ),
        (
            vec![Meta("/n", array(4, "")), Chunk("/n", 1, 1)],
            vec![Meta("/n", array(4, "")), Chunk("/n", 2, 2)],
        ),
    ] {
        let mut trees = Vec::new();
        for (first, second) in [(&one, &two), (&two, &one)] {
            let session = writer(&repository).await;
            let forks = (session.fork().expect("open"), session.fork().expect("open"));
            apply(&forks.0, first).await;
            apply(&forks.1, second).await;
            merged(&session, &[&forks.0, &forks.1]).await;
            trees.push(icefield_core::test_suite::view::tree(&session).await);
        }
        assert_eq!(trees[0], trees[1], "{one:?}, {two:?}");
    }
}

#[tokio::test]
async fn forks_go_back_only_where_they_come_from() {
    let (repository, elsewhere) = (start().await, start().await);
    let session = writer(&repository).await;
    let fork = session.fork().expect("open");
    apply(&fork, &[Chunk("/b", 1, 1)]).await;
    let into = |session: &Session| {
        let (session, fork) = (session.clone(), fork.clone());
        async move { session.merge_forks([&fork], FAIL).await }
    };
    let other = writer(&repository).await;
    assert!(matches!(into(&other).await, Err(ForkError::OtherSession)));
    let _fork_of_other = other.fork().expect("open");
    assert!(matches!(into(&other).await, Err(ForkError::OtherSession)));
    assert!(matches!(
        session.merge_forks([&other], FAIL).await,
        Err(ForkError::NotAFork)
    ));
    assert!(matches!(session.to_bytes().await, Err(ForkError::NotAFork)));
    let bytes = fork.to_bytes().await.expect("a fork");
    assert!(matches!(
        elsewhere.open_fork(&bytes).await,
        Err(ForkError::Repository(_))
    ));
    // Made from another state of the session.
    apply(&session, &[Chunk("/b", 2, 2)]).await;
    let later = session.fork().expect("open");
    assert!(matches!(
        later.merge_forks([&fork], FAIL).await,
        Err(ForkError::OtherOrigin)
    ));
    // A rebase takes the session away from its forks.
    let others = writer(&repository).await;
    apply(&others, &[Chunk("/g/a", 1, 1)]).await;
    commit(&others).await;
    let rebased = session.rebase(&icefield_core::Detector::Strict).await;
    assert!(matches!(
        rebased,
        Ok(icefield_core::RebaseOutcome::Rebased { .. })
    ));
    assert!(matches!(
        into(&session).await,
        Err(ForkError::OtherBase { .. })
    ));
    // A fork has no branch.
    assert!(matches!(
        fork.commit("no").await,
        Err(icefield_core::CommitError::Session(SessionError::NoBranch))
    ));
    let read_only = reader(&repository).await;
    assert!(matches!(read_only.fork(), Err(SessionError::ReadOnly)));
}

#[tokio::test]
async fn damaged_forks_are_refused() {
    let repository = start().await;
    let session = writer(&repository).await;
    let fork = session.fork().expect("open");
    apply(
        &fork,
        &[
            Chunk("/b", 1, 1),
            Meta("/n", array(3, "")),
            Chunk("/n", 0, 1),
            Delete("/g"),
        ],
    )
    .await;
    let inline = vec![7; 9].into();
    fork.set_chunk(&path("/n"), &[1], inline, WriteMode::Overwrite)
        .await
        .expect("valid");
    let bytes = fork.to_bytes().await.expect("a fork");
    let tree = icefield_core::test_suite::view::tree(&fork).await;
    let sent = repository.open_fork(&bytes).await.expect("whole");
    assert_eq!(icefield_core::test_suite::view::tree(&sent).await, tree);
    // It is older now; all else is the same.
    let sent = sent.to_bytes().await.expect("a fork");
    let sent = repository.open_fork(&sent).await.expect("whole");
    assert_eq!(icefield_core::test_suite::view::tree(&sent).await, tree);
    for length in 0..bytes.len() {
        let error = repository
            .open_fork(&bytes[..length])
            .await
            .expect_err("truncated");
        assert!(matches!(error, ForkError::Blob(_)), "{length}: {error:?}");
    }
    for place in 0..bytes.len() {
        let mut flipped = bytes.to_vec();
        flipped[place] ^= 0x10;
        // A bit that says nothing may be any.
        if let Ok(other) = repository.open_fork(&flipped).await {
            let other = icefield_core::test_suite::view::tree(&other).await;
            assert_eq!(other, tree, "{place}");
        }
    }
    for version in [3, 6] {
        let mut other = bytes.to_vec();
        other[8] = version;
        let error = repository
            .open_fork(&other)
            .await
            .expect_err("another version");
        let ForkError::Blob(ForkBlobError::OtherVersion(found)) = error else {
            panic!("{error:?}");
        };
        assert_eq!(found, version);
    }
}

#[tokio::test]
async fn a_fork_of_ten_thousand_chunks_is_small() {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(&session, &[Meta("/big", array(100_000, ""))]).await;
    let fork = session.fork().expect("open");
    for index in 0..10_000 {
        let bytes = vec![1; 600].into();
        let wrote = fork
            .set_chunk(&path("/big"), &[index * 7], bytes, WriteMode::Overwrite)
            .await;
        assert!(wrote.expect("valid"));
    }
    let bytes = fork.to_bytes().await.expect("a fork");
    // 12 bytes of random id a chunk, and little else.
    assert!(bytes.len() < 10_000 * 16, "{}", bytes.len());
}

/// A repository with a seeded source of ids, and a count of its requests.
async fn seeded() -> (Repository, Arc<CountingStorage>) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let counting = Arc::new(CountingStorage::new(storage));
    let builder = Repository::builder(Arc::clone(&counting) as Arc<dyn Storage>);
    let repository = builder
        .entropy(Arc::new(SeededEntropy::new(7)))
        .create()
        .await;
    (repository.expect("new"), counting)
}

#[tokio::test]
async fn eight_forks_of_ten_thousand_chunks_give_the_same_manifest_in_any_order() {
    const FORKS: u32 = 8;
    const CHUNKS: u32 = 10_000;
    let mut manifests = Vec::new();
    for order in [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [7, 6, 5, 4, 3, 2, 1, 0],
        [3, 7, 0, 4, 1, 6, 2, 5],
    ] {
        let (repository, counting) = seeded().await;
        let session = writer(&repository).await;
        apply(
            &session,
            &[Meta("/x", array(u64::from(FORKS * CHUNKS), ""))],
        )
        .await;
        let before = counting.snapshot().total;
        let forks: Vec<Session> = (0..FORKS).map(|_| session.fork().expect("open")).collect();
        assert_eq!(
            counting.snapshot().total,
            before,
            "forking asks the store nothing"
        );
        let mut sent = Vec::new();
        for (number, fork) in (0..FORKS).zip(&forks) {
            for index in 0..CHUNKS {
                let index = [index * FORKS + number];
                let bytes = index[0].to_le_bytes().to_vec().into();
                let wrote = fork
                    .set_chunk(&path("/x"), &index, bytes, WriteMode::Overwrite)
                    .await;
                assert!(wrote.expect("valid"));
            }
            sent.push(over_the_wire(&repository, fork).await);
        }
        merged(&session, &order.map(|number: usize| &sent[number])).await;
        let session = committed(&repository, &session).await;
        let read = session
            .chunk(&path("/x"), &[79_999], icefield_core::ByteRange::All)
            .await;
        assert_eq!(
            read.expect("readable").as_deref(),
            Some(&79_999_u32.to_le_bytes()[..])
        );
        let id = session.snapshot_id().expect("sound");
        let snapshot = repository.snapshot(id).await.expect("readable");
        let files: Vec<_> = snapshot.manifest_files().collect();
        assert_eq!(files.len(), 1);
        let key = format!("manifests/{}", files[0].id).parse().expect("a key");
        let (bytes, _) = icefield_storage::StorageExt::read(&**repository.storage(), &key)
            .await
            .expect("stored");
        manifests.push(bytes);
    }
    assert_eq!(manifests[0], manifests[1]);
    assert_eq!(manifests[0], manifests[2]);
}

#[tokio::test]
async fn what_the_origin_made_and_a_fork_deleted_takes_no_children() {
    let repository = start().await;
    for order in [[0, 1], [1, 0]] {
        let session = writer(&repository).await;
        apply(
            &session,
            &[
                Meta("/n", group("{}")),
                Meta("/m", array(10, "")),
                Chunk("/m", 5, 5),
            ],
        )
        .await;
        let forks = [session.fork().expect("open"), session.fork().expect("open")];
        apply(&forks[0], &[Delete("/n")]).await;
        apply(&forks[1], &[Meta("/n/x", group("{}"))]).await;
        let found = conflicts(&session, &[&forks[order[0]], &forks[order[1]]]).await;
        assert!(format!("{found:?}").contains("InDeletedGroup"), "{found:?}");
        // An array made anew is not the one that the other wrote to.
        let forks = [session.fork().expect("open"), session.fork().expect("open")];
        apply(
            &forks[0],
            &[
                Delete("/b"),
                Meta("/b", array(10, r#","attributes":{"x":1,"y":1}"#)),
            ],
        )
        .await;
        apply(&forks[1], &[Chunk("/b", 1, 1)]).await;
        let found = conflicts(&session, &[&forks[order[0]], &forks[order[1]]]).await;
        assert!(format!("{found:?}").contains("Delete"), "{found:?}");
        // A chunk that a fork cut off does not come back with the growth.
        let fork = session.fork().expect("open");
        apply(
            &fork,
            &[Meta("/m", array(3, "")), Meta("/m", array(10, ""))],
        )
        .await;
        merged(&session, &[&fork]).await;
        assert_eq!(byte(&session, "/m", 5).await, None);
        let moving = fork.move_node(&path("/b"), &path("/c")).await;
        assert!(matches!(moving, Err(SessionError::MoveInFork)));
    }
}
