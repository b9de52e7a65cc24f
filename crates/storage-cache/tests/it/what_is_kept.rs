//! Which reads a cache answers.

use std::sync::Arc;

use bytes::Bytes;
use futures::StreamExt;
use icefield_storage::wrap::FaultyStorage;
use icefield_storage::wrap::fault::{Decision, Delivery, Plan, Verb};
use icefield_storage::{
    Body, Compared, CopyOptions, DeleteOutcome, Deletion, GetOptions, GetRange, PutMode,
    PutOptions, PutOutcome, Storage, StorageError, StorageExt,
};
use icefield_storage_cache::CachedStorage;
use tempfile::TempDir;

use crate::support::{
    Bucket, cache, cache_of, chunk, entries, id_key, key, metadata, pattern, read, read_range,
};

#[tokio::test]
async fn a_chunk_is_fetched_once_by_all_processes() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let bytes = pattern(300_000, 1);
    bucket.put(&chunk(1), bytes.clone()).await;
    for expected in [1, 0, 0] {
        // Another process has another value, on the same directory.
        let cache = cache(&directory);
        let storage = bucket.behind(&cache).await;
        let (read, meta) = storage.read(&chunk(1)).await.unwrap();
        assert_eq!(read, bytes);
        assert_eq!(meta.size, 300_000);
        assert_eq!(
            meta.version,
            bucket.memory.head(&chunk(1)).await.unwrap().version
        );
        assert_eq!(bucket.gets(), expected);
        assert_eq!(cache.statistics().hits, 1 - expected);
        assert_eq!(cache.statistics().written, expected);
    }
}

#[tokio::test]
async fn ranges_are_kept_and_found_within_others() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let bytes = pattern(500_000, 2);
    bucket.put(&chunk(1), bytes.clone()).await;
    bucket.put(&chunk(2), bytes.clone()).await;
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    let slice = |range: std::ops::Range<u64>| bytes.slice(range.start as usize..range.end as usize);
    // From the store: a range, and then one that reaches beyond it.
    for range in [100_000..300_000, 250_000..400_000] {
        assert_eq!(
            read_range(&storage, &chunk(1), range.clone()).await,
            slice(range)
        );
        assert_eq!(bucket.gets(), 1);
    }
    // From the disk: the same, and parts of them, across blocks of checksums and at their ends.
    for range in [
        100_000..300_000,
        100_000..100_001,
        165_535..165_537,
        299_999..300_000,
        260_000..399_999,
        200_000..200_000,
    ] {
        assert_eq!(
            read_range(&storage, &chunk(1), range.clone()).await,
            slice(range)
        );
        assert_eq!(bucket.gets(), 0);
    }
    // A whole object has all ranges, also those that only its size tells.
    assert_eq!(read(&storage, &chunk(2)).await, bytes);
    assert_eq!(bucket.gets(), 1);
    for (range, expected) in [
        (GetRange::From(499_990), 499_990..500_000),
        (GetRange::Suffix(70_000), 430_000..500_000),
        (GetRange::Bounded(0..500_000), 0..500_000),
        (GetRange::Bounded(7..131_073), 7..131_073),
        (GetRange::From(500_000), 500_000..500_000),
    ] {
        let object = storage
            .get(&chunk(2), GetOptions::range(range))
            .await
            .unwrap();
        assert_eq!(object.range, expected);
        assert_eq!(object.bytes().await.unwrap(), slice(expected));
    }
    // A range that the object does not have is the same error as that of the store.
    let beyond = storage
        .get(&chunk(2), GetRange::Bounded(0..500_001).into())
        .await;
    assert!(matches!(
        beyond,
        Err(StorageError::RangeNotSatisfiable { size: 500_000, .. })
    ));
    let large = storage.read_at_most(&chunk(2), 499_999).await;
    assert!(matches!(
        large,
        Err(StorageError::ObjectTooLarge { size: 500_000, .. })
    ));
    assert_eq!(bucket.gets(), 0);
}

