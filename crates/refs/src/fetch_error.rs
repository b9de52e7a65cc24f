//! Why an object of the format could not be had.

use icefield_format::{FormatError, SnapshotId};
use icefield_storage::{Key, StorageError};

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
    /// The object is not what the format says.
    #[error(transparent)]
    Format(#[from] FormatError),
}
