//! The sync traits: reads on the spot where that needs no network, else work for the store's runtime.

use futures::TryStreamExt;
use zarrs_storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs_storage::{
    Bytes, ListableStorageTraits, MaybeBytes, MaybeBytesIterator, OffsetBytesIterator,
    ReadableStorageTraits, StorageError, StoreKey, StoreKeys, StoreKeysPrefixes, StorePrefix,
    WritableStorageTraits,
};

use super::{keys, keys_and_prefixes, range_of};
use crate::{ZarrStore, ZarrStoreError};

impl ZarrStore {
    /// Hands work on a key or prefix to the runtime, with a handle and a text that outlive this call.
    fn hand_over<T, F>(
        &self,
        text: &str,
        work: impl FnOnce(Self, String) -> F,
    ) -> Result<T, ZarrStoreError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, ZarrStoreError>> + Send + 'static,
    {
        self.wait(work(self.clone(), text.to_owned()))
    }
}

impl ReadableStorageTraits for ZarrStore {
    fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        self.get_partial(key, ByteRange::FromStart(0, None))
    }

    fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        let ranges: Vec<_> = byte_ranges.map(range_of).collect();
        let named = self.parse(key.as_str())?;
        let tried: Option<Result<Option<Vec<Bytes>>, ZarrStoreError>> = ranges
            .iter()
            .map(|range| self.try_read(key.as_str(), &named, *range))
            .collect::<Option<Result<_, _>>>();
        let values = match tried {
            Some(values) if !ranges.is_empty() => values?,
            // Of no ranges, only the size tells whether the key is there.
            _ => self.hand_over(key.as_str(), |store, key| async move {
                store.get_ranges(&key, &ranges).await
            })?,
        };
        let values = values.map(|values| values.into_iter().map(Ok));
        Ok(values.map(|values| Box::new(values) as Box<dyn Iterator<Item = _>>))
    }

    fn get_partial(
        &self,
        key: &StoreKey,
        byte_range: ByteRange,
    ) -> Result<MaybeBytes, StorageError> {
        let range = range_of(byte_range);
        Ok(match self.try_get_range(key.as_str(), range) {
            Some(value) => value?,
            None => self.hand_over(key.as_str(), |store, key| async move {
                store.get_range(&key, range).await
            })?,
        })
    }

    fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.hand_over(
            key.as_str(),
            |store, key| async move { store.size(&key).await },
        )?)
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

impl WritableStorageTraits for ZarrStore {
    fn set(&self, key: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        Ok(self.hand_over(key.as_str(), |store, key| async move {
            store.set(&key, value).await
        })?)
    }

    fn set_partial_many(
        &self,
        key: &StoreKey,
        offset_values: OffsetBytesIterator,
    ) -> Result<(), StorageError> {
        let parts = offset_values.collect();
        self.hand_over(key.as_str(), |store, key| async move {
            Ok(super::set_partial(&store, &key, parts).await)
        })?
    }

    fn erase(&self, key: &StoreKey) -> Result<(), StorageError> {
        Ok(self.hand_over(key.as_str(), |store, key| async move {
            store.delete(&key).await
        })?)
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        Ok(self.hand_over(prefix.as_str(), |store, prefix| async move {
            store.erase_prefix(&prefix).await
        })?)
    }

    fn supports_set_partial(&self) -> bool {
        false
    }
}

impl ListableStorageTraits for ZarrStore {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        ListableStorageTraits::list_prefix(self, &StorePrefix::root())
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        let listed = self.hand_over(prefix.as_str(), |store, prefix| {
            store.list_prefix(&prefix).try_collect()
        });
        keys(listed?)
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        keys_and_prefixes(self.hand_over(prefix.as_str(), |store, prefix| async move {
            store.list_dir(&prefix).await
        })?)
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        Ok(self.hand_over(prefix.as_str(), |store, prefix| async move {
            store.size_prefix(&prefix).await
        })?)
    }
}
