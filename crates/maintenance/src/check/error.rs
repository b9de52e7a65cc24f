//! Errors of a check that could not be carried out.

use icefield_core::Interrupted;
use icefield_refs::{FetchError, RefsError};
use icefield_storage::StorageError;

/// The reason why a repository could not be checked. A problem of the repository itself is a
/// [`Finding`](super::Finding).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// The store holds no repository.
    #[error("there is no repository at {location}: check the location")]
    NoRepository {
        /// The store.
        location: String,
    },
    /// The repository uses a newer version of the format.
    #[error(
        "the repository at {location} is of a newer version of the format: a newer release of this program may check it"
    )]
    NewerSpecVersion {
        /// The store.
        location: String,
    },
    /// Refs could not be read.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// An object could not be read, for a reason that says nothing about the object.
    #[error(transparent)]
    Fetch(FetchError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The [interrupt](super::Check::interruptible) was raised.
    #[error("the check was interrupted: run it again")]
    Interrupted(#[from] Interrupted),
    /// Work that was handed to another thread did not end.
    #[error("background work ended early: {0}")]
    Aborted(String),
}
