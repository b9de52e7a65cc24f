//! Small chunks, put together into larger objects.

mod compared;
mod counted;
mod failures;
mod forks;
mod moved;

use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use icefield_core::test_suite::Trial;
use icefield_core::test_suite::words::*;
use icefield_core::{
    BranchName, ByteRange, ChunkLocation, ChunkRead, PackSettings, Repository, RepositoryConfig,
    Session, SessionError, Settings, WriteMode,
};
use icefield_format::{ChunkId, SpecVersion};
use icefield_storage::wrap::fault::{Decision, Matcher, Plan, Verb};
use icefield_storage::wrap::{CountingStorage, FaultyStorage, LatencyStorage};
use icefield_storage::{Clock as _, Storage, SystemClock};
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::stores;

use crate::support::{Gate, memory};

const VERSIONS: [SpecVersion; 2] = [SpecVersion::V1, SpecVersion::V2];

fn packs(size: u32, buffered: usize) -> PackSettings {
    PackSettings::default()
        .with_threshold(u32::MAX)
        .with_size(size)
        .with_buffered_bytes(buffered)
}

/// A repository with an array `/a` of so many chunks.
async fn repository(
    storage: &Arc<dyn Storage>,
    spec: SpecVersion,
    packs: PackSettings,
    chunks: u64,
) -> Repository {
    let trial = Trial::new("packs", spec, |_| async { memory() });
    let builder = trial.builder(storage);
    let builder = builder.settings(Settings::default().with_packs(packs));
    let repository = builder.create().await.expect("created");
    commit_edits(
        &repository,
        "an array",
        &[("/a", array(&[chunks], &[1]))],
        &[],
    )
    .await;
    repository
}

async fn reopened(storage: &Arc<dyn Storage>) -> Session {
    let repository = Repository::open(Arc::clone(storage))
        .await
        .expect("it is there");
    read_main(&repository).await
}

/// The object of a chunk, and where in it the chunk begins.
async fn place(session: &Session, index: u32) -> (ChunkId, u64) {
    let found = session.chunk_location(&path("/a"), &[index]).await;
    match found.expect("it can be found") {
        Some(ChunkLocation::Native { id, offset, .. }) => (id, offset),
        other => panic!("chunk {index} is {other:?}"),
    }
}

async fn chunk_objects(storage: &Arc<dyn Storage>) -> Vec<String> {
    stores::keys_below(storage, "chunks/").await
}

/// Reads a chunk in each way that there is.
async fn is_read(session: &Session, index: u32, expected: &[u8]) {
    let at = path("/a");
    holds(session, "/a", &[index], Some(expected)).await;
    let part = ByteRange::Range { start: 3, end: 50 };
    let part = session.chunk(&at, &[index], part).await.expect("readable");
    assert_eq!(part.as_deref(), Some(&expected[3..50]));
    let last = session
        .chunk(&at, &[index], ByteRange::Suffix { length: 7 })
        .await;
    let last = last.expect("readable");
    assert_eq!(last.as_deref(), Some(&expected[expected.len() - 7..]));
    let offset = expected.len() as u64 + 1;
    let beyond = ByteRange::From { offset };
    is!(
        session.chunk(&at, &[index], beyond).await,
        Err(SessionError::RangeOutOfChunk { .. }),
    );
    let blocking = session.try_chunk_blocking(&at, &[index], ByteRange::All);
    let blocking = blocking.expect("nothing to wait for").expect("readable");
    assert_eq!(blocking.as_deref(), Some(expected));
    let reads = vec![ChunkRead::whole(at.clone(), vec![index])];
    let many: Vec<_> = session
        .get_many(reads)
        .try_collect()
        .await
        .expect("readable");
    assert_eq!(many[0].1.as_deref(), Some(expected));
    let location = session.chunk_location(&at, &[index]).await.expect("found");
    assert_eq!(location.expect("there").length(), expected.len() as u64);
    let listed = chunk_list(session, "/a").await;
    assert!(listed.iter().any(|chunk| *chunk.index == [index]));
    let kept = session
        .set_chunk(&at, &[index], "other".into(), WriteMode::IfAbsent)
        .await;
    is!(kept, Ok(false));
}

