//! Writes that recognise themselves.
//!
//! ```text
//! attempt ── done ───────────────────────────────────────────► Written
//!    │ refused ──► look: our id ─────────────────────────────► Written
//!    │              another id, or nothing; nothing in doubt ► Refused
//!    │              otherwise ───────────────────────────────► Unknown
//!    │ in doubt ──► again, same id and condition; at the end look as above, where no id is Unknown
//!    └ not done ──► again; at the end an error
//! ```
//!
//! Once an attempt is in doubt, an object of another write proves nothing: ours may have landed and been
//! replaced, or may land yet.

use bytes::Bytes;

use super::Handle;
use super::request::{Answer, Fault, FaultKind, Stored, WriteRequest};
use super::retry::Call;
use crate::{Key, PlantedBug, PutOutcome, StorageError, Written, planted};

/// A write under way: what became of its attempts so far.
pub(super) struct Progress<'a> {
    handle: &'a Handle,
    call: Call<'a>,
    /// The error that left an attempt in doubt.
    doubt: Option<StorageError>,
}

/// Decides about the answer to a request that cannot be sent again.
pub(super) async fn only_once(
    handle: &Handle,
    key: &Key,
    write: &WriteRequest,
    answer: Result<Answer, Fault>,
) -> Result<PutOutcome, StorageError> {
    match answer {
        Ok(Answer::Done(written)) => Ok(PutOutcome::Written(written)),
        Ok(Answer::Refused) => Ok(find_writer(handle, key, write, None, true).await),
        Err(fault) if fault.kind == FaultKind::InDoubt => {
            Ok(find_writer(handle, key, write, Some(fault.error), false).await)
        }
        Err(fault) => Err(fault.error),
    }
}

/// The step after an attempt.
pub(super) enum Next {
    Again,
    Ended(Result<PutOutcome, StorageError>),
}

impl<'a> Progress<'a> {
    pub(super) fn new(handle: &'a Handle) -> Self {
        Self {
            handle,
            call: handle.retries.call(),
            doubt: None,
        }
    }

    /// Decides about the answer to an attempt.
    pub(super) async fn after(
        &mut self,
        key: &Key,
        write: &WriteRequest,
        answer: Result<Answer, Fault>,
    ) -> Next {
        match answer {
            Ok(Answer::Done(written)) => Next::Ended(Ok(PutOutcome::Written(written))),
            Ok(Answer::Refused) => {
                let outcome = find_writer(self.handle, key, write, self.doubt.take(), true).await;
                Next::Ended(Ok(outcome))
            }
            Err(fault) if fault.kind == FaultKind::Vanished => {
                match find_writer(self.handle, key, write, None, true).await {
                    PutOutcome::Refused if self.doubt.is_none() => {
                        Next::Ended(Err(super::spent(&self.call, fault)))
                    }
                    PutOutcome::Refused => {
                        let doubt = self.doubt.take().unwrap_or(fault.error);
                        Next::Ended(Ok(PutOutcome::Unknown(doubt)))
                    }
                    outcome => Next::Ended(Ok(outcome)),
                }
            }
            Err(fault) => {
                let again = self.call.again(&fault).await;
                match fault.kind {
                    FaultKind::InDoubt => self.doubt = Some(fault.error),
                    _ if !again && self.doubt.is_none() => {
                        return Next::Ended(Err(super::spent(&self.call, fault)));
                    }
                    _ => {}
                }
                if again {
                    return Next::Again;
                }
                let doubt = self.doubt.take();
                Next::Ended(Ok(find_writer(self.handle, key, write, doubt, false).await))
            }
        }
    }
}

/// Finds out whose write the object is. `refused`: the store has said that the condition does not hold.
async fn find_writer(
    handle: &Handle,
    key: &Key,
    write: &WriteRequest,
    doubt: Option<StorageError>,
    refused: bool,
) -> PutOutcome {
    if refused && planted(PlantedBug::RefusalNotReadBack) {
        return PutOutcome::Refused;
    }
    let stored = handle.persist("read back", key.as_str(), || handle.remote.head(key));
    match stored.await {
        Ok(Stored { meta, write_id, .. }) if write_id.as_deref() == Some(&write.write_id) => {
            PutOutcome::Written(Written {
                store_time: meta.last_modified,
                version: meta.version,
            })
        }
        Err(error) if !error.is_not_found() => PutOutcome::Unknown(doubt.unwrap_or(error)),
        _ => match doubt {
            None if refused => PutOutcome::Refused,
            Some(_) if planted(PlantedBug::DoubtTakenForRefusal) => PutOutcome::Refused,
            Some(doubt) => PutOutcome::Unknown(doubt),
            None => unreachable!("BUG: what was not refused is in doubt"),
        },
    }
}

/// Writes an object in one request.
pub(super) async fn put_whole(
    handle: &Handle,
    key: &Key,
    bytes: Bytes,
    write: &WriteRequest,
) -> Result<PutOutcome, StorageError> {
    let mut progress = Progress::new(handle);
    loop {
        let put = handle.remote.put(key, bytes.clone(), write);
        let answer = handle.attempt("write", key.as_str(), bytes.len() as u64, put);
        let answer = answer.await;
        if let Next::Ended(outcome) = progress.after(key, write, answer).await {
            return outcome;
        }
    }
}
