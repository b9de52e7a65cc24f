//! Objects of any size: in one request, in parts of bounded memory, or as a stream.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::request::{FaultKind, Part, Upload, WriteRequest};
use super::stall;
use super::writes::{Next, Progress, only_once, put_whole};
use super::{Handle, task_ended};
use crate::{Key, Payload, PutOptions, PutOutcome, StorageError};

/// Times that an upload is begun whose parts vanish: stores ask for that when writers collide.
const UPLOADS: usize = 4;

type Parts = BoxStream<'static, Result<Bytes, StorageError>>;

pub(super) async fn put(
    handle: &Arc<Handle>,
    key: &Key,
    payload: Payload,
    options: PutOptions,
) -> Result<PutOutcome, StorageError> {
    let write = WriteRequest::new(options, handle.retries.draw_id());
    let limits = handle.remote.limits();
    let threshold = handle.settings.multipart_threshold.min(limits.put_bytes);
    let (size, mut stream) = match payload {
        Payload::Bytes(bytes) if limits.parts == 0 || bytes.len() as u64 <= threshold => {
            return put_whole(handle, key, bytes, &write).await;
        }
        Payload::Bytes(bytes) => {
            let part = part_bytes(handle, Some(bytes.len() as u64))?;
            for _ in 1..UPLOADS {
                let parts = slices(bytes.clone(), part);
                match in_parts(handle, key, parts, &write).await {
                    Err(Unfinished::Vanished(error)) => {
                        tracing::debug!(%key, %error, "the upload begins again");
                    }
                    Err(Unfinished::Failed(error)) => return Err(error),
                    Ok(outcome) => return Ok(outcome),
                }
            }
            let parts = slices(bytes, part);
            return Ok(in_parts(handle, key, parts, &write).await?);
        }
        Payload::Stream { size, stream } => (size, stream),
    };
    // A small payload is written at once, whether or not its size was known.
    let mut head = BytesMut::new();
    let ended = loop {
        if head.len() as u64 > threshold {
            break false;
        }
        match stream.try_next().await? {
            Some(part) => head.extend_from_slice(&part),
            None => break true,
        }
    };
    let head = head.freeze();
    if ended {
        check_size(key, size, head.len() as u64)?;
        return put_whole(handle, key, head, &write).await;
    }
    let all = stream::once(async move { Ok(head) }).chain(stream);
    let all = counted(key.clone(), size, all.boxed());
    if limits.parts == 0 {
        return as_stream(handle, key, size, all, &write).await;
    }
    let parts = regrouped(all, part_bytes(handle, size)?);
    Ok(in_parts(handle, key, parts, &write).await?)
}

/// Why an upload in parts made no object, for certain.
enum Unfinished {
    Failed(StorageError),
    /// Its parts are gone; it may be begun again.
    Vanished(StorageError),
}

impl From<StorageError> for Unfinished {
    fn from(error: StorageError) -> Self {
        Self::Failed(error)
    }
}

impl From<Unfinished> for StorageError {
    fn from(unfinished: Unfinished) -> Self {
        match unfinished {
            Unfinished::Failed(error) | Unfinished::Vanished(error) => error,
        }
    }
}

fn check_size(key: &Key, expected: Option<u64>, found: u64) -> Result<(), StorageError> {
    match expected {
        Some(expected) if expected != found => Err(StorageError::WrongLength {
            key: key.clone(),
            expected,
            found,
        }),
        _ => Ok(()),
    }
}

/// The stream, with an error where it yields another number of bytes than was said.
fn counted(key: Key, size: Option<u64>, stream: Parts) -> Parts {
    stream::try_unfold((stream, 0u64), move |(mut stream, seen)| {
        let key = key.clone();
        async move {
            match stream.try_next().await? {
                Some(part) => {
                    let seen = seen + part.len() as u64;
                    if size.is_some_and(|size| seen > size) {
                        check_size(&key, size, seen)?;
                    }
                    Ok(Some((part, (stream, seen))))
                }
                None => check_size(&key, size, seen).map(|()| None),
            }
        }
    })
    .boxed()
}

/// Bytes of the parts of an object: as the user set them, unless there would be too many or too small ones.
fn part_bytes(handle: &Handle, size: Option<u64>) -> Result<usize, StorageError> {
    let limits = handle.remote.limits();
    let parts = u64::from(limits.parts.max(1));
    let least = size.unwrap_or(0).div_ceil(parts).max(limits.part_bytes);
    let bytes = handle.settings.part_bytes.max(least);
    usize::try_from(bytes).map_err(|_| handle.remote.cannot("objects of this size"))
}

fn slices(bytes: Bytes, part: usize) -> Parts {
    let starts: Vec<usize> = (0..bytes.len()).step_by(part.max(1)).collect();
    let parts = starts
        .into_iter()
        .map(move |start| Ok(bytes.slice(start..bytes.len().min(start + part))));
    stream::iter(parts).boxed()
}

/// The same bytes in parts of one size, the last one apart.
fn regrouped(stream: Parts, part: usize) -> Parts {
    stream::try_unfold((stream, BytesMut::new(), false), move |state| async move {
        let (mut stream, mut held, mut ended) = state;
        while held.len() < part && !ended {
            match stream.try_next().await? {
                Some(more) => held.extend_from_slice(&more),
                None => ended = true,
            }
        }
        let length = held.len().min(part);
        if length == 0 {
            return Ok(None);
        }
        let next = held.split_to(length).freeze();
        Ok(Some((next, (stream, held, ended))))
    })
    .boxed()
}

