//! Bodies on their way: as long as promised, taken up where they broke off, given up when they stall.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::{Either, select};
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::OwnedSemaphorePermit;

use super::Handle;
use super::request::{Fault, FaultKind};
use super::retry::Tries;
use crate::{
    Body, GetOptions, GetRange, Key, Object, ObjectMeta, PlantedBug, StorageError, planted,
};

/// A body that is being read.
pub(super) struct Reading {
    handle: Arc<Handle>,
    meta: ObjectMeta,
    /// The bytes that are still to come, half open.
    rest: Range<u64>,
    /// All that was to come.
    whole: Range<u64>,
    source: Option<Source>,
    pace: Pace,
    tries: Tries,
}

/// A body and the permit of its request.
struct Source {
    body: BoxStream<'static, Result<Bytes, StorageError>>,
    _permit: OwnedSemaphorePermit,
}

impl Reading {
    /// Begins with an object as it was answered, and the permit under which it was asked for.
    pub(super) fn new(handle: &Arc<Handle>, object: Object, permit: OwnedSemaphorePermit) -> Self {
        Self {
            handle: Arc::clone(handle),
            meta: object.meta,
            rest: object.range.clone(),
            whole: object.range,
            source: Some(Source {
                body: stream_of(object.body),
                _permit: permit,
            }),
            pace: Pace::default(),
            tries: handle.retries.tries(),
        }
    }

    /// Reads a range of an object that is known, from its beginning.
    pub(super) fn of_range(handle: &Arc<Handle>, meta: ObjectMeta, range: Range<u64>) -> Self {
        Self {
            handle: Arc::clone(handle),
            meta,
            rest: range.clone(),
            whole: range,
            source: None,
            pace: Pace::default(),
            tries: handle.retries.tries(),
        }
    }

    /// All bytes, in memory.
    pub(super) async fn collect(mut self) -> Result<Bytes, StorageError> {
        let length = usize::try_from(self.rest.end - self.rest.start).unwrap_or(usize::MAX);
        let Some(first) = self.next().await? else {
            return Ok(Bytes::new());
        };
        if first.len() == length && self.rest.is_empty() {
            self.finish().await?;
            return Ok(first);
        }
        let mut all = Vec::with_capacity(length);
        all.extend_from_slice(&first);
        while let Some(part) = self.next().await? {
            all.extend_from_slice(&part);
        }
        Ok(all.into())
    }

