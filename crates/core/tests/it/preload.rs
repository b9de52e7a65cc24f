//! Preloaded manifests: which and how many are fetched, and that reads are no slower for it.

use std::sync::Arc;

use icefield_core::test_suite::words::*;
use icefield_core::{ByteRange, Repository, RepositoryConfig, Settings};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Storage, StorageExt};

use crate::support::{memory, without_runtime};

/// Arrays, and the references of each.
const ARRAYS: [(&str, u32); 6] = [
    ("/data", 1200),
    ("/g/Lat_bnds", 20),
    ("/g/data", 30),
    ("/nav_lon", 10),
    ("/time", 1001),
    ("/x", 5),
];

/// A store with these arrays, each with one manifest.
async fn stored() -> (Arc<dyn Storage>, CountingStorage) {
    let counting = CountingStorage::new(memory());
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let repository = Repository::create(Arc::clone(&storage)).await;
    let session = writer(&repository.expect("made")).await;
    for (at, count) in ARRAYS {
        set(&session, at, array(&[u64::from(count)], &[1])).await;
        for index in 0..count {
            write(&session, at, &[index], pattern(u64::from(index), 3)).await;
        }
    }
    commit(&session, "arrays").await;
    (storage, counting)
}

async fn open(storage: &Arc<dyn Storage>, preload: &str) -> Repository {
    let text = format!("manifest:\n  preload:\n{preload}");
    let config = RepositoryConfig::decode(text.as_bytes()).expect("a configuration");
    let builder = Repository::builder(Arc::clone(storage)).config(config);
    builder.open().await.expect("opened")
}

/// Lets what goes on in the background come to its end.
async fn settle() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn without_a_configuration_nothing_is_fetched_unasked() {
    let (storage, counting) = stored().await;
    let repository = Repository::open(storage).await.expect("opened");
    counting.reset();
    let session = read_main(&repository).await;
    let _writer = writer(&repository).await;
    settle().await;
    assert_eq!(counting.reset().of("manifests").requests(), 0);
    // By hand, small coordinates.
    let report = session.preload().await.expect("fetched");
    assert_eq!((report.arrays, report.manifests, report.refs), (3, 3, 35));
    assert_eq!(counting.reset().of("manifests").get, 3);
    session.preload().await.expect("there already");
    holds(&session, "/x", &[4], Some(&pattern(4, 3))).await;
    assert_eq!(counting.reset().of("manifests").get, 0);
}

#[tokio::test]
async fn what_was_fetched_early_is_not_fetched_again() {
    let (storage, counting) = stored().await;
    let preload = "    preload_if: !path_matches {regex: ^/g/}\n";
    for writable in [false, true] {
        let repository = open(&storage, preload).await;
        counting.reset();
        let session = match writable {
            false => read_main(&repository).await,
            true => writer(&repository).await,
        };
        settle().await;
        assert_eq!(counting.reset().of("manifests").get, 2);
        holds(&session, "/g/data", &[7], Some(&pattern(7, 3))).await;
        holds(&session, "/g/Lat_bnds", &[7], Some(&pattern(7, 3))).await;
        assert_eq!(counting.reset().of("manifests").get, 0);
        holds(&session, "/x", &[1], Some(&pattern(1, 3))).await;
        assert_eq!(counting.reset().of("manifests").get, 1);
        // The next session finds them in memory.
        read_main(&repository).await;
        settle().await;
        assert_eq!(counting.reset().of("manifests").get, 0);
    }
}

#[tokio::test]
async fn a_reader_who_comes_before_they_are_there_waits_for_them() {
    let (storage, counting) = stored().await;
    let repository = open(&storage, "    preload_if: !name_matches {regex: ^x$}\n").await;
    counting.reset();
    let session = read_main(&repository).await;
    holds(&session, "/x", &[1], Some(&pattern(1, 3))).await;
    settle().await;
    assert_eq!(counting.reset().of("manifests").get, 1);
}