#[tokio::test]
async fn a_session_reads_its_chunks_before_they_are_stored() {
    for spec in VERSIONS {
        let counting = CountingStorage::new(memory());
        let storage: Arc<dyn Storage> = Arc::new(counting.clone());
        let repository = repository(&storage, spec, packs(1 << 20, 4 << 20), 8).await;
        let session = writer(&repository).await;
        for i in 0..4 {
            write(&session, "/a", &[i], pattern(i.into(), 600 + i as usize)).await;
        }
        assert_eq!(session.buffered_bytes(), 2406);
        let before = counting.snapshot().of("chunks");
        for i in 0..4 {
            is_read(&session, i, &pattern(i.into(), 600 + i as usize)).await;
        }
        assert_eq!(
            counting.snapshot().of("chunks"),
            before,
            "nothing is asked of the store"
        );
        // Written anew, erased, and of others unseen.
        write(&session, "/a", &[1], pattern(9, 700)).await;
        is!(session.delete_chunk(&path("/a"), &[2]).await, Ok(()));
        is_read(&session, 1, &pattern(9, 700)).await;
        holds(&session, "/a", &[2], None).await;
        holds(&reopened(&storage).await, "/a", &[1], None).await;
        commit(&session, "chunks").await;
        assert_eq!(
            (
                session.buffered_bytes(),
                chunk_objects(&storage).await.len()
            ),
            (0, 1)
        );
        let session = reopened(&storage).await;
        holds(&session, "/a", &[1], Some(&pattern(9, 700))).await;
        holds(&session, "/a", &[2], None).await;
        holds(&session, "/a", &[3], Some(&pattern(3, 603))).await;
    }
}

#[tokio::test]
async fn chunks_lie_in_their_pack_in_the_order_in_which_they_came() {
    let storage = memory();
    let repository = repository(&storage, SpecVersion::V1, packs(4000, 16_000), 8).await;
    let session = writer(&repository).await;
    set(&session, "/b", array(&[8], &[1])).await;
    for (at, i) in [("/a", 5), ("/b", 1), ("/a", 2), ("/a", 7)] {
        write(&session, at, &[i], pattern(i.into(), 1000)).await;
    }
    // The pack is full.
    write(&session, "/a", &[0], pattern(0, 1000)).await;
    let first = place(&session, 5).await;
    assert_eq!(first.1, 0);
    assert_eq!(place(&session, 2).await, (first.0, 2000));
    assert_eq!(place(&session, 7).await, (first.0, 3000));
    let second = place(&session, 0).await;
    assert!(second.0 != first.0 && second.1 == 0);
    commit(&session, "chunks").await;
    assert_eq!(chunk_objects(&storage).await.len(), 2);
    holds(
        &reopened(&storage).await,
        "/b",
        &[1],
        Some(&pattern(1, 1000)),
    )
    .await;
}

#[tokio::test]
async fn the_store_and_the_settings_decide_what_is_packed() {
    let config = |threshold: &str| {
        let config = RepositoryConfig::default();
        config
            .with_setting("packed_chunk_threshold_bytes", threshold)
            .expect("allowed")
    };
    let off = Some(PackSettings::off());
    let on = Some(packs(1 << 20, 4 << 20));
    for (remote, stored, settings, objects) in [
        (false, None, None, 3),
        (true, None, None, 1),
        (true, None, off.clone(), 3),
        (true, Some(config("0")), None, 3),
        (false, Some(config("1048576")), None, 1),
        (false, Some(config("1000")), None, 2),
        (true, Some(config("1000")), off, 3),
        (false, None, on, 1),
    ] {
        let builder = MemoryStorage::builder();
        let builder = if remote { builder.remote() } else { builder };
        let storage: Arc<dyn Storage> = Arc::new(builder.build());
        let repository = Repository::builder(Arc::clone(&storage))
            .config(stored.unwrap_or_default())
            .create()
            .await
            .expect("created");
        drop(repository);
        let mut builder = Repository::builder(Arc::clone(&storage));
        if let Some(packs) = settings {
            builder = builder.settings(Settings::default().with_packs(packs));
        }
        let repository = builder.open().await.expect("opened");
        let session = writer(&repository).await;
        set(&session, "/a", array(&[4], &[1])).await;
        for (i, length) in [(0, 600), (1, 999), (2, 1000), (3, 100)] {
            write(&session, "/a", &[i], pattern(i.into(), length)).await;
        }
        commit(&session, "chunks").await;
        assert_eq!(chunk_objects(&storage).await.len(), objects, "{remote}");
    }
}

