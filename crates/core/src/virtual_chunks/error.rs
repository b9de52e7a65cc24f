//! Why the bytes of a virtual chunk cannot be had.

use icefield_format::LocationRule;
use icefield_storage::{BoxError, KeyError, StorageError};

/// Why the bytes of a virtual chunk cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VirtualChunkError {
    /// It is no location.
    #[error("this is no location of a virtual chunk: {0}")]
    Location(LocationRule),
    /// It names its container, and the repository is of version 1.
    #[error("locations that name their container need spec version 2: give the whole URL")]
    NeedsSpecVersion2,
    /// It names a container that the configuration does not have.
    #[error("the repository's configuration has no container with the name {name:?}")]
    NoContainerNamed {
        /// The name.
        name: String,
    },
    /// No container covers it.
    #[error("no container in the repository's configuration covers it: add one with that prefix")]
    NoContainer,
    /// The reader has not granted access.
    #[error(
        "it lies in the container {container}, and access to that was not granted: grant it when the repository is opened"
    )]
    NotGranted {
        /// The prefix of the container.
        container: String,
    },
    /// Access was not granted to what is opened without any repository.
    #[error("access to what lies there was not granted: grant its folder")]
    NoGrant,
    /// Its path cannot be the key of an object.
    #[error("its path cannot be read")]
    Key(#[source] KeyError),
    /// The store of the container cannot be opened.
    #[error("the container {container} cannot be opened")]
    Open {
        /// The prefix of the container.
        container: String,
        /// Why.
        source: BoxError,
    },
    /// The object is not there.
    #[error("there is no such object")]
    Missing,
    /// The object has been written since.
    #[error("the object has changed since the reference was made: import it again")]
    Changed,
    /// The object is too short.
    #[error("the object ends before byte {end}, where the chunk ends")]
    Truncated {
        /// The end of the chunk in the object.
        end: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
