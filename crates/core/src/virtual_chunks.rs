//! Virtual chunks: which foreign objects a repository may refer to, and who lets it.
//!
//! ```text
//! location        s3://archive/2015/jan.nc          what a manifest says
//! container       s3://archive/       (config)      what the repository says of the place: anybody may have written it
//! grant           s3://archive/2015/  (reader)      what the reader lets it refer to, and with which credentials
//! ```
//! A location is read if a container and a grant cover it, by whole segments; of several, the longest. The store is
//! opened by the grant alone, so that credentials go where the reader said and nowhere else.
//!
//! In version 1 of the format a location is a URL, with characters encoded that URLs cannot have. In version 2 it is the key of
//! an object as it is, and may begin with the name of its container: `vcc://NAME/…`.

mod access;
mod containers;
mod refs;
mod stores;
mod verbatim;

use icefield_format::LocationRule;
use icefield_storage::{BoxError, KeyError, StorageError};

pub use access::{OpenContainer, VirtualAccess};
pub use containers::Containers;
pub use refs::{VirtualChecksum, VirtualRefs, VirtualRefsError, VirtualSource};
pub(crate) use stores::{VirtualStores, VirtualTarget};
pub(crate) use verbatim::carried;

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
