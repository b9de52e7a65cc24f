//! Errors of fetching an object of the format.

use icefield_format::{FormatError, SnapshotId};
use icefield_storage::{Key, StorageError};

/// The reason why an object of the repository could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FetchError {
    /// Another object refers to it, and it does not exist. That is damage.
    #[error("{what} {id} is missing: {key} does not exist")]
    Missing {
        /// The kind of object.
        what: &'static str,
        /// Its id, as text.
        id: String,
        /// Where it should be.
        key: Key,
    },
    /// The repository does not list a snapshot: it never did, or a collection has taken it out.
    #[error("snapshot {id} is not in this repository: `repo` does not list it")]
    NotListed {
        /// The snapshot.
        id: SnapshotId,
    },
    /// The store failed.
    #[error("cannot read {what} {id}")]
    Storage {
        /// The kind of object.
        what: &'static str,
        /// Its id, as text.
        id: String,
        /// The error of the store.
        source: StorageError,
    },
    /// The object breaks the rules of the format. That is damage.
    #[error(transparent)]
    Format(#[from] FormatError),
}
