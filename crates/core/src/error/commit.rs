//! Errors of commits that were not published, and of edits that could not be carried over to another snapshot.

use icefield_format::{FormatError, SnapshotId};
use icefield_refs::{FetchError, RefsError};
use icefield_storage::{BoxError, StorageError};

use super::{RepositoryError, SessionError};
use crate::Interrupted;
use crate::metadata::MetadataError;

/// The reason why a commit was not attempted or not published. The branch is where it was, and the session keeps its
/// edits.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The session has no edits, and an empty commit was not allowed.
    #[error("there is nothing to commit: write something, or allow an empty commit")]
    NothingToCommit,
    /// The repository was upgraded to spec version 2 while the session was open.
    #[error(
        "the repository was upgraded to spec version 2 meanwhile: open it again, and write there what this session holds"
    )]
    Upgraded,
    /// The session takes no writes, or an object cannot be read or stored.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The branch could not be read or moved.
    #[error(transparent)]
    Refs(RefsError),
    /// A file of the commit cannot be encoded, such as one that would be too large.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A snapshot or ref of the repository could not be read.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The [interrupt](crate::Interrupt) of the commit was raised.
    #[error("the commit was interrupted before anything was published: commit again to go on")]
    Interrupted(#[from] Interrupted),
    /// The edits could not be carried over to the commit that landed first.
    #[error("another commit was first, and the edits could not be carried over to it")]
    Rebase(#[source] RebaseError),
}

impl From<RefsError> for CommitError {
    fn from(error: RefsError) -> Self {
        match error {
            RefsError::Upgraded => Self::Upgraded,
            error => Self::Refs(error),
        }
    }
}

impl From<RebaseError> for CommitError {
    fn from(error: RebaseError) -> Self {
        match error {
            RebaseError::Refs(RefsError::Upgraded) => Self::Upgraded,
            error => Self::Rebase(error),
        }
    }
}

impl From<FetchError> for CommitError {
    fn from(error: FetchError) -> Self {
        Self::Session(error.into())
    }
}

impl From<StorageError> for CommitError {
    fn from(error: StorageError) -> Self {
        Self::Session(error.into())
    }
}

/// The reason why a rebase could not be decided. The session is as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RebaseError {
    /// The branch was reset to a history without the session's base, or the base has expired.
    #[error(
        "the history of the branch from {tip} does not contain {base}, which the session started from: {base} has expired, or the branch was reset; open a new session and write again"
    )]
    BaseNotInHistory {
        /// The base of the session.
        base: SnapshotId,
        /// Where the branch stands.
        tip: SnapshotId,
    },
    /// The solver returned an error.
    #[error("the solver could not decide")]
    Solver(#[source] BoxError),
    /// The metadata that a solver merged is no metadata.
    #[error("the metadata merged from both sides is not valid")]
    Merged(#[source] MetadataError),
    /// The session cannot be rebased, or an object cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The branch or its history cannot be read.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// The snapshots cannot be compared.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
}

impl From<StorageError> for RebaseError {
    fn from(error: StorageError) -> Self {
        Self::Session(error.into())
    }
}

impl From<FetchError> for RebaseError {
    fn from(error: FetchError) -> Self {
        Self::Session(error.into())
    }
}
