//! The tests that `zarrs_storage` has for stores.
//!
//! Their keys (`a/b`, `i/j/k`) are no Zarr keys, and their values may be empty. So each name stands for one chunk of
//! an array, and each value is one byte longer there. Everything else is asked of the store under test: which names
//! are there, too.

use std::sync::Mutex;

use async_trait::async_trait;
use futures::TryStreamExt;
use futures::stream::StreamExt;
use zarrs_storage::byte_range::{ByteRange, ByteRangeIterator};
use zarrs_storage::{
    AsyncListableStorageTraits, AsyncMaybeBytesIterator, AsyncReadableStorageTraits,
    AsyncWritableStorageTraits, Bytes, ListableStorageTraits, MaybeBytesIterator,
    OffsetBytesIterator, ReadableStorageTraits, StorageError, StoreKey, StoreKeys,
    StoreKeysPrefixes, StorePrefix, WritableStorageTraits, store_test,
};

use super::*;

const ARRAY: &str = r#"{"zarr_format": 3, "node_type": "array", "shape": [1000], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;

struct Renamed {
    store: ZarrStore,
    names: Mutex<Vec<StoreKey>>,
}

fn key(text: &str) -> StoreKey {
    StoreKey::new(text).unwrap()
}

fn prefix(text: &str) -> StorePrefix {
    StorePrefix::new(text).unwrap()
}

fn padded(value: &[u8]) -> Bytes {
    [b"!", value].concat().into()
}

/// The range in the value behind its first byte. A suffix of all but that byte is still within.
fn shifted(range: ByteRange) -> ByteRange {
    match range {
        ByteRange::FromStart(offset, length) => ByteRange::FromStart(offset + 1, length),
        suffix => suffix,
    }
}

fn ranges(ranges: ByteRangeIterator<'_>) -> ByteRangeIterator<'static> {
    Box::new(ranges.map(shifted).collect::<Vec<_>>().into_iter())
}

fn parts(parts: OffsetBytesIterator<'_>) -> OffsetBytesIterator<'static> {
    let shifted = parts.map(|(offset, value)| (offset + 1, value));
    Box::new(shifted.collect::<Vec<_>>().into_iter())
}

/// A suite's value must have its first byte already before a part of it can be set.
const PARTS_NEED_A_VALUE: &str = "the suite sets parts of values that exist only";

impl Renamed {
    async fn new() -> Self {
        let session = writable(&repository().await).await;
        let store = ZarrStore::new(session);
        store.set("t/zarr.json", ARRAY.into()).await.unwrap();
        Self {
            store,
            names: Mutex::default(),
        }
    }

    fn chunk(&self, name: &StoreKey) -> StoreKey {
        let mut names = self.names.lock().unwrap();
        let at = names
            .iter()
            .position(|other| other == name)
            .unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            });
        key(&format!("t/c/{at}"))
    }

    /// Turns listed keys of chunks back into the names they stand for.
    fn names(&self, chunks: &[StoreKey]) -> StoreKeys {
        assert!(chunks.is_sorted(), "{chunks:?}");
        let names = self.names.lock().unwrap();
        let mut live: StoreKeys = chunks
            .iter()
            .map(|chunk| chunk.as_str().strip_prefix("t/c/").unwrap())
            .map(|number| names[number.parse::<usize>().unwrap()].clone())
            .collect();
        live.sort();
        live
    }
}

fn below(names: StoreKeys, prefix: &StorePrefix) -> StoreKeys {
    names
        .into_iter()
        .filter(|name| name.has_prefix(prefix))
        .collect()
}

fn directly_below(names: &[StoreKey], below: &StorePrefix) -> StoreKeysPrefixes {
    let (mut keys, mut prefixes) = (vec![], vec![]);
    for name in names {
        match name.as_str()[below.as_str().len()..].find('/') {
            None => keys.push(name.clone()),
            Some(at) => prefixes.push(prefix(&name.as_str()[..=below.as_str().len() + at])),
        }
    }
    prefixes.dedup();
    StoreKeysPrefixes::new(keys, prefixes)
}

impl ReadableStorageTraits for Renamed {
    fn get(&self, name: &StoreKey) -> Result<Option<Bytes>, StorageError> {
        let value = ReadableStorageTraits::get(&self.store, &self.chunk(name))?;
        Ok(value.map(|value| value.slice(1..)))
    }