/// Writes a stream in one request. It cannot be sent again.
async fn as_stream(
    handle: &Handle,
    key: &Key,
    size: Option<u64>,
    parts: Parts,
    write: &WriteRequest,
) -> Result<PutOutcome, StorageError> {
    // Not one of the permits that its source may be waiting for.
    let _permit = handle.stream_permit().await;
    let (parts, turn) = stall::watched(&handle.retries, parts);
    let work = handle.remote.put_stream(key, size, parts, write);
    let limit = handle.settings.attempt_timeout;
    let answer = stall::while_it_moves(&handle.retries, &turn, limit, key.as_str(), work).await;
    only_once(handle, key, write, answer).await
}

async fn in_parts(
    handle: &Arc<Handle>,
    key: &Key,
    parts: Parts,
    write: &WriteRequest,
) -> Result<PutOutcome, Unfinished> {
    let target = key.as_str();
    let (upload, mut guard) = begin(handle, key, write).await?;
    let stored = match put_parts(handle, key, &upload, parts).await {
        Ok(stored) => stored,
        Err(unfinished) => {
            guard.abort().await;
            return Err(unfinished);
        }
    };
    // From here on it may become an object at any moment, also when no caller waits for that any more.
    guard.upload = None;
    let mut progress = Progress::new(handle);
    loop {
        let work = handle.remote.complete_upload(key, &upload, &stored, write);
        let answer = handle.attempt("write", target, 0, work).await;
        let vanished = matches!(&answer, Err(fault) if fault.kind == FaultKind::Vanished);
        let Next::Ended(outcome) = progress.after(key, write, answer).await else {
            continue;
        };
        match &outcome {
            // Of an outcome in doubt, an attempt may still be on its way: nothing is cleaned up.
            Ok(PutOutcome::Written(_) | PutOutcome::Unknown(_)) => {}
            _ => {
                guard.upload = Some(upload);
                guard.abort().await;
            }
        }
        return outcome.map_err(|error| match vanished {
            true => Unfinished::Vanished(error),
            false => Unfinished::Failed(error),
        });
    }
}

async fn put_parts(
    handle: &Handle,
    key: &Key,
    upload: &Upload,
    parts: Parts,
) -> Result<Vec<Part>, Unfinished> {
    let limit = u64::from(handle.remote.limits().parts);
    let numbered = parts.zip(stream::iter(1u64..)).map(|(part, number)| {
        let bytes = part?;
        if number > limit {
            let what = format!("streams of more than {limit} parts; larger parts hold more");
            return Err(Unfinished::Failed(handle.remote.cannot(&what)));
        }
        Ok((number as u32, bytes))
    });
    numbered
        .map_ok(|(number, bytes)| async move {
            let mut call = handle.retries.call();
            loop {
                let work = handle.remote.put_part(key, upload, number, bytes.clone());
                let size = bytes.len() as u64;
                match handle.attempt("write", key.as_str(), size, work).await {
                    Ok(part) => return Ok(part),
                    Err(fault) if fault.kind == FaultKind::Vanished => {
                        return Err(Unfinished::Vanished(fault.error));
                    }
                    Err(fault) if call.again(&fault).await => {}
                    Err(fault) => return Err(super::spent(&call, fault).into()),
                }
            }
        })
        .try_buffered(handle.settings.parts_in_flight.max(1))
        .try_collect()
        .await
}

/// Begins an upload. Each attempt is a task of its own: an upload that begins when no caller waits for it any more is
/// thrown away.
async fn begin(
    handle: &Arc<Handle>,
    key: &Key,
    write: &WriteRequest,
) -> Result<(Upload, Abandoned), StorageError> {
    const ACTION: &str = "begin to write";
    let mut call = handle.retries.call();
    loop {
        // Taken here: what is given up before its turn is never sent.
        let permit = handle.permit().await;
        let (mine, at, write) = (Arc::clone(handle), key.clone(), write.clone());
        let attempt = tokio::spawn(async move {
            let _permit = permit;
            let work = mine.remote.begin_upload(&at, &write);
            let limit = mine.settings.attempt_timeout;
            let begun = mine.retries.in_time(limit, ACTION, at.as_str(), work);
            let upload = begun.await?;
            let guard = Abandoned {
                upload: Some(upload.clone()),
                handle: Arc::clone(&mine),
                key: at,
            };
            Ok((upload, guard))
        });
        let begun = attempt.await;
        match begun.unwrap_or_else(|ended| Err(task_ended(ended, ACTION, key.as_str()).into())) {
            Ok(begun) => return Ok(begun),
            Err(fault) if call.again(&fault).await => {}
            Err(fault) => return Err(super::spent(&call, fault)),
        }
    }
}

/// An upload that is thrown away if it is not finished.
struct Abandoned {
    handle: Arc<Handle>,
    key: Key,
    upload: Option<Upload>,
}

impl Abandoned {
    async fn abort(&mut self) {
        if let Some(upload) = self.upload.take() {
            abort(Arc::clone(&self.handle), self.key.clone(), upload).await;
        }
    }
}

async fn abort(handle: Arc<Handle>, key: Key, upload: Upload) {
    let abort = || handle.remote.abort_upload(&key, &upload);
    if let Err(error) = handle.persist("abort a write", key.as_str(), abort).await {
        tracing::warn!(%key, upload = upload.id, %error, "parts of an upload are left behind");
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(upload) = self.upload.take() else {
            return;
        };
        let abort = abort(Arc::clone(&self.handle), self.key.clone(), upload);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(abort)),
            // A rule of the bucket removes what is left.
            Err(_) => tracing::warn!(key = %self.key, "parts of an upload are left behind"),
        }
    }
}
