//! A store that says another place than the one it is at.

use std::fmt;
use std::sync::Arc;

use futures::stream::BoxStream;
use icefield_storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

/// Another store, at a place of any name, or at none as if it were in another process.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) inner: Arc<dyn Storage>,
    pub(super) place: Option<&'static str>,
    pub(super) durable: bool,
}

impl Placed {
    pub(super) fn at(place: &'static str, inner: &Arc<dyn Storage>) -> Arc<dyn Storage> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            place: Some(place),
            durable: false,
        })
    }

    pub(super) fn nowhere(inner: &Arc<dyn Storage>) -> Arc<dyn Storage> {
        Arc::new(Self {
            inner: Arc::clone(inner),
            place: None,
            durable: false,
        })
    }
}

impl fmt::Display for Placed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait::async_trait]
impl Storage for Placed {
    fn place(&self) -> Option<String> {
        self.place.map(str::to_owned)
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = self.inner.capabilities();
        capabilities.durable = self.durable;
        capabilities
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
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

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        self.inner.try_get_blocking(key, options)
    }
}
