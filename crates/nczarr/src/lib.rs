//! The netCDF-4 data model on Zarr.
//!
//! A [`Dataset`] is a tree of groups with named, shared dimensions, typed attributes and variables. This crate knows how
//! that is spelt, and reads and writes no files:
//!
//! | spelling | module |
//! |---|---|
//! | NCZarr of netCDF-C 4.8.0 to 4.10, plain Zarr of format 2 | [`read()`], and of the newest generation [`write()`] |
//! | Zarr v3 metadata, as repositories have it | [`read_zarr3`], [`write_zarr3`] |
//! | CDL, the text of `ncdump` and `ncgen` | [`cdl`] |
//! | URLs such as `file://data/sea.zarr#mode=nczarr,file` | [`url`] |

mod base64;
pub mod cdl;
mod dtype;
mod error;
mod generation;
mod json;
mod lenient;
mod model;
mod read;
pub mod url;
mod write;
mod zarr3;

pub use error::NczarrError;
pub use generation::Generation;
pub use lenient::{has_large_integers, parse_json, quoted_json};
pub use model::{
    Attribute, DataType, Dataset, Dimension, DimensionPath, Endian, Fill, Filter, Group,
    ModelError, Storage, Values, Variable,
};
use read::filter;
pub use read::{
    Documents, Opened, ReadOptions, generation, is_document, is_swappable, may_swap, read,
};
pub use write::write;
pub use zarr3::{RECORD, Zarr3Node, is_record, read_zarr3, write_zarr3};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
