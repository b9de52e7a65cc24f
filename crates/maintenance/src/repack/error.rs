//! Errors of a repack; nothing was repacked.

use icefield_core::{CommitError, Interrupted, RepositoryError, SessionError};
use icefield_storage::StorageError;

/// The reason why nothing was repacked. The branch is where it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepackError {
    /// The part of an object in use is not between 0 and 1.
    #[error("objects cannot be in use to the part {part}: it is a number from 0 to 1")]
    Fill {
        /// The value that was given.
        part: f64,
    },
    /// No array has one of the dimensions that the order names.
    #[error(
        "no array has a dimension {}: give names of dimensions, or their numbers from 0 on",
        .name.escape_debug()
    )]
    NoDimension {
        /// The value that was given.
        name: String,
    },
    /// The [interrupt](super::Repack::interruptible) was raised.
    #[error(
        "the repacking was interrupted before anything was published: run it again to begin anew"
    )]
    Interrupted(#[from] Interrupted),
    /// The repository could not be opened for writing.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// A chunk could not be read or copied.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The commit was not attempted or not published.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
