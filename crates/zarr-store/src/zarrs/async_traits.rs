//! The async traits: the methods of [`ZarrStore`] under other names.

use async_trait::async_trait;
use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use zarrs_storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs_storage::{
    AsyncListableStorageTraits, AsyncMaybeBytesIterator, AsyncReadableStorageTraits,
    AsyncWritableStorageTraits, Bytes, MaybeBytes, OffsetBytesIterator, StorageError, StoreKey,
    StoreKeys, StoreKeysPrefixes, StorePrefix,
};

use super::{keys, keys_and_prefixes, range_of};
use crate::ZarrStore;

#[async_trait]
impl AsyncReadableStorageTraits for ZarrStore {
    async fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        Ok(self.get(key.as_str()).await?)
    }

    async fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<AsyncMaybeBytesIterator<'a>, StorageError> {
        let ranges: Vec<_> = byte_ranges.map(range_of).collect();
        let values = self.get_ranges(key.as_str(), &ranges).await?;
        Ok(values.map(|values| stream::iter(values.into_iter().map(Ok)).boxed()))
    }

    async fn get_partial<'a>(
        &'a self,
        key: &StoreKey,
        byte_range: ByteRange,
    ) -> Result<MaybeBytes, StorageError> {
        Ok(self.get_range(key.as_str(), range_of(byte_range)).await?)
    }

    async fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.size(key.as_str()).await?)
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

#[async_trait]
impl AsyncWritableStorageTraits for ZarrStore {
    async fn set(&self, key: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        Ok(self.set(key.as_str(), value).await?)
    }

    async fn set_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        offset_values: OffsetBytesIterator<'a>,
    ) -> Result<(), StorageError> {
        let parts = offset_values.collect();
        super::set_partial(self, key.as_str(), parts).await
    }

    async fn erase(&self, key: &StoreKey) -> Result<(), StorageError> {
        Ok(self.delete(key.as_str()).await?)
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        Ok(self.erase_prefix(prefix.as_str()).await?)
    }

    fn supports_set_partial(&self) -> bool {
        false
    }
}

#[async_trait]
impl AsyncListableStorageTraits for ZarrStore {
    async fn list(&self) -> Result<StoreKeys, StorageError> {
        keys(self.list().try_collect().await?)
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        keys(self.list_prefix(prefix.as_str()).try_collect().await?)
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        keys_and_prefixes(self.list_dir(prefix.as_str()).await?)
    }

    async fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        Ok(self.size_prefix(prefix.as_str()).await?)
    }
}
