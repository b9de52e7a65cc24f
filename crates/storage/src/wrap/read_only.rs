//! A store that takes no writes.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};

use crate::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

/// Another store without its writes: each write is [`StorageError::ReadOnly`], and no request is sent for it.
///
/// ```
/// use std::sync::Arc;
/// use icefield_storage::{Key, PutMode, Storage, wrap::ReadOnlyStorage};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), icefield_storage::KeyError> {
/// let storage = ReadOnlyStorage::new(Arc::new(MemoryStorage::new()));
/// assert!(!storage.capabilities().writable);
/// assert!(storage.put(&Key::parse("a")?, "1".into(), PutMode::Create.into()).await.is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ReadOnlyStorage {
    inner: Arc<dyn Storage>,
}

impl ReadOnlyStorage {
    /// Returns `inner` without its writes.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner }
    }

    fn refusal(&self) -> StorageError {
        StorageError::ReadOnly {
            store: self.inner.to_string(),
        }
    }
}

impl fmt::Display for ReadOnlyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, read-only", self.inner)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for ReadOnlyStorage {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            writable: false,
            ..self.inner.capabilities()
        }
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.inner.head(key).await
    }

    async fn put(
        &self,
        _key: &Key,
        _payload: Payload,
        _options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        Err(self.refusal())
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.inner.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let this = self.clone();
        deletions
            .map(move |deletion| (deletion.key, Err(this.refusal())))
            .boxed()
    }

    async fn copy(
        &self,
        _from: &Key,
        _to: &Key,
        _options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        Err(self.refusal())
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
