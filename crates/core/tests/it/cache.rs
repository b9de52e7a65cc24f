//! The cache of decoded objects: one load however many ask, never more bytes than allowed.

use std::sync::Arc;

use icefield_core::test_suite::Trial;
use icefield_core::test_suite::words::*;
use icefield_core::{ByteRange, Repository, Settings};
use icefield_storage::Storage;
use icefield_storage::wrap::{CountingStorage, LatencyStorage};

use crate::support::trial;

/// A repository with so many arrays, each with a manifest of its own of a few kilobytes.
async fn arrays(trial: &Trial, count: usize) -> Arc<dyn Storage> {
    let (storage, repository) = trial.create().await;
    let session = writer(&repository).await;
    for i in 0..count {
        let at = format!("/a{i}");
        set(&session, &at, array(&[10], &[1])).await;
        for j in 0..10 {
            write(
                &session,
                &at,
                &[j],
                pattern(i as u64 * 10 + u64::from(j), 400),
            )
            .await;
        }
    }
    commit(&session, "arrays").await;
    storage
}

async fn open(trial: &Trial, storage: &Arc<dyn Storage>, cache_bytes: u64) -> Repository {
    let settings = Settings::default().with_cache_bytes(cache_bytes);
    let repository = trial.builder(storage).settings(settings).open().await;
    repository.expect("opened")
}

#[tokio::test(start_paused = true)]
async fn one_object_is_loaded_once_for_64_readers() {
    let trial = trial("64 readers");
    let storage = arrays(&trial, 1).await;
    let far = LatencyStorage::new(storage, std::time::Duration::from_secs(1));
    let counting = CountingStorage::new(Arc::new(far));
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = trial.open(&storage).await;
    counting.reset();
    let readers: Vec<_> = (0..64_u32)
        .map(|i| {
            let repository = repository.clone();
            tokio::spawn(async move {
                let session = read_main(&repository).await;
                let chunk = session.chunk(&path("/a0"), &[i % 10], ByteRange::All).await;
                is!(chunk, Ok(Some(bytes)) if bytes == pattern(u64::from(i % 10), 400));
            })
        })
        .collect();
    for reader in readers {
        reader.await.expect("the reader reads");
    }
    let counts = counting.snapshot();
    assert_eq!(counts.of("snapshots").get, 1, "{counts:?}");
    assert_eq!(counts.of("manifests").get, 1, "{counts:?}");
    assert_eq!(counts.of("refs").get, 64, "a branch may move at any time");
}

#[test]
fn one_object_is_loaded_once_for_64_readers_on_several_threads() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .expect("a test can have a runtime");
    runtime.block_on(async {
        let trial = trial("64 readers");
        for _ in 0..20 {
            let counting = CountingStorage::new(arrays(&trial, 1).await);
            let storage: Arc<dyn Storage> = Arc::new(counting.clone());
            let session = read_main(&trial.open(&storage).await).await;
            counting.reset();
            let start = Arc::new(tokio::sync::Barrier::new(64));
            let readers: Vec<_> = (0..64)
                .map(|_| {
                    let (session, start) = (session.clone(), Arc::clone(&start));
                    tokio::spawn(async move {
                        start.wait().await;
                        holds(&session, "/a0", &[0], Some(&pattern(0, 400))).await;
                    })
                })
                .collect();
            for reader in readers {
                reader.await.expect("the reader reads");
            }
            assert_eq!(counting.snapshot().of("manifests").get, 1);
        }
    });
}

#[tokio::test]
async fn the_cache_stays_under_its_bound() {
    let trial = trial("bound");
    let storage = arrays(&trial, 60).await;
    let bound = 40_000;
    let repository = open(&trial, &storage, bound).await;
    let session = read_main(&repository).await;
    let mut seen = 0;
    for round in 0..3 {
        for i in 0..60 {
            let at = format!("/a{i}");
            holds(
                &session,
                &at,
                &[round],
                Some(&pattern(i * 10 + u64::from(round), 400)),
            )
            .await;
            let statistics = repository.cache_statistics();
            assert!(statistics.bytes <= bound, "{statistics:?}");
            assert_eq!(statistics.capacity, bound);
            seen = seen.max(statistics.objects);
        }
    }
    assert!(seen > 2, "it does keep something");
}

