//! The spelling of a dataset, and the kind of store that holds it.

/// The kind of store that holds the values of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Store {
    /// A directory, or with [`Format::Bytes`] a file.
    File,
    /// A zip file.
    Zip,
    /// A bucket, of S3 or what speaks like it.
    S3,
    /// One resource of a web server: only with [`Format::Bytes`], or where no format is given.
    Http,
}

/// The spelling of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Zarr with the records of NCZarr.
    NcZarr,
    /// Zarr as it is.
    Zarr,
    /// One file of another format (NetCDF-3, HDF5): not for this crate.
    Bytes,
}

/// A format of Zarr.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZarrVersion {
    /// Format 2, the one that netCDF-C knows.
    V2,
    /// Format 3.
    V3,
}
