//! A store with a cache in front of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_format::layout;
use icefield_storage::{
    Advice, Body, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, GetRange, Key,
    ListOptions, Object, ObjectMeta, Payload, PutMode, PutOptions, PutOutcome, Storage,
    StorageError,
};

use crate::cache::DiskCache;
use crate::disk::Found;
use crate::entry::{Entry, EntryHead};
use crate::error::CacheError;
use crate::layout::ObjectPaths;
use crate::policy::{SeenSpec, Trust, is_repo, trust};
use crate::spec::CacheSpec;
use crate::tee;

/// Bytes of the longest range that is read on the thread that asks.
const SHORT: u64 = 256 << 10;

/// Deletions whose entries are deleted together.
const BATCH: usize = 64;

/// The store of one repository, with a [`DiskCache`] in front of it.
///
/// Reads of objects that never change are answered by the cache where it has them; all else goes to the store. Nothing is
/// kept, and nothing of the cache is believed, before the object `repo` was asked for: opening a repository does that.
#[derive(Clone, Debug)]
pub struct CachedStorage {
    inner: Arc<dyn Storage>,
    cache: DiskCache,
    /// Names the place of the repository for all processes.
    place: Arc<str>,
    seen: Arc<AtomicU8>,
}

impl CachedStorage {
    /// Puts the cache in front of the store of the repository at `place`: a name that all processes use for this
    /// repository, and for no other. [`DiskCache::over`] asks the store for it.
    pub fn new(inner: Arc<dyn Storage>, cache: &DiskCache, place: &str) -> Self {
        Self {
            inner,
            cache: cache.clone(),
            place: place.into(),
            seen: Arc::default(),
        }
    }

    fn spec(&self) -> SeenSpec {
        SeenSpec::of_number(self.seen.load(Ordering::Acquire))
    }

    /// Returns where the entries of an object are and how far they are believed; `None` if this read is the store's.
    fn entries(&self, key: &Key, options: &GetOptions) -> Option<(ObjectPaths, Trust)> {
        let is_conditional = options.if_match.is_some()
            || options.if_none_match.is_some()
            || options.if_unmodified_since.is_some();
        let spec = self.spec();
        let trust = trust(key, spec).filter(|_| !is_conditional)?;
        let is_whole = options.range == GetRange::All;
        (trust == Trust::Always || is_whole)
            .then(|| (self.cache.layout().object(&self.place, spec, key), trust))
    }

    /// Deletes the entries of an object that this handle may have replaced.
    async fn forget(&self, key: &Key) {
        let spec = self.spec();
        if trust(key, spec).is_some() {
            let paths = self.cache.layout().object(&self.place, spec, key);
            self.cache.forget(vec![paths]).await;
        }
    }

    /// Asks the store for `repo`, and remembers what that shows.
    async fn get_repo(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        let answer = self.inner.get(key, options).await;
        let hides_missing = self.inner.capabilities().hides_missing;
        if let Some(spec) = SeenSpec::shown_by(&answer, hides_missing) {
            self.seen.store(spec as u8, Ordering::Release);
        }
        answer
    }

    /// Asks the store for an object that may have changed.
    async fn get_if_changed(
        &self,
        key: &Key,
        options: GetOptions,
        paths: ObjectPaths,
        entry: Entry,
    ) -> Result<Object, StorageError> {
        let (limit, version) = (options.max_size, entry.head.version.clone());
        let answer = self
            .inner
            .get(key, options.with_if_none_match(version))
            .await;
        match answer {
            Err(StorageError::NotModified { .. }) => {
                self.cache.count_unchanged(entry.bytes.len());
                checked(key, limit, entry)
            }
            Ok(object) => {
                self.cache.count_miss();
                Ok(tee::keep(&self.cache, paths, object).await)
            }
            Err(error) => {
                if error.is_not_found() {
                    self.cache.forget(vec![paths]).await;
                }
                Err(error)
            }
        }
    }
}

impl DiskCache {
    /// Puts the cache in front of the store of a repository. A store that answers without a network gets none: memory, and
    /// disks, which the operating system caches. Neither does one whose place has no name that other processes know: one that
    /// was made with `object_store` directly, or an HTTP server with a query in its URL.
    ///
    /// May block on a disk.
    pub fn over(&self, storage: Arc<dyn Storage>) -> Arc<dyn Storage> {
        match far_place(&*storage) {
            Some(place) => Arc::new(CachedStorage::new(storage, self, &place)),
            None => storage,
        }
    }
}

impl CacheSpec {
    /// Opens the cache and puts it in front of the store of a repository, as [`DiskCache::over`] does; for a store that gets
    /// none, the directory is not touched.
    ///
    /// May block on a disk.
    ///
    /// # Errors
    /// As [`DiskCache::open`].
    pub fn over(&self, storage: Arc<dyn Storage>) -> Result<Arc<dyn Storage>, CacheError> {
        match far_place(&*storage) {
            Some(place) => {
                let cache = DiskCache::of(self)?;
                Ok(Arc::new(CachedStorage::new(storage, &cache, &place)))
            }
            None => Ok(storage),
        }
    }

