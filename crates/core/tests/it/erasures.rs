//! Erasing a chunk is an edit, also where there is none: commits, logs, rebases and merges of forks know it.

use std::collections::BTreeSet;

use icefield_core::{
    BasicSolver, Conflict, Detector, MergeOutcome, RebaseOutcome, Repository, Resolution, Session,
    SnapshotId, VersionSelection,
};

use crate::edits::*;

const LONG: u64 = 4_000_000_000;

/// Ways to erase the chunks 5 to 9 of `/b`, which the base does not have.
#[derive(Clone, Copy, Debug)]
enum Eraser {
    Singly,
    AsBox,
}
use Eraser::{AsBox, Singly};

impl Eraser {
    async fn erase(self, session: &Session) {
        match self {
            Singly => {
                for index in 5..10 {
                    apply(session, &[NoChunk("/b", index)]).await;
                }
            }
            AsBox => {
                erase_box(session, "/b", 5..10).await;
            }
        }
    }
}

async fn erase_box(session: &Session, at: &str, within: std::ops::Range<u32>) -> u64 {
    let erased = session.delete_chunks(&path(at), &[within]).await;
    erased.expect("a box of the array's rank")
}

/// Two sessions on one snapshot; what the second one does is committed.
async fn after(theirs: &[Edit]) -> (Repository, Session) {
    let repository = start().await;
    let ours = writer(&open(repository.storage()).await).await;
    commit_edits(&repository, theirs).await;
    (repository, ours)
}

async fn commit_edits(repository: &Repository, edits: &[Edit]) {
    let theirs = writer(repository).await;
    apply(&theirs, edits).await;
    commit(&theirs).await;
}

async fn collisions(session: &Session, detector: Detector) -> Vec<Conflict> {
    match session.rebase(&detector).await.expect("an outcome") {
        RebaseOutcome::Conflicts { conflicts, .. } => conflicts,
        RebaseOutcome::Rebased { .. } => Vec::new(),
        RebaseOutcome::BranchGone => panic!("main is there"),
    }
}

/// The coordinates of the one collision of chunks that both wrote.
fn doubly_written(conflicts: &[Conflict]) -> Vec<u32> {
    match conflicts {
        [Conflict::ChunkDoubleUpdate { chunks, .. }] => chunks.iter().map(|it| it[0]).collect(),
        [] => Vec::new(),
        other => panic!("{other:?}"),
    }
}

/// The chunks that the log of a commit names, of all arrays.
async fn logged(repository: &Repository, id: SnapshotId) -> BTreeSet<u32> {
    let log = repository.transaction_log(id).await.expect("readable");
    let arrays = log.updated_chunks();
    arrays
        .flat_map(|array| array.chunks().map(|index| index[0]).collect::<Vec<_>>())
        .collect()
}

#[tokio::test]
async fn a_chunk_that_others_write_where_ours_erased_none_is_a_conflict() {
    for eraser in [Singly, AsBox] {
        for detector in [Detector::Strict, Detector::Compatible] {
            let (repository, ours) = after(&[Chunk("/b", 7, 1)]).await;
            eraser.erase(&ours).await;
            let found = collisions(&ours, detector).await;
            assert_eq!(doubly_written(&found), [7], "{eraser:?} {detector:?}");
            // Elsewhere it is none.
            let ours = writer(&repository).await;
            eraser.erase(&ours).await;
            commit_edits(&repository, &[Chunk("/b", 4, 2), Chunk("/g/a", 7, 2)]).await;
            assert_eq!(collisions(&ours, detector).await, [], "{eraser:?}");
            commit(&ours).await;
            assert_eq!(byte(&reader(&repository).await, "/b", 7).await, None);
        }
    }
}

#[tokio::test]
async fn a_chunk_that_ours_writes_where_others_erased_none_is_a_conflict() {
    for eraser in [Singly, AsBox] {
        let repository = start().await;
        let (ours, theirs) = (writer(&repository).await, writer(&repository).await);
        apply(&ours, &[Chunk("/b", 7, 1)]).await;
        eraser.erase(&theirs).await;
        commit(&theirs).await;
        let found = collisions(&ours, Detector::Strict).await;
        assert_eq!(doubly_written(&found), [7], "{eraser:?}");
    }
}