    fn get_partial_many<'a>(
        &'a self,
        name: &StoreKey,
        wanted: ByteRangeIterator<'a>,
    ) -> Result<MaybeBytesIterator<'a>, StorageError> {
        ReadableStorageTraits::get_partial_many(&self.store, &self.chunk(name), ranges(wanted))
    }

    fn get_partial(
        &self,
        name: &StoreKey,
        range: ByteRange,
    ) -> Result<Option<Bytes>, StorageError> {
        ReadableStorageTraits::get_partial(&self.store, &self.chunk(name), shifted(range))
    }

    fn size_key(&self, name: &StoreKey) -> Result<Option<u64>, StorageError> {
        let size = ReadableStorageTraits::size_key(&self.store, &self.chunk(name))?;
        Ok(size.map(|size| size - 1))
    }

    fn supports_get_partial(&self) -> bool {
        ReadableStorageTraits::supports_get_partial(&self.store)
    }
}

impl WritableStorageTraits for Renamed {
    fn set(&self, name: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        WritableStorageTraits::set(&self.store, &self.chunk(name), padded(&value))
    }

    fn set_partial_many(
        &self,
        name: &StoreKey,
        values: OffsetBytesIterator,
    ) -> Result<(), StorageError> {
        assert!(
            ReadableStorageTraits::size_key(self, name)?.is_some(),
            "{PARTS_NEED_A_VALUE}"
        );
        WritableStorageTraits::set_partial_many(&self.store, &self.chunk(name), parts(values))
    }

    fn erase(&self, name: &StoreKey) -> Result<(), StorageError> {
        WritableStorageTraits::erase(&self.store, &self.chunk(name))
    }

    fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        if prefix.as_str().is_empty() {
            return WritableStorageTraits::erase_prefix(&self.store, &self::prefix("t/c/"));
        }
        let names = ListableStorageTraits::list_prefix(self, prefix)?;
        WritableStorageTraits::erase_many(self, &names)
    }

    fn supports_set_partial(&self) -> bool {
        WritableStorageTraits::supports_set_partial(&self.store)
    }
}

impl ListableStorageTraits for Renamed {
    fn list(&self) -> Result<StoreKeys, StorageError> {
        let chunks = ListableStorageTraits::list_prefix(&self.store, &prefix("t/c/"))?;
        Ok(self.names(&chunks))
    }

    fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        Ok(below(ListableStorageTraits::list(self)?, prefix))
    }

    fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        let chunks = ListableStorageTraits::list_dir(&self.store, &self::prefix("t/c/"))?;
        assert!(chunks.prefixes().is_empty());
        Ok(directly_below(
            &below(self.names(chunks.keys()), prefix),
            prefix,
        ))
    }

    fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        let names = ListableStorageTraits::list_prefix(self, prefix)?;
        if prefix.as_str().is_empty() {
            let whole = ListableStorageTraits::size_prefix(&self.store, &self::prefix("t/c/"))?;
            return Ok(whole - names.len() as u64);
        }
        let sizes = names
            .iter()
            .map(|name| ReadableStorageTraits::size_key(self, name));
        sizes.map(|size| Ok(size?.unwrap())).sum()
    }
}

#[async_trait]
impl AsyncReadableStorageTraits for Renamed {
    async fn get(&self, name: &StoreKey) -> Result<Option<Bytes>, StorageError> {
        let value = AsyncReadableStorageTraits::get(&self.store, &self.chunk(name)).await?;
        Ok(value.map(|value| value.slice(1..)))
    }

    async fn get_partial_many<'a>(
        &'a self,
        name: &StoreKey,
        wanted: ByteRangeIterator<'a>,
    ) -> Result<AsyncMaybeBytesIterator<'a>, StorageError> {
        let (chunk, wanted) = (self.chunk(name), ranges(wanted));
        let values =
            AsyncReadableStorageTraits::get_partial_many(&self.store, &chunk, wanted).await?;
        let Some(values) = values else {
            return Ok(None);
        };
        let values: Vec<Bytes> = values.try_collect().await?;
        Ok(Some(
            futures::stream::iter(values.into_iter().map(Ok)).boxed(),
        ))
    }

    async fn get_partial<'a>(
        &'a self,
        name: &StoreKey,
        range: ByteRange,
    ) -> Result<Option<Bytes>, StorageError> {
        AsyncReadableStorageTraits::get_partial(&self.store, &self.chunk(name), shifted(range))
            .await
    }

    async fn size_key(&self, name: &StoreKey) -> Result<Option<u64>, StorageError> {
        let size = AsyncReadableStorageTraits::size_key(&self.store, &self.chunk(name)).await?;
        Ok(size.map(|size| size - 1))
    }

    fn supports_get_partial(&self) -> bool {
        AsyncReadableStorageTraits::supports_get_partial(&self.store)
    }
}

