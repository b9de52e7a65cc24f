//! Conveniences for callers, written once on top of the trait so that backends cannot drift apart.

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::stream::{self, BoxStream, TryStreamExt};

use crate::{
    DeleteOutcome, Deletion, GetOptions, Key, ListOptions, ObjectMeta, Prefix, PutMode, PutOptions,
    PutOutcome, Storage, StorageError, Topic, Version, Weight,
};

/// Unreadable names that [`StorageExt::list_objects`] names one by one.
const NAMED: usize = 10;

/// One entry of a list that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// An object.
    Object(ObjectMeta),
    /// The name of something that is no object, or whose name is no key: [`StorageError::UnreadableKey`].
    Unreadable {
        /// The name as the store has it, relative to the root.
        raw: String,
        /// The broken rule.
        problem: String,
    },
}

impl Listed {
    /// Tells an unreadable name from an error that ends the list.
    ///
    /// # Errors
    /// Every other error.
    pub fn of(item: Result<ObjectMeta, StorageError>) -> Result<Self, StorageError> {
        match item {
            Ok(meta) => Ok(Self::Object(meta)),
            Err(StorageError::UnreadableKey { raw, problem }) => {
                Ok(Self::Unreadable { raw, problem })
            }
            Err(error) => Err(error),
        }
    }
}

/// The result of comparing a stored object with bytes of the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    /// There is no object under the key.
    Absent,
    /// The object has the same bytes, in this version.
    Same(Version),
    /// The object has other bytes.
    Other,
}

/// Conveniences for callers; every [`Storage`] has them.
///
/// ```
/// use icefield_storage::{Compared, Key, PutMode, Storage, StorageExt};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let storage = MemoryStorage::new();
/// let key = Key::parse("config.yaml")?;
/// assert!(storage.try_read_at_most(&key, 1 << 20).await?.is_none());
/// let _ = storage.put_immutable(&key, "a: 1".into(), PutMode::Create.into()).await?;
/// assert_eq!(storage.compare(&key, b"a: 2").await?, Compared::Other);
/// # Ok(())
/// # }
/// ```
#[async_trait]
pub trait StorageExt: Storage {
    /// Reads a whole object, however large it is, into memory. For objects of unknown size, use
    /// [`read_at_most`](Self::read_at_most), which bounds the memory.
    ///
    /// # Errors
    /// As [`Storage::get`].
    async fn read(&self, key: &Key) -> Result<(Bytes, ObjectMeta), StorageError> {
        let object = self.get(key, GetOptions::default()).await?;
        let meta = object.meta.clone();
        Ok((object.bytes().await?, meta))
    }

    /// Reads a whole object of at most `limit` bytes into memory. A larger one is refused before its bytes are read.
    ///
    /// # Errors
    /// As [`Storage::get`]; [`StorageError::ObjectTooLarge`] if it has more than `limit` bytes.
    async fn read_at_most(
        &self,
        key: &Key,
        limit: u64,
    ) -> Result<(Bytes, ObjectMeta), StorageError> {
        let options = GetOptions::default().with_max_size(limit);
        let object = self.get(key, options).await?;
        // A backend that does not know the option all the same says how large the object is.
        GetOptions::default()
            .with_max_size(limit)
            .check(&object.meta, None)?;
        let meta = object.meta.clone();
        Ok((object.bytes().await?, meta))
    }

    /// Reads a whole object of at most `limit` bytes into memory; `None` if there is none.
    ///
    /// # Errors
    /// As [`StorageExt::read_at_most`], except *not found*.
    async fn try_read_at_most(
        &self,
        key: &Key,
        limit: u64,
    ) -> Result<Option<(Bytes, Version)>, StorageError> {
        found(self.read_at_most(key, limit).await)
    }

    /// Reads a whole object, however large it is, into memory; `None` if there is none.
    ///
    /// # Errors
    /// As [`Storage::get`], except *not found*.
    async fn try_read(&self, key: &Key) -> Result<Option<(Bytes, Version)>, StorageError> {
        found(self.read(key).await)
    }

    /// Compares an object with bytes. An object of another length is not read.
    ///
    /// # Errors
    /// As [`Storage::get`], except *not found*.
    async fn compare(&self, key: &Key, bytes: &[u8]) -> Result<Compared, StorageError> {
        match self.try_read_at_most(key, bytes.len() as u64).await {
            Ok(None) => Ok(Compared::Absent),
            Ok(Some((stored, version))) if stored == bytes => Ok(Compared::Same(version)),
            Ok(Some(_)) | Err(StorageError::ObjectTooLarge { .. }) => Ok(Compared::Other),
            Err(error) => Err(error),
        }
    }