#[tokio::test]
async fn what_changes_in_place_always_comes_from_the_store() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let mutable = [
        "repo",
        "config.yaml",
        "refs/branch.main/ref.json",
        "overwritten/repo.10000000000000.0G0KZ2RT4W2MZ4Q7XKXG",
        "icefield/config.yaml",
        "snapshots/1CECHNKREP0F1RSTCMT0",
        "transactions/1CECHNKREP0F1RSTCMT0",
        "manifests/not-an-id",
    ];
    bucket.put(&key("repo"), "0".into()).await;
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    for key in mutable.map(key) {
        for text in ["one", "two"] {
            bucket.put(&key, text.into()).await;
            assert_eq!(read(&storage, &key).await, text);
            assert_eq!(bucket.gets(), 1, "{key}");
        }
    }
    assert!(entries(directory.path()).is_empty());
}

#[tokio::test]
async fn nothing_is_kept_before_the_version_of_the_format_is_known() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    bucket.put(&chunk(1), "bytes".into()).await;
    let inner: Arc<dyn Storage> = Arc::new(bucket.counting.clone());
    let cache = cache(&directory);
    let storage: Arc<dyn Storage> = Arc::new(CachedStorage::new(inner, &cache, "x"));
    for _ in 0..2 {
        assert_eq!(read(&storage, &chunk(1)).await, "bytes");
        assert_eq!(bucket.gets(), 1);
    }
    assert!(entries(directory.path()).is_empty());
}

/// An expiration gives a snapshot of spec version 1 another parent; a repair writes a log anew.
#[tokio::test]
async fn what_may_be_written_anew_is_compared_with_the_store() {
    for (kind, repo, asked) in [
        ("snapshots", false, 1),
        ("transactions", false, 1),
        ("transactions", true, 1),
        ("snapshots", true, 0),
        ("manifests", false, 0),
    ] {
        let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
        if repo {
            bucket.put(&key("repo"), "0".into()).await;
        }
        let object = id_key(kind, 1);
        bucket.put(&object, metadata(90_000, 1)).await;
        let cache = cache(&directory);
        let storage = bucket.behind(&cache).await;
        assert_eq!(read(&storage, &object).await, metadata(90_000, 1));
        assert_eq!(bucket.gets(), 1);

        assert_eq!(read(&storage, &object).await, metadata(90_000, 1));
        let counts = bucket.counting.reset().total;
        assert_eq!((counts.get, counts.bytes_read), (asked, 0), "{kind}");
        assert_eq!(cache.statistics().unchanged, asked);
        if asked == 0 {
            continue;
        }
        // Another process writes it anew, and then deletes it.
        bucket.put(&object, metadata(90_000, 2)).await;
        for bytes_read in [90_000, 0] {
            assert_eq!(read(&storage, &object).await, metadata(90_000, 2));
            let counts = bucket.counting.reset().total;
            assert_eq!((counts.get, counts.bytes_read), (1, bytes_read));
        }
        let deletion = Deletion::from(object.clone());
        let deleted = bucket.memory.delete_one(deletion).await.unwrap();
        assert!(matches!(deleted, DeleteOutcome::Deleted));
        let gone = storage.read(&object).await;
        assert!(gone.is_err_and(|error| error.is_not_found()));
        assert!(entries(directory.path()).is_empty());
    }
}

/// A portal that wants a login answers each request with its own page, as if that were the object.
#[tokio::test]
async fn a_page_in_the_place_of_metadata_is_not_kept() {
    for kind in ["manifests", "snapshots", "transactions"] {
        let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
        bucket.put(&key("repo"), "0".into()).await;
        let object = id_key(kind, 1);
        for page in ["<!DOCTYPE html>", "ICE", "ICE\u{1F9CA}CHUNX and more"] {
            bucket.put(&object, page.into()).await;
            let storage = bucket.behind(&cache(&directory)).await;
            assert_eq!(read(&storage, &object).await, page);
        }
        bucket.put(&object, metadata(9000, 1)).await;
        let storage = bucket.behind(&cache(&directory)).await;
        assert_eq!(read(&storage, &object).await, metadata(9000, 1), "{kind}");
        assert_eq!(entries(directory.path()).len(), 1);
    }
}