    /// The bytes as they come.
    pub(super) fn into_stream(self) -> BoxStream<'static, Result<Bytes, StorageError>> {
        stream::try_unfold(self, |mut reading| async move {
            Ok(reading.next().await?.map(|part| (part, reading)))
        })
        .boxed()
    }

    /// Checks that nothing follows.
    async fn finish(&mut self) -> Result<(), StorageError> {
        match self.next().await? {
            None => Ok(()),
            Some(_) => unreachable!("BUG: a part beyond the end is an error"),
        }
    }

    /// The next bytes; `None` once all have come.
    async fn next(&mut self) -> Result<Option<Bytes>, StorageError> {
        loop {
            if self.source.is_none() {
                if self.rest.is_empty() {
                    return Ok(None);
                }
                self.open().await?;
            }
            let Some(source) = &mut self.source else {
                continue;
            };
            let stall = self.handle.settings.stall_timeout;
            let clock = self.handle.retries.clock();
            let (asked, sleep) = (clock.monotonic(), clock.sleep(self.pace.patience(stall)));
            let came = select(source.body.next(), sleep).await;
            self.pace.waited += clock.monotonic().saturating_sub(asked);
            let error = match came {
                Either::Left((Some(Ok(part)), _)) if part.is_empty() => continue,
                Either::Left((Some(Ok(part)), _)) => {
                    let length = part.len() as u64;
                    if length > self.rest.end - self.rest.start {
                        return Err(self.wrong_length(self.rest.start + length));
                    }
                    self.rest.start += length;
                    if self.pace.came(length, stall) {
                        // It gets on: what went wrong before does not count any more.
                        self.tries = self.handle.retries.tries();
                    }
                    return Ok(Some(part));
                }
                Either::Left((None, _)) if self.rest.is_empty() => {
                    self.source = None;
                    return Ok(None);
                }
                Either::Left((None, _)) => self.wrong_length(self.rest.start),
                Either::Left((Some(Err(error)), _)) => error,
                Either::Right(((), _)) => {
                    let came = std::mem::take(&mut self.pace).bytes;
                    StorageError::Unavailable {
                        action: "read",
                        target: self.meta.key.to_string(),
                        source: format!("no more than {came} bytes within {stall:?}").into(),
                    }
                }
            };
            // The connection, and with it the permit, is given back before anything else.
            self.source = None;
            // All bytes may have come, and then word that something is wrong with them.
            if self.rest.is_empty() || !error.is_retryable() {
                return Err(error);
            }
            let fault = Fault::new(FaultKind::InDoubt, error);
            if !self.handle.retries.again(&mut self.tries, &fault).await {
                return Err(fault.error);
            }
        }
    }

    /// Asks for what is still to come, of this very state of the object.
    async fn open(&mut self) -> Result<(), StorageError> {
        let mut options = GetOptions::range(GetRange::Bounded(self.rest.clone()));
        if !planted(PlantedBug::ResumedInAnotherState) {
            options = options.with_if_match(self.meta.version.clone());
        }
        let (object, permit) = request(&self.handle, &self.meta.key, &options, None).await?;
        if object.range != self.rest {
            return Err(self.wrong_length(self.rest.start));
        }
        let body = stream_of(object.body);
        self.source = Some(Source {
            body,
            _permit: permit,
        });
        Ok(())
    }

    fn wrong_length(&self, end: u64) -> StorageError {
        StorageError::WrongLength {
            key: self.meta.key.clone(),
            expected: self.whole.end - self.whole.start,
            found: end - self.whole.start,
        }
    }
}

/// How fast the bytes come while they are waited for. Time that their reader takes does not count.
#[derive(Debug, Default)]
struct Pace {
    waited: Duration,
    bytes: u64,
}

impl Pace {
    /// Bytes that have to come in a second, at least.
    const SLOWEST: u64 = 1024;

    fn patience(&self, stall: Duration) -> Duration {
        stall.saturating_sub(self.waited)
    }

    /// Notes bytes; begins to count anew, and returns true, once there were enough of them for the whole time.
    fn came(&mut self, bytes: u64, stall: Duration) -> bool {
        self.bytes += bytes;
        let enough = self.bytes >= Self::SLOWEST.saturating_mul(stall.as_secs().max(1));
        if enough {
            *self = Self::default();
        }
        enough
    }
}

/// Asks until there is an answer. Its permit goes with the body.
pub(super) async fn request(
    handle: &Handle,
    key: &Key,
    options: &GetOptions,
    at_most: Option<u64>,
) -> Result<(Object, OwnedSemaphorePermit), StorageError> {
    let mut call = handle.retries.call();
    loop {
        let permit = handle.permit().await;
        let limit = handle.settings.attempt_timeout;
        let work = handle.remote.get(key, options, at_most);
        match handle
            .retries
            .in_time(limit, "read", key.as_str(), work)
            .await
        {
            Ok(object) => return Ok((object, permit)),
            Err(fault) => {
                drop(permit);
                if !call.again(&fault).await {
                    return Err(super::spent(&call, fault));
                }
            }
        }
    }
}

fn stream_of(body: Body) -> BoxStream<'static, Result<Bytes, StorageError>> {
    match body {
        Body::Bytes(bytes) => stream::once(async move { Ok(bytes) }).boxed(),
        Body::Stream(stream) => stream,
    }
}
