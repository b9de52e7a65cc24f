//! Copies within a store.

use std::sync::Arc;

use super::Handle;
use super::request::{Answer, Fault, WriteRequest};
use super::writes::{Next, Progress};
use crate::{Body, CopyOptions, GetOptions, Key, Payload, PutOptions, PutOutcome, StorageError};

/// Copies on the server where it can, else through this process.
pub(super) async fn copy(
    handle: &Arc<Handle>,
    from: &Key,
    to: &Key,
    options: CopyOptions,
) -> Result<PutOutcome, StorageError> {
    let write = WriteRequest::new(
        PutOptions::mode(options.mode.clone()),
        handle.retries.draw_id(),
    );
    let version = options.source_version.as_ref();
    let mut progress = Progress::new(handle);
    loop {
        let Some(copied) = attempt_copy(handle, from, to, version, &write).await else {
            return copy_through(handle, from, to, options).await;
        };
        if let Next::Ended(outcome) = progress.after(to, &write, copied).await {
            return outcome;
        }
    }
}

async fn attempt_copy(
    handle: &Handle,
    from: &Key,
    to: &Key,
    version: Option<&crate::Version>,
    write: &WriteRequest,
) -> Option<Result<Answer, Fault>> {
    let work = async {
        match handle.remote.copy(from, to, version, write).await {
            None => Ok(None),
            Some(Ok(answer)) => Ok(Some(answer)),
            Some(Err(fault)) => Err(fault),
        }
    };
    let copied = handle.attempt("copy", from.as_str(), 0, work).await;
    copied.transpose()
}

async fn copy_through(
    handle: &Arc<Handle>,
    from: &Key,
    to: &Key,
    options: CopyOptions,
) -> Result<PutOutcome, StorageError> {
    let read = match options.source_version {
        Some(version) => GetOptions::default().with_if_match(version),
        None => GetOptions::default(),
    };
    let object = match super::reads::get(handle, from, read).await {
        Err(StorageError::PreconditionFailed { .. }) => return Ok(PutOutcome::Refused),
        read => read?,
    };
    let size = Some(object.range.end - object.range.start);
    let payload = match object.body {
        Body::Bytes(bytes) => Payload::Bytes(bytes),
        Body::Stream(stream) => Payload::Stream { size, stream },
    };
    super::uploads::put(handle, to, payload, PutOptions::mode(options.mode)).await
}
