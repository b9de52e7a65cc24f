//! Errors of expiration, collection, usage and copies.

use icefield::maintenance::{CollectError, CopyError, ExpireError, UsageError};
use icefield::{ErrorKind, Interrupted};

use super::{Coded, failures_from};
use crate::errors::Failure;

/// The code of interrupted work.
pub(super) const INTERRUPTED: &str = "interrupted";

failures_from!(ExpireError, CollectError, Interrupted);

impl Coded for Interrupted {
    fn code(&self) -> &'static str {
        INTERRUPTED
    }
}

impl Coded for ExpireError {
    fn code(&self) -> &'static str {
        match self {
            Self::NoRules | Self::NoBound | Self::FutureBound { .. } => "invalid-argument",
            Self::ClocksApart(_) => "not-allowed",
            Self::Busy { .. } => "update-attempts-exhausted",
            Self::Unknown { .. } => "outcome-unknown",
            Self::Interrupted(_) => INTERRUPTED,
            Self::Refs(error) => error.code(),
            Self::Repository(error) => error.code(),
            Self::Storage(error) => error.code(),
            _ => "unknown",
        }
    }
}

impl Coded for CollectError {
    fn code(&self) -> &'static str {
        match self {
            Self::FloorTooLow { .. }
            | Self::Running
            | Self::TakenOver
            | Self::ClocksApart(_)
            | Self::ClockWentBack { .. }
            | Self::NoRefs => "not-allowed",
            Self::Interrupted(_) => INTERRUPTED,
            Self::UnsafeStore { .. } => "read-only-storage",
            Self::Upgraded => "unsupported-spec-version",
            Self::Refs(error) => error.code(),
            Self::Snapshot { source, .. } => source.code(),
            Self::Manifest(error) => error.code(),
            Self::Reference(error) => error.code(),
            Self::Marks { .. } => "deserialization",
            Self::Repository(error) => error.code(),
            Self::Fetch(error) => error.code(),
            Self::Storage(error) => error.code(),
            _ => "unknown",
        }
    }
}

impl From<UsageError> for Failure {
    fn from(error: UsageError) -> Self {
        icefield::Error::from(error).into()
    }
}

impl From<CopyError> for Failure {
    fn from(error: CopyError) -> Self {
        match error {
            CopyError::NotInVersion1 { .. } => {
                Self::of("unsupported-operation-for-version", &error)
            }
            error => icefield::Error::from(error).into(),
        }
    }
}

/// Returns the code of an error of which only the kind is known.
pub(super) fn code_of_kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Conflict => "commit-conflict",
        ErrorKind::NotFound => "key-not-found",
        ErrorKind::AlreadyExists => "node-already-exists",
        ErrorKind::ReadOnly => "read-only-storage",
        ErrorKind::Unavailable => "object-store",
        ErrorKind::Corrupt => "deserialization",
        ErrorKind::Unsupported => "unimplemented",
        ErrorKind::Invalid => "invalid-argument",
        ErrorKind::OutcomeUnknown => "outcome-unknown",
        ErrorKind::Io => "io",
        ErrorKind::Interrupted => INTERRUPTED,
        _ => "unknown",
    }
}