#[tokio::test]
async fn what_fits_is_kept() {
    let trial = trial("fits");
    let counting = CountingStorage::new(arrays(&trial, 5).await);
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = open(&trial, &storage, 1 << 20).await;
    let session = read_main(&repository).await;
    for _ in 0..3 {
        for i in 0..5 {
            holds(
                &session,
                &format!("/a{i}"),
                &[0],
                Some(&pattern(i * 10, 400)),
            )
            .await;
        }
    }
    assert_eq!(counting.snapshot().of("manifests").get, 5);
    let statistics = repository.cache_statistics();
    assert_eq!(statistics.objects, 6);
    assert!(statistics.bytes > 5 * 4000, "{statistics:?}");
}

#[tokio::test]
async fn an_object_larger_than_the_cache_is_still_used() {
    let trial = trial("too large");
    let counting = CountingStorage::new(arrays(&trial, 2).await);
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    for cache_bytes in [0, 1, 1000] {
        let repository = open(&trial, &storage, cache_bytes).await;
        let session = writer(&repository).await;
        for round in 0..2 {
            for i in 0..2 {
                let bytes = pattern(i * 10 + u64::from(round), 400);
                holds(&session, &format!("/a{i}"), &[round], Some(&bytes)).await;
            }
        }
        assert!(repository.cache_statistics().bytes <= cache_bytes);
        write(&session, "/a0", &[9], "new").await;
        let id = commit(&session, "new").await;
        is!(session.snapshot_id(), Ok(found) if found == id);
        is!(session.has_changes(), Ok(false));
        holds(&session, "/a0", &[9], Some(b"new")).await;
        let session = writer(&repository).await;
        write(&session, "/a0", &[9], pattern(9, 400)).await;
        commit(&session, "as before").await;
    }
    icefield_core::test_suite::walk::assert_sound(&storage).await;
}

#[tokio::test]
async fn a_session_outlives_what_the_cache_forgets() {
    let trial = trial("forgotten");
    let storage = arrays(&trial, 3).await;
    let repository = open(&trial, &storage, 0).await;
    let session = read_main(&repository).await;
    // The session holds its snapshot, whatever the cache does.
    let counting = CountingStorage::new(Arc::clone(&storage));
    let counted: Arc<dyn Storage> = Arc::new(counting.clone());
    let other = read_main(&open(&trial, &counted, 0).await).await;
    counting.reset();
    for _ in 0..10 {
        assert_eq!(paths(&other, "/").len(), 3);
        is!(other.array(&path("/a1")), Ok(_));
    }
    assert_eq!(counting.snapshot().total.requests(), 0);
    assert_eq!(paths(&session, "/"), paths(&other, "/"));
}

#[tokio::test]
async fn what_a_commit_wrote_is_read_from_memory() {
    let trial = trial("just written");
    // Small ones are decoded at once, others by the first who asks.
    for (count, bytes) in [(2, 400), (300, 500), (3000, 500)] {
        let storage = trial.store().await;
        let counting = CountingStorage::new(Arc::clone(&storage));
        let counted: Arc<dyn Storage> = Arc::new(counting.clone());
        let repository = trial.builder(&counted).open_or_create().await;
        let repository = repository.expect("created");
        let session = writer(&repository).await;
        set(&session, "/a", array(&[count], &[1])).await;
        for i in 0..count as u32 {
            let chunk = pattern(u64::from(i), bytes);
            write(&session, "/a", &[i], chunk).await;
        }
        commit(&session, "much").await;
        counting.reset();
        let last = count as u32 - 1;
        let expected = pattern(u64::from(last), bytes);
        // The first caller decodes the object, with and without waiting.
        let next = read_main(&repository).await;
        let chunk = next.try_chunk_blocking(&path("/a"), &[last], ByteRange::All);
        is!(chunk, Some(Ok(Some(bytes))) if bytes == expected);
        for session in [&session, &next] {
            let chunk = session.chunk(&path("/a"), &[last], ByteRange::All).await;
            is!(chunk, Ok(Some(bytes)) if bytes == expected);
        }
        // One that is on top of it copies or merges what is in memory.
        let session = writer(&repository).await;
        is!(session.shift(&path("/a"), &[-1]).await, Ok(()));
        commit(&session, "shifted").await;
        let counts = counting.snapshot();
        assert_eq!(counts.of("manifests").get, 0, "{count}: {counts:?}");
        assert_eq!(counts.of("snapshots").get, 0, "{count}: {counts:?}");
        let session = read_main(&trial.open(&storage).await).await;
        let shifted = session
            .chunk(&path("/a"), &[last - 1], ByteRange::All)
            .await;
        is!(shifted, Ok(Some(bytes)) if bytes == expected);
    }
}
