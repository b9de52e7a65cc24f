//! How many bytes a cache has, and what goes first.

use std::fs;
use std::time::Duration;

use tempfile::TempDir;

use crate::support::{
    Bucket, bytes_of, cache_of, cache_with_clock, chunk, entries, pattern, read, read_range,
};

const MIB: u64 = 1 << 20;
/// The files beside the entries: the count and the tag.
const BESIDE: u64 = 2 * 4096;

#[tokio::test]
async fn the_bound_holds_after_every_read() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let cache = cache_of(directory.path(), MIB);
    let storage = bucket.behind(&cache).await;
    for number in 0..150 {
        let length = 1 + (number as usize * 7919) % 90_000;
        bucket.put(&chunk(number), pattern(length, number)).await;
        assert_eq!(
            read(&storage, &chunk(number)).await,
            pattern(length, number)
        );
        if length > 100 {
            read_range(&storage, &chunk(number), 1..100).await;
        }
        assert!(bytes_of(directory.path()) <= MIB + BESIDE);
        assert!(cache.used().expect("counted") <= MIB);
    }
    let statistics = cache.statistics();
    assert_eq!((statistics.written, statistics.not_written), (150, 0));
    // The count is what is there.
    assert_eq!(bytes_of(directory.path()), cache.used().unwrap() + BESIDE);
    assert!(entries(directory.path()).len() >= 10);
}

#[tokio::test]
async fn what_was_not_read_for_longest_goes_first() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let (cache, clock) = cache_with_clock(&directory, MIB);
    let storage = bucket.behind(&cache).await;
    // Nine take 936 KiB.
    for number in 0..9 {
        bucket.put(&chunk(number), pattern(100_000, number)).await;
        read(&storage, &chunk(number)).await;
        clock.advance(Duration::from_secs(100));
    }
    // The two oldest are read again.
    for number in [0, 1] {
        read(&storage, &chunk(number)).await;
        clock.advance(Duration::from_secs(100));
    }
    assert_eq!(cache.statistics().hits, 2);
    bucket.put(&chunk(9), pattern(100_000, 9)).await;
    bucket.put(&chunk(10), pattern(100_000, 10)).await;
    for number in [9, 10] {
        read(&storage, &chunk(number)).await;
        clock.advance(Duration::from_secs(100));
    }
    bucket.gets();
    for (number, asked) in [(9, 0), (10, 0), (0, 0), (1, 0), (8, 0), (4, 0), (2, 1)] {
        read(&storage, &chunk(number)).await;
        assert_eq!(bucket.gets(), asked, "chunk {number}");
    }
}

#[tokio::test]
async fn a_count_that_is_lost_or_damaged_is_made_anew() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let cache = cache_of(directory.path(), MIB);
    let storage = bucket.behind(&cache).await;
    let usage = directory.path().join("icefield-cache-1/usage");
    for (number, damage) in (0..).zip(["", "gone", "short", "sixteen bytes, so"]) {
        match damage {
            "gone" => fs::remove_file(&usage).unwrap(),
            text => fs::write(&usage, text).unwrap(),
        }
        assert_eq!(cache.used(), None);
        bucket.put(&chunk(number), pattern(60_000, number)).await;
        read(&storage, &chunk(number)).await;
        assert_eq!(cache.used(), Some(bytes_of(directory.path()) - BESIDE));
    }
    assert_eq!(entries(directory.path()).len(), 4);
}

#[tokio::test]
async fn a_smaller_bound_makes_a_cache_smaller() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let large = bucket.behind(&cache_of(directory.path(), 4 * MIB)).await;
    for number in 0..30 {
        bucket.put(&chunk(number), pattern(100_000, number)).await;
        read(&large, &chunk(number)).await;
    }
    assert!(bytes_of(directory.path()) > 2 * MIB);
    let cache = cache_of(directory.path(), MIB);
    let small = bucket.behind(&cache).await;
    bucket.put(&chunk(99), pattern(100_000, 99)).await;
    read(&small, &chunk(99)).await;
    assert!(bytes_of(directory.path()) <= MIB + BESIDE);
    assert_eq!(cache.statistics().written, 1);
}
