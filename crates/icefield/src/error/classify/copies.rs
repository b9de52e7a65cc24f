//! The kinds of errors of copies, bundles, usage and repacking.

use icefield_maintenance::{CopyError, RepackError, UsageError};

use super::{Classify, ErrorKind};

impl Classify for CopyError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::SamePlace { .. }
            | Self::EarlierVersion
            | Self::OtherVersion { .. }
            | Self::IsVersion1 => ErrorKind::Invalid,
            Self::NoSuchRef { .. } | Self::BaseMissing { .. } => ErrorKind::NotFound,
            Self::Diverged { .. } | Self::RefChanged { .. } | Self::SourceChanged { .. } => {
                ErrorKind::Conflict
            }
            Self::RefUnknown { .. } | Self::WriteUnknown { .. } => ErrorKind::OutcomeUnknown,
            Self::OtherSize { .. }
            | Self::OtherBytes { .. }
            | Self::ChunkMissing { .. }
            | Self::ChunkTooShort { .. }
            | Self::Dangling { .. }
            | Self::BadBundle { .. } => ErrorKind::Corrupt,
            Self::NewerBundle { .. } | Self::NotInVersion1 { .. } => ErrorKind::Unsupported,
            Self::Source(error) | Self::Destination(error) => error.kind(),
            Self::Fetch(error) => error.kind(),
            Self::Format(error) => error.kind(),
            Self::SourceRefs(error) | Self::DestinationRefs(error) => error.kind(),
            Self::Open(error) | Self::Repository(error) => error.kind(),
            Self::File { .. } => ErrorKind::Io,
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for UsageError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Read(error) => error.kind(),
            Self::Format(error) => error.kind(),
            Self::Storage(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}

impl Classify for RepackError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Fill { .. } | Self::NoDimension { .. } => ErrorKind::Invalid,
            Self::Interrupted(_) => ErrorKind::Interrupted,
            Self::Repository(error) => error.kind(),
            Self::Session(error) => error.kind(),
            Self::Commit(error) => error.kind(),
            Self::Storage(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}
