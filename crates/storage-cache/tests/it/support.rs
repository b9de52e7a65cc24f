//! A store in memory behind a cache, with its requests counted, and the files of the cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use icefield_format::MAGIC;
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{
    GetOptions, GetRange, Key, ManualClock, PutOptions, PutOutcome, SeededEntropy, Storage,
    StorageExt,
};
use icefield_storage_cache::{CachedStorage, DiskCache};
use icefield_storage_memory::MemoryStorage;
use tempfile::TempDir;

/// The place of the repository of most tests.
pub(crate) const PLACE: &str = "s3://bucket/ocean";

pub(crate) fn key(text: &str) -> Key {
    Key::parse(text).expect(text)
}

/// The key of the chunk with this number.
pub(crate) fn chunk(number: u32) -> Key {
    id_key("chunks", number)
}

pub(crate) fn id_key(kind: &str, number: u32) -> Key {
    // 96 bits in 20 letters of 5: the last one ends in zeros.
    key(&format!("{kind}/0G0KZ2RT4W2{number:08}0"))
}

/// Bytes that tell their place.
pub(crate) fn pattern(length: usize, seed: u32) -> Bytes {
    let mut state = u64::from(seed) + 1;
    let bytes = (0..length).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u8
    });
    bytes.collect::<Vec<u8>>().into()
}

/// Bytes that begin as all files of the format do.
pub(crate) fn metadata(length: usize, seed: u32) -> Bytes {
    let mut bytes = pattern(length, seed).to_vec();
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    bytes.into()
}

/// A store whose requests are counted, of a repository of spec version 2 if it has the object `repo`.
#[derive(Clone)]
pub(crate) struct Bucket {
    pub(crate) memory: MemoryStorage,
    pub(crate) counting: CountingStorage,
}

impl Bucket {
    pub(crate) fn new() -> Self {
        let memory = MemoryStorage::new();
        let counting = CountingStorage::new(Arc::new(memory.clone()));
        Self { memory, counting }
    }

    pub(crate) async fn put(&self, key: &Key, bytes: Bytes) {
        let put = self.memory.put(key, bytes.into(), PutOptions::default());
        assert!(matches!(put.await.unwrap(), PutOutcome::Written(_)));
    }

    /// The store as a process has it that has opened the repository: it has asked for `repo`.
    pub(crate) async fn behind(&self, cache: &DiskCache) -> Arc<dyn Storage> {
        self.behind_at(cache, PLACE).await
    }

    pub(crate) async fn behind_at(&self, cache: &DiskCache, place: &str) -> Arc<dyn Storage> {
        let inner: Arc<dyn Storage> = Arc::new(self.counting.clone());
        let storage: Arc<dyn Storage> = Arc::new(CachedStorage::new(inner, cache, place));
        let _there_or_not = storage.try_read(&key("repo")).await.unwrap();
        self.counting.reset();
        storage
    }

    /// Reads since the last question.
    pub(crate) fn gets(&self) -> u64 {
        self.counting.reset().total.get
    }
}

/// Ten MiB, whatever time it is.
pub(crate) fn cache(directory: &TempDir) -> DiskCache {
    cache_of(directory.path(), 10 << 20)
}

pub(crate) fn cache_of(path: &Path, bytes: u64) -> DiskCache {
    DiskCache::open(path, bytes).expect("opened")
}

/// A cache whose clock the test moves.
pub(crate) fn cache_with_clock(directory: &TempDir, bytes: u64) -> (DiskCache, ManualClock) {
    let clock = ManualClock::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
    let cache = DiskCache::open_with(
        directory.path(),
        bytes,
        Arc::new(clock.clone()),
        Arc::new(SeededEntropy::new(7)),
    );
    (cache.expect("opened"), clock)
}

pub(crate) async fn read(storage: &Arc<dyn Storage>, key: &Key) -> Bytes {
    storage.read(key).await.expect("readable").0
}

pub(crate) async fn read_range(
    storage: &Arc<dyn Storage>,
    key: &Key,
    range: std::ops::Range<u64>,
) -> Bytes {
    let options = GetOptions::range(GetRange::Bounded(range));
    let object = storage.get(key, options).await.expect("readable");
    object.bytes().await.expect("whole")
}

/// All files below a directory, sorted.
pub(crate) fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(directory) else {
        return found;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// The files of entries.
pub(crate) fn entries(directory: &Path) -> Vec<PathBuf> {
    files(&directory.join("icefield-cache-1/entries"))
}

/// Bytes that all files of a cache have, as they are counted.
pub(crate) fn bytes_of(directory: &Path) -> u64 {
    let lengths = files(directory).into_iter().filter_map(|path| {
        // One that another process has just renamed or deleted is counted elsewhere.
        fs::metadata(path).ok().map(|metadata| metadata.len())
    });
    lengths.map(|length| length.next_multiple_of(4096)).sum()
}
