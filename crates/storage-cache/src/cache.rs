//! The cache of this process: the directory, its bound, and what was counted.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use icefield_format::MAGIC;
use icefield_storage::{Clock, Entropy, GetRange, SystemClock, SystemEntropy, Version};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::disk::{self, Found, Stored, UnsafeFolder, WriteMark};
use crate::entry::EntryHead;
use crate::error::CacheError;
use crate::layout::{CacheLayout, ObjectPaths};
use crate::spec::CacheSpec;
use crate::usage;

/// The lowest bound in bytes that a cache may have.
pub const LEAST_BYTES: u64 = 1 << 20;
/// Threads that are in the directory at once.
const THREADS: usize = 32;
/// How long nothing is written after a write failed.
const PAUSE: Duration = Duration::from_secs(60);

/// A directory on a local disk with immutable objects of repositories far away, shared by all processes that name it.
///
/// Clones share everything. The [crate](crate) documentation lists its guarantees.
#[derive(Clone)]
pub struct DiskCache(Arc<Inner>);

struct Inner {
    path: PathBuf,
    layout: CacheLayout,
    limit: u64,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    threads: Semaphore,
    /// Milliseconds of the clock until which nothing is written.
    paused_until: AtomicU64,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    hits: AtomicU64,
    misses: AtomicU64,
    unchanged: AtomicU64,
    damaged: AtomicU64,
    written: AtomicU64,
    not_written: AtomicU64,
    bytes_read: AtomicU64,
    bytes_written: AtomicU64,
}

/// Counts of a [`DiskCache`] since it was opened, in this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DiskCacheStatistics {
    /// The number of reads that were answered without the store.
    pub hits: u64,
    /// The number of reads that the store answered although a cache may hold the object.
    pub misses: u64,
    /// The number of reads for which the store only confirmed that nothing had changed.
    pub unchanged: u64,
    /// The number of entries that differed from what had been written, and were deleted.
    pub damaged: u64,
    /// The number of entries written.
    pub written: u64,
    /// The number of entries not written: too large, no room, or the disk refused.
    pub not_written: u64,
    /// The bytes of objects that were read from the cache.
    pub bytes_read: u64,
    /// The bytes of objects that were written to the cache.
    pub bytes_written: u64,
}

impl DiskCache {
    /// Opens the cache in a directory, which is created if it does not exist. All entries together have at most `bytes`
    /// bytes, at least [`LEAST_BYTES`].
    ///
    /// # Errors
    /// [`CacheError`], if nothing can be kept there, or if other users could write there.
    pub fn open(path: impl Into<PathBuf>, bytes: u64) -> Result<Self, CacheError> {
        Self::open_with(path, bytes, Arc::new(SystemClock), Arc::new(SystemEntropy))
    }

