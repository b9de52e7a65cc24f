//! The async traits: the methods of the tree under other names.

use async_trait::async_trait;
use futures::TryStreamExt;
use futures::stream::{self, StreamExt};
use zarrs_storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs_storage::{
    AsyncListableStorageTraits, AsyncMaybeBytesIterator, AsyncReadableStorageTraits,
    AsyncWritableStorageTraits, Bytes, MaybeBytes, OffsetBytesIterator, StorageError, StoreKey,
    StoreKeys, StoreKeysPrefixes, StorePrefix,
};

use super::{ZarrsTree, key_of, keys, keys_and_prefixes, prefix_of, range_of};
use crate::{GetRange, ReadTree, TreePrefix, WriteTree};

#[async_trait]
impl<T: ReadTree + ?Sized> AsyncReadableStorageTraits for ZarrsTree<T> {
    async fn get(&self, key: &StoreKey) -> Result<MaybeBytes, StorageError> {
        Ok(self.tree.get(&key_of(key)?, GetRange::All).await?)
    }

    async fn get_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        byte_ranges: ByteRangeIterator<'a>,
    ) -> Result<AsyncMaybeBytesIterator<'a>, StorageError> {
        let ranges: Vec<_> = byte_ranges.map(range_of).collect();
        let values = self.tree.get_ranges(&key_of(key)?, &ranges).await?;
        Ok(values.map(|values| stream::iter(values.into_iter().map(Ok)).boxed()))
    }

    async fn get_partial<'a>(
        &'a self,
        key: &StoreKey,
        byte_range: ByteRange,
    ) -> Result<MaybeBytes, StorageError> {
        Ok(self.tree.get(&key_of(key)?, range_of(byte_range)).await?)
    }

    async fn size_key(&self, key: &StoreKey) -> Result<Option<u64>, StorageError> {
        Ok(self.tree.size(&key_of(key)?).await?)
    }

    fn supports_get_partial(&self) -> bool {
        true
    }
}

#[async_trait]
impl<T: WriteTree + ?Sized> AsyncWritableStorageTraits for ZarrsTree<T> {
    async fn set(&self, key: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        Ok(self.tree.set(&key_of(key)?, value).await?)
    }

    async fn set_partial_many<'a>(
        &'a self,
        key: &StoreKey,
        offset_values: OffsetBytesIterator<'a>,
    ) -> Result<(), StorageError> {
        let parts: Vec<_> = offset_values.collect();
        Ok(self.tree.set_partial(&key_of(key)?, &parts).await?)
    }

    async fn erase(&self, key: &StoreKey) -> Result<(), StorageError> {
        Ok(self.tree.erase(&key_of(key)?).await?)
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        Ok(self.tree.erase_prefix(&prefix_of(prefix)?).await?)
    }

    fn supports_set_partial(&self) -> bool {
        false
    }
}

#[async_trait]
impl<T: ReadTree + ?Sized> AsyncListableStorageTraits for ZarrsTree<T> {
    async fn list(&self) -> Result<StoreKeys, StorageError> {
        let all: Vec<_> = self.tree.list(&TreePrefix::all()).try_collect().await?;
        keys(all.into_iter().map(|entry| entry.key))
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        let below: Vec<_> = self.tree.list(&prefix_of(prefix)?).try_collect().await?;
        keys(below.into_iter().map(|entry| entry.key))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        keys_and_prefixes(self.tree.children(&prefix_of(prefix)?).await?)
    }

    async fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        let mut below = self.tree.list(&prefix_of(prefix)?);
        let mut total = 0;
        while let Some(entry) = below.try_next().await? {
            total += entry.size;
        }
        Ok(total)
    }
}
