//! Errors of reading the bytes of a virtual chunk.

use icefield_format::LocationRule;
use icefield_storage::{BoxError, KeyError, StorageError};

/// The reason why the bytes of a virtual chunk cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VirtualChunkError {
    /// The text is no location of a virtual chunk.
    #[error("this is no location of a virtual chunk: {0}")]
    Location(LocationRule),
    /// The location names its container, which only repositories of version 2 can express.
    #[error("locations that name their container need spec version 2: give the whole URL")]
    NeedsSpecVersion2,
    /// The location names a container that the configuration does not have.
    #[error("the repository's configuration has no container with the name {name:?}")]
    NoContainerNamed {
        /// The name.
        name: String,
    },
    /// No container of the repository's configuration covers the location.
    #[error("no container in the repository's configuration covers it: add one with that prefix")]
    NoContainer,
    /// A container covers the location, and the reader has not granted access to it.
    #[error(
        "it lies in the container {container}, and access to that was not granted: grant it when the repository is opened"
    )]
    NotGranted {
        /// The prefix of the container.
        container: String,
    },
    /// The reader has not granted access, and no repository is involved.
    #[error("access to what lies there was not granted: grant its folder")]
    NoGrant,
    /// The path of the location cannot be the key of an object.
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
    /// The object does not exist.
    #[error("there is no such object")]
    Missing,
    /// The object has been written since the reference was made.
    #[error("the object has changed since the reference was made: import it again")]
    Changed,
    /// The object ends before the chunk does.
    #[error("the object ends before byte {end}, where the chunk ends")]
    Truncated {
        /// The end of the chunk in the object.
        end: u64,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}
