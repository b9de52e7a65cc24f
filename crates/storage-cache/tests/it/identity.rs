//! Repositories do not mix.

use icefield_storage::StorageExt;
use tempfile::TempDir;

use crate::support::{Bucket, cache, chunk, entries, id_key, key, metadata, pattern, read};

/// Never so in earnest: ids are random. In a test two repositories may have the same.
#[tokio::test]
async fn places_have_entries_of_their_own() {
    let directory = TempDir::new().unwrap();
    let buckets = [Bucket::new(), Bucket::new()];
    for (bucket, seed) in buckets.iter().zip([1, 2]) {
        bucket.put(&chunk(1), pattern(5000, seed)).await;
    }
    for expected in [1, 0] {
        for (bucket, seed) in buckets.iter().zip([1, 2]) {
            let place = format!("s3://bucket/{seed}");
            let storage = bucket.behind_at(&cache(&directory), &place).await;
            assert_eq!(read(&storage, &chunk(1)).await, pattern(5000, seed));
            assert_eq!(bucket.gets(), expected);
        }
    }
}

/// A repository is deleted, and another one made in its place: what it has in common with the old one is the initial snapshot,
/// refs and settings.
#[tokio::test]
async fn a_repository_that_was_made_anew_has_nothing_of_the_old_one() {
    let directory = TempDir::new().unwrap();
    let shared = [
        "snapshots/1CECHNKREP0F1RSTCMT0",
        "refs/branch.main/ref.json",
        "config.yaml",
    ];
    for (seed, number) in [(1, 1), (2, 2)] {
        let bucket = Bucket::new();
        for name in shared {
            bucket.put(&key(name), pattern(200, seed)).await;
        }
        bucket
            .put(&id_key("snapshots", number), metadata(5000, seed))
            .await;
        for _ in 0..2 {
            let storage = bucket.behind(&cache(&directory)).await;
            for name in shared {
                assert_eq!(read(&storage, &key(name)).await, pattern(200, seed));
            }
            let snapshot = read(&storage, &id_key("snapshots", number)).await;
            assert_eq!(snapshot, metadata(5000, seed));
        }
    }
    // The new one has no old snapshot, whatever the cache has.
    let storage = Bucket::new().behind(&cache(&directory)).await;
    let old = storage.read(&id_key("snapshots", 1)).await;
    assert!(old.is_err_and(|error| error.is_not_found()));
}

/// A downgrade writes manifests of spec version 2 as version 1 has them, under the same ids.
#[tokio::test]
async fn the_versions_of_the_format_have_entries_of_their_own() {
    let directory = TempDir::new().unwrap();
    let manifest = id_key("manifests", 1);
    for (repo, seed) in [(true, 2), (false, 1), (true, 2)] {
        let bucket = Bucket::new();
        if repo {
            bucket.put(&key("repo"), "0".into()).await;
        }
        bucket.put(&manifest, metadata(5000, seed)).await;
        let storage = bucket.behind(&cache(&directory)).await;
        assert_eq!(read(&storage, &manifest).await, metadata(5000, seed));
    }
    assert_eq!(entries(directory.path()).len(), 2);
}
