//! Many writers at once: section B of the cases in `docs/faults.md`.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures::TryStreamExt;
use icefield_core::{
    BasicSolver, BranchName, ByteRange, CommitError, CommitOutcome, Conflict, ConflictSolver,
    Detector, EditOutcome, Repository, Resolution, Session, SnapshotId, TagName, WriteMode,
};
use icefield_storage::wrap::Meter;
use icefield_storage::{BoxError, Storage};
use icefield_storage_memory::MemoryStorage;

use crate::edits::*;

/// A repository with the array `/x` of so many chunks, none written.
async fn with_array(chunks: u64) -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let repository = Repository::create(Arc::clone(&storage)).await.expect("new");
    let session = writer(&repository).await;
    apply(&session, &[Meta("/x", array(chunks, ""))]).await;
    commit(&session).await;
    storage
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b19_of_writers_of_one_chunk_one_wins_and_the_others_are_told_which() {
    const WRITERS: u8 = 32;
    let storage = with_array(4).await;
    let mut sessions = Vec::new();
    for number in 0..WRITERS {
        let session = writer(&open(&storage).await).await;
        apply(&session, &[Chunk("/x", 2, number + 1)]).await;
        sessions.push(session);
    }
    let commits = sessions.into_iter().map(|session| {
        tokio::spawn(async move { session.commit("mine").rebase_with(Detector::Strict).await })
    });
    let mut winners = Vec::new();
    for outcome in futures::future::join_all(commits).await {
        match outcome.expect("no panic").expect("decided") {
            CommitOutcome::Committed(id) => winners.push(id),
            CommitOutcome::Conflicts { conflicts, .. } => {
                assert_eq!(conflicts.len(), 1);
                assert_eq!(conflicts[0].path(), &path("/x"));
                let chunks = conflicts[0].chunks().expect("it is about chunks");
                assert_eq!(
                    chunks.iter().map(|it| it.to_vec()).collect::<Vec<_>>(),
                    [[2]]
                );
                assert!(conflicts[0].to_string().contains("/x"));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(winners.len(), 1);
    let session = reader(&open(&storage).await).await;
    assert_eq!(session.snapshot_id().expect("sound"), winners[0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b21_of_two_tags_of_one_name_one_wins_for_good() {
    let storage = with_array(1).await;
    let tip = reader(&open(&storage).await)
        .await
        .snapshot_id()
        .expect("sound");
    for round in 0..50 {
        let name = format!("v{round}");
        let race = [SnapshotId::INITIAL, tip].map(|target| {
            let (storage, name) = (Arc::clone(&storage), name.clone());
            tokio::spawn(async move {
                let repository = open(&storage).await;
                let outcome = repository.create_tag(&name, target).await.expect("valid");
                matches!(outcome, EditOutcome::Done(_)).then_some(target)
            })
        });
        let won: Vec<SnapshotId> = futures::future::join_all(race)
            .await
            .into_iter()
            .filter_map(|it| it.expect("no panic"))
            .collect();
        assert_eq!(won.len(), 1, "round {round}");
        let tag: TagName = name.parse().expect("valid");
        let repository = open(&storage).await;
        assert_eq!(
            repository
                .resolve(&tag.clone().into())
                .await
                .expect("there"),
            won[0]
        );
        // Deleted, the name is never given again.
        let deleted = repository.delete_tag(&tag).await.expect("valid");
        assert!(matches!(deleted, EditOutcome::Done(_)));
        let again = repository.create_tag(&name, tip).await.expect("valid");
        assert!(matches!(again, EditOutcome::Refused(_)));
    }
}

#[tokio::test]
async fn b30_a_writer_that_meets_an_upgraded_repository_publishes_nothing() {
    let storage = with_array(2).await;
    let repository = open(&storage).await;
    let session = writer(&repository).await;
    apply(&session, &[Chunk("/x", 0, 1)]).await;
    let before = reader(&repository).await.snapshot_id().expect("sound");
    icefield_testkit::stores::put(&storage, "repo", "what version 2 keeps here").await;
    for solver in [Detector::Strict, Detector::Compatible] {
        let outcome = session.commit("late").rebase_with(solver).await;
        assert!(matches!(outcome, Err(CommitError::Upgraded)), "{outcome:?}");
    }
    let tip = storage_tip(&repository).await;
    assert_eq!(tip, before);
    let opened = Repository::open(storage).await;
    let error = opened.expect_err("no repository says that").to_string();
    assert!(error.contains("`repo` is damaged"), "{error}");
}

async fn storage_tip(repository: &Repository) -> SnapshotId {
    let tip = repository.resolve(&BranchName::main().into()).await;
    tip.expect("main exists")
}

/// Adds up what two sides counted: the chunks of this array are counters.
#[derive(Debug)]
struct Counters;

#[async_trait]
impl ConflictSolver for Counters {
    /// Two who counted to the same number counted twice: equal bytes must not pass as one write.
    fn detector(&self) -> Detector {
        Detector::Compatible
    }

    async fn solve(
        &self,
        conflict: &Conflict,
        ours: &Session,
        before: &Session,
        theirs: &Session,
    ) -> Result<Resolution, BoxError> {
        let Conflict::ChunkDoubleUpdate { path, chunks, .. } = conflict else {
            return Ok(Resolution::Fail);
        };
        let mut merged = Vec::new();
        for index in chunks {
            let mut counts = [0_i64; 3];
            for (count, session) in counts.iter_mut().zip([before, ours, theirs]) {
                if let Some(bytes) = session.chunk(path, index, ByteRange::All).await? {
                    *count = i64::from_le_bytes(bytes[..].try_into()?);
                }
            }
            let sum = counts[1] + counts[2] - counts[0];
            merged.push((index.clone(), sum.to_le_bytes().to_vec().into()));
        }
        Ok(Resolution::Merged(merged))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_solver_of_ones_own_merges_counters() {
    const WRITERS: i64 = 8;
    const ROUNDS: i64 = 10;
    let storage = with_array(3).await;
    let writers = (0..WRITERS).map(|number| {
        let storage = Arc::clone(&storage);
        tokio::spawn(async move {
            let repository = open(&storage).await;
            for _ in 0..ROUNDS {
                let session = writer(&repository).await;
                let (at, index) = (path("/x"), [(number % 3) as u32]);
                let chunk = session
                    .chunk(&at, &index, ByteRange::All)
                    .await
                    .expect("readable");
                let count = chunk.map_or(0, |bytes| {
                    i64::from_le_bytes(bytes[..].try_into().expect("a counter"))
                });
                let bytes = (count + 1).to_le_bytes().to_vec().into();
                let wrote = session
                    .set_chunk(&at, &index, bytes, WriteMode::Overwrite)
                    .await;
                assert!(wrote.expect("valid"));
                let outcome = session.commit("one more").rebase_with(Counters).await;
                assert!(
                    matches!(outcome, Ok(CommitOutcome::Committed(_))),
                    "{outcome:?}"
                );
            }
        })
    });
    for writer in futures::future::join_all(writers).await {
        writer.expect("no panic");
    }
    let session = reader(&open(&storage).await).await;
    let mut total = 0;
    for index in 0..3 {
        let chunk = session.chunk(&path("/x"), &[index], ByteRange::All).await;
        let bytes = chunk.expect("readable").expect("counted");
        total += i64::from_le_bytes(bytes[..].try_into().expect("a counter"));
    }
    assert_eq!(total, WRITERS * ROUNDS, "no count is lost");
}

#[tokio::test]
async fn a_solver_that_answers_nonsense_settles_nothing() {
    #[derive(Debug)]
    struct Nonsense(Vec<u32>);

    #[async_trait]
    impl ConflictSolver for Nonsense {
        async fn solve(
            &self,
            _: &Conflict,
            _: &Session,
            _: &Session,
            _: &Session,
        ) -> Result<Resolution, BoxError> {
            let bytes = vec![1; 4].into();
            Ok(Resolution::Merged(vec![(self.0.clone().into(), bytes)]))
        }
    }

    let storage = with_array(3).await;
    let repository = open(&storage).await;
    let (ours, theirs) = (writer(&repository).await, writer(&repository).await);
    apply(&ours, &[Chunk("/x", 1, 1)]).await;
    apply(&theirs, &[Chunk("/x", 1, 2)]).await;
    commit(&theirs).await;
    for index in [vec![2], vec![9], vec![1, 1], vec![]] {
        let outcome = ours
            .commit("no")
            .rebase_with(Nonsense(index))
            .await
            .expect("decided");
        assert!(
            matches!(outcome, CommitOutcome::Conflicts { .. }),
            "{outcome:?}"
        );
        assert_eq!(
            byte(&ours, "/x", 1).await,
            Some(1),
            "the session is as before"
        );
    }
    // Of a window that moved, index 0 is one chunk here and another one there: a merge by index would be wrong.
    let (ours, theirs) = (writer(&repository).await, writer(&repository).await);
    ours.shift(&path("/x"), &[-1]).await.expect("shifted");
    apply(&ours, &[Chunk("/x", 0, 1)]).await;
    apply(&theirs, &[Chunk("/x", 1, 3)]).await;
    commit(&theirs).await;
    let outcome = ours
        .commit("no")
        .rebase_with(Nonsense(vec![0]))
        .await
        .expect("decided");
    assert!(
        matches!(outcome, CommitOutcome::Conflicts { .. }),
        "{outcome:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_session_far_behind_catches_up_in_few_rounds() {
    const BEHIND: u32 = 1000;
    let storage = with_array(u64::from(BEHIND) + 1).await;
    let base = open(&storage).await;
    let base = reader(&base).await.snapshot_id().expect("sound");
    let meter = Meter::new(Arc::clone(&storage));
    let ours = writer(&open(&meter.storage()).await).await;
    apply(&ours, &[Chunk("/x", BEHIND, 1)]).await;
    let repository = open(&storage).await;
    for index in 0..BEHIND {
        let session = writer(&repository).await;
        apply(&session, &[Chunk("/x", index, 2)]).await;
        commit(&session).await;
    }
    let (outcome, cost) = meter.measure(ours.rebase(&Detector::Strict)).await;
    let outcome = outcome.expect("decided");
    assert!(
        matches!(
            outcome,
            icefield_core::RebaseOutcome::Rebased { commits: 1000, .. }
        ),
        "{outcome:?}"
    );
    println!(
        "{BEHIND} commits behind {base}: {} rounds, {:?}",
        cost.rounds, cost.counts
    );
    // The ref, sixteen steps, one list, the rest by sixteens, and the logs of the last of them.
    let pages = cost.counts.total.list_pages;
    let most = 1 + 16 + pages + u64::from(BEHIND - 16).div_ceil(16) + 1;
    assert!(cost.rounds <= most, "{} of {most}", cost.rounds);
    // A snapshot and a log for each commit, and little else.
    assert!(
        cost.counts.total.requests() <= 2 * u64::from(BEHIND) + 32,
        "{:?}",
        cost.counts
    );
    commit(&ours).await;
    let session = reader(&repository).await;
    let chunks: Vec<_> = session
        .chunks(&path("/x"))
        .expect("sound")
        .try_collect()
        .await
        .expect("readable");
    let indices: BTreeSet<u32> = chunks.iter().map(|chunk| chunk.index[0]).collect();
    assert_eq!(indices.len() as u32, BEHIND + 1);
}

#[tokio::test]
async fn lost_races_write_no_manifest_twice_that_nobody_touched() {
    let storage = with_array(10).await;
    let repository = open(&storage).await;
    let first = writer(&repository).await;
    apply(&first, &[Meta("/y", array(10, "")), Chunk("/y", 0, 1)]).await;
    commit(&first).await;
    let ours = writer(&repository).await;
    apply(&ours, &[Chunk("/x", 0, 1), Chunk("/y", 1, 1)]).await;
    let manifests = async || {
        let objects = icefield_testkit::stores::dump(&storage).await;
        objects
            .keys()
            .filter(|key| key.starts_with("manifests/"))
            .count()
    };
    // Our first attempt loses, with both manifests stored; theirs touched one of the arrays.
    let theirs = writer(&repository).await;
    apply(&theirs, &[Chunk("/x", 5, 5)]).await;
    commit(&theirs).await;
    let before = manifests().await;
    let outcome = ours.commit("refused").await.expect("decided");
    assert!(matches!(outcome, CommitOutcome::BranchMoved { .. }));
    assert_eq!(manifests().await, before + 2);
    let solver = BasicSolver::default();
    let outcome = ours
        .commit("lands")
        .rebase_with(solver)
        .await
        .expect("decided");
    assert!(matches!(outcome, CommitOutcome::Committed(_)));
    assert_eq!(
        manifests().await,
        before + 3,
        "only that of the array they touched"
    );
    let session = reader(&repository).await;
    for (at, index, value) in [("/x", 0, 1), ("/x", 5, 5), ("/y", 0, 1), ("/y", 1, 1)] {
        assert_eq!(byte(&session, at, index).await, Some(value));
    }
}

#[tokio::test]
async fn a_clock_far_from_the_stores_is_told_and_a_clock_that_goes_back_is_put_up_with() {
    use icefield_storage::ManualClock;
    use std::time::{Duration, SystemTime};

    let hour = Duration::from_secs(3600);
    let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let theirs = ManualClock::new(noon);
    let storage = MemoryStorage::builder()
        .clock(Arc::new(theirs.clone()))
        .build();
    let storage: Arc<dyn Storage> = Arc::new(storage);
    let clock = ManualClock::new(noon);
    let builder = Repository::builder(Arc::clone(&storage)).clock(Arc::new(clock.clone()));
    let repository = builder.create().await.expect("new");
    let mut ahead = Vec::new();
    for (number, now) in [noon, noon + hour, noon - hour, noon]
        .into_iter()
        .enumerate()
    {
        clock.set(now);
        let session = writer(&repository).await;
        let at: &'static str = ["/a", "/b", "/c", "/d"][number];
        apply(&session, &[Meta(at, group("{}"))]).await;
        commit(&session).await;
        ahead.push(repository.clock_skew());
    }
    assert_eq!(ahead, [None, Some(3600), Some(-3600), None]);
    let tip = storage_tip(&repository).await;
    let history: Vec<_> = repository.ancestry(tip).try_collect().await.expect("sound");
    assert!(history.is_sorted_by(|newer, older| newer.written_at > older.written_at));
}

#[tokio::test]
async fn b22_main_removed_by_force_is_noticed_and_does_not_come_back() {
    let storage = with_array(4).await;
    let repository = open(&storage).await;
    let session = writer(&repository).await;
    apply(&session, &[Chunk("/x", 0, 1)]).await;
    icefield_testkit::stores::delete(&storage, "refs/branch.main/ref.json").await;
    assert!(matches!(
        session.commit("alone").await,
        Ok(CommitOutcome::BranchMoved { found: None, .. })
    ));
    assert!(matches!(
        session
            .commit("followed")
            .rebase_with(Detector::Strict)
            .await,
        Ok(CommitOutcome::BranchMoved { found: None, .. })
    ));
    assert_eq!(
        session.rebase(&Detector::Strict).await.expect("readable"),
        icefield_core::RebaseOutcome::BranchGone
    );
    assert_eq!(
        byte(&session, "/x", 0).await,
        Some(1),
        "the session is as before"
    );
    assert!(repository.write_session(BranchName::main()).await.is_err());
    // The session's edits can still be kept.
    let kept = session.flush("kept").await.expect("no branch is needed");
    let created = repository.create_tag("kept", kept).await.expect("valid");
    assert!(matches!(created, EditOutcome::Done(_)));
}
