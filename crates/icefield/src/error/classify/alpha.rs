//! The kinds of errors of the alpha generation. For readers, a fault of such a repository is damage; for an import it is a
//! fault of the source, as of every other source.

use icefield_alpha::{AlphaError, ImportError};

use super::{Classify, ErrorKind};

impl Classify for AlphaError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. }
            | Self::NoSnapshot { .. }
            | Self::NoSnapshotAtTime { .. }
            | Self::HistoryTooShort { .. }
            | Self::NoArray { .. } => ErrorKind::NotFound,
            Self::Damaged { .. } | Self::Missing { .. } => ErrorKind::Corrupt,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Storage(error) => error.kind(),
            _ => ErrorKind::Invalid,
        }
    }
}

impl Classify for ImportError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Source(error) => match error.kind() {
                ErrorKind::Corrupt => ErrorKind::Invalid,
                kind => kind,
            },
            Self::NotEmpty { .. } | Self::RefRefused { .. } => ErrorKind::AlreadyExists,
            Self::Config | Self::Disturbed { .. } => ErrorKind::Conflict,
            Self::Unknown { .. } => ErrorKind::OutcomeUnknown,
            Self::Refs { source } => source.kind(),
            Self::Session(error) => error.kind(),
            Self::Repository(error) => error.kind(),
            Self::Commit(error) => error.kind(),
            _ => ErrorKind::Other,
        }
    }
}