#[tokio::test]
async fn conditional_reads_are_the_stores() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    bucket.put(&chunk(1), "bytes".into()).await;
    let storage = bucket.behind(&cache(&directory)).await;
    let version = storage.read(&chunk(1)).await.unwrap().1.version;
    bucket.gets();
    let news = GetOptions::default().with_if_none_match(version.clone());
    let same = GetOptions::default().with_if_match(version);
    assert!(matches!(
        storage.get(&chunk(1), news).await,
        Err(StorageError::NotModified { .. })
    ));
    assert!(storage.get(&chunk(1), same).await.is_ok());
    assert_eq!(bucket.gets(), 2);
}

#[tokio::test]
async fn what_a_handle_replaces_or_deletes_it_forgets() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let storage = bucket.behind(&cache(&directory)).await;
    let fill = async || {
        bucket.put(&chunk(1), pattern(9000, 1)).await;
        read(&storage, &chunk(1)).await;
        read_range(&storage, &chunk(1), 5..10).await;
        assert_eq!(entries(directory.path()).len(), 1);
    };
    fill().await;
    let (object, options) = (chunk(1), PutOptions::default());
    let put = storage.put(&object, pattern(9000, 2).into(), options);
    assert!(matches!(put.await.unwrap(), PutOutcome::Written(_)));
    assert_eq!(read(&storage, &chunk(1)).await, pattern(9000, 2));

    let copied = storage
        .copy(&chunk(2), &chunk(1), CopyOptions::default())
        .await;
    assert!(copied.is_err(), "there is nothing to copy");
    bucket.put(&chunk(2), pattern(9000, 3)).await;
    let copied = storage
        .copy(&chunk(2), &chunk(1), CopyOptions::default())
        .await;
    assert!(matches!(copied.unwrap(), PutOutcome::Written(_)));
    assert_eq!(read(&storage, &chunk(1)).await, pattern(9000, 3));

    let deletions = [1, 2].map(|number| Deletion::from(chunk(number)));
    let done = storage.delete(futures::stream::iter(deletions).boxed());
    assert_eq!(done.collect::<Vec<_>>().await.len(), 2);
    assert!(storage.read(&chunk(1)).await.is_err());
    assert!(entries(directory.path()).is_empty());
}

#[tokio::test]
async fn bodies_in_parts_are_kept_if_all_of_them_come() {
    let parts = |count: u32| {
        (0..count)
            .map(|n| Ok(pattern(40_000, n)))
            .collect::<Vec<_>>()
    };
    let broken = || StorageError::WrongLength {
        key: chunk(1),
        expected: 1,
        found: 0,
    };
    let whole = parts(4);
    let short = parts(3);
    let long = parts(5);
    let mut torn = parts(2);
    torn.push(Err(broken()));
    torn.extend(parts(2));
    for (name, parts, kept) in [
        ("whole", whole, 1),
        ("short", short, 0),
        ("long", long, 0),
        ("torn", torn, 0),
    ] {
        let directory = TempDir::new().unwrap();
        let cache = cache(&directory);
        let storage = parted::store(parts, 160_000, &cache).await;
        let object = storage.get(&chunk(1), GetOptions::default()).await.unwrap();
        assert!(matches!(object.body, Body::Stream(_)));
        let read = object.bytes().await;
        assert_eq!(read.is_ok(), kept == 1, "{name}: {read:?}");
        assert_eq!(entries(directory.path()).len(), kept, "{name}");
        if let Ok(bytes) = read {
            let again = storage.get(&chunk(1), GetOptions::default()).await.unwrap();
            assert!(matches!(again.body, Body::Bytes(_)), "from the disk");
            assert_eq!(again.bytes().await.unwrap(), bytes);
        }
    }
}

