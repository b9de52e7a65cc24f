//! A store that is far away.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;

use super::pages::by_page;
use crate::{
    Advice, Capabilities, Clock, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key,
    ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
    SystemClock,
};

/// The times added before each read and each write, which may change while the store is in use.
#[derive(Debug)]
pub struct Latency {
    read: AtomicU64,
    write: AtomicU64,
}

impl Latency {
    /// Returns these times, cut to microseconds.
    pub fn new(read: Duration, write: Duration) -> Self {
        Self {
            read: micros(read).into(),
            write: micros(write).into(),
        }
    }

    /// Sets the times for later requests.
    pub fn set(&self, read: Duration, write: Duration) {
        self.read.store(micros(read), Relaxed);
        self.write.store(micros(write), Relaxed);
    }

    fn of_read(&self) -> Duration {
        Duration::from_micros(self.read.load(Relaxed))
    }

    fn of_write(&self) -> Duration {
        Duration::from_micros(self.write.load(Relaxed))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Another store, with a time added before each request.
///
/// A list takes one such time for each started thousand of objects, and so does a delete; `sync` takes
/// none. `try_get_blocking` answers nothing, because there is now something to wait for.
///
/// On tokio's paused clock, the time that passes counts the dependent requests: see [`Meter`](super::Meter).
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use icefield_storage::{Key, StorageExt, wrap::LatencyStorage};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let far = LatencyStorage::new(Arc::new(MemoryStorage::new()), Duration::from_millis(80));
/// let start = tokio::time::Instant::now();
/// far.exists(&Key::parse("a")?).await?;
/// assert!(start.elapsed() >= Duration::from_millis(80));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LatencyStorage {
    inner: Arc<dyn Storage>,
    latency: Arc<Latency>,
    clock: Arc<dyn Clock>,
}

impl LatencyStorage {
    /// Returns `inner`, `latency` away by tokio's clock.
    pub fn new(inner: Arc<dyn Storage>, latency: Duration) -> Self {
        Self::with(inner, Arc::new(Latency::new(latency, latency)))
    }

    /// Returns `inner` with times that the caller may change.
    pub fn with(inner: Arc<dyn Storage>, latency: Arc<Latency>) -> Self {
        Self {
            inner,
            latency,
            clock: Arc::new(SystemClock),
        }
    }

    /// Returns the store with its waiting done by `clock`.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    async fn wait(&self, time: Duration) {
        if !time.is_zero() {
            self.clock.sleep(time).await;
        }
    }
}

impl fmt::Display for LatencyStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {:?} away", self.inner, self.latency.of_read())
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for LatencyStorage {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.wait(self.latency.of_read()).await;
        self.inner.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.wait(self.latency.of_read()).await;
        self.inner.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.wait(self.latency.of_write()).await;
        self.inner.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let this = self.clone();
        by_page(self.inner.list(options), true, move || {
            this.clock.sleep(this.latency.of_read())
        })
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let this = self.clone();
        by_page(self.inner.delete(deletions), false, move || {
            this.clock.sleep(this.latency.of_write())
        })
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.wait(self.latency.of_write()).await;
        self.inner.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    fn try_get_blocking(
        &self,
        _key: &Key,
        _options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        None
    }
}
