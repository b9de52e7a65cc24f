//! Reads that the page cache answers: which those are, and that they give what other reads give.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use icefield_storage::{Condition, GetOptions, GetRange, Object, Storage};
use rustix::fs::{Advice, fadvise};
use tempfile::TempDir;
use tokio::time::timeout;

use super::kit::{Speak, both_ways, key, open, run, skipped};
use crate::LocalStorage;

const LONG: usize = 200_000;

async fn bytes(object: Object) -> Vec<u8> {
    object.bytes().await.expect("read").to_vec()
}

/// Opens a store and reads once, so that it knows how the file system treats names. `None` where it has no such reads.
async fn with_cached_reads(root: &Path) -> Option<LocalStorage> {
    let store = open(root);
    store.chunk("first", "1").await;
    assert_eq!(store.text("first").await.as_deref(), Some("1"));
    let has = store
        .0
        .get_cached(&key("first"), &GetOptions::default())
        .is_some();
    if !has {
        skipped(
            "reads of the page cache",
            "this kernel, or this file system, has none",
        );
    }
    has.then_some(store)
}

#[test]
fn short_reads_of_what_was_just_written_need_no_thread() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let Some(store) = with_cached_reads(dir.path()).await else {
            return;
        };
        let long: Vec<u8> = (0..LONG).map(|at| (at % 251) as u8).collect();
        store.chunk("a/long", long.clone()).await;
        store.chunk("a/short", long[..5000].to_vec()).await;
        // No permit is left, so that a read which needs a thread would wait for ever.
        let all = store.0.reads.available_permits() as u32;
        let permits = store.0.reads.acquire_many(all).await.expect("open");
        let get = |at: &'static str, options: GetOptions| {
            let store = store.clone();
            async move { timeout(Duration::from_secs(20), store.get(&key(at), options)).await }
        };
        let short = get("a/short", GetOptions::default()).await;
        let short = short.expect("no wait").expect("there");
        assert_eq!(short.meta.size, 5000);
        assert_eq!(bytes(short).await, &long[..5000]);
        let range = get("a/long", GetRange::Bounded(100_000..165_000).into()).await;
        let range = range.expect("no wait").expect("there");
        assert_eq!(
            (range.range.clone(), range.meta.size),
            (100_000..165_000, LONG as u64)
        );
        assert_eq!(bytes(range).await, &long[100_000..165_000]);
        drop(permits);
        let whole = get("a/long", GetOptions::default()).await;
        assert_eq!(bytes(whole.expect("in time").expect("there")).await, long);
    });
}

#[test]
fn all_else_is_left_to_a_thread() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let Some(store) = with_cached_reads(dir.path()).await else {
            return;
        };
        let version = store.chunk("a/long", vec![7; LONG]).await;
        let ask = |at: &str, options: GetOptions| store.0.get_cached(&key(at), &options).is_some();
        assert!(!ask("a/long", GetOptions::default()), "it is long");
        assert!(!ask("a/none", GetOptions::default()));
        assert!(!ask("a", GetOptions::default()), "a directory");
        let other = store.chunk("a/other", "x").await;
        let on = |version| {
            let mut options: GetOptions = GetRange::Bounded(0..10).into();
            options.if_match = Some(Condition::Version(version));
            options
        };
        assert!(ask("a/long", on(version)));
        assert!(!ask("a/long", on(other)), "the condition fails");
        std::os::unix::fs::symlink("first", dir.path().join("link")).expect("made");
        assert!(!ask("link", GetOptions::default()));
    });
}

#[test]
fn what_is_on_the_disk_alone_is_read_from_there() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let Some(store) = with_cached_reads(dir.path()).await else {
            return;
        };
        store.chunk("a/long", vec![7; LONG]).await;
        let file = File::open(dir.path().join("a/long")).expect("there");
        file.sync_all().expect("flushed");
        fadvise(&file, 0, None, Advice::DontNeed).expect("advised");
        let range: GetOptions = GetRange::Bounded(0..4096).into();
        match store.0.get_cached(&key("a/long"), &range) {
            Some(_) => skipped(
                "reads past the page cache",
                "this file system keeps its pages",
            ),
            None => {
                let read = store
                    .get(&key("a/long"), range.clone())
                    .await
                    .expect("there");
                assert_eq!(bytes(read).await, [7; 4096]);
                assert!(
                    store.0.get_cached(&key("a/long"), &range).is_some(),
                    "it is in the cache now"
                );
            }
        }
    });
}

#[test]
fn old_kernels_have_no_such_reads() {
    run(async {
        let dir = TempDir::new().expect("a temporary directory");
        let [_, old] = both_ways(dir.path());
        old.chunk("first", "1").await;
        assert_eq!(old.text("first").await.as_deref(), Some("1"));
        let cached = old.0.get_cached(&key("first"), &GetOptions::default());
        assert!(cached.is_none());
    });
}
