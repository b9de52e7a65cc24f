//! Why refs could not be read or edited.

use icefield_format::{FormatError, SnapshotId};
use icefield_storage::{Key, StorageError};

use crate::{BranchName, NameError, TagName};

/// Why an object of the format could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Something refers to an object that is not there.
    #[error("{what} {id} is missing: {key} does not exist")]
    Missing {
        /// The kind of object.
        what: &'static str,
        /// Its id, as text.
        id: String,
        /// Where it should be.
        key: Key,
    },
    /// The store failed.
    #[error("cannot read {what} {id}")]
    Storage {
        /// The kind of object.
        what: &'static str,
        /// Its id, as text.
        id: String,
        /// What the store said.
        source: StorageError,
    },
    /// The object is not what the format says.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// Why refs could not be read or edited. An edit that was refused, or whose outcome is unknown, is not an
/// error but an [`EditOutcome`](crate::EditOutcome).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RefsError {
    /// The text is no name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// There is no such branch.
    #[error("branch {0} does not exist")]
    BranchNotFound(BranchName),
    /// There is no such tag.
    #[error("tag {0} does not exist")]
    TagNotFound(TagName),
    /// The tag was deleted; its name stays taken.
    #[error("tag {0} was deleted")]
    TagDeleted(TagName),
    /// `main` cannot be deleted.
    #[error("branch main cannot be deleted: every repository has it")]
    MainIsPermanent,
    /// A ref would point to nothing.
    #[error("snapshot {0} does not exist in this repository")]
    SnapshotNotFound(SnapshotId),
    /// The file of a ref is not what the format says.
    #[error("{key} is not a valid ref file")]
    InvalidRefFile {
        /// The file.
        key: Key,
        /// What is wrong with it.
        source: FormatError,
    },
    /// History goes round in a circle.
    #[error("snapshot {0} is its own ancestor: the history is damaged")]
    Cycle(SnapshotId),
    /// A snapshot of the history cannot be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The store cannot make a write depend on what it replaces.
    #[error(
        "{location} is read-only, or cannot decide which of two writers was first: no history is changed there"
    )]
    NoConditions {
        /// The store.
        location: String,
    },
    /// The configuration is not valid.
    #[error("config.yaml is not a valid configuration")]
    Config {
        /// What is wrong with it.
        source: FormatError,
    },
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<icefield_storage::KeyError> for RefsError {
    fn from(error: icefield_storage::KeyError) -> Self {
        Self::Storage(error.into())
    }
}