#[tokio::test]
async fn what_is_too_large_for_a_cache_passes_by() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let cache = cache_of(directory.path(), 1 << 20);
    let storage = bucket.behind(&cache).await;
    for (number, length, kept) in [(1, 300_000, 0), (2, 200_000, 1)] {
        bucket.put(&chunk(number), pattern(length, number)).await;
        for _ in 0..2 {
            assert_eq!(
                read(&storage, &chunk(number)).await,
                pattern(length, number)
            );
        }
        assert_eq!(bucket.gets(), 2 - kept);
    }
}

#[tokio::test]
async fn an_object_that_was_created_is_read_from_the_store_once() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    let storage = bucket.behind(&cache(&directory)).await;
    let options = PutOptions::mode(PutMode::Create);
    let create = async |text: &'static str| {
        let bytes = Bytes::from(text);
        storage
            .put_immutable(&chunk(1), bytes, options.clone())
            .await
            .unwrap()
    };
    assert!(matches!(create("mine").await, PutOutcome::Written(_)));
    // A repetition is compared with what the store has.
    assert!(matches!(create("mine").await, PutOutcome::Written(_)));
    assert!(matches!(create("other").await, PutOutcome::Refused));
    assert_eq!(read(&storage, &chunk(1)).await, "mine");
}

/// Whether our bytes are stored is a question to the store, whatever the disk has from before.
#[tokio::test]
async fn a_write_that_was_not_acknowledged_is_compared_with_the_store() {
    for is_other in [true, false] {
        let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
        let faulty = FaultyStorage::new(Arc::new(bucket.memory.clone()), Plan::none());
        let inner: Arc<dyn Storage> = Arc::new(faulty.clone());
        let storage: Arc<dyn Storage> =
            Arc::new(CachedStorage::new(inner, &cache(&directory), "x"));
        storage.try_read(&key("repo")).await.unwrap();
        bucket.put(&chunk(1), "mine".into()).await;
        assert_eq!(read(&storage, &chunk(1)).await, "mine");
        assert_eq!(entries(directory.path()).len(), 1);
        // Another process deletes it, and a third one writes there.
        let deletion = Deletion::from(chunk(1));
        let deleted = bucket.memory.delete_one(deletion).await.unwrap();
        assert!(matches!(deleted, DeleteOutcome::Deleted));
        if is_other {
            bucket.put(&chunk(1), "other".into()).await;
        } else {
            faulty.set_plan(Plan::none().on(Verb::Put, 0, Decision::Late(Delivery::OnDemand)));
        }
        let (object, options) = (chunk(1), PutOptions::default());
        let put = storage.put_immutable(&object, "mine".into(), options);
        let outcome = put.await.unwrap();
        match is_other {
            true => assert!(matches!(outcome, PutOutcome::Refused), "{outcome:?}"),
            false => assert!(matches!(outcome, PutOutcome::Unknown(_)), "{outcome:?}"),
        }
        let compared = storage.compare(&chunk(1), b"mine").await.unwrap();
        let expected = match is_other {
            true => Compared::Other,
            false => Compared::Absent,
        };
        assert_eq!(compared, expected);
    }
}

/// An address is of one process: another process has another store there.
#[test]
fn stores_that_have_a_name_in_this_process_only_get_no_cache() {
    let directory = TempDir::new().unwrap();
    let cache = cache(&directory);
    for (place, is_cached) in [
        (Some("s3:amazon:bucket/ocean"), true),
        (Some("s3:amazon:bucket/, below \"ocean/\""), true),
        (Some("gcs:google:bucket/ocean"), true),
        (Some("azure:microsoft:account/container/ocean"), true),
        (Some("http:https://example.org/ocean"), true),
        (Some("object-store:0x7f12a4001230/ocean"), false),
        (Some("memory:0x7f12a4001230"), false),
        (None, false),
    ] {
        let storage = cache.over(parted::placed(place));
        let shown = storage.to_string();
        assert_eq!(shown.contains("cached in"), is_cached, "{place:?}: {shown}");
    }
}