#[tokio::test]
async fn a_full_bound_blocks_writes_until_uploads_have_room() {
    let inner = memory();
    let gate = Gate::new();
    let slow = FaultyStorage::new(
        Arc::clone(&inner),
        Plan::none().always(
            Matcher::verb(Verb::Put).below("chunks/"),
            Decision::Delay(Duration::from_secs(1)),
        ),
    )
    .with_clock(Arc::new(gate.clone()));
    let storage: Arc<dyn Storage> = Arc::new(slow);
    let repository = repository(&storage, SpecVersion::V1, packs(2000, 6000), 64).await;
    let session = writer(&repository).await;
    let writing: Vec<_> = (0..20)
        .map(|i| {
            let session = session.clone();
            tokio::spawn(async move { write(&session, "/a", &[i], pattern(i.into(), 900)).await })
        })
        .collect();
    let mut most = 0;
    let mut stored = 0;
    for _ in 0..100 {
        tokio::task::yield_now().await;
        most = most.max(session.buffered_bytes());
    }
    let done = writing.iter().filter(|task| task.is_finished()).count();
    assert_eq!(done, 6, "three packs of two chunks are all that fits");
    while !writing.iter().all(tokio::task::JoinHandle::is_finished) {
        gate.reached().await;
        gate.pass();
        stored += 1;
        for _ in 0..20 {
            tokio::task::yield_now().await;
            most = most.max(session.buffered_bytes());
        }
    }
    assert!(most <= 6000 && most > 4000, "{most}");
    assert!(stored >= 7, "{stored}");
    for task in writing {
        task.await.expect("written");
    }
    for _ in 0..20 {
        gate.pass();
    }
    commit(&session, "chunks").await;
    let session = reopened(&inner).await;
    let mut places = Vec::new();
    for i in 0..20 {
        holds(&session, "/a", &[i], Some(&pattern(i.into(), 900))).await;
        places.push(place(&session, i).await.1);
    }
    assert_eq!(
        places,
        [0, 900].repeat(10),
        "those that waited kept their order"
    );
}

#[tokio::test(start_paused = true)]
async fn uploads_go_on_while_further_chunks_are_written() {
    let far = LatencyStorage::new(memory(), Duration::from_millis(100));
    let storage: Arc<dyn Storage> = Arc::new(far);
    let repository = repository(&storage, SpecVersion::V1, packs(2000, 16_000), 64).await;
    let session = writer(&repository).await;
    let begin = tokio::time::Instant::now();
    for i in 0..10 {
        write(&session, "/a", &[i], pattern(i.into(), 1000)).await;
    }
    assert_eq!(begin.elapsed(), Duration::ZERO, "nothing is waited for");
    SystemClock.sleep(Duration::from_millis(101)).await;
    assert_eq!(
        session.buffered_bytes(),
        2000,
        "all but the open pack are stored"
    );
    let begin = tokio::time::Instant::now();
    session.store_packs().await.expect("stored");
    assert_eq!(begin.elapsed(), Duration::from_millis(100));
}

#[tokio::test]
async fn what_is_overwritten_before_it_is_stored_is_not_stored_in_vain() {
    for spec in VERSIONS {
        let storage = memory();
        let repository = repository(&storage, spec, packs(1 << 20, 4 << 20), 8).await;
        let session = writer(&repository).await;
        write(&session, "/a", &[0], pattern(0, 600)).await;
        for i in 0..100 {
            write(&session, "/a", &[1], pattern(i, 1000)).await;
        }
        assert_eq!(session.buffered_bytes(), 1600);
        write(&session, "/a", &[2], pattern(2, 800)).await;
        is!(session.delete_chunk(&path("/a"), &[2]).await, Ok(()));
        assert_eq!(session.buffered_bytes(), 1600);
        // The place is used again, and nothing reads the wrong bytes there.
        write(&session, "/a", &[3], pattern(3, 800)).await;
        holds(&session, "/a", &[2], None).await;
        is_read(&session, 3, &pattern(3, 800)).await;
        is_read(&session, 1, &pattern(99, 1000)).await;
        // A chunk between others stays where it is.
        write(&session, "/a", &[1], pattern(7, 1000)).await;
        assert_eq!(session.buffered_bytes(), 3400);
        commit(&session, "chunks").await;
        let session = reopened(&storage).await;
        for (i, seed, length) in [(0, 0, 600), (1, 7, 1000), (3, 3, 800)] {
            holds(&session, "/a", &[i], Some(&pattern(seed, length))).await;
        }
    }
}

#[tokio::test]
async fn discarded_chunks_are_not_stored() {
    let storage = memory();
    let repository = repository(&storage, SpecVersion::V1, packs(1 << 20, 4 << 20), 8).await;
    let session = writer(&repository).await;
    for i in 0..4 {
        write(&session, "/a", &[i], pattern(i.into(), 600)).await;
    }
    session.discard_changes().expect("open");
    assert_eq!(session.buffered_bytes(), 0);
    write(&session, "/a", &[7], pattern(7, 600)).await;
    commit(&session, "one").await;
    assert_eq!(chunk_objects(&storage).await.len(), 1);
    holds(
        &reopened(&storage).await,
        "/a",
        &[7],
        Some(&pattern(7, 600)),
    )
    .await;
    holds(&reopened(&storage).await, "/a", &[0], None).await;
    // A session that is dropped leaves nothing.
    let session = writer(&repository).await;
    write(&session, "/a", &[1], pattern(7, 600)).await;
    drop(session);
    assert_eq!(chunk_objects(&storage).await.len(), 1);
}

