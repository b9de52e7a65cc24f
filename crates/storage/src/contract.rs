//! The contract of a store, as a trait.

use std::fmt;

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, StorageError,
};

/// A store of objects: bytes under keys, with conditional writes. The documentation of each method is its contract,
/// which the suite in `conformance` tests.
///
/// Object safe: callers hold it as `Arc<dyn Storage>`. [`StorageExt`](crate::StorageExt) adds conveniences for callers,
/// and the [wrappers](crate::wrap) count, restrict or sabotage a store.
///
/// ```
/// use icefield_storage::{GetOptions, GetRange, Key, PutMode, PutOutcome, Storage};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let storage = MemoryStorage::new();
/// let key = Key::parse("chunks/1")?;
/// let outcome = storage.put(&key, "0123456789".into(), PutMode::Create.into()).await?;
/// assert!(matches!(outcome, PutOutcome::Written(_)));
///
/// let range = GetOptions::range(GetRange::Bounded(2..5));
/// assert_eq!(storage.get(&key, range).await?.bytes().await?, "234");
/// # Ok(())
/// # }
/// ```
///
/// # Cancel safety
/// A dropped future of a write may or may not take effect, whole or not at all.
#[async_trait]
pub trait Storage: fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Returns the guarantees of this store. Constant for the life of the value, so that a caller may decide once.
    fn capabilities(&self) -> Capabilities;

    /// Reads an object, or one range of it, together with the version that was read. The body may be a stream; its
    /// bytes are those of one version, also if the object is replaced meanwhile.
    ///
    /// # Errors
    /// - [`StorageError::NotFound`]: there is no such object.
    /// - [`StorageError::RangeNotSatisfiable`]: the range is not contained in the object. A range is never cut and
    ///   never padded.
    /// - [`StorageError::PreconditionFailed`] and [`StorageError::NotModified`]: a condition of the options does not
    ///   hold.
    /// - [`StorageError::ObjectTooLarge`]: the object has more bytes than [`GetOptions::max_size`].
    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError>;

    /// Returns key, size, version and date of an object without reading it.
    ///
    /// # Errors
    /// [`StorageError::NotFound`], and other failures of the store.
    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError>;

    /// Writes the whole object or nothing. A condition that does not hold is an outcome and no error, and so is an
    /// effect in doubt: see [`PutOutcome`].
    ///
    /// # Errors
    /// An error means that nothing was written and that nothing will be.
    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError>;

    /// Lists the objects below a prefix, whole segments compared, in byte order of their keys.
    ///
    /// Objects that exist during the whole walk are listed exactly once; objects written or deleted meanwhile may or
    /// may not be. A prefix that holds nothing is an empty list, also if it never existed. A list leaves nothing out:
    /// an entry whose name is no key, or that is no object, is yielded as [`StorageError::UnreadableKey`], and the
    /// stream goes on. After any other error the stream ends; a list that failed is not an empty list.
    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>>;

    /// Deletes objects. Yields one result per deletion, in the order of the input. A missing object counts as deleted,
    /// unless the deletion names a version.
    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)>;

    /// Copies an object within the store, on the server where it can.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] names the source. Otherwise as [`Storage::put`].
    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError>;

    /// Returns a name by which handles on the same place recognise each other in this process; `None` if a handle
    /// cannot tell. Writers that share a place take turns instead of losing race after race to each other.
    fn place(&self) -> Option<String> {
        None
    }

    /// Returns the effect of the store's own settings on data that is kept here, as far as they can be read: rules that
    /// delete objects by age, for instance, or locks that do not reach other machines. Empty if there is nothing to
    /// report, or nothing is known.
    ///
    /// # Errors
    /// The settings could not be read.
    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        Ok(Vec::new())
    }

    /// Makes durable everything that this handle has written so far, including writes whose futures were dropped and
    /// that readers see already. A commit calls it before it publishes. It does nothing where an acknowledged write is
    /// durable already.
    ///
    /// # Errors
    /// The caller must then take everything written since the last successful `sync` as lost. A later `sync` that
    /// succeeds covers it all the same, or else every later one of this handle fails, too.
    async fn sync(&self) -> Result<(), StorageError>;

    /// Reads without waiting for a network, where that is possible; `None` where it would have to wait. The default is
    /// `None`.
    ///
    /// May block on a disk: call it from a thread that may. The answer is the one that [`Storage::get`] would give,
    /// with a [`Body::Bytes`](crate::Body::Bytes).
    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let _ = (key, options);
        None
    }
}
