//! The findings of a reader of archive files: arrays described in the terms of Zarr v3, and where the bytes of their
//! chunks lie, untouched.
//!
//! Readers of HDF5, NetCDF-3, kerchunk and Zarr fill one [`Archive`]; what becomes of it, copies or virtual
//! references, is decided by the import.

mod array;
mod document;
mod extents;
mod file;
mod keyed;
mod open_url;
mod options;
#[cfg(any(feature = "dmrpp", feature = "hdf5"))]
pub(crate) mod phony;
mod pieces;
mod source;
pub(crate) mod values;

pub use array::{Archive, ArchiveArray, ArchiveChunks, ArchiveNode, Expected, Recode, RecodeError};
pub use extents::ChunkExtents;
pub(crate) use extents::advance;
pub use file::ArchiveFile;
pub(crate) use file::{explained, of_tree};
pub(crate) use keyed::{ChunkPlace, KeyedNodes};
pub use open_url::OpenUrl;
pub use options::{ArchiveOptions, Overviews};
pub(crate) use pieces::pieces;
pub use source::ArchiveSource;
