//! Stores behind a network: everything between one request and the contract of [`Storage`], written once.
//!
//! A backend implements [`Remote`]: what one request asks and how its answer reads, each tried once, with
//! every failure sorted by what it may have done ([`FaultKind`]). [`RemoteStorage`] makes a [`Storage`] of it:
//!
//! - **Trying again**: with random pauses, within a deadline, at a bounded rate for all calls together.
//! - **Reading back**: each write carries an id. Before a refusal is believed, and when no attempt was
//!   answered, the object is looked at: a write that finds its own id is done. What stays in doubt is
//!   [`PutOutcome::Unknown`], and nothing is cleaned up.
//! - **Bodies**: checked against their length, taken up where they broke off, given up when they stall. Large
//!   objects are read and written in parts, several at a time, in bounded memory.
//! - **Trust**: a store that is not known to honour conditions is tried before the first conditional write.

mod bodies;
mod copies;
mod deletes;
mod lists;
mod probe;
mod reads;
mod renewed;
mod request;
mod retry;
mod settings;
mod stall;
mod target;
mod uploads;
mod writes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore, SemaphorePermit};
use tokio::task::JoinError;

pub use renewed::{NoSecret, Renewed, Secret, SecretSource};
pub use request::{
    Answer, Deleted, Fault, FaultKind, Limits, Page, Part, Stored, Upload, WriteRequest,
};
pub use settings::{RemoteSettings, RetrySettings};
pub use target::{Cause, Target};

use crate::{
    Advice, Capabilities, Clock, CopyOptions, DeleteOutcome, Deletion, Entropy, GetOptions, Key,
    ListOptions, Object, ObjectMeta, Payload, PutMode, PutOptions, PutOutcome, Storage,
    StorageError, SystemClock, SystemEntropy,
};
use retry::{Call, Retries};

/// The requests of a store, each tried once.
///
/// No method repeats anything, waits for anything but its own request, or looks at another object. Time-outs,
/// also of a connection that is silent, are the caller's; a dropped future ends its request.
#[async_trait]
pub trait Remote: fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// As [`Storage::capabilities`].
    fn capabilities(&self) -> Capabilities;

    /// As [`Storage::place`].
    fn place(&self) -> String;

    /// Returns what one request takes.
    fn limits(&self) -> Limits;

    /// Returns whether the store is one that is known to honour conditions; another is tried first.
    fn is_known_to_honour_conditions(&self) -> bool;

    /// Reads a range of an object, or less of it: at most `at_most` bytes from its beginning, if that is
    /// given and the range is not a suffix. The conditions are those of `options`; its `max_size` is not the
    /// backend's business. Ranges are as the contract has them: one that is not contained in the object is
    /// [`StorageError::RangeNotSatisfiable`]. Never asked for a bounded range of no bytes.
    async fn get(
        &self,
        key: &Key,
        options: &GetOptions,
        at_most: Option<u64>,
    ) -> Result<Object, Fault>;

    /// Returns whether two versions are of one state, as far as both are known.
    fn agree(&self, wanted: &crate::Version, found: &crate::Version) -> bool {
        wanted == found
    }

    /// Describes an object.
    async fn head(&self, key: &Key) -> Result<Stored, Fault>;

    /// Writes an object whose bytes are all here.
    async fn put(&self, key: &Key, bytes: Bytes, write: &WriteRequest) -> Result<Answer, Fault>;

    /// Writes an object of any size as its bytes come; asked only of stores without uploads in parts. The
    /// default refuses.
    async fn put_stream(
        &self,
        key: &Key,
        size: Option<u64>,
        parts: BoxStream<'static, Result<Bytes, StorageError>>,
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let _ = (key, size, parts, write);
        Err(self.cannot("writing a stream").into())
    }

    /// Copies an object on the server. A source in another state than the one named is [`Answer::Refused`].
    /// `None`: the store cannot do that with these conditions, or this size.
    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        source_version: Option<&crate::Version>,
        write: &WriteRequest,
    ) -> Option<Result<Answer, Fault>> {
        let _ = (from, to, source_version, write);
        None
    }

    /// Deletes one object; one that is not there is deleted, unless a version was named.
    async fn delete(&self, deletion: &Deletion) -> Deleted;

    /// Deletes several objects in one request, whatever their state, and answers in their order. Asked for no
    /// more than [`Limits::delete_keys`].
    async fn delete_keys(&self, keys: &[Key]) -> Result<Vec<Deleted>, Fault> {
        let _ = keys;
        Err(self.cannot("deleting several objects at once").into())
    }

    /// Lists a page of the objects below a prefix, the page after `token` or the first one. A store that does not
    /// list in byte order gives them in its own: they are sorted above, if it is known
    /// ([`RemoteSettings::sort_lists`]), or if the first page shows it.
    async fn list(&self, options: &ListOptions, token: Option<&str>) -> Result<Page, Fault>;

    /// As [`Storage::advice`].
    async fn advice(&self) -> Result<Vec<Advice>, Fault> {
        Ok(Vec::new())
    }

    /// Begins an upload in parts.
    async fn begin_upload(&self, key: &Key, write: &WriteRequest) -> Result<Upload, Fault> {
        let _ = (key, write);
        Err(self.cannot("uploads in parts").into())
    }

    /// Stores one part, counted from 1.
    async fn put_part(
        &self,
        key: &Key,
        upload: &Upload,
        number: u32,
        bytes: Bytes,
    ) -> Result<Part, Fault> {
        let _ = (key, upload, number, bytes);
        Err(self.cannot("uploads in parts").into())
    }

    /// Makes the object of its parts, if the condition of the write holds. An upload that is not there any more
    /// is in doubt: an earlier attempt may have finished it.
    async fn complete_upload(
        &self,
        key: &Key,
        upload: &Upload,
        parts: &[Part],
        write: &WriteRequest,
    ) -> Result<Answer, Fault> {
        let _ = (key, upload, parts, write);
        Err(self.cannot("uploads in parts").into())
    }

    /// Throws the parts of an upload away; one that is not there is thrown away already.
    async fn abort_upload(&self, key: &Key, upload: &Upload) -> Result<(), Fault> {
        let _ = (key, upload);
        Err(self.cannot("uploads in parts").into())
    }

    /// Returns the error for something that this store cannot do.
    fn cannot(&self, what: &str) -> StorageError {
        StorageError::Unsupported {
            store: self.to_string(),
            what: what.to_owned(),
        }
    }
}