    /// As [`DiskCache::open`], with its own sources of time and of names for files that are being written.
    ///
    /// # Errors
    /// As [`DiskCache::open`].
    pub fn open_with(
        path: impl Into<PathBuf>,
        bytes: u64,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Result<Self, CacheError> {
        let path = path.into();
        if bytes < LEAST_BYTES {
            let least = LEAST_BYTES;
            return Err(CacheError::TooSmall { path, bytes, least });
        }
        let layout = CacheLayout::new(&path);
        match disk::make_root(&layout) {
            Ok(None) => {}
            Ok(Some(UnsafeFolder { path, problem })) => {
                return Err(CacheError::Unsafe { path, problem });
            }
            Err(source) => {
                let action = "made";
                return Err(CacheError::Unusable {
                    path,
                    action,
                    source,
                });
            }
        }
        if let Err(error) = disk::make_folders(&layout) {
            // Of a cache that is there already, and may not be written, what it has can be read.
            tracing::debug!(path = %path.display(), %error, "the cache may not be written");
        }
        Ok(Self(Arc::new(Inner {
            path,
            layout,
            limit: bytes,
            clock,
            entropy,
            threads: Semaphore::new(THREADS),
            paused_until: AtomicU64::new(0),
            counts: Counts::default(),
        })))
    }

    /// Opens the cache that a text names.
    ///
    /// # Errors
    /// As [`DiskCache::open`].
    pub fn of(spec: &CacheSpec) -> Result<Self, CacheError> {
        Self::open(&spec.path, spec.bytes)
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the bound in bytes on all entries together, whichever process wrote them.
    pub fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns the bytes of all entries, by the count that the processes share; `None` if the count cannot be read. May
    /// block on a disk.
    pub fn used(&self) -> Option<u64> {
        usage::used(&self.0.layout).ok().flatten()
    }

    /// Returns the counts of this process's use of the cache.
    pub fn statistics(&self) -> DiskCacheStatistics {
        let counts = &self.0.counts;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        DiskCacheStatistics {
            hits: read(&counts.hits),
            misses: read(&counts.misses),
            unchanged: read(&counts.unchanged),
            damaged: read(&counts.damaged),
            written: read(&counts.written),
            not_written: read(&counts.not_written),
            bytes_read: read(&counts.bytes_read),
            bytes_written: read(&counts.bytes_written),
        }
    }

    pub(crate) fn layout(&self) -> &CacheLayout {
        &self.0.layout
    }

    /// Returns whether an object of so many bytes may be kept, before it is there.
    pub(crate) fn takes(&self, bytes: u64) -> bool {
        bytes > 0 && bytes < disk::longest(self.0.limit)
    }

    /// Looks for what a range asks for, on a thread that may wait.
    pub(crate) async fn find(&self, object: &ObjectPaths, range: &GetRange) -> Found {
        let (this, paths, range) = (self.clone(), object.clone(), range.clone());
        let find = move || this.find_blocking(&paths, &range, u64::MAX);
        let found = self.hop(find).await;
        found.unwrap_or(Found::Nothing)
    }

    /// Looks for what a range asks for, if that is at most `longest` bytes. Blocks.
    pub(crate) fn find_blocking(
        &self,
        object: &ObjectPaths,
        range: &GetRange,
        longest: u64,
    ) -> Found {
        let found = disk::find(object, range, longest, self.0.clock.now());
        if matches!(found, Found::Flawed) {
            count(&self.0.counts.damaged, 1);
        }
        found
    }

    /// Keeps what the store gave, unless the disk or the bound are against it.
    pub(crate) async fn keep(
        &self,
        object: ObjectPaths,
        object_size: u64,
        range: Range<u64>,
        version: Version,
        parts: Vec<Bytes>,
    ) {
        if self.0.clock.monotonic() < self.paused_until() {
            return count(&self.0.counts.not_written, 1);
        }
        let this = self.clone();
        let work = move || this.keep_blocking(&object, object_size, range, version, &parts);
        // A runtime that is shutting down keeps nothing.
        let _ended = self.hop(work).await;
    }

    fn keep_blocking(
        &self,
        object: &ObjectPaths,
        object_size: u64,
        range: Range<u64>,
        version: Version,
        parts: &[Bytes],
    ) {
        let Some(head) = EntryHead::of(object_size, range, version, parts) else {
            return;
        };
        let counts = &self.0.counts;
        if object.is_metadata && head.range.start == 0 && !begin_with_magic(parts) {
            tracing::debug!(
                "what the store gave is no metadata of the format, and is not kept in the cache"
            );
            return count(&counts.not_written, 1);
        }
        let (layout, limit) = (&self.0.layout, self.0.limit);
        match disk::store(layout, limit, object, &head, parts, &self.write_mark()) {
            Ok(Stored::Written) => {
                count(&counts.written, 1);
                count(&counts.bytes_written, head.range.end - head.range.start);
            }
            Ok(stored @ (Stored::Busy | Stored::TooLarge)) => {
                tracing::debug!(?stored, "an object is not kept in the cache");
                count(&counts.not_written, 1);
            }
            Err(error) => {
                count(&counts.not_written, 1);
                self.pause(&error);
            }
        }
    }

    /// Deletes what it has of objects.
    pub(crate) async fn forget(&self, objects: Vec<ObjectPaths>) {
        if !objects.is_empty() {
            let _ended = self
                .hop(move || objects.iter().for_each(disk::forget))
                .await;
        }
    }

    pub(crate) fn count_hit(&self, bytes: usize) {
        count(&self.0.counts.hits, 1);
        count(&self.0.counts.bytes_read, bytes as u64);
    }

    pub(crate) fn count_unchanged(&self, bytes: usize) {
        count(&self.0.counts.unchanged, 1);
        count(&self.0.counts.bytes_read, bytes as u64);
    }

    pub(crate) fn count_miss(&self) {
        count(&self.0.counts.misses, 1);
    }

    fn paused_until(&self) -> Duration {
        Duration::from_millis(self.0.paused_until.load(Ordering::Relaxed))
    }

    /// A disk that is full, or takes no writes, is left alone for a while.
    fn pause(&self, error: &io::Error) {
        let until = self.0.clock.monotonic() + PAUSE;
        let millis = u64::try_from(until.as_millis()).unwrap_or(u64::MAX);
        let before = self.0.paused_until.swap(millis, Ordering::Relaxed);
        let path = self.0.path.display();
        match before {
            0 => tracing::warn!(%path, %error, "the cache takes nothing more for now"),
            _ => tracing::debug!(%path, %error, "the cache still takes nothing"),
        }
    }

    fn write_mark(&self) -> WriteMark {
        let mut random = [0; 16];
        self.0.entropy.fill(&mut random);
        WriteMark {
            temporary: format!("{:032x}", u128::from_le_bytes(random)),
            now: self.0.clock.now(),
        }
    }

    /// Does blocking work on a thread for that, if there is a runtime that has some; `None` if it was lost.
    async fn hop<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let _permit = self.0.threads.acquire().await.ok()?;
        match Handle::try_current() {
            Ok(runtime) => runtime.spawn_blocking(work).await.ok(),
            Err(_) => Some(work()),
        }
    }
}

/// Returns whether parts begin as all files of the format do. The page of a portal that answers in the place of the store does
/// not.
fn begin_with_magic(parts: &[Bytes]) -> bool {
    let begin = parts.iter().flatten().take(MAGIC.len());
    begin.eq(&MAGIC)
}

fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

impl fmt::Debug for DiskCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiskCache")
            .field("path", &self.0.path)
            .field("limit", &self.0.limit)
            .finish_non_exhaustive()
    }
}
