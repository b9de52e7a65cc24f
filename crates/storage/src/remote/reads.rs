//! Reads: small ones at once, large ones in parts.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::bodies::{Reading, request};
use super::request::{Fault, FaultKind};
use super::{Handle, spent, task_ended};
use crate::{Body, GetOptions, GetRange, Key, Object, ObjectMeta, StorageError, Version};

type Bodies = BoxStream<'static, Result<Bytes, StorageError>>;

/// Bytes of a body that is read to its end before it is handed out.
const AT_ONCE: u64 = 1 << 20;

pub(super) async fn get(
    handle: &Arc<Handle>,
    key: &Key,
    options: GetOptions,
) -> Result<Object, StorageError> {
    if let GetRange::Bounded(Range { start, end }) = options.range
        && start >= end
    {
        return without_body(handle, key, &options).await;
    }
    let first = match handle.settings.parallel_read_threshold {
        0 => None,
        threshold => Some(threshold.max(handle.settings.part_bytes)),
    };
    let mut call = handle.retries.call();
    loop {
        match get_once(handle, key, &options, first).await {
            // Taken up where it broke off, it was another object. Nothing of the first one was handed out. The pause
            // lets the client that replaces it come to an end.
            Err(StorageError::PreconditionFailed { .. })
                if options.if_match.is_none() && options.if_unmodified_since.is_none() =>
            {
                let error = StorageError::Unavailable {
                    action: "read",
                    target: key.to_string(),
                    source: "it was replaced each time that it was read".into(),
                };
                let fault = Fault::new(FaultKind::NotDone, error);
                if !call.again(&fault).await {
                    return Err(spent(&call, fault));
                }
            }
            read => return read,
        }
    }
}

async fn get_once(
    handle: &Arc<Handle>,
    key: &Key,
    options: &GetOptions,
    first: Option<u64>,
) -> Result<Object, StorageError> {
    let (object, permit) = request(handle, key, options, first).await?;
    let wanted = options.check_size(&object.meta)?;
    if object.range.start != wanted.start || object.range.end > wanted.end {
        return Err(StorageError::WrongLength {
            key: key.clone(),
            expected: wanted.end - wanted.start,
            found: object.range.end.saturating_sub(object.range.start),
        });
    }
    let (meta, here) = (object.meta.clone(), object.range.clone());
    let reading = Reading::new(handle, object, permit);
    let body = if here.end < wanted.end {
        let begun = ahead_within(first, here.end - here.start, reading);
        in_parts(handle, &meta, begun, here.end..wanted.end)
    } else if wanted.end - wanted.start <= AT_ONCE {
        Body::Bytes(reading.collect().await?)
    } else {
        Body::Stream(ahead_within(first, here.end - here.start, reading))
    };
    Ok(Object {
        meta,
        range: wanted,
        body,
    })
}

/// The rest of a large object in parts, some of them on their way while the first are handed out.
fn in_parts(handle: &Arc<Handle>, meta: &ObjectMeta, first: Bodies, rest: Range<u64>) -> Body {
    let part = handle.settings.part_bytes.max(1);
    let in_flight = handle.settings.parts_in_flight.max(1);
    let (handle, meta) = (Arc::clone(handle), meta.clone());
    let starts = stream::iter((rest.start..rest.end).step_by(part as usize));
    let others = starts
        .map(move |start| {
            let range = start..rest.end.min(start + part);
            let reading = Reading::of_range(&handle, meta.clone(), range);
            ended(Task(tokio::spawn(reading.collect())))
        })
        .buffered(in_flight);
    Body::Stream(first.chain(others).boxed())
}

/// A body of no more bytes than were to be had at most on its own; a longer one, which must not be kept in memory, as
/// its reader reads it.
fn ahead_within(most: Option<u64>, length: u64, reading: Reading) -> Bodies {
    match most {
        Some(most) if length <= most => on_its_own(reading),
        _ => reading.into_stream(),
    }
}

/// Reads a body whether or not its reader asks for its bytes, which are kept: its request, and the permit of that, must
/// not wait for a reader that may be waiting for a permit.
fn on_its_own(reading: Reading) -> Bodies {
    let (sender, receiver) = mpsc::unbounded_channel();
    let task = Task(tokio::spawn(async move {
        let mut body = reading.into_stream();
        while let Some(part) = body.next().await {
            if sender.send(part).is_err() {
                return;
            }
        }
    }));
    stream::unfold((receiver, task), |(mut receiver, task)| async move {
        receiver.recv().await.map(|part| (part, (receiver, task)))
    })
    .boxed()
}

/// A task that ends when no caller waits for it any more.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn ended(mut task: Task<Result<Bytes, StorageError>>) -> Result<Bytes, StorageError> {
    let read = (&mut task.0).await;
    read.unwrap_or_else(|ended| Err(task_ended(ended, "read", "a part of an object")))
}

/// A range of no bytes cannot be asked for over HTTP.
async fn without_body(
    handle: &Arc<Handle>,
    key: &Key,
    options: &GetOptions,
) -> Result<Object, StorageError> {
    let stored = handle
        .persist("read", key.as_str(), || handle.remote.head(key))
        .await?;
    let agree = |wanted: &Version, found: &Version| handle.remote.agree(wanted, found);
    stored
        .without_body(options, agree)
        .map_err(|fault| fault.error)
}