/// A [`Storage`] of a [`Remote`]. A cheap shared handle.
#[derive(Clone, Debug)]
pub struct RemoteStorage(Arc<Handle>);

#[derive(Debug)]
struct Handle {
    remote: Box<dyn Remote>,
    settings: RemoteSettings,
    retries: Retries,
    permits: Arc<Semaphore>,
    /// Of writes whose bytes come while they are sent.
    stream_permits: Semaphore,
    /// Whether the store honours conditions, once a caller had to know.
    honours: OnceCell<()>,
}

impl RemoteStorage {
    /// Returns the store on the system's clock.
    pub fn new(remote: impl Remote, settings: RemoteSettings) -> Self {
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        Self::with_sources(remote, settings, clock, entropy)
    }

    /// Returns the store with its waiting done by `clock`, and pauses and ids drawn from `entropy`.
    pub fn with_sources(
        remote: impl Remote,
        settings: RemoteSettings,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        Self(Arc::new(Handle {
            permits: Arc::new(Semaphore::new(settings.requests)),
            stream_permits: Semaphore::new(settings.requests),
            retries: Retries::new(settings.retry.clone(), clock, entropy),
            remote: Box::new(remote),
            settings,
            honours: OnceCell::new(),
        }))
    }

    /// Returns how many more requests may be in flight now.
    pub fn free_requests(&self) -> usize {
        self.0.permits.available_permits()
    }
}

impl Handle {
    /// Waits until a request may be sent.
    async fn permit(&self) -> OwnedSemaphorePermit {
        match Arc::clone(&self.permits).acquire_owned().await {
            Ok(permit) => permit,
            Err(_) => unreachable!("BUG: the semaphore is never closed"),
        }
    }

    /// Waits until a stream may be written.
    async fn stream_permit(&self) -> SemaphorePermit<'_> {
        match self.stream_permits.acquire().await {
            Ok(permit) => permit,
            Err(_) => unreachable!("BUG: the semaphore is never closed"),
        }
    }

    /// Tries once, within the time-out.
    async fn attempt<T>(
        &self,
        action: &'static str,
        target: &str,
        bytes: u64,
        work: impl Future<Output = Result<T, Fault>>,
    ) -> Result<T, Fault> {
        let _permit = self.permit().await;
        let limit = self.settings.attempt_timeout + Duration::from_secs(bytes >> 20);
        self.retries.in_time(limit, action, target, work).await
    }

    /// Tries until there is an answer: for requests that can be sent any number of times.
    async fn persist<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        action: &'static str,
        target: &str,
        mut work: impl FnMut() -> F,
    ) -> Result<T, StorageError> {
        let mut call = self.retries.call();
        loop {
            match self.attempt(action, target, 0, work()).await {
                Ok(answer) => return Ok(answer),
                Err(fault) if call.again(&fault).await => {}
                Err(fault) => return Err(spent(&call, fault)),
            }
        }
    }
}

/// The error of a task that has come to no end. A panic goes on in the task that waits.
fn task_ended(ended: JoinError, action: &'static str, target: &str) -> StorageError {
    match ended.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => StorageError::Unavailable {
            action,
            target: target.to_owned(),
            source: "the runtime is shutting down".into(),
        },
    }
}

/// The error of a call that has used up its attempts.
fn spent(call: &Call<'_>, fault: Fault) -> StorageError {
    if call.attempts() > 1 {
        tracing::warn!(attempts = call.attempts(), %fault, "given up");
    }
    fault.error
}

impl fmt::Display for RemoteStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0.remote, f)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for RemoteStorage {
    fn place(&self) -> Option<String> {
        Some(self.0.remote.place())
    }

    fn capabilities(&self) -> Capabilities {
        self.0.remote.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        reads::get(&self.0, key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        let stored = self
            .0
            .persist("read", key.as_str(), || self.0.remote.head(key));
        Ok(stored.await?.meta)
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.0.check_condition(&options.mode).await?;
        uploads::put(&self.0, key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        lists::list(Arc::clone(&self.0), options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        deletes::delete(Arc::clone(&self.0), deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.0.check_condition(&options.mode).await?;
        copies::copy(&self.0, from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.0
            .persist(
                "read the settings of",
                self.0.remote.place().as_str(),
                || self.0.remote.advice(),
            )
            .await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn try_get_blocking(
        &self,
        _key: &Key,
        _options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        None
    }
}

impl Handle {
    /// Refuses conditions that the store does not honour.
    async fn check_condition(&self, mode: &PutMode) -> Result<(), StorageError> {
        let capabilities = self.remote.capabilities();
        if !capabilities.writable {
            return Err(StorageError::ReadOnly {
                store: self.remote.to_string(),
            });
        }
        let honoured = match mode {
            PutMode::Overwrite => return Ok(()),
            PutMode::Create => capabilities.conditional_create,
            PutMode::Update(_) => capabilities.conditional_update,
        };
        if !honoured {
            return Err(self.remote.cannot("conditional writes"));
        }
        probe::check(self).await
    }
}
