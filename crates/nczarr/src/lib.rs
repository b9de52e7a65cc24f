//! The netCDF-4 data model on Zarr.
//!
//! A [`Dataset`] is a tree of groups with named, shared dimensions, typed attributes and variables. This crate knows how
//! that is spelt, and reads and writes no files:
//!
//! | spelling | module |
//! |---|---|
//! | CDL, the text of `ncdump` and `ncgen` | [`cdl`] |

pub mod cdl;
mod model;

pub use model::{
    Attribute, DataType, Dataset, Dimension, DimensionPath, Endian, Fill, Filter, Group,
    ModelError, Storage, Values, Variable,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