#[tokio::test]
async fn what_both_sides_erased_is_no_conflict() {
    for (eraser, theirs) in [(Singly, AsBox), (AsBox, Singly), (AsBox, AsBox)] {
        let repository = start().await;
        let (ours, other) = (writer(&repository).await, writer(&repository).await);
        eraser.erase(&ours).await;
        theirs.erase(&other).await;
        commit(&other).await;
        assert_eq!(collisions(&ours, Detector::Strict).await, []);
        let found = collisions(&ours, Detector::Compatible).await;
        assert_eq!(found, [], "the rebase has passed that commit");
    }
}

#[tokio::test]
async fn a_commit_of_erasures_alone_is_one_and_its_log_names_them() {
    for eraser in [Singly, AsBox] {
        let repository = start().await;
        let session = writer(&repository).await;
        let before = session.snapshot_id().expect("sound");
        eraser.erase(&session).await;
        assert!(session.has_changes().expect("sound"));
        let status = session.status().await.expect("sound");
        assert_eq!(status.updated_chunks[&path("/b")].len(), 5, "{eraser:?}");
        commit(&session).await;
        let id = session.snapshot_id().expect("sound");
        assert_eq!(logged(&repository, id).await, (5..10).collect());
        let diff = repository.diff(before, id).await.expect("readable");
        assert!(diff.is_empty(), "{diff:?}");
    }
}

#[tokio::test]
async fn a_solver_decides_between_an_erasure_and_a_chunk() {
    for eraser in [Singly, AsBox] {
        for (selection, expected) in [
            (VersionSelection::UseOurs, None),
            (VersionSelection::UseTheirs, Some(1)),
        ] {
            let (repository, ours) = after(&[Chunk("/b", 7, 1), Chunk("/b", 4, 1)]).await;
            eraser.erase(&ours).await;
            apply(&ours, &[Chunk("/b", 8, 3)]).await;
            let outcome = ours.rebase(&BasicSolver::of(selection)).await;
            assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
            assert_eq!(byte(&ours, "/b", 7).await, expected, "{eraser:?}");
            let listed = icefield_core::test_suite::words::indices(&ours, "/b").await;
            let is_listed = listed.iter().any(|index| index[..] == [7]);
            assert_eq!(is_listed, expected.is_some(), "{eraser:?}");
            let committed = committed(&repository, &ours).await;
            assert_eq!(byte(&committed, "/b", 7).await, expected, "{eraser:?}");
            assert_eq!(byte(&committed, "/b", 8).await, Some(3), "{eraser:?}");
            assert_eq!(byte(&committed, "/b", 4).await, Some(1), "{eraser:?}");
            let id = ours.snapshot_id().expect("sound");
            let named = logged(&repository, id).await;
            assert_eq!(named.contains(&7), expected.is_none(), "{named:?}");
        }
    }
}

/// A solver that puts bytes of its own in the place of both.
#[derive(Debug)]
struct Merger;

#[async_trait::async_trait]
impl icefield_core::ConflictSolver for Merger {
    async fn solve(
        &self,
        conflict: &Conflict,
        _: &Session,
        _: &Session,
        _: &Session,
    ) -> Result<Resolution, icefield_storage::BoxError> {
        let chunks = conflict.chunks().into_iter().flatten().take(1);
        let merged = chunks.map(|index| (index.clone(), vec![9; 600].into()));
        Ok(Resolution::Merged(merged.collect()))
    }
}

#[tokio::test]
async fn what_a_solver_merges_takes_the_place_of_an_erasure() {
    for eraser in [Singly, AsBox] {
        let (repository, ours) = after(&[Chunk("/b", 6, 1), Chunk("/b", 7, 1)]).await;
        eraser.erase(&ours).await;
        let outcome = ours.rebase(&Merger).await;
        assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
        let committed = committed(&repository, &ours).await;
        assert_eq!(byte(&committed, "/b", 6).await, Some(9));
        assert_eq!(byte(&committed, "/b", 7).await, None);
    }
}

