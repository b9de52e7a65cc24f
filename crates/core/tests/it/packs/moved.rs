//! Chunks that were moved into packs, between snapshots that are compared.

use icefield_core::test_suite::walk;
use icefield_core::{ApplyOutcome, BasicSolver, RebaseError, VersionSelection};
use icefield_format::{SnapshotId, layout};

use super::*;

const ANSWERS: [VersionSelection; 3] = [
    VersionSelection::Fail,
    VersionSelection::UseOurs,
    VersionSelection::UseTheirs,
];

/// A repository with eight chunks, each in an object of its own, and a branch `dev` beside `main`.
async fn with_dev(storage: &Arc<dyn Storage>, spec: SpecVersion) -> Repository {
    let repository = repository(storage, spec, PackSettings::off(), 8).await;
    let session = writer(&repository).await;
    for i in 0..8 {
        write(&session, "/a", &[i], pattern(i.into(), 900)).await;
    }
    let first = commit(&session, "eight").await;
    done(repository.create_branch("dev", first).await);
    repository
}

async fn edit(repository: &Repository, name: &str, index: u32, seed: u64) -> SnapshotId {
    let session = writer_on(repository, name).await;
    write(&session, "/a", &[index], pattern(seed, 900)).await;
    commit(&session, "an edit").await
}

/// Opens a session that moves all chunks of a branch into new packs.
async fn moving(repository: &Repository, name: &str) -> Session {
    let session = writer_on(repository, name).await;
    let mut moved = Vec::new();
    for chunk in chunk_list(&session, "/a").await {
        let ChunkLocation::Native { id, offset, length } = chunk.location else {
            panic!("{chunk:?}")
        };
        let bytes = read(&session, "/a", &chunk.index).await.expect("listed");
        let to = session.copy_to_pack(&bytes).await.expect("copied");
        moved.push(((id, offset, length), to));
    }
    let relocated = session.relocate_chunks(&path("/a"), moved).await;
    relocated.expect("an array");
    session
}

async fn repack(repository: &Repository, name: &str) -> SnapshotId {
    let session = moving(repository, name).await;
    commit(&session, "repacked").await
}

#[track_caller]
fn applied(outcome: Result<ApplyOutcome, RebaseError>) {
    assert!(
        matches!(outcome, Ok(ApplyOutcome::Applied(_))),
        "{outcome:?}"
    );
}

/// Checks the chunks of `main`, of which some are not as they were at first.
async fn main_holds(repository: &Repository, edits: &[(u32, u64)]) {
    let session = read_main(repository).await;
    for i in 0..8 {
        let edit = edits.iter().find(|(index, _)| *index == i);
        let seed = edit.map_or(u64::from(i), |(_, seed)| *seed);
        holds(&session, "/a", &[i], Some(&pattern(seed, 900))).await;
    }
}

#[tokio::test]
async fn nothing_is_no_chunk_to_copy() {
    let storage = memory();
    let repository = with_dev(&storage, SpecVersion::V1).await;
    let session = writer(&repository).await;
    is!(
        session.copy_to_pack(b"").await,
        Err(SessionError::EmptyCopy)
    );
    assert_eq!(session.buffered_bytes(), 0);
}

#[tokio::test]
async fn merges_across_a_repacking_take_over_what_was_written_alone() {
    for spec in VERSIONS {
        for answer in ANSWERS {
            for packed in ["main", "dev"] {
                let storage = memory();
                let repository = with_dev(&storage, spec).await;
                edit(&repository, "main", 1, 50).await;
                edit(&repository, "dev", 2, 60).await;
                repack(&repository, packed).await;
                edit(&repository, "main", 3, 70).await;
                let dev = edit(&repository, "dev", 4, 80).await;
                let session = writer(&repository).await;
                applied(session.merge(dev, &BasicSolver::of(answer)).await);
                let named = session.status().await.expect("edits").updated_chunks;
                let named: Vec<_> = named[&path("/a")].iter().map(|it| it[0]).collect();
                assert_eq!(named, [2, 4], "{packed}");
                commit(&session, "merged").await;
                main_holds(&repository, &[(1, 50), (2, 60), (3, 70), (4, 80)]).await;
            }
        }
    }
}

/// Logs of merges name what they took over: bytes decide.
#[tokio::test]
async fn what_was_merged_and_repacked_can_be_merged_again() {
    for spec in VERSIONS {
        let storage = memory();
        let repository = with_dev(&storage, spec).await;
        for (packed, seed) in [("main", 60), ("dev", 61), ("main", 62)] {
            let dev = edit(&repository, "dev", 2, seed).await;
            let session = writer(&repository).await;
            let strict = BasicSolver::of(VersionSelection::Fail);
            applied(session.merge(dev, &strict).await);
            commit(&session, "merged").await;
            main_holds(&repository, &[(2, seed)]).await;
            repack(&repository, packed).await;
        }
    }
}

