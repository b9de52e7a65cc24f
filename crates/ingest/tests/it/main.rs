//! Readers and writers from outside, on files and trees that other programs wrote.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod append;
#[cfg(unix)]
mod attributes;
#[cfg(feature = "codecs")]
mod combine;
mod common;
#[cfg(unix)]
mod directory;
#[cfg(all(feature = "dmrpp", feature = "hdf5", feature = "codecs"))]
mod dmrpp;
#[cfg(unix)]
mod encodings;
mod export;
#[cfg(unix)]
mod export_parts;
#[cfg(all(feature = "geotiff", feature = "codecs"))]
mod geotiff;
#[cfg(all(feature = "geotiff", feature = "codecs", target_os = "linux"))]
mod geotiff_memory;
#[cfg(feature = "grib")]
mod grib;
#[cfg(feature = "hdf5")]
mod hdf5;
mod import;
mod kerchunk;
#[cfg(feature = "kerchunk-parquet")]
mod kerchunk_parquet;
#[cfg(unix)]
mod missing;
#[cfg(all(unix, feature = "codecs"))]
mod nczarr;
mod netcdf3;
mod parts;
#[cfg(feature = "codecs")]
mod rechunk;
#[cfg(feature = "codecs")]
mod resume;
#[cfg(all(feature = "codecs", target_os = "linux"))]
mod resume_kill;
#[cfg(feature = "codecs")]
mod resume_words;
#[cfg(unix)]
mod seams;
#[cfg(unix)]
mod selection;
#[cfg(unix)]
mod shares;
#[cfg(all(unix, feature = "codecs"))]
mod shares_combined;
#[cfg(all(unix, feature = "codecs"))]
mod slice;
#[cfg(unix)]
mod times;
mod zarr2;
