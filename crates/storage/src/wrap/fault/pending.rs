//! Writes that can be kept for later, and what becomes of them.

use bytes::Bytes;

use crate::{CopyOptions, DeleteOutcome, Deletion, Key, PutOptions, PutOutcome, StorageError};

/// A write that can be kept for later, or made twice.
#[derive(Clone, Debug)]
pub(super) enum Write {
    Put(Key, Bytes, PutOptions),
    Delete(Deletion),
    Copy(Key, Key, CopyOptions),
}

impl Write {
    pub(super) fn key(&self) -> &Key {
        match self {
            Self::Put(key, ..) | Self::Copy(_, key, _) => key,
            Self::Delete(deletion) => &deletion.key,
        }
    }
}

/// The three outcomes, of a put and of a delete alike.
#[derive(Debug)]
pub(super) enum Outcome {
    Put(PutOutcome),
    Deleted,
    Refused,
    Unknown(StorageError),
}

impl Outcome {
    pub(super) fn took_effect(&self) -> bool {
        matches!(self, Self::Put(PutOutcome::Written(_)) | Self::Deleted)
    }

    pub(super) fn put(self) -> PutOutcome {
        match self {
            Self::Put(outcome) => outcome,
            Self::Unknown(error) => PutOutcome::Unknown(error),
            Self::Refused | Self::Deleted => PutOutcome::Refused,
        }
    }

    pub(super) fn delete(self) -> DeleteOutcome {
        match self {
            Self::Deleted => DeleteOutcome::Deleted,
            Self::Unknown(error) => DeleteOutcome::Unknown(error),
            Self::Refused | Self::Put(_) => DeleteOutcome::Refused,
        }
    }
}

/// A write on its way.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) operation: u64,
    /// The number of the operation before which it arrives; `None` if only on demand.
    pub(super) due: Option<u64>,
    pub(super) write: Write,
}

impl Pending {
    pub(super) fn due_mut(&mut self) -> Option<&mut u64> {
        self.due.as_mut()
    }
}
