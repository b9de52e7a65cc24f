//! Generations of NCZarr: where each keeps what Zarr has no word for, and what it calls that.

use std::fmt;

/// The convention that a tree of Zarr format 2 follows. netCDF-C changed it with its releases, without a version number
/// in the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Generation {
    /// NCZarr of netCDF-C 4.8.0: objects of their own, `.nczarr`, `.nczgroup`, `.nczarray` (`.nczvar`), `.nczattrs`
    /// (`.nczattr`).
    G0,
    /// NCZarr of 4.8.1 to 4.9.0: further keys in Zarr's objects, in capitals.
    G1,
    /// NCZarr of 4.9.1 and 4.9.2: the same in small letters.
    G2,
    /// NCZarr since 4.9.3: attributes.
    G3,
    /// Zarr without records of netCDF, except perhaps xarray's `_ARRAY_DIMENSIONS`.
    Pure,
}

/// The names that a generation gives its records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    pub(crate) superblock: &'static str,
    pub(crate) group: &'static str,
    pub(crate) array: &'static str,
    pub(crate) attributes: &'static str,
    /// In the record of a group.
    pub(crate) dimensions: &'static str,
    /// In the record of a group.
    pub(crate) arrays: &'static str,
    /// In the record of an array.
    pub(crate) references: &'static str,
}

const LARGE: Names = Names {
    superblock: "_NCZARR_SUPERBLOCK",
    group: "_NCZARR_GROUP",
    array: "_NCZARR_ARRAY",
    attributes: "_NCZARR_ATTR",
    dimensions: "dims",
    arrays: "vars",
    references: "dimrefs",
};

const SMALL: Names = Names {
    superblock: "_nczarr_superblock",
    group: "_nczarr_group",
    array: "_nczarr_array",
    attributes: "_nczarr_attr",
    ..LARGE
};

/// Names of G3, which is what is written.
pub(crate) const NEWEST: Names = Names {
    dimensions: "dimensions",
    arrays: "arrays",
    references: "dimension_references",
    ..SMALL
};

/// Begins the names of all attributes that belong to the convention and are none of the user's.
pub(crate) const RESERVED: &str = "_nczarr_";
/// The attribute that names the writer of the dataset.
pub(crate) const PROPERTIES: &str = "_NCProperties";
/// xarray's names of dimensions.
pub(crate) const XARRAY: &str = "_ARRAY_DIMENSIONS";
/// The dimension that netCDF-C names there for a scalar.
pub(crate) const SCALAR: &str = "_scalar_";

impl Generation {
    /// Returns the names of its records; those of G0 are keys of objects, and only what is inside has these names.
    pub(crate) fn names(self) -> Names {
        match self {
            Self::G0 | Self::G1 => LARGE,
            Self::G2 => SMALL,
            Self::G3 | Self::Pure => NEWEST,
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::G0 => "NCZarr of netCDF-C 4.8.0",
            Self::G1 => "NCZarr of netCDF-C 4.8.1 to 4.9.0",
            Self::G2 => "NCZarr of netCDF-C 4.9.1 and 4.9.2",
            Self::G3 => "NCZarr of netCDF-C 4.9.3 and later",
            Self::Pure => "Zarr format 2",
        })
    }
}