#[async_trait]
impl AsyncWritableStorageTraits for Renamed {
    async fn set(&self, name: &StoreKey, value: Bytes) -> Result<(), StorageError> {
        AsyncWritableStorageTraits::set(&self.store, &self.chunk(name), padded(&value)).await
    }

    async fn set_partial_many<'a>(
        &'a self,
        name: &StoreKey,
        values: OffsetBytesIterator<'a>,
    ) -> Result<(), StorageError> {
        let (chunk, values) = (self.chunk(name), parts(values));
        assert!(
            AsyncReadableStorageTraits::size_key(self, name)
                .await?
                .is_some(),
            "{PARTS_NEED_A_VALUE}"
        );
        AsyncWritableStorageTraits::set_partial_many(&self.store, &chunk, values).await
    }

    async fn erase(&self, name: &StoreKey) -> Result<(), StorageError> {
        AsyncWritableStorageTraits::erase(&self.store, &self.chunk(name)).await
    }

    async fn erase_prefix(&self, prefix: &StorePrefix) -> Result<(), StorageError> {
        if prefix.as_str().is_empty() {
            return AsyncWritableStorageTraits::erase_prefix(&self.store, &self::prefix("t/c/"))
                .await;
        }
        let names = AsyncListableStorageTraits::list_prefix(self, prefix).await?;
        AsyncWritableStorageTraits::erase_many(self, &names).await
    }

    fn supports_set_partial(&self) -> bool {
        AsyncWritableStorageTraits::supports_set_partial(&self.store)
    }
}

#[async_trait]
impl AsyncListableStorageTraits for Renamed {
    async fn list(&self) -> Result<StoreKeys, StorageError> {
        let chunks = AsyncListableStorageTraits::list_prefix(&self.store, &prefix("t/c/")).await?;
        Ok(self.names(&chunks))
    }

    async fn list_prefix(&self, prefix: &StorePrefix) -> Result<StoreKeys, StorageError> {
        Ok(below(AsyncListableStorageTraits::list(self).await?, prefix))
    }

    async fn list_dir(&self, prefix: &StorePrefix) -> Result<StoreKeysPrefixes, StorageError> {
        let chunks =
            AsyncListableStorageTraits::list_dir(&self.store, &self::prefix("t/c/")).await?;
        assert!(chunks.prefixes().is_empty());
        Ok(directly_below(
            &below(self.names(chunks.keys()), prefix),
            prefix,
        ))
    }

    async fn size_prefix(&self, prefix: &StorePrefix) -> Result<u64, StorageError> {
        let names = AsyncListableStorageTraits::list_prefix(self, prefix).await?;
        if prefix.as_str().is_empty() {
            let whole =
                AsyncListableStorageTraits::size_prefix(&self.store, &self::prefix("t/c/")).await?;
            return Ok(whole - names.len() as u64);
        }
        let mut total = 0;
        for name in &names {
            total += AsyncReadableStorageTraits::size_key(self, name)
                .await?
                .unwrap();
        }
        Ok(total)
    }
}

#[test]
fn the_sync_suite_passes() {
    let runtime = runtime();
    let mut store = runtime.block_on(Renamed::new());
    store.store = store.store.with_runtime(runtime.handle().clone());
    store_test::store_write(&store).unwrap();
    store_test::store_read(&store).unwrap();
    store_test::store_list(&store).unwrap();
    store_test::store_list_size(&store).unwrap();
}

#[tokio::test]
async fn the_async_suite_passes() {
    let store = Renamed::new().await;
    store_test::async_store_write(&store).await.unwrap();
    store_test::async_store_read(&store).await.unwrap();
    store_test::async_store_list(&store).await.unwrap();
    store_test::async_store_list_size(&store).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn h110_the_sync_suite_passes_on_a_worker_of_its_own_runtime() {
    let mut store = Renamed::new().await;
    store.store = store.store.with_runtime(tokio::runtime::Handle::current());
    tokio::spawn(async move {
        store_test::store_write(&store).unwrap();
        store_test::store_read(&store).unwrap();
        store_test::store_list(&store).unwrap();
        store_test::store_list_size(&store).unwrap();
    })
    .await
    .unwrap();
}
