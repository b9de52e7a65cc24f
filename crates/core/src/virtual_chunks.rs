//! Virtual chunks: the foreign objects that a repository may refer to, and the grants that permit it.
//!
//! ```text
//! location        s3://archive/2015/jan.nc          what a manifest says
//! container       s3://archive/       (config)      the place in words of the repository, which any writer may have written
//! grant           s3://archive/2015/  (reader)      what the reader lets it refer to, and with which credentials
//! ```
//! A location is read if a container and a grant cover it, by whole segments; of several, the longest. The store is
//! opened by the grant alone, so that credentials go where the reader said and nowhere else.
//!
//! In version 1 of the format a location is a URL, with characters encoded that URLs cannot have. In version 2 it is the key of
//! an object as it is, and may begin with the name of its container: `vcc://NAME/…`.

mod access;
mod containers;
mod error;
mod refs;
mod source;
mod stores;
mod verbatim;

pub use access::{OpenContainer, VirtualAccess};
pub use containers::Containers;
pub use error::VirtualChunkError;
pub use refs::{VirtualRefs, VirtualRefsError};
pub use source::{VirtualChecksum, VirtualSource};
pub(crate) use stores::{VirtualStores, VirtualTarget};
pub(crate) use verbatim::carried;
