//! Reads: small ones at once, large ones in parts.

use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};

use super::Handle;
use super::bodies::{Reading, request};
use crate::{Body, GetOptions, GetRange, Key, Object, ObjectMeta, StorageError, Version};

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
    let (object, permit) = request(handle, key, &options, first).await?;
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
        in_parts(handle, &meta, reading, here.end..wanted.end)
    } else if wanted.end - wanted.start <= AT_ONCE {
        Body::Bytes(reading.collect().await?)
    } else {
        Body::Stream(reading.into_stream())
    };
    Ok(Object {
        meta,
        range: wanted,
        body,
    })
}

/// The rest of a large object in parts, some of them on their way while the first are handed out.
fn in_parts(handle: &Arc<Handle>, meta: &ObjectMeta, first: Reading, rest: Range<u64>) -> Body {
    let part = handle.settings.part_bytes.max(1);
    let in_flight = handle.settings.parts_in_flight.max(1);
    let (handle, meta) = (Arc::clone(handle), meta.clone());
    let starts = stream::iter((rest.start..rest.end).step_by(part as usize));
    let others = starts
        .map(move |start| {
            let range = start..rest.end.min(start + part);
            Reading::of_range(&handle, meta.clone(), range).collect()
        })
        .buffered(in_flight);
    Body::Stream(first.into_stream().chain(others.into_stream()).boxed())
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
