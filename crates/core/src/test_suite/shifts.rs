//! Shifting: chunks move within their array, those that leave it are gone for good, and none is rewritten.

use std::collections::BTreeMap;

use super::Trial;
use super::words::*;
use crate::{ChunkIndex, Conflict, Repository, Session, SessionError};

/// A row of ten chunks, the even ones native.
async fn ten(repository: &Repository) {
    let session = writer(repository).await;
    set(&session, "/a", array(&[10], &[1])).await;
    for i in 0..10 {
        write(&session, "/a", &[i], chunk(i)).await;
    }
    commit(&session, "ten").await;
}

fn chunk(i: u32) -> Vec<u8> {
    pattern(u64::from(i), if i.is_multiple_of(2) { 600 } else { 6 })
}

async fn shift(session: &Session, by: &[i64]) {
    is!(session.shift(&path("/a"), by).await, Ok(()));
}

/// Asserts at which places which of the ten chunks are, in every way of asking.
async fn are(session: &Session, expected: &[(u32, u32)]) {
    let listed = indices(session, "/a").await;
    let listed: Vec<u32> = listed.iter().map(|index| index[0]).collect();
    let places: Vec<u32> = expected.iter().map(|(place, _)| *place).collect();
    assert_eq!(listed, places);
    for place in 0..12 {
        let found = expected.iter().find(|(at, _)| *at == place);
        let bytes = found.map(|(_, of)| chunk(*of));
        holds(session, "/a", &[place], bytes.as_deref()).await;
    }
}

pub(super) async fn shifted_chunks_are_where_they_were_shifted_to(trial: Trial) {
    for (by, first) in [(-3, 3), (4, 0)] {
        let (storage, repository) = trial.create().await;
        ten(&repository).await;
        let chunks = keys(&storage).await;
        let chunks = chunks.iter().filter(|key| key.starts_with("chunks/"));
        let chunks: Vec<String> = chunks.cloned().collect();
        let session = writer(&repository).await;
        shift(&session, &[by]).await;
        let count = 10 - by.unsigned_abs() as u32;
        let expected: Vec<(u32, u32)> = (first..first + count)
            .map(|of| ((i64::from(of) + by) as u32, of))
            .collect();
        are(&session, &expected).await;
        commit(&session, "shifted").await;
        are(&read_main(&trial.open(&storage).await).await, &expected).await;
        let now = keys(&storage).await;
        let now = now.iter().filter(|key| key.starts_with("chunks/"));
        assert!(now.eq(&chunks), "no chunk is written or deleted");
        super::walk::assert_sound(&storage).await;
    }
}

