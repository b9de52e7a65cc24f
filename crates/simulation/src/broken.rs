//! Planted bugs: stores and protocols that break a promise, each of which the simulation must find.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::stream::BoxStream;
use icefield_storage::{
    Body, Bytes, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutMode, PutOptions, PutOutcome, Storage, StorageError,
    StorageExt as _, Version,
};
use serde::{Deserialize, Serialize};

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Broken {
    /// The store replaces an object whatever its state: updates are lost.
    IgnoresConditions,
    /// The store creates an object over one that is there.
    CreatesOver,
    /// The store acknowledges one write of chunks and manifests of fifty, and forgets it.
    ForgetsWrites,
    /// The store answers a read of a ref, or of `repo`, with the state before the newest.
    ReadsStale,
    /// Collections spare nothing, however young.
    NoFloor,
    /// Writers take a commit without an answer for one that landed.
    HastyWriters,
}

impl Broken {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::IgnoresConditions,
        Self::CreatesOver,
        Self::ForgetsWrites,
        Self::ReadsStale,
        Self::NoFloor,
        Self::HastyWriters,
    ];

    /// Returns the least rate of faults without which the bug cannot show.
    pub(crate) fn faults(self) -> u64 {
        match self {
            Self::HastyWriters => 20,
            _ => 0,
        }
    }
}

/// A store that breaks a promise.
#[derive(Debug)]
pub(crate) struct BrokenStorage {
    inner: Arc<dyn Storage>,
    broken: Broken,
    requests: AtomicU64,
    /// The states that stale reads show.
    before: Mutex<BTreeMap<Key, (Bytes, ObjectMeta)>>,
}

impl BrokenStorage {
    pub(crate) fn new(inner: Arc<dyn Storage>, broken: Broken) -> Self {
        Self {
            inner,
            broken,
            requests: AtomicU64::new(0),
            before: Mutex::default(),
        }
    }
}

/// Whether an object is one of those that are replaced.
fn is_mutable(key: &Key) -> bool {
    key.as_str() == "repo" || key.as_str().starts_with("refs/")
}

impl fmt::Display for BrokenStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, broken", self.inner)
    }
}

#[async_trait]
impl Storage for BrokenStorage {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        if self.broken == Broken::ReadsStale && is_mutable(key) && options.if_none_match.is_none() {
            let count = self.requests.fetch_add(1, Ordering::Relaxed);
            let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
            if count.is_multiple_of(3)
                && let Some((bytes, meta)) = before.remove(key)
            {
                return Ok(Object {
                    range: 0..meta.size,
                    meta,
                    body: Body::Bytes(bytes),
                });
            }
        }
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        mut options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let count = self.requests.fetch_add(1, Ordering::Relaxed);
        match (self.broken, &options.mode) {
            (Broken::IgnoresConditions, PutMode::Update(_))
            | (Broken::CreatesOver, PutMode::Create) => {
                options.mode = PutMode::Overwrite;
            }
            (Broken::ForgetsWrites, _) if !is_mutable(key) && count % 50 == 49 => {
                return Ok(PutOutcome::written(Version::new("forgotten")));
            }
            (Broken::ReadsStale, _) if is_mutable(key) => {
                if let Ok((bytes, meta)) = self.inner.read(key).await {
                    let mut before = self.before.lock().unwrap_or_else(PoisonError::into_inner);
                    before.insert(key.clone(), (bytes, meta));
                }
            }
            _ => {}
        }
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.inner.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        self.inner.delete(deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.inner.copy(from, to, options).await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }
}
