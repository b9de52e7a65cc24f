//! The adapter on stores that break or can do little.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, StreamExt};
use icefield_storage::remote::RemoteStorage;
use icefield_storage::{
    DeleteOutcome, Deletion, Key, ListOptions, PutMode, PutOptions, PutOutcome, SeededEntropy,
    Storage, StorageError, StorageExt, Version,
};
use icefield_storage_object_store::AdapterOptions;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutPayload, PutResult, Result,
};

/// Loses the answers to so many puts.
#[derive(Debug, Default)]
struct Lossy {
    inner: InMemory,
    lost: AtomicUsize,
}

impl fmt::Display for Lossy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("lossy")
    }
}

#[async_trait]
impl ObjectStore for Lossy {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: object_store::PutOptions,
    ) -> Result<PutResult> {
        let put = self.inner.put_opts(location, payload, options).await;
        let lose = |left: usize| left.checked_sub(1);
        match self
            .lost
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose)
        {
            Ok(_) => Err(object_store::Error::Generic {
                store: "lossy",
                source: "connection reset".into(),
            }),
            Err(_) => put,
        }
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        self.inner.get_opts(location, options).await
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(location, ranges).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

fn open(lost: usize, change: impl FnOnce(&mut AdapterOptions)) -> (Arc<Lossy>, RemoteStorage) {
    let store = Arc::new(Lossy {
        inner: InMemory::new(),
        lost: AtomicUsize::new(lost),
    });
    let options = AdapterOptions::default().with(|options| {
        options.known_conditions = true;
        change(options);
    });
    let shared: Arc<dyn ObjectStore> = Arc::<Lossy>::clone(&store);
    let storage = options.open_with(
        shared,
        Arc::new(icefield_storage::SystemClock),
        Arc::new(SeededEntropy::new(7)),
    );
    (store, storage)
}

fn key() -> Key {
    Key::parse("refs/branch.main/ref.json").expect("a key")
}

async fn put(storage: &RemoteStorage, bytes: &'static str, mode: PutMode) -> PutOutcome {
    let put = storage.put(&key(), bytes.into(), mode.into()).await;
    put.expect("answered")
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_recognises_itself() {
    let (_, storage) = open(1, |_| {});
    let first = put(&storage, "one", PutMode::Create).await;
    let PutOutcome::Written(first) = first else {
        panic!("it is ours: {first:?}");
    };
    assert_eq!(
        storage.read(&key()).await.expect("read").1.version,
        first.version
    );
}

#[tokio::test]
async fn without_attributes_doubt_stays() {
    let (_, storage) = open(1, |options| options.attributes = false);
    let outcome = put(&storage, "one", PutMode::Create).await;
    assert!(matches!(outcome, PutOutcome::Unknown(_)), "{outcome:?}");
    // Without doubt, a refusal is one.
    let outcome = put(&storage, "two", PutMode::Create).await;
    assert!(matches!(outcome, PutOutcome::Refused), "{outcome:?}");
}

#[tokio::test]
async fn large_writes_with_a_condition_are_refused_before_they_begin() {
    let (_, storage) = open(0, |options| {
        options.put_bytes = 1000;
        options.settings = options.settings.clone().with_multipart(1000, 300);
    });
    let bytes = Bytes::from(vec![7; 2500]);
    let create = PutOptions::mode(PutMode::Create);
    let refused = storage.put(&key(), bytes.clone().into(), create).await;
    assert!(
        matches!(refused, Err(StorageError::Unsupported { .. })),
        "{refused:?}"
    );
    assert!(storage.try_read(&key()).await.expect("read").is_none());
    let stored = storage
        .put(&key(), bytes.clone().into(), PutMode::Overwrite.into())
        .await;
    assert!(matches!(stored, Ok(PutOutcome::Written(_))), "{stored:?}");
    assert_eq!(storage.read(&key()).await.expect("read").0, bytes);
}

#[tokio::test]
async fn streams_with_a_condition_are_collected_up_to_a_bound() {
    use futures::stream;

    let bound = 256 << 20;
    let (_, storage) = open(0, |options| options.put_bytes = 4 << 30);
    let part = Bytes::from(vec![0; 1 << 20]);
    for size in [Some(bound + 1), None] {
        let parts = stream::repeat(part.clone()).map(Ok).take(257);
        let stream = icefield_storage::Payload::Stream {
            size,
            stream: parts.boxed(),
        };
        let written = storage.put(&key(), stream, PutMode::Create.into()).await;
        let error = written.expect_err("too large");
        assert!(
            matches!(error, StorageError::Unsupported { .. }),
            "{error:?}"
        );
        assert!(error.to_string().contains(&bound.to_string()), "{error}");
    }
    assert!(storage.try_read(&key()).await.expect("read").is_none());
}

#[tokio::test]
async fn long_lists_are_an_error_not_a_part() {
    let (_, storage) = open(0, |options| options.settings.list_entries = 3);
    for at in 0..3 {
        let key = Key::parse(&format!("a/{at}")).expect("a key");
        let _ = storage
            .put(&key, "x".into(), PutOptions::default())
            .await
            .expect("stored");
    }
    assert_eq!(
        storage
            .list_all(&Default::default())
            .await
            .expect("listed")
            .len(),
        3
    );
    let _ = put(&storage, "x", PutMode::Overwrite).await;
    let listed = storage.list_all(&Default::default()).await;
    assert!(
        matches!(listed, Err(StorageError::Unsupported { .. })),
        "{listed:?}"
    );
    let after = ListOptions::default().with_start_after(Key::parse("a/0").expect("a key"));
    let rest: Vec<_> = futures::TryStreamExt::try_collect(storage.list(after))
        .await
        .expect("listed");
    assert_eq!(rest.len(), 3);
}

#[tokio::test]
async fn names_that_are_no_keys_are_unreadable_in_lists() {
    let (store, storage) = open(0, |_| {});
    let long = Path::parse("x".repeat(300)).expect("a path");
    store.inner.put(&long, "x".into()).await.expect("stored");
    let _ = put(&storage, "one", PutMode::Create).await;
    let listed: Vec<_> = storage.list(Default::default()).collect().await;
    assert!(
        matches!(
            &listed[..],
            [Ok(object), Err(StorageError::UnreadableKey { raw, .. })]
                if object.key == key() && *raw == "x".repeat(300)
        ),
        "{listed:?}"
    );
}

#[tokio::test]
async fn a_delete_of_a_state_that_was_replaced_is_refused() {
    let (_, storage) = open(0, |_| {});
    // It is looked at before, so it is no promise.
    assert!(!storage.capabilities().conditional_delete);
    let delete = |version: &Version| {
        let deletion = Deletion::of(key(), version.clone());
        let storage = &storage;
        async move { storage.delete_one(deletion).await.expect("answered") }
    };
    let PutOutcome::Written(one) = put(&storage, "one", PutMode::Create).await else {
        panic!("it was not there");
    };
    let PutOutcome::Written(two) = put(&storage, "two", PutMode::Overwrite).await else {
        panic!("there was no condition");
    };
    for wrong in [&one.version, &Version::new("no version")] {
        let deleted = delete(wrong).await;
        assert!(matches!(deleted, DeleteOutcome::Refused), "{deleted:?}");
    }
    assert_eq!(storage.read(&key()).await.expect("kept").0, "two");
    let deleted = delete(&two.version).await;
    assert!(matches!(deleted, DeleteOutcome::Deleted), "{deleted:?}");
    let deleted = delete(&two.version).await;
    assert!(matches!(deleted, DeleteOutcome::Refused), "{deleted:?}");
}
