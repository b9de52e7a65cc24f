//! Reads HDF5 and NetCDF-4 files: groups, arrays, and where the bytes of their chunks lie.
//!
//! Only headers and indexes are read, by ranges; chunks stay where they are. The structures of the file are taken
//! apart with the low-level modules of the crate `hdf5-reader`, on a thread that may block.
//!
//! # What becomes of what
//! - **Groups** with their attributes; committed data types are no nodes. Soft links are followed inside the file.
//! - **Chunked arrays** keep their chunks, whatever index lists them. **Contiguous arrays** are one chunk up to 4 MiB.
//!   Larger ones become chunks of whole rows with a size near that: the number of rows divides the length of the
//!   array, because a Zarr chunk at the edge must be as long as all others. **Compact arrays** lie in headers and are
//!   copied.
//! - **Numbers** keep their type and byte order, half-precision floats and complex numbers (compounds of `r` and `i`, and
//!   those of HDF5 2) too; the truth values of h5py are `bool`. An enumeration is stored as its integers, and its members are the
//!   attribute `enum_members`. A bit field is an unsigned integer.
//! - **Texts**: strings of one byte (the `char` of NetCDF) are `null_terminated_bytes` of length 1. All others are
//!   copied as Zarr's `string`, since Zarr has no type for their bytes in the file.
//! - **Filters** become codecs: shuffle, deflate, Fletcher's checksum, Zstandard, Blosc, bzip2. What no chain of codecs says is
//!   decoded and encoded anew with Zstandard when it is copied: LZ4, whose framing in HDF5 no codec reads, LZF, szip, N-Bit,
//!   Scale-Offset, a shuffle that leaves bytes over, as behind a checksum, and arrays of which some chunks went without a filter.
//! - **Compounds** whose members follow each other without a gap and are little-endian are `structured`, the type of
//!   zarr-python. With [`Hdf5Options::split_compound`] each is a group, with an array of each member, which is copied.
//! - **Integers that use a part of their bits** are copied with all of them.
//! - **Dimension names** come from dimension scales. A dimension without a scale is called `phony_dim_0` and so on, as netCDF-C
//!   and with it xarray call it: equal lengths in one group are one dimension. A NetCDF dimension without a variable is no array.
//! - **Lengths** along an unlimited dimension are those of the dimension, which is as long as the longest array along its
//!   scale: what lies behind the records of another array is fill values. An array that has another length than its scale,
//!   and the scale cannot grow, keeps its length, and a warning says that the dimension gets another name.
//! - **Attributes** of one element are scalars, as NetCDF readers have it; of none, empty lists. NaN and the infinities are the texts
//!   `"NaN"`, `"Infinity"` and `"-Infinity"`. Texts that are not UTF-8 are taken as Latin-1. The bookkeeping of
//!   dimension scales is left out. `_FillValue` of a float array is the base64 text that xarray expects in Zarr; that
//!   of an array of texts is left out, since xarray cannot decode any, and stands in the `fill_value` of the array.
//! - An array with a null dataspace is an array of length 0.
//!
//! # What is refused
//! By variable name: other filters, opaque and reference types, other compounds, variable-length lists, floats of unusual forms, external links and storage, virtual datasets, links that lead nowhere or in a circle. Also a file that is marked as open for writing,
//! and one whose links or indexes make more of its parts than memory should hold. [`Hdf5Options::leave_out`] leaves variables,
//! groups and links out by path, before anything of them is read.

mod attributes;
mod behind;
mod bits;
mod chunks;
mod contiguous;
mod dataset;
mod datatype;
mod datatype_message;
mod dimensions;
mod file;
mod filters;
mod header;
mod heap;
mod held;
mod links;
#[cfg(feature = "all-codecs")]
mod lz4;
mod lzf;
mod messages;
mod nbit;
mod options;
mod parsed;
mod ranges;
mod reader;
mod scale_offset;
mod split;
#[cfg(feature = "all-codecs")]
mod szip;
mod take;
#[cfg(test)]
mod tests;
mod text;
mod texts;
mod values;
mod walk;

use tokio::sync::{mpsc, oneshot};

use crate::{Archive, ArchiveFile, SourceError};
use file::Hdf5;
pub use options::Hdf5Options;
use ranges::{RangeRequest, Ranges};

/// Reads what an HDF5 or NetCDF-4 file holds. The archive has this one file.
///
/// # Errors
/// [`SourceError::Damaged`] if the file is no HDF5 file or not a whole one, [`SourceError::Variable`] for what has no
/// counterpart in Zarr, the errors of the store.
///
/// # Cancel safety
/// Nothing is written. A dropped future ends the thread at its next read.
pub async fn read_hdf5(file: ArchiveFile, options: Hdf5Options) -> Result<Archive, SourceError> {
    let (ask, mut asked) = mpsc::channel::<RangeRequest>(1);
    let ranges = Ranges::new(ask, file.size());
    let (name, archived) = (file.url().to_owned(), file.clone());
    let parse = move || {
        let hdf5 = Hdf5::open(ranges, name)?.listing_unsupported(options.lists_unsupported);
        let nodes = dataset::read_nodes(&hdf5, &options)?;
        Ok(Archive {
            files: vec![archived],
            nodes,
            unsupported: hdf5.take_unsupported(),
            warnings: hdf5.into_warnings(),
            ..Archive::default()
        })
    };
    let (done, parsed) = oneshot::channel();
    // A thread of its own: the parser waits for the store, which may need one of the runtime's threads to answer. A few
    // parsers would take them all.
    let thread = std::thread::Builder::new().name("hdf5".to_owned());
    let started = thread.spawn(move || {
        // The receiver of an abandoned read is gone.
        let _given_up = done.send(parse());
    });
    started.map_err(|source| SourceError::Other {
        name: file.url().to_owned(),
        source: Box::new(source),
    })?;
    while let Some(RangeRequest { range, answer }) = asked.recv().await {
        // A parser that no longer waits has ended already.
        let _ended = answer.send(file.read(range).await);
    }
    // The parser is not ours alone. What makes it panic is the file's fault.
    parsed.await.unwrap_or_else(|_| {
        let problem = "the parser met something impossible in it and stopped";
        Err(SourceError::damaged(file.url(), problem))
    })
}