#[tokio::test]
async fn conditions_and_the_bound_choose_arrays_in_the_order_of_their_paths() {
    let (storage, _) = stored().await;
    for (preload, arrays, refs) in [
        ("    preload_if: 'true'\n", 6, 2266),
        ("    preload_if: 'false'\n", 0, 0),
        ("    max_total_refs: 10000\n", 3, 35),
        // One that does not fit is passed over.
        (
            "    max_total_refs: 1260\n    preload_if: 'true'\n",
            5 - 1,
            1260,
        ),
        ("    max_total_refs: 60\n    preload_if: 'true'\n", 3, 60),
        ("    max_total_refs: 0\n    preload_if: 'true'\n", 0, 0),
        (
            "    preload_if: !num_refs {from: !Included 10, to: !Excluded 30}\n",
            2,
            30,
        ),
        (
            "    preload_if: !num_refs {from: !Excluded 10, to: Unbounded}\n",
            4,
            2251,
        ),
        (
            "    preload_if: !and [!path_matches {regex: ^/g}, !name_matches {regex: data}]\n",
            1,
            30,
        ),
        (
            "    preload_if: !or [!path_matches {regex: ^/g}, !name_matches {regex: data}]\n",
            3,
            1250,
        ),
        // A pattern that is no regular expression matches nothing.
        ("    preload_if: !name_matches {regex: '('}\n", 0, 0),
    ] {
        let session = read_main(&open(&storage, preload).await).await;
        let report = session.preload().await.expect("fetched");
        assert_eq!((report.arrays, report.refs), (arrays, refs), "{preload}");
    }
}

#[tokio::test]
async fn no_more_is_fetched_than_the_cache_has_room_for() {
    let (storage, _) = stored().await;
    let settings = Settings::default().with_cache_bytes(2000);
    let config = b"manifest: {preload: {preload_if: 'true'}}";
    let config = RepositoryConfig::decode(config).expect("a configuration");
    let builder = Repository::builder(storage).config(config);
    let repository = builder.settings(settings).open().await.expect("opened");
    let session = read_main(&repository).await;
    let report = session.preload().await.expect("fetched");
    assert!((1..6).contains(&report.arrays), "{report:?}");
    assert!(report.refs < 200, "{report:?}");
}

#[tokio::test]
async fn a_manifest_that_is_missing_is_an_error_of_those_alone_who_read_it() {
    let (storage, counting) = stored().await;
    let repository = Repository::open(Arc::clone(&storage)).await;
    let repository = repository.expect("opened");
    let snapshot = repository.snapshot(tip(&repository, "main").await).await;
    let snapshot = snapshot.expect("a snapshot");
    let node = snapshot.node(&path("/g/data")).expect("an array");
    let manifests = node.array().expect("an array").manifests();
    for manifest in manifests {
        let lost = key(&format!("manifests/{}", manifest.id()));
        let deleted = storage.delete_one(lost.into()).await;
        is!(deleted, Ok(_));
    }
    let repository = open(&storage, "    preload_if: !path_matches {regex: ^/}\n").await;
    counting.reset();
    let session = read_main(&repository).await;
    settle().await;
    assert_eq!(counting.reset().of("manifests").get, 6, "all were tried");
    holds(&session, "/x", &[1], Some(&pattern(1, 3))).await;
    assert_eq!(counting.reset().of("manifests").get, 0);
    let lost = path("/g/data");
    is!(session.chunk(&lost, &[1], ByteRange::All).await, Err(_));
    is!(session.preload().await, Err(_));
}

#[test]
fn outside_of_a_runtime_nothing_is_fetched_unasked() {
    without_runtime(async {
        let (storage, counting) = stored().await;
        let repository = open(&storage, "    preload_if: 'true'\n").await;
        counting.reset();
        let session = read_main(&repository).await;
        assert_eq!(counting.reset().of("manifests").get, 0);
        let report = session.preload().await.expect("fetched");
        assert_eq!(report.arrays, 6);
    });
}
