//! Why nothing was repacked.

use icefield_core::{CommitError, Interrupted, RepositoryError, SessionError};
use icefield_storage::StorageError;

/// Why nothing was repacked. The branch is where it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepackError {
    /// A part is between nothing and all.
    #[error("objects cannot be in use to the part {part}: it is a number from 0 to 1")]
    Fill {
        /// The value that was given.
        part: f64,
    },
    /// None of the arrays has a dimension.
    #[error(
        "no array has a dimension {}: give names of dimensions, or their numbers from 0 on",
        .name.escape_debug()
    )]
    NoDimension {
        /// The value that was given.
        name: String,
    },
    /// The caller wished so.
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
