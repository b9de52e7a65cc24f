//! `icefield export`

use clap::{Args as ArgGroup, ValueEnum};
use icefield::Location;

use super::common::{AtRevision, OutputFormat};
use super::parse::with_causes;

#[derive(Debug, ArgGroup)]
pub(crate) struct Export {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Where to write: a directory that does not exist or is empty, a zip file if the name ends in `.zip`, or a URL with
    /// nothing below it.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) destination: Location,
    /// Write a zip file, whatever the name of the destination.
    #[arg(long)]
    pub(crate) zip: bool,
    /// The format to write.
    #[arg(long, value_enum, default_value_t = ExportFormat::Zarr3, value_name = "FORMAT")]
    pub(crate) format: ExportFormat,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// The format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Zarr format 3, the format of the repository.
    Zarr3,
    /// Zarr format 2, with dimension names in the attribute that xarray reads.
    Zarr2,
    /// Zarr format 2 for programs that move windows by an attribute `_offset`: chunks keep their keys. Other programs misread it.
    Zarr2Offset,
    /// NCZarr, which netCDF-C 4.9.3 and later read.
    Nczarr,
}
