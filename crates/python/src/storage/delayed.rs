//! A store with added latency, to measure the effect of distance.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use icefield::storage::{
    Advice, Capabilities, Clock, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key,
    ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
    SystemClock,
};

/// A store with a delay before each read and each write.
#[derive(Debug)]
pub(super) struct Delayed {
    pub(super) inner: Arc<dyn Storage>,
    pub(super) delays: Arc<Delays>,
}

/// The delays in milliseconds before each read and each write.
#[derive(Debug)]
pub(super) struct Delays {
    read: AtomicU64,
    write: AtomicU64,
}

impl Delays {
    pub(super) fn new(read: u64, write: u64) -> Self {
        Self {
            read: read.into(),
            write: write.into(),
        }
    }

    pub(super) fn set(&self, read: u64, write: u64) {
        self.read.store(read, Relaxed);
        self.write.store(write, Relaxed);
    }

    async fn before_read(&self) {
        pause(self.read.load(Relaxed)).await;
    }

    async fn before_write(&self) {
        pause(self.write.load(Relaxed)).await;
    }
}

impl fmt::Display for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, with added latency", self.inner)
    }
}

async fn pause(millis: u64) {
    if millis > 0 {
        SystemClock.sleep(Duration::from_millis(millis)).await;
    }
}

#[async_trait]
impl Storage for Delayed {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.delays.before_read().await;
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.delays.before_read().await;
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.delays.before_write().await;
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let (inner, delays) = (Arc::clone(&self.inner), Arc::clone(&self.delays));
        let listed = async move {
            delays.before_read().await;
            inner.list(options)
        };
        futures::stream::once(listed).flatten().boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let (inner, delays) = (Arc::clone(&self.inner), Arc::clone(&self.delays));
        let deleted = async move {
            delays.before_write().await;
            inner.delete(deletions)
        };
        futures::stream::once(deleted).flatten().boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.delays.before_write().await;
        self.inner.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }
}
