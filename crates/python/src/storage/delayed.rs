//! A store that is further away than it is: for trying out what a distance costs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::BoxStream;
use icefield::storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

/// Another store, with a pause before each read and each write.
#[derive(Debug)]
pub(super) struct Delayed {
    pub(super) inner: Arc<dyn Storage>,
    pub(super) read: Duration,
    pub(super) write: Duration,
}

impl fmt::Display for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, further away", self.inner)
    }
}

async fn pause(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
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
        pause(self.read).await;
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        pause(self.read).await;
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        pause(self.write).await;
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let (inner, time) = (Arc::clone(&self.inner), self.read);
        let listed = async move {
            pause(time).await;
            inner.list(options)
        };
        futures::stream::once(listed).flatten().boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let (inner, time) = (Arc::clone(&self.inner), self.write);
        let deleted = async move {
            pause(time).await;
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
        pause(self.write).await;
        self.inner.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }
}