#[tokio::test]
async fn commits_are_picked_and_reverted_across_a_repacking() {
    for spec in VERSIONS {
        for answer in ANSWERS {
            let storage = memory();
            let repository = with_dev(&storage, spec).await;
            let written = edit(&repository, "main", 1, 50).await;
            let picked = edit(&repository, "dev", 2, 60).await;
            repack(&repository, "main").await;
            let solver = BasicSolver::of(answer);
            let session = writer(&repository).await;
            applied(session.revert(written, &solver).await);
            commit(&session, "reverted").await;
            main_holds(&repository, &[]).await;
            let session = writer(&repository).await;
            applied(session.cherry_pick(picked, &solver).await);
            commit(&session, "picked").await;
            main_holds(&repository, &[(2, 60)]).await;
        }
    }
}

#[tokio::test]
async fn a_repacking_is_no_difference_with_and_without_logs() {
    for spec in VERSIONS {
        for are_logs_there in [true, false] {
            let storage = memory();
            let repository = with_dev(&storage, spec).await;
            let before = tip(&repository, "main").await;
            let packed = repack(&repository, "main").await;
            let after = edit(&repository, "main", 1, 50).await;
            if !are_logs_there {
                for id in [packed, after] {
                    stores::delete(&storage, &layout::transaction_log_key(id)).await;
                }
            }
            let repository = Repository::open(Arc::clone(&storage))
                .await
                .expect("opened");
            let same = repository.diff(before, packed).await.expect("readable");
            assert!(same.is_empty(), "{same:?}");
            for (from, to) in [(before, after), (after, before), (packed, after)] {
                let diff = repository.diff(from, to).await.expect("readable");
                let named: Vec<_> = diff.updated_chunks[&path("/a")].iter().collect();
                assert_eq!(named.len(), 1, "{diff:?}");
                assert_eq!(named[0][..], [1]);
            }
        }
    }
}

/// The walk of the test-suite takes no moved chunk for a change, and no changed chunk for a moved one.
#[tokio::test]
async fn the_walk_tells_moved_chunks_from_changed_ones() {
    for spec in VERSIONS {
        let storage = memory();
        let repository = with_dev(&storage, spec).await;
        let before = chunk_objects(&storage).await;
        let packed = repack(&repository, "main").await;
        let found = walk::problems(&storage).await;
        assert!(found.is_empty(), "{found:?}");
        let (_, offset) = place(&read_main(&repository).await, 3).await;
        let after = chunk_objects(&storage).await.into_iter();
        let new: Vec<String> = after.filter(|key| !before.contains(key)).collect();
        let mut bytes = stores::read(&storage, &new[0]).await.to_vec();
        bytes[offset as usize + 899] ^= 1;
        stores::put(&storage, &new[0], bytes).await;
        let found = walk::problems(&storage).await;
        let [problem] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(
            problem.starts_with(&format!("log {packed}: chunk [3]"))
                && problem.ends_with("changed unsaid"),
            "{problem}"
        );
    }
}

/// Moves that are committed after another commit did something to the chunks.
#[tokio::test]
async fn a_repacking_that_loses_its_race_changes_nothing_of_what_won() {
    for spec in VERSIONS {
        for what in ["replaced", "erased", "deleted", "recreated"] {
            let storage = memory();
            let repository = with_dev(&storage, spec).await;
            let late = moving(&repository, "main").await;
            let session = writer(&repository).await;
            match what {
                "replaced" => write(&session, "/a", &[1], pattern(50, 900)).await,
                "erased" => is!(session.delete_chunk(&path("/a"), &[1]).await, Ok(())),
                _ => is!(session.delete_node(&path("/a")).await, Ok(true)),
            }
            if what == "recreated" {
                set(&session, "/a", array(&[8], &[1])).await;
                write(&session, "/a", &[1], pattern(50, 900)).await;
            }
            let won = commit(&session, "first").await;
            let committed = late.commit("moves").rebase_with(BasicSolver::default());
            is!(
                committed.await,
                Ok(icefield_core::CommitOutcome::Committed(_))
            );
            let last = tip(&repository, "main").await;
            let diff = repository.diff(won, last).await.expect("readable");
            assert!(diff.is_empty(), "{what}: {diff:?}");
            let session = reopened(&storage).await;
            let there = paths(&session, "/").contains(&"/a".to_owned());
            assert_eq!(there, what != "deleted");
            for i in (0..8).filter(|_| there) {
                let seed = match (what, i) {
                    ("replaced" | "recreated", 1) => Some(50),
                    ("erased", 1) | ("recreated", _) => None,
                    _ => Some(u64::from(i)),
                };
                let bytes = seed.map(|seed| pattern(seed, 900));
                holds(&session, "/a", &[i], bytes.as_deref()).await;
            }
        }
    }
}
