//! The contract of a store, as a trait.

use std::fmt;

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, StorageError,
};

/// A store of objects. The contract of every method is in its words here; `conformance` tests them.
///
/// Object safe: held as `Arc<dyn Storage>`.
///
/// # Cancel safety
/// A dropped future of a write may or may not take effect, whole or not at all.
#[async_trait]
pub trait Storage: fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Returns what this store guarantees. Constant for the life of the value.
    fn capabilities(&self) -> Capabilities;

    /// Reads an object, or one range of it, together with the version that was read.
    ///
    /// # Errors
    /// [`StorageError::NotFound`]; [`StorageError::RangeNotSatisfiable`] if the range is not contained in
    /// the object (never cut, never padded); [`StorageError::PreconditionFailed`] and
    /// [`StorageError::NotModified`] for the conditions.
    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError>;

    /// Describes an object without reading it.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] and what else the store says.
    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError>;

    /// Writes the whole object or nothing. A failed condition is an answer, not an error, and so is an
    /// effect in doubt.
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
    /// Objects that exist during the whole walk are listed exactly once; objects written or deleted
    /// meanwhile may or may not be. A prefix that holds nothing is an empty list, also if it never existed.
    /// A list drops nothing: a name that is no key, and a thing that is no object, is yielded as
    /// [`StorageError::UnreadableKey`], and the stream goes on. After any other error the stream ends; a list that failed
    /// is not an empty list.
    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>>;

    /// Deletes objects. Yields one result per deletion, in the order of the input.
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

    /// Returns a name by which handles on one and the same place are known to this process; `None` if a handle
    /// cannot tell. Writers that share a place take turns instead of losing race after race to each other.
    fn place(&self) -> Option<String> {
        None
    }

    /// Returns what the store's own settings mean for data that is kept here, as far as they can be read: rules that
    /// delete objects by age, for instance, or locks that do not reach other machines. Empty where there is nothing to
    /// say, or nothing is known.
    ///
    /// # Errors
    /// The settings could not be read.
    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        Ok(Vec::new())
    }

    /// Makes durable all that this handle has written so far, and what readers see already of writes whose callers have gone
    /// away. A commit calls it before it publishes.
    /// Nothing to do where an acknowledged write is durable already.
    ///
    /// # Errors
    /// Anything written since the last successful `sync` must then be taken as lost, by the caller; a later
    /// `sync` that succeeds covers it all the same, or else every later one of this handle fails, too.
    async fn sync(&self) -> Result<(), StorageError>;

    /// Reads without waiting for a network, where that is possible; `None` where it would have to wait.
    ///
    /// May block on a disk: call it from a thread that may. The answer is the one that [`Storage::get`]
    /// would give, with a [`Body::Bytes`](crate::Body::Bytes).
    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let _ = (key, options);
        None
    }
}