#[tokio::test]
async fn ranges_of_one_object_may_overlap() {
    let storage = memory();
    let repository = repository(&storage, SpecVersion::V1, PackSettings::off(), 8).await;
    let session = writer(&repository).await;
    let bytes = pattern(1, 2000);
    write(&session, "/a", &[0], bytes.clone()).await;
    let (id, _) = place(&session, 0).await;
    let ranges = [(1, 0..1000), (2, 500..1500), (3, 500..501), (4, 1999..2000)];
    for (index, range) in ranges.clone() {
        let within = (range.start, range.end - range.start);
        let set = session
            .set_stored_chunk(&path("/a"), &[index], id, within)
            .await;
        set.expect("set");
    }
    for (wrong, length) in [(u64::MAX, 2), (1, u64::MAX), (7, 0)] {
        let set = session
            .set_stored_chunk(&path("/a"), &[5], id, (wrong, length))
            .await;
        is!(
            set,
            Err(SessionError::RangeOutOfChunk { .. } | SessionError::EmptyChunk { .. })
        );
    }
    commit(&session, "overlapping").await;
    let session = reopened(&storage).await;
    let reads = (0..5)
        .map(|i| ChunkRead::whole(path("/a"), vec![i]))
        .collect();
    let mut many: Vec<_> = session
        .get_many(reads)
        .try_collect()
        .await
        .expect("readable");
    many.sort_by_key(|(position, _)| *position);
    for (index, range) in ranges {
        let expected = &bytes[range.start as usize..range.end as usize];
        holds(&session, "/a", &[index], Some(expected)).await;
        assert_eq!(many[index as usize].1.as_deref(), Some(expected));
    }
}

#[tokio::test]
async fn a_missing_or_cut_pack_is_damage_by_name() {
    let storage = memory();
    let repository = repository(&storage, SpecVersion::V1, packs(1 << 20, 4 << 20), 8).await;
    let session = writer(&repository).await;
    for i in 0..3 {
        write(&session, "/a", &[i], pattern(i.into(), 1000)).await;
    }
    commit(&session, "chunks").await;
    let [key] = &chunk_objects(&storage).await[..] else {
        panic!("one pack")
    };
    let whole = stores::read(&storage, key).await;
    stores::put(&storage, key, whole.slice(..1500)).await;
    let session = reopened(&storage).await;
    holds(&session, "/a", &[0], Some(&pattern(0, 1000))).await;
    is!(
        session.chunk(&path("/a"), &[1], ByteRange::All).await,
        Err(SessionError::ChunkTruncated { key: at, index, offset: 1000, end: 2000, .. })
            if at.as_str() == key && *index == [1],
    );
    stores::delete(&storage, key).await;
    is!(
        session.chunk(&path("/a"), &[2], ByteRange::All).await,
        Err(SessionError::ChunkMissing { key: at, index, .. })
            if at.as_str() == key && *index == [2],
    );
}

/// Chunks that a rebase wrote are stored by the commit that comes next.
#[tokio::test]
async fn packs_are_rebased_like_other_chunks() {
    for spec in VERSIONS {
        let storage = memory();
        let repository = repository(&storage, spec, packs(4000, 16_000), 16).await;
        let (one, two) = (writer(&repository).await, writer(&repository).await);
        for i in 0..8 {
            write(&one, "/a", &[i], pattern(i.into(), 1000)).await;
            // Equal chunks are no conflict, also where neither is stored.
            write(&two, "/a", &[i], pattern(i.into(), 1000)).await;
            write(&two, "/a", &[8 + i], pattern(50 + u64::from(i), 1000)).await;
        }
        commit(&one, "one").await;
        let rebased = two
            .commit("two")
            .rebase_with(icefield_core::BasicSolver::default());
        is!(
            rebased.await,
            Ok(icefield_core::CommitOutcome::Committed(_))
        );
        let session = reader(&repository, BranchName::main()).await;
        for i in 0..8 {
            holds(&session, "/a", &[i], Some(&pattern(i.into(), 1000))).await;
            holds(
                &session,
                "/a",
                &[8 + i],
                Some(&pattern(50 + u64::from(i), 1000)),
            )
            .await;
        }
    }
}