pub(super) async fn what_left_the_grid_does_not_come_back(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    for by in [-3, 3] {
        shift(&session, &[by]).await;
    }
    let expected: Vec<(u32, u32)> = (3..10).map(|i| (i, i)).collect();
    are(&session, &expected).await;
    // Nothing else changed, and still there is something to commit.
    commit(&session, "there and back").await;
    are(&read_main(&trial.open(&storage).await).await, &expected).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn a_window_rolls_in_one_commit(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    for step in 0..4_u32 {
        let session = writer(&repository).await;
        write(&session, "/a", &[0], "gone with the shift").await;
        write(&session, "/a", &[1], chunk(step + 1)).await;
        shift(&session, &[-1]).await;
        write(&session, "/a", &[9], chunk(step + 10)).await;
        let expected: Vec<(u32, u32)> = (0..10).map(|i| (i, i + step + 1)).collect();
        are(&session, &expected).await;
        commit(&session, "roll").await;
        are(&read_main(&trial.open(&storage).await).await, &expected).await;
        super::walk::assert_sound(&storage).await;
    }
}

pub(super) async fn pending_chunks_and_deletions_move_along(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    write(&session, "/a", &[4], chunk(11)).await;
    is!(session.delete_chunk(&path("/a"), &[5]).await, Ok(()));
    shift(&session, &[-4]).await;
    let expected = [(0, 11), (2, 6), (3, 7), (4, 8), (5, 9)];
    are(&session, &expected).await;
    commit(&session, "moved").await;
    are(&read_main(&trial.open(&storage).await).await, &expected).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn every_dimension_is_shifted_on_its_own(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[4, 4], &[1, 1])).await;
    let mut expected: BTreeMap<ChunkIndex, Vec<u8>> = BTreeMap::new();
    for x in 0..4_u32 {
        for y in 0..4_u32 {
            let bytes = pattern(u64::from(4 * x + y), 9);
            write(&session, "/a", &[x, y], bytes.clone()).await;
            if x > 0 && y < 2 {
                expected.insert(vec![x - 1, y + 2].into(), bytes);
            }
        }
    }
    // A part in the base, and a part that is pending.
    commit(&session, "square").await;
    let session = writer(&repository).await;
    write(&session, "/a", &[1, 1], "new").await;
    shift(&session, &[-1, 2]).await;
    expected.insert(vec![0, 3].into(), b"new".to_vec());
    for session in [session.clone(), {
        commit(&session, "moved").await;
        read_main(&trial.open(&storage).await).await
    }] {
        let found = indices(&session, "/a").await;
        assert!(found.iter().eq(expected.keys()), "{found:?}");
        for (index, bytes) in &expected {
            holds(&session, "/a", index, Some(bytes)).await;
        }
    }
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn resizes_and_shifts_follow_one_another(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    // A prepend: longer by two, and everything two further.
    set(&session, "/a", array(&[12], &[1])).await;
    shift(&session, &[2]).await;
    let mut expected: Vec<(u32, u32)> = (0..10).map(|i| (i + 2, i)).collect();
    are(&session, &expected).await;
    // A trim at the start: everything three back, and shorter by three.
    shift(&session, &[-3]).await;
    set(&session, "/a", array(&[9], &[1])).await;
    expected = (1..10).map(|i| (i - 1, i)).collect();
    are(&session, &expected).await;
    commit(&session, "resized").await;
    are(&read_main(&trial.open(&storage).await).await, &expected).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn a_log_tells_of_every_chunk_that_moved(trial: Trial) {
    let (_, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", array(&[10], &[1])).await;
    for i in [0, 1, 5] {
        write(&session, "/a", &[i], chunk(i)).await;
    }
    let from = commit(&session, "three").await;
    let session = writer(&repository).await;
    shift(&session, &[-1]).await;
    write(&session, "/a", &[9], chunk(9)).await;
    let to = commit(&session, "shifted").await;
    let diff = repository.diff(from, to).await.expect("compared");
    let changed = &diff.updated_chunks[&path("/a")];
    let changed: Vec<u32> = changed.iter().map(|index| index[0]).collect();
    assert_eq!(changed, [0, 1, 4, 5, 9]);
}

pub(super) async fn a_shift_and_another_commit_to_the_array_collide(trial: Trial) {
    let (_, repository) = trial.create().await;
    ten(&repository).await;
    let edit = |session: Session, which: &'static str| async move {
        match which {
            "a chunk" => write(&session, "/a", &[5], chunk(0)).await,
            "a shift" => shift(&session, &[1]).await,
            "a shape" => set(&session, "/a", array(&[11], &[1])).await,
            "its end" => drop(session.delete_node(&path("/a")).await),
            _ => set(&session, "/b", array(&[1], &[1])).await,
        }
        commit(&session, which).await;
    };
    for which in ["a chunk", "a shift", "a shape", "something else", "its end"] {
        let session = writer(&repository).await;
        shift(&session, &[-1]).await;
        edit(writer(&repository).await, which).await;
        let outcome = session
            .commit("shifted")
            .rebase_with(crate::BasicSolver::default());
        match outcome.await.expect("an outcome") {
            crate::CommitOutcome::Conflicts { conflicts, .. } => {
                assert_ne!(which, "something else");
                let is_shift = |it: &Conflict| matches!(it, Conflict::ShiftOfUpdatedArray { .. });
                assert!(conflicts.iter().any(is_shift), "{which}: {conflicts:?}");
            }
            outcome => {
                assert!(
                    ["a chunk", "something else"].contains(&which),
                    "{outcome:?}"
                );
                assert!(matches!(outcome, crate::CommitOutcome::Committed(_)));
            }
        }
    }
}

pub(super) async fn chunks_of_others_move_along_with_a_shift(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    write(&session, "/a", &[5], chunk(12)).await;
    shift(&session, &[-2]).await;
    write(&session, "/a", &[9], chunk(13)).await;
    let other = writer(&repository).await;
    for (at, what) in [(1, 14), (4, 15), (9, 16)] {
        write(&other, "/a", &[at], chunk(what)).await;
    }
    is!(other.delete_chunk(&path("/a"), &[6]).await, Ok(()));
    commit(&other, "written meanwhile").await;
    let outcome = session
        .commit("shifted")
        .rebase_with(crate::BasicSolver::default());
    let outcome = outcome.await.expect("an outcome");
    assert!(
        matches!(outcome, crate::CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
    let expected = [
        (0, 2),
        (1, 3),
        (2, 15),
        (3, 12),
        (5, 7),
        (6, 8),
        (7, 16),
        (9, 13),
    ];
    are(&read_main(&trial.open(&storage).await).await, &expected).await;
    super::walk::assert_sound(&storage).await;

    // A chunk that both wrote is a collision at the place where it is now.
    let session = writer(&repository).await;
    write(&session, "/a", &[5], chunk(12)).await;
    shift(&session, &[-2]).await;
    let other = writer(&repository).await;
    write(&other, "/a", &[5], chunk(17)).await;
    commit(&other, "written by both").await;
    let solver = crate::BasicSolver::of(crate::VersionSelection::Fail);
    match session.commit("shifted").rebase_with(solver).await {
        Ok(crate::CommitOutcome::Conflicts { conflicts, .. }) => {
            let places: Vec<_> = conflicts[0].chunks().into_iter().flatten().collect();
            assert_eq!(
                (conflicts[0].kind(), &places[0][..]),
                ("ChunkDoubleUpdate", &[3][..])
            );
        }
        other => panic!("{other:?}"),
    }
}

pub(super) async fn what_cannot_be_shifted_is_refused(trial: Trial) {
    let (_, repository) = trial.create().await;
    ten(&repository).await;
    let session = writer(&repository).await;
    set(&session, "/g", group()).await;
    set(&session, "/scalar", array(&[], &[])).await;
    write(&session, "/scalar", &[], "s").await;
    for by in [&[][..], &[1, 1]] {
        is!(
            session.shift(&path("/a"), by).await,
            Err(SessionError::ShiftRank { expected: 1, .. })
        );
    }
    is!(
        session.shift(&path("/g"), &[1]).await,
        Err(SessionError::NotAnArray { .. })
    );
    is!(
        session.shift(&path("/none"), &[1]).await,
        Err(SessionError::NodeNotFound { .. })
    );
    is!(session.shift(&path("/scalar"), &[]).await, Ok(()));
    holds(&session, "/scalar", &[], Some(b"s")).await;
    // Farther than anything is: all are gone.
    is!(session.shift(&path("/a"), &[i64::MIN]).await, Ok(()));
    is!(session.shift(&path("/a"), &[i64::MIN]).await, Ok(()));
    are(&session, &[]).await;
    is!(
        read_main(&repository).await.shift(&path("/a"), &[1]).await,
        Err(SessionError::ReadOnly)
    );
}

pub(super) async fn chunks_are_given_other_places_one_by_one(trial: Trial) {
    let (storage, repository) = trial.create().await;
    ten(&repository).await;
    // Backwards, without the last.
    let mirror = |index: &[u32]| 8_u32.checked_sub(index[0]).map(|at| vec![at].into());
    let session = writer(&repository).await;
    is!(
        session.reindex(&path("/a"), mirror, Some(&mirror)).await,
        Ok(8)
    );
    let mut expected: Vec<(u32, u32)> = (0..9).map(|i| (i, 8 - i)).collect();
    are(&session, &expected).await;
    commit(&session, "mirrored").await;
    are(&read_main(&trial.open(&storage).await).await, &expected).await;
    super::walk::assert_sound(&storage).await;
    // Without the way back, what was left keeps its chunk.
    let session = writer(&repository).await;
    let second = |index: &[u32]| (index[0] == 1).then(|| vec![9].into());
    is!(session.reindex(&path("/a"), second, None).await, Ok(1));
    expected.push((9, 7));
    are(&session, &expected).await;
    is!(
        session
            .reindex(&path("/a"), |_| Some(vec![10].into()), None)
            .await,
        Err(SessionError::OutOfGrid { .. })
    );
    are(&session, &expected).await;
}

/// A row of ten chunks of two elements that says which one the first element is.
fn window(origin: i64) -> String {
    array_with(&[20], &[2], serde_json::json!({"origin": [origin]}))
}

/// Moves the window of the array by so many chunks.
async fn roll(repository: &Repository, from: i64, chunks: i64) {
    let session = writer(repository).await;
    shift(&session, &[-chunks]).await;
    set(&session, "/a", window(from + 2 * chunks)).await;
    commit(&session, "roll").await;
}

async fn follower(repository: &Repository) -> Session {
    let session = writer(repository).await;
    is!(session.follow_shifts(&path("/a")), Ok(()));
    session
}

pub(super) async fn edits_follow_a_window_that_moved(trial: Trial) {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    set(&session, "/a", window(-4)).await;
    for i in 0..6 {
        write(&session, "/a", &[i], chunk(i)).await;
    }
    commit(&session, "six of ten").await;
    let session = follower(&repository).await;
    write(&session, "/a", &[9], chunk(9)).await;
    // That one is replaced, and has been moved meanwhile.
    write(&session, "/a", &[4], chunk(14)).await;
    is!(session.delete_chunk(&path("/a"), &[5]).await, Ok(()));
    let fork = session.fork().expect("open");
    write(&fork, "/a", &[8], chunk(8)).await;
    let sent = fork.to_bytes().await.expect("a fork");
    let sent = repository.open_fork(&sent).await.expect("whole");
    roll(&repository, -4, 1).await;
    roll(&repository, -2, 2).await;
    let merged = session
        .merge_forks([&sent], crate::VersionSelection::Fail)
        .await
        .expect("an outcome");
    assert!(matches!(merged, crate::MergeOutcome::Merged), "{merged:?}");
    let outcome = session
        .commit("late")
        .rebase_with(crate::BasicSolver::default());
    let outcome = outcome.await.expect("an outcome");
    assert!(
        matches!(outcome, crate::CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
    let expected = [(0, 3), (1, 14), (5, 8), (6, 9)];
    are(&read_main(&trial.open(&storage).await).await, &expected).await;
    super::walk::assert_sound(&storage).await;
}

pub(super) async fn forks_do_not_mix_what_one_of_them_shifted(trial: Trial) {
    for which in ["neither", "the parent", "the fork"] {
        let (_, repository) = trial.create().await;
        let session = writer(&repository).await;
        set(&session, "/a", array(&[10], &[1])).await;
        // One and the same chunk at several places: a reference says nothing of where it has been.
        for i in [0, 1, 2, 6] {
            write(&session, "/a", &[i], chunk(1)).await;
        }
        let fork = session.fork().expect("open");
        shift(&fork, &[-1]).await;
        match which {
            "the parent" => write(&session, "/a", &[4], chunk(4)).await,
            "the fork" => write(&fork, "/a", &[4], chunk(4)).await,
            _ => {}
        }
        let merged = session.merge_forks([&fork], crate::VersionSelection::Fail);
        let merged = merged.await.expect("an outcome");
        if which == "the parent" {
            assert!(
                matches!(merged, crate::MergeOutcome::Conflicts(_)),
                "{merged:?}"
            );
            continue;
        }
        assert!(matches!(merged, crate::MergeOutcome::Merged), "{merged:?}");
        let mut expected = vec![(0, 1), (1, 1), (5, 1)];
        if which == "the fork" {
            expected.insert(2, (4, 4));
        }
        are(&session, &expected).await;
        commit(&session, "merged").await;
        are(&session, &expected).await;
    }
}

pub(super) async fn edits_that_cannot_follow_are_refused(trial: Trial) {
    for which in [
        "not asked to",
        "out of the window",
        "written by both",
        "no origin",
    ] {
        let (storage, repository) = trial.create().await;
        let session = writer(&repository).await;
        match which {
            "no origin" => set(&session, "/a", array(&[20], &[2])).await,
            _ => set(&session, "/a", window(0)).await,
        }
        write(&session, "/a", &[1], chunk(1)).await;
        commit(&session, "one of ten").await;
        let session = match which {
            "not asked to" => writer(&repository).await,
            _ => follower(&repository).await,
        };
        let at = match which {
            "out of the window" => 0,
            _ => 9,
        };
        write(&session, "/a", &[at], chunk(9)).await;
        let other = writer(&repository).await;
        shift(&other, &[-1]).await;
        match which {
            "no origin" => {}
            _ => set(&other, "/a", window(2)).await,
        }
        if which == "written by both" {
            write(&other, "/a", &[8], chunk(2)).await;
        }
        commit(&other, "roll").await;
        let outcome = session
            .commit("late")
            .rebase_with(crate::BasicSolver::default());
        // Ours wins where both wrote, by the default solver.
        match outcome.await.expect("an outcome") {
            crate::CommitOutcome::Committed(_) => {
                assert_eq!(which, "written by both");
                let expected = [(0, 1), (8, 9)];
                are(&read_main(&trial.open(&storage).await).await, &expected).await;
            }
            crate::CommitOutcome::Conflicts { conflicts, .. } => {
                assert_ne!(which, "written by both");
                assert_eq!(conflicts.len(), 1, "{which}: {conflicts:?}");
                let kind = conflicts[0].kind();
                let expected = ["ChunksUpdatedInShiftedArray", "ChunksUpdatedInUpdatedArray"];
                assert!(expected.contains(&kind), "{which}: {kind}");
                are(&read_main(&trial.open(&storage).await).await, &[(0, 1)]).await;
            }
            other => panic!("{which}: {other:?}"),
        }
        // A session that takes none of it gets the conflict.
        if which == "written by both" {
            let mine = follower(&repository).await;
            write(&mine, "/a", &[7], chunk(3)).await;
            let theirs = writer(&repository).await;
            write(&theirs, "/a", &[7], chunk(5)).await;
            shift(&theirs, &[-1]).await;
            set(&theirs, "/a", window(4)).await;
            commit(&theirs, "roll").await;
            let solver = crate::BasicSolver::of(crate::VersionSelection::Fail);
            match mine.commit("late").rebase_with(solver).await {
                Ok(crate::CommitOutcome::Conflicts { conflicts, .. }) => {
                    let kinds: Vec<_> = conflicts.iter().map(Conflict::kind).collect();
                    assert_eq!(kinds, ["ChunkDoubleUpdate"]);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}
