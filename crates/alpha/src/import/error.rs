//! Errors of an import.

use icefield_core::{CommitError, Refusal, RepositoryError, SessionError};
use icefield_storage::StorageError;

use crate::AlphaError;

/// The reason why an import failed. Unless it is [`ImportError::Refs`], the destination shows nothing of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The source could not be read, or not be taken over.
    #[error(transparent)]
    Source(#[from] AlphaError),
    /// The destination has a history.
    #[error(
        "{location} has commits or refs of its own already: import into a new place, or into an empty repository"
    )]
    NotEmpty {
        /// The destination.
        location: String,
    },
    /// Another client changed the configuration of the destination, or it is not known whether one did.
    #[error("the configuration of the destination could not be written: import again")]
    Config,
    /// Another client works on the destination.
    #[error(
        "{branch} was changed by another writer while the import wrote to it: import into another place"
    )]
    Disturbed {
        /// The branch of the import.
        branch: String,
    },
    /// A ref could not be made.
    #[error("{name} could not be made: {refusal:?}")]
    RefRefused {
        /// The ref.
        name: String,
        /// Why.
        refusal: Refusal,
    },
    /// Whether a ref was written is not known.
    #[error("it is not known whether {name} was written")]
    Unknown {
        /// The ref.
        name: String,
        /// The error of the store.
        source: StorageError,
    },
    /// All commits are there, and not all refs.
    #[error("all commits are imported, but not all refs: begin again at a new place")]
    Refs {
        /// Why.
        source: Box<Self>,
    },
    /// The session refused.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The destination could not be read or changed.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// A commit was not published.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

impl ImportError {
    /// Returns whether the store gave no answer to a write that may have happened.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Unknown { .. } => true,
            Self::Refs { source } => source.is_unknown(),
            _ => false,
        }
    }
}