    /// Returns whether an object exists, by one [`Storage::head`].
    ///
    /// # Errors
    /// As [`Storage::head`], except *not found*.
    async fn exists(&self, key: &Key) -> Result<bool, StorageError> {
        match self.head(key).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Writes an object that is never replaced. If the key holds the same bytes already, the write counts as done, so
    /// that a repeated write is harmless; other bytes are [`PutOutcome::Refused`].
    ///
    /// # Errors
    /// As [`Storage::put`] and [`Storage::get`].
    async fn put_immutable(
        &self,
        key: &Key,
        bytes: Bytes,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let options = PutOptions {
            mode: PutMode::Create,
            ..options
        };
        match self.put(key, bytes.clone().into(), options).await? {
            PutOutcome::Refused => match self.compare(key, &bytes).await? {
                Compared::Same(version) => Ok(PutOutcome::written(version)),
                Compared::Absent | Compared::Other => Ok(PutOutcome::Refused),
            },
            outcome => Ok(outcome),
        }
    }

    /// Deletes one object; a missing one counts as deleted.
    ///
    /// # Errors
    /// As [`Storage::delete`].
    async fn delete_one(&self, deletion: Deletion) -> Result<DeleteOutcome, StorageError> {
        let key = deletion.key.clone();
        match self.delete(stream::iter([deletion]).boxed()).next().await {
            Some((_, result)) => result,
            None => Err(StorageError::Failed {
                action: "delete",
                target: key.to_string(),
                source: "the store gave no answer for this key".into(),
            }),
        }
    }

    /// Lists objects and unreadable names alike, so that the caller decides about each; an error ends the stream.
    fn list_entries(
        &self,
        options: ListOptions,
    ) -> BoxStream<'static, Result<Listed, StorageError>> {
        self.list(options).map(Listed::of).boxed()
    }

    /// Lists the objects and passes over unreadable names with a warning: for readers that look for names of their own,
    /// among which no unreadable one can be.
    fn list_objects(
        &self,
        options: ListOptions,
    ) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let mut unreadable = 0_usize;
        let object = move |item: Result<ObjectMeta, StorageError>| {
            let kept = match item {
                Err(error) if error.is_unreadable_key() => {
                    unreadable += 1;
                    match unreadable {
                        ..=NAMED => tracing::warn!("passed over in a list: {error}"),
                        _ => tracing::debug!("passed over in a list: {error}"),
                    }
                    None
                }
                item => Some(item),
            };
            std::future::ready(kept)
        };
        self.list(options).filter_map(object).boxed()
    }

    /// Lists the objects and ends with the error of the first unreadable name: for callers to which an object that they
    /// cannot read is a loss. A [directory marker](crate::DIRECTORY_MARKER) holds no data and is passed over.
    fn list_strict(
        &self,
        options: ListOptions,
    ) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let data = |item: &Result<ObjectMeta, StorageError>| {
            let is_marker = item.as_ref().is_err_and(StorageError::is_directory_marker);
            std::future::ready(!is_marker)
        };
        let until_failed = |failed: &mut bool, item: Result<ObjectMeta, StorageError>| {
            let is_over = std::mem::replace(failed, item.is_err());
            std::future::ready((!is_over).then_some(item))
        };
        let items = self.list(options).filter(data);
        items.scan(false, until_failed).boxed()
    }

    /// Returns the reason why writers do not exclude each other in this store, if the store gives one: a text for
    /// callers whose commit is refused for want of [`Capabilities::safe_commits`](crate::Capabilities::safe_commits).
    async fn why_unsafe(&self) -> Option<String> {
        let advice = self.advice().await.unwrap_or_default();
        let mut on_locks = advice.into_iter().filter(|it| it.topic == Topic::Locks);
        on_locks
            .find(|it| it.weight != Weight::Good)
            .map(|it| it.text)
    }

    /// Lists the keys below a prefix into memory. An unreadable name fails it.
    ///
    /// # Errors
    /// As [`Storage::list`].
    async fn list_all(&self, prefix: &Prefix) -> Result<Vec<ObjectMeta>, StorageError> {
        self.list(ListOptions::prefix(prefix.clone()))
            .try_collect()
            .await
    }
}

/// Turns *not found* into `None`.
fn found(
    read: Result<(Bytes, ObjectMeta), StorageError>,
) -> Result<Option<(Bytes, Version)>, StorageError> {
    match read {
        Ok((bytes, meta)) => Ok(Some((bytes, meta.version))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

impl<S: Storage + ?Sized> StorageExt for S {}
