//! A store that forgets chunks.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use icefield_storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectClass, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
    Version,
};

/// Another store, in which chunks count as written and are not there: a million references without a million files.
#[derive(Clone, Debug)]
pub struct Chunkless(Arc<dyn Storage>);

impl Chunkless {
    /// Returns `inner` without its chunks.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self(inner)
    }
}

impl fmt::Display for Chunkless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, without chunks", self.0)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for Chunkless {
    fn place(&self) -> Option<String> {
        self.0.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.0.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.0.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        if options.class == ObjectClass::Chunk {
            return Ok(PutOutcome::written(Version::new("chunk")));
        }
        self.0.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.0.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        self.0.delete(deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.0.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.0.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.0.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        self.0.try_get_blocking(key, options)
    }
}