#[tokio::test]
async fn short_reads_are_answered_on_the_thread_that_asks() {
    let (bucket, directory) = (Bucket::new(), TempDir::new().unwrap());
    bucket.put(&chunk(1), pattern(1_000_000, 1)).await;
    let cache = cache(&directory);
    let storage = bucket.behind(&cache).await;
    read(&storage, &chunk(1)).await;
    bucket.gets();
    let short = GetOptions::range(GetRange::Bounded(10..100_000));
    let object = storage
        .try_get_blocking(&chunk(1), &short)
        .unwrap()
        .unwrap();
    assert_eq!(
        object.bytes().await.unwrap(),
        pattern(1_000_000, 1).slice(10..100_000)
    );
    assert_eq!(bucket.gets(), 0);
    // A long one is not: the store in memory is asked, and a far one would say that it has to wait.
    for (range, asked) in [
        (GetRange::Bounded(0..900_000), 1),
        (GetRange::All, 1),
        (GetRange::From(1), 1),
        (GetRange::Suffix(999_999), 1),
        (GetRange::From(900_000), 0),
        (GetRange::Suffix(100_000), 0),
    ] {
        let options = GetOptions::range(range.clone());
        let answer = storage.try_get_blocking(&chunk(1), &options);
        answer.unwrap().unwrap();
        assert_eq!(bucket.gets(), asked, "{range:?}");
    }
}

/// A store whose bodies come in parts.
mod parted {
    use std::sync::{Arc, Mutex};

    use async_trait::async_trait;
    use bytes::Bytes;
    use futures::StreamExt;
    use futures::stream::{self, BoxStream};
    use icefield_storage::{
        Body, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, KeyForm,
        ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
        Version,
    };
    use icefield_storage_cache::{CachedStorage, DiskCache};

    type Parts = Vec<Result<Bytes, StorageError>>;

    #[derive(Debug)]
    struct Parted(Mutex<Option<Parts>>, u64, Option<&'static str>);

    pub(super) async fn store(parts: Parts, size: u64, cache: &DiskCache) -> Arc<dyn Storage> {
        let inner = Arc::new(Parted(Mutex::new(Some(parts)), size, None));
        let storage = CachedStorage::new(inner, cache, "parted");
        let repo = Key::parse("repo").unwrap();
        let asked = storage.get(&repo, GetOptions::default()).await;
        assert!(asked.is_err_and(|error| error.is_not_found()));
        Arc::new(storage)
    }

    /// A store far away whose place has this name.
    pub(super) fn placed(place: Option<&'static str>) -> Arc<dyn Storage> {
        Arc::new(Parted(Mutex::new(None), 0, place))
    }

    impl std::fmt::Display for Parted {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("parts")
        }
    }

    #[async_trait]
    impl Storage for Parted {
        fn place(&self) -> Option<String> {
            self.2.map(str::to_owned)
        }

        fn capabilities(&self) -> Capabilities {
            Capabilities::full(KeyForm::Raw)
        }

        async fn get(&self, key: &Key, _: GetOptions) -> Result<Object, StorageError> {
            if key.as_str() == "repo" {
                return Err(StorageError::NotFound { key: key.clone() });
            }
            let parts = self.0.lock().unwrap().take().expect("asked once");
            Ok(Object {
                meta: ObjectMeta {
                    key: key.clone(),
                    size: self.1,
                    version: Version::new("1"),
                    last_modified: None,
                },
                range: 0..self.1,
                body: Body::Stream(stream::iter(parts).boxed()),
            })
        }

        async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
            Err(StorageError::NotFound { key: key.clone() })
        }

        async fn put(
            &self,
            _: &Key,
            _: Payload,
            _: PutOptions,
        ) -> Result<PutOutcome, StorageError> {
            Ok(PutOutcome::Refused)
        }

        fn list(&self, _: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
            stream::empty().boxed()
        }

        fn delete(
            &self,
            _: BoxStream<'static, Deletion>,
        ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
            stream::empty().boxed()
        }

        async fn copy(&self, _: &Key, _: &Key, _: CopyOptions) -> Result<PutOutcome, StorageError> {
            Ok(PutOutcome::Refused)
        }

        async fn sync(&self) -> Result<(), StorageError> {
            Ok(())
        }
    }
}