#[tokio::test]
async fn what_gave_way_once_stays_given_up() {
    let (repository, ours) = after(&[Chunk("/b", 7, 1)]).await;
    AsBox.erase(&ours).await;
    let theirs = BasicSolver::of(VersionSelection::UseTheirs);
    let outcome = ours.rebase(&theirs).await;
    assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
    commit_edits(&repository, &[Chunk("/b", 7, 2), Chunk("/b", 9, 2)]).await;
    let found = collisions(&ours, Detector::Strict).await;
    assert_eq!(doubly_written(&found), [9]);
    // Erased once more, it is erased.
    AsBox.erase(&ours).await;
    let found = collisions(&ours, Detector::Strict).await;
    assert_eq!(doubly_written(&found), [7, 9]);
}

/// A repository with an array of four billion chunks, of which one is written.
async fn long() -> Repository {
    let repository = start().await;
    commit_edits(
        &repository,
        &[
            Meta("/long", array(LONG, "")),
            Chunk("/long", 3_000_000_000, 1),
        ],
    )
    .await;
    repository
}

#[tokio::test]
async fn a_box_costs_the_chunks_that_are_there_however_many_cells_it_has() {
    let repository = long().await;
    let session = writer(&repository).await;
    let erased = erase_box(&session, "/long", 1000..LONG as u32).await;
    assert_eq!(erased, 1);
    assert_eq!(byte(&session, "/long", 3_000_000_000).await, None);
    let fork = session.fork().expect("open");
    let sent = fork.to_bytes().await.expect("small").len();
    assert!(sent < 2000, "{sent} bytes");
    let before = session.snapshot_id().expect("sound");
    // Others meet it all the same, in either order.
    commit_edits(&repository, &[Chunk("/long", 2_000_000_000, 5)]).await;
    let found = collisions(&session, Detector::Strict).await;
    assert_eq!(doubly_written(&found), [2_000_000_000]);
    let ours = BasicSolver::of(VersionSelection::UseOurs);
    let outcome = session.rebase(&ours).await;
    assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
    commit(&session).await;
    let id = session.snapshot_id().expect("sound");
    let named = logged(&repository, id).await;
    assert_eq!(named, BTreeSet::from([2_000_000_000, 3_000_000_000]));
    let diff = repository.diff(before, id).await.expect("readable");
    assert_eq!(diff.updated_chunks[&path("/long")].len(), 1, "{diff:?}");
    assert_eq!(
        byte(&reader(&repository).await, "/long", 2_000_000_000).await,
        None
    );
}

