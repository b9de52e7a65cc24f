//! The netCDF-4 data model on Zarr.
//!
//! A [`Dataset`] is a tree of groups with named, shared dimensions, typed attributes and variables. This crate knows how
//! that is spelt, and reads and writes no files:
//!
//! | spelling | module |
//! |---|---|
//! | CDL, the text of `ncdump` and `ncgen` | [`cdl`] |
//! | URLs such as `file://data/sea.zarr#mode=nczarr,file` | [`url`] |

pub mod cdl;
mod model;
pub mod url;

pub use model::{
    Attribute, DataType, Dataset, Dimension, DimensionPath, Endian, Fill, Filter, Group,
    ModelError, Storage, Values, Variable,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
