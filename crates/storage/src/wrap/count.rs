//! Counts what is asked of a store.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};

use super::pages::by_page;
use crate::{
    Advice, Body, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, GetRange, Key,
    ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

/// The number of operations of each kind that were begun, successful or not, and of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Reads, whole or of a range, including those answered without waiting.
    pub get: u64,
    /// The reads among [`Tally::get`] that asked for a range.
    pub get_range: u64,
    /// Descriptions ([`Storage::head`](crate::Storage::head)).
    pub head: u64,
    /// Writes.
    pub put: u64,
    /// Lists.
    pub list: u64,
    /// Requests that these lists take on an object store: one for each started thousand of objects.
    pub list_pages: u64,
    /// Objects that were to be deleted.
    pub delete: u64,
    /// Copies within the store; counted where the copy goes.
    pub copy: u64,
    /// Calls of `sync`, which is no request on an object store.
    pub sync: u64,
    /// Bytes handed to the reader.
    pub bytes_read: u64,
    /// Bytes handed to the store.
    pub bytes_written: u64,
}

impl Tally {
    /// Returns the number of requests that an object store without batch deletion would charge for.
    pub fn requests(&self) -> u64 {
        self.get + self.head + self.put + self.list_pages + self.delete + self.copy
    }

    /// Returns the number of requests that change objects.
    pub fn writes(&self) -> u64 {
        self.put + self.delete + self.copy
    }
}

/// The counts, in total and by the first segment of the key (`chunks`, `refs`, …; empty for a list of all keys).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The sum over all keys.
    pub total: Tally,
    /// The counts by first segment; a segment without operations is absent.
    pub by_prefix: BTreeMap<String, Tally>,
}

impl Counts {
    /// Returns the tally of the keys with this first segment.
    pub fn of(&self, prefix: &str) -> Tally {
        self.by_prefix.get(prefix).copied().unwrap_or_default()
    }
}

/// Counts the operations and bytes that go to another store. Clones share the counts.
///
/// ```
/// # use std::sync::Arc;
/// # use icefield_storage::{Key, Storage, StorageExt, wrap::CountingStorage};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let inner: Arc<dyn Storage> = Arc::new(icefield_storage_memory::MemoryStorage::new());
/// let counting = CountingStorage::new(inner);
/// let storage: Arc<dyn Storage> = Arc::new(counting.clone());
/// assert!(storage.try_read(&Key::parse("refs/branch.main/ref.json")?).await?.is_none());
/// assert_eq!(counting.snapshot().of("refs").get, 1);
/// assert_eq!(counting.snapshot().total.requests(), 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct CountingStorage {
    inner: Arc<dyn Storage>,
    counts: Shared,
}

#[derive(Clone, Debug, Default)]
struct Shared(Arc<Mutex<Counts>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the sum and the part that `path` belongs to.
    fn add(&self, path: &str, change: impl Fn(&mut Tally)) {
        let first = path.split('/').next().unwrap_or_default();
        let mut counts = self.lock();
        change(&mut counts.total);
        if let Some(tally) = counts.by_prefix.get_mut(first) {
            change(tally);
        } else {
            change(counts.by_prefix.entry(first.to_owned()).or_default());
        }
    }
}

impl CountingStorage {
    /// Returns `inner` with all counts at zero.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self {
            inner,
            counts: Shared::default(),
        }
    }

    /// Returns the counts since the beginning or the last [`CountingStorage::reset`].
    pub fn snapshot(&self) -> Counts {
        self.counts.lock().clone()
    }

    /// Sets all counts to zero, and returns those until now.
    pub fn reset(&self) -> Counts {
        std::mem::take(&mut *self.counts.lock())
    }

    fn count_get(&self, key: &Key, range: &GetRange) {
        self.counts.add(key.as_str(), |tally| {
            tally.get += 1;
            tally.get_range += u64::from(*range != GetRange::All);
        });
    }

    /// Counts the bytes of a body as they are handed out.
    fn count_body(&self, key: &Key, object: Object) -> Object {
        let (counts, key) = (self.counts.clone(), key.clone());
        let read = move |bytes: &bytes::Bytes| {
            let length = bytes.len() as u64;
            counts.add(key.as_str(), |tally| tally.bytes_read += length);
        };
        let body = match object.body {
            Body::Bytes(bytes) => {
                read(&bytes);
                Body::Bytes(bytes)
            }
            Body::Stream(parts) => Body::Stream(
                parts
                    .inspect(move |part| {
                        if let Ok(bytes) = part {
                            read(bytes);
                        }
                    })
                    .boxed(),
            ),
        };
        Object { body, ..object }
    }
}

impl fmt::Display for CountingStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, counted", self.inner)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for CountingStorage {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.count_get(key, &options.range);
        let object = self.inner.get(key, options).await?;
        Ok(self.count_body(key, object))
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.counts.add(key.as_str(), |tally| tally.head += 1);
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.counts.add(key.as_str(), |tally| tally.put += 1);
        let (counts, text) = (self.counts.clone(), key.clone());
        let written = move |bytes: &bytes::Bytes| {
            let length = bytes.len() as u64;
            counts.add(text.as_str(), |tally| tally.bytes_written += length);
        };
        let payload = match payload {
            Payload::Bytes(bytes) => {
                written(&bytes);
                Payload::Bytes(bytes)
            }
            Payload::Stream { size, stream } => Payload::Stream {
                size,
                stream: stream
                    .inspect(move |part| {
                        if let Ok(bytes) = part {
                            written(bytes);
                        }
                    })
                    .boxed(),
            },
        };
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let (counts, prefix) = (self.counts.clone(), options.prefix.clone());
        counts.add(prefix.as_str(), |tally| tally.list += 1);
        by_page(self.inner.list(options), true, move || {
            counts.add(prefix.as_str(), |tally| tally.list_pages += 1);
            Box::pin(std::future::ready(()))
        })
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let counts = self.counts.clone();
        let counted = deletions.inspect(move |deletion| {
            counts.add(deletion.key.as_str(), |tally| tally.delete += 1);
        });
        self.inner.delete(counted.boxed())
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.counts.add(to.as_str(), |tally| tally.copy += 1);
        self.inner.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        // Belongs to no key: only the sum knows it.
        self.counts.lock().total.sync += 1;
        self.inner.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let answer = self.inner.try_get_blocking(key, options)?;
        self.count_get(key, &options.range);
        Some(answer.map(|object| self.count_body(key, object)))
    }
}