/// Of a large box a conflict names the first cell only; the chunk that was written there again must not hide the box.
#[tokio::test]
async fn a_large_box_in_an_updated_array_gives_way_with_what_was_written_into_it() {
    let repository = long().await;
    let ours = writer(&repository).await;
    assert_eq!(erase_box(&ours, "/long", 0..1_000_000).await, 0);
    apply(&ours, &[Chunk("/long", 0, 1)]).await;
    let updated = array(LONG, &attributes(r#"{"x":1}"#));
    commit_edits(&repository, &[Meta("/long", updated)]).await;
    let mut theirs = BasicSolver::of(VersionSelection::UseTheirs);
    theirs.detector = Detector::Compatible;
    let outcome = ours.rebase(&theirs).await;
    assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
    assert!(!ours.has_changes().expect("sound"));
    commit_edits(&repository, &[Chunk("/long", 7, 2)]).await;
    assert_eq!(collisions(&ours, Detector::Strict).await, []);
    assert_eq!(byte(&ours, "/long", 7).await, Some(2));
}

/// The log of a large box does not name the cells that had no chunk, so that a later commit may write there: it comes after.
#[tokio::test]
async fn a_chunk_that_comes_after_a_large_box_is_kept() {
    let repository = long().await;
    let (ours, theirs) = (writer(&repository).await, writer(&repository).await);
    apply(&ours, &[Chunk("/long", 7, 1)]).await;
    erase_box(&theirs, "/long", 0..LONG as u32).await;
    commit(&theirs).await;
    assert_eq!(collisions(&ours, Detector::Strict).await, []);
    let committed = committed(&repository, &ours).await;
    assert_eq!(byte(&committed, "/long", 7).await, Some(1));
    assert_eq!(byte(&committed, "/long", 3_000_000_000).await, None);
}

async fn merged(
    session: &Session,
    forks: [&Session; 2],
    policy: VersionSelection,
) -> Vec<Conflict> {
    let outcome = session.merge_forks(forks, policy).await;
    match outcome.expect("an outcome") {
        MergeOutcome::Merged => Vec::new(),
        MergeOutcome::Conflicts(conflicts) => conflicts,
    }
}

#[tokio::test]
async fn forks_that_erase_and_write_one_chunk_collide_in_any_order() {
    for eraser in [Singly, AsBox] {
        for is_answer in [false, true] {
            let repository = start().await;
            let session = writer(&repository).await;
            let forks = [(); 2].map(|()| session.fork().expect("open"));
            eraser.erase(&forks[0]).await;
            apply(&forks[1], &[Chunk("/b", 7, 1), Chunk("/b", 4, 2)]).await;
            let mut came = Vec::new();
            for fork in &forks {
                came.push(match is_answer {
                    true => {
                        let bytes = fork.to_answer().await.expect("small");
                        session.open_answer(&bytes).expect("ours")
                    }
                    false => {
                        let bytes = fork.to_bytes().await.expect("small");
                        repository.open_fork(&bytes).await.expect("ours")
                    }
                });
            }
            for forks in [[&came[0], &came[1]], [&came[1], &came[0]]] {
                let found = merged(&session, forks, VersionSelection::Fail).await;
                assert_eq!(doubly_written(&found), [7], "{eraser:?} {is_answer}");
            }
            let both = [&came[0], &came[1]];
            assert_eq!(
                merged(&session, both, VersionSelection::UseTheirs).await,
                []
            );
            assert_eq!(byte(&session, "/b", 7).await, Some(1));
            // An edit that was merged stays an edit.
            commit_edits(&repository, &[Chunk("/b", 9, 1)]).await;
            let found = collisions(&session, Detector::Strict).await;
            assert_eq!(doubly_written(&found), [9], "{eraser:?} {is_answer}");
        }
    }
}

#[tokio::test]
async fn a_fork_of_a_session_that_erased_a_box_has_it_and_may_write_in_it() {
    let repository = start().await;
    let session = writer(&repository).await;
    AsBox.erase(&session).await;
    let forks = [(); 2].map(|()| session.fork().expect("open"));
    apply(&forks[0], &[Chunk("/b", 7, 1)]).await;
    erase_box(&forks[1], "/g/a", 0..10).await;
    let bytes = forks[0].to_answer().await.expect("small");
    let answer = session.open_answer(&bytes).expect("ours");
    let found = merged(&session, [&answer, &forks[1]], VersionSelection::Fail).await;
    assert_eq!(found, []);
    assert_eq!(byte(&session, "/b", 7).await, Some(1));
    assert_eq!(byte(&session, "/g/a", 3).await, None);
    commit_edits(&repository, &[Chunk("/b", 8, 1), Chunk("/g/a", 9, 1)]).await;
    assert_eq!(collisions(&session, Detector::Strict).await.len(), 2);
}

#[tokio::test]
async fn an_erasure_in_an_array_that_a_fork_deleted_or_cut_is_a_conflict() {
    for eraser in [Singly, AsBox] {
        let repository = start().await;
        let session = writer(&repository).await;
        let forks = [(); 3].map(|()| session.fork().expect("open"));
        eraser.erase(&forks[0]).await;
        apply(&forks[1], &[Delete("/b")]).await;
        apply(
            &forks[2],
            &[Meta("/b", array(10, "").replace("[1]", "[2]"))],
        )
        .await;
        for other in &forks[1..] {
            for pair in [[&forks[0], other], [other, &forks[0]]] {
                let found = merged(&session, pair, VersionSelection::Fail).await;
                assert_eq!(found.len(), 1, "{eraser:?} {found:?}");
            }
        }
    }
}

#[tokio::test]
async fn erasures_move_along_with_a_shift() {
    for eraser in [Singly, AsBox] {
        let (_repository, ours) = after(&[Chunk("/b", 7, 1), Chunk("/b", 2, 1)]).await;
        eraser.erase(&ours).await;
        ours.shift(&path("/b"), &[-4]).await.expect("an array");
        let found = collisions(&ours, Detector::Strict).await;
        assert_eq!(doubly_written(&found), [3], "{eraser:?}: 7 is at 3 now");
        let outcome = ours
            .rebase(&BasicSolver::of(VersionSelection::UseOurs))
            .await;
        assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
        assert_eq!(byte(&ours, "/b", 3).await, None);
        commit(&ours).await;
        assert_eq!(byte(&ours, "/b", 3).await, None, "{eraser:?}");
        assert_eq!(byte(&ours, "/b", 0).await, Some(100), "{eraser:?}");
    }
}

#[tokio::test]
async fn an_erasure_in_an_array_that_was_deleted_or_shifted_is_a_conflict_that_can_be_given_up() {
    for (eraser, is_shift) in [
        (Singly, false),
        (AsBox, false),
        (Singly, true),
        (AsBox, true),
    ] {
        let repository = start().await;
        let (ours, theirs) = (writer(&repository).await, writer(&repository).await);
        eraser.erase(&ours).await;
        match is_shift {
            true => theirs.shift(&path("/b"), &[1]).await.expect("an array"),
            false => apply(&theirs, &[Delete("/b")]).await,
        }
        commit(&theirs).await;
        let found = collisions(&ours, Detector::Strict).await;
        assert_eq!(found.len(), 1, "{found:?}");
        let outcome = ours
            .rebase(&BasicSolver::of(VersionSelection::UseTheirs))
            .await;
        assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
        assert!(!ours.has_changes().expect("sound"), "{eraser:?}");
    }
}

#[tokio::test]
async fn what_was_erased_in_an_array_that_both_created_stays_erased() {
    let repository = start().await;
    let ours = writer(&open(repository.storage()).await).await;
    apply(&ours, &[Meta("/n", array(3, "")), NoChunk("/n", 1)]).await;
    commit_edits(&repository, &[Meta("/n", array(3, ""))]).await;
    assert_eq!(collisions(&ours, Detector::Strict).await, []);
    commit_edits(&repository, &[Chunk("/n", 1, 1)]).await;
    let found = collisions(&ours, Detector::Strict).await;
    assert_eq!(doubly_written(&found), [1]);
}

/// Chunks that a resize had cut off are visible again once the resize is given up; erased chunks are not.
#[tokio::test]
async fn a_box_covers_what_a_resize_had_hidden() {
    let repository = start().await;
    let of = |length, x| array(length, &attributes(&format!(r#"{{"x":{x},"y":1}}"#)));
    let ours = writer(&repository).await;
    apply(&ours, &[Meta("/b", of(3, 2)), Meta("/b", of(10, 2))]).await;
    assert_eq!(erase_box(&ours, "/b", 2..10).await, 1);
    commit_edits(&repository, &[Meta("/b", of(10, 3))]).await;
    let outcome = ours
        .rebase(&BasicSolver::of(VersionSelection::UseTheirs))
        .await;
    assert!(matches!(outcome, Ok(RebaseOutcome::Rebased { .. })));
    let committed = committed(&repository, &ours).await;
    for session in [&ours, &committed] {
        for (index, expected) in [(1, Some(100)), (2, None), (3, None), (4, None)] {
            assert_eq!(byte(session, "/b", index).await, expected, "{index}");
        }
    }
}

#[tokio::test]
async fn what_lies_outside_of_the_grid_is_no_edit() {
    let repository = start().await;
    let session = writer(&repository).await;
    apply(&session, &[NoChunk("/b", 10)]).await;
    assert_eq!(erase_box(&session, "/b", 10..20).await, 0);
    assert_eq!(erase_box(&session, "/b", 5..5).await, 0);
    assert!(!session.has_changes().expect("sound"));
    // A chunk that a resize cuts off is none either.
    AsBox.erase(&session).await;
    let short = array(3, &attributes(r#"{"x":1,"y":1}"#));
    apply(&session, &[Meta("/b", short)]).await;
    commit(&session).await;
    assert_eq!(byte(&session, "/b", 2).await, Some(100));
}
