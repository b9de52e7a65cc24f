//! The kinds of errors of the alpha generation. As of every other source of an import, what is wrong with it is no damage
//! of a repository.

use icefield_alpha::{AlphaError, ImportError};

use super::{Classify, ErrorKind};

impl Classify for AlphaError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NotFound { .. } => ErrorKind::NotFound,
            Self::Unsupported { .. } => ErrorKind::Unsupported,
            Self::Storage(error) => error.kind(),
            _ => ErrorKind::Invalid,
        }
    }
}

impl Classify for ImportError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Source(error) => error.kind(),
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
