//! The sync traits: the async ones, waited for.

use zarrs_storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs_storage::{
    AsyncListableStorageTraits, AsyncReadableStorageTraits, AsyncWritableStorageTraits, Bytes,
    ListableStorageTraits, MaybeBytes, MaybeBytesIterator, OffsetBytesIterator,
    ReadableStorageTraits, StorageError, StoreKey, StoreKeys, StoreKeysPrefixes, StorePrefix,
    WritableStorageTraits,
};

use super::wait::wait;
use super::{ZarrsTree, key_of, range_of};
use crate::{ReadTree, WriteTree};

impl<T: ReadTree + ?Sized> ZarrsTree<T> {
    /// Hands work to the runtime, with a handle and a name that outlive this call.
    fn hand_over<N, R, F>(
        &self,
        name: &N,
        work: impl FnOnce(Self, N) -> F,
    ) -> Result<R, StorageError>
    where
        N: Clone,
        R: Send + 'static,
        F: Future<Output = Result<R, StorageError>> + Send + 'static,
    {
        wait(self.runtime.as_ref(), work(self.clone(), name.clone()))
    }
}

impl<T: ReadTree + ?Sized> ReadableStorageTraits for ZarrsTree<T> {
    fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        self.hand_over(key, |store, key| async move {
            AsyncReadableStorageTraits::get(&store, &key).await
        })
    }

    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let ranges: Vec<_> = byte_ranges.map(range_of).collect();
        let key = key_of(key)?;
        let values = self.hand_over(&key, |store, key| async move {
            Ok(store.tree.get_ranges(&key, &ranges).await?)
        })?;
        let values = values.map(|values| values.into_iter().map(Ok));
        Ok(values.map(|values| Box::new(values) as Box<dyn Iterator<Item = _>>))
    }

    fn get_partial(
        &self,
        key: &StoreKey,
        byte_range: ByteRange,
    ) -> Result<MaybeBytes, StorageError> {
        self.hand_over(key, |store, key| async move {
            AsyncReadableStorageTraits::get_partial(&store, &key, byte_range).await
        })
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        self.hand_over(key, |store, key| async move {
            AsyncReadableStorageTraits::size_key(&store, &key).await
        })
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

impl<T: WriteTree + ?Sized> WritableStorageTraits for ZarrsTree<T> {
    fn set(&self, key: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        self.hand_over(key, |store, key| async move {
            AsyncWritableStorageTraits::set(&store, &key, value).await
        })
    }

    fn set_partial_many(
        &self,
        key: &StoreKey,
        offset_values: OffsetBytesIterator,
    ) -> Result<(), StorageError> {
        let parts: Vec<_> = offset_values.collect();
        let key = key_of(key)?;
        self.hand_over(&key, |store, key| async move {
            Ok(store.tree.set_partial(&key, &parts).await?)
        })
    }

    fn erase(&self, key: &StoreKey) -> Result<(), StorageError> {
        self.hand_over(key, |store, key| async move {
            AsyncWritableStorageTraits::erase(&store, &key).await
        })
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        self.hand_over(prefix, |store, prefix| async move {
            AsyncWritableStorageTraits::erase_prefix(&store, &prefix).await
        })
    }

    fn supports_set_partial(&self) -> bool {
        false
    }
}

impl<T: ReadTree + ?Sized> ListableStorageTraits for ZarrsTree<T> {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        self.hand_over(&(), |store, ()| async move {
            AsyncListableStorageTraits::list(&store).await
        })
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        self.hand_over(prefix, |store, prefix| async move {
            AsyncListableStorageTraits::list_prefix(&store, &prefix).await
        })
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        self.hand_over(prefix, |store, prefix| async move {
            AsyncListableStorageTraits::list_dir(&store, &prefix).await
        })
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        self.hand_over(prefix, |store, prefix| async move {
            AsyncListableStorageTraits::size_prefix(&store, &prefix).await
        })
    }
}