    /// As [`CacheSpec::over`], with the cache that the environment names, if it names one. For a store that gets none, the
    /// variable is not looked at.
    ///
    /// May block on a disk.
    ///
    /// # Errors
    /// As [`CacheSpec::from_environment`] and [`DiskCache::open`].
    pub fn of_environment_over(storage: Arc<dyn Storage>) -> Result<Arc<dyn Storage>, CacheError> {
        if far_place(&*storage).is_none() {
            return Ok(storage);
        }
        match Self::from_environment()? {
            Some(spec) => spec.over(storage),
            None => Ok(storage),
        }
    }
}

/// The start of the places of stores behind a network, which all processes name alike. [`Storage::place`] promises that
/// for one process only: a store in memory, or one that an application made with `object_store`, is named by its address,
/// which another process gives to another store.
const DURABLE: [&str; 4] = ["s3:", "gcs:", "azure:", "http:"];

/// Returns the name that all processes have for the place of a store behind a network; `None` of any other.
fn far_place(storage: &dyn Storage) -> Option<String> {
    // It need not be there: the question is whether there is an answer without waiting.
    let key = Key::parse(layout::CONFIG).ok()?;
    let is_near = storage
        .try_get_blocking(&key, &GetRange::Bounded(0..1).into())
        .is_some();
    let place = storage.place()?;
    let is_durable = DURABLE.iter().any(|start| place.starts_with(start));
    (!is_near && is_durable).then_some(place)
}

/// Makes the answer of an entry, within the limit of the reader.
fn checked(key: &Key, max_size: Option<u64>, entry: Entry) -> Result<Object, StorageError> {
    let meta = meta(key, &entry.head);
    if let Some(limit) = max_size {
        GetOptions::default()
            .with_max_size(limit)
            .check_size(&meta)?;
    }
    Ok(Object {
        meta,
        range: entry.range,
        body: Body::Bytes(entry.bytes),
    })
}

fn meta(key: &Key, head: &EntryHead) -> ObjectMeta {
    ObjectMeta {
        key: key.clone(),
        size: head.object_size,
        version: head.version.clone(),
        last_modified: None,
    }
}

/// The answer to a read of a range that an object does not have, which never changes.
fn out_of_object(key: &Key, head: &EntryHead, options: &GetOptions) -> Option<StorageError> {
    options.check_size(&meta(key, head)).err()
}

impl fmt::Display for CachedStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, cached in {}",
            self.inner,
            self.cache.path().display()
        )
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for CachedStorage {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        if is_repo(key) {
            return self.get_repo(key, options).await;
        }
        let Some((paths, trust)) = self.entries(key, &options) else {
            return self.inner.get(key, options).await;
        };
        match (self.cache.find(&paths, &options.range).await, trust) {
            (Found::Entry(entry), Trust::Always) => {
                self.cache.count_hit(entry.bytes.len());
                return checked(key, options.max_size, entry);
            }
            (Found::Entry(entry), Trust::IfUnchanged) => {
                return self.get_if_changed(key, options, paths, entry).await;
            }
            (Found::OutOfObject(head), Trust::Always) => {
                if let Some(error) = out_of_object(key, &head, &options) {
                    return Err(error);
                }
            }
            (Found::OutOfObject(_), Trust::IfUnchanged) | (Found::Nothing | Found::Flawed, _) => {}
        }
        self.cache.count_miss();
        let object = self.inner.get(key, options).await?;
        Ok(tee::keep(&self.cache, paths, object).await)
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let creates = options.mode == PutMode::Create;
        let outcome = self.inner.put(key, payload, options).await;
        // An object that is created anew has no entries. After any other outcome the caller asks what is stored, and an entry does
        // not know that.
        if !(creates && matches!(outcome, Ok(PutOutcome::Written(_)))) {
            self.forget(key).await;
        }
        outcome
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.inner.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let this = self.clone();
        self.inner
            .delete(deletions)
            .ready_chunks(BATCH)
            .then(move |batch| {
                let (cache, spec) = (this.cache.clone(), this.spec());
                let kept = batch.iter().filter(|(key, _)| trust(key, spec).is_some());
                let layout = cache.layout();
                let paths = kept.map(|(key, _)| layout.object(&this.place, spec, key));
                let paths: Vec<_> = paths.collect();
                async move {
                    cache.forget(paths).await;
                    stream::iter(batch)
                }
            })
            .flatten()
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        let outcome = self.inner.copy(from, to, options).await;
        self.forget(to).await;
        outcome
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    /// Also of a store behind a network, what the cache has and is short is answered at once.
    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        // How long a range without an end is, the head of the entry says.
        let may_be_short = match &options.range {
            GetRange::Bounded(range) => range.end.saturating_sub(range.start) <= SHORT,
            _ => true,
        };
        if may_be_short
            && let Some((paths, Trust::Always)) = self.entries(key, options)
            && let Found::Entry(entry) = self.cache.find_blocking(&paths, &options.range, SHORT)
        {
            self.cache.count_hit(entry.bytes.len());
            return Some(checked(key, options.max_size, entry));
        }
        self.inner.try_get_blocking(key, options)
    }
}
