//! `icefield import`

use std::path::PathBuf;

use clap::{Args as ArgGroup, ValueEnum};
use icefield::{BranchName, Location, NodePath, SourceName};

use super::archives::ArchiveArgs;
use super::collected::CollectionArgs;
use super::combined::MismatchArgs;
use super::common::OutputFormat;
use super::layout::ChunkLayoutArgs;
use super::parse::{node_path, with_causes};
use super::selection::SelectionArgs;

pub(super) const SOURCES: &str = "\
SOURCE is the path or URL of a Zarr directory (format 2 or 3; NCZarr of every generation), or of a file of HDF5, NetCDF-4,
NetCDF-3, GRIB (edition 2), TIFF, DMR++ or kerchunk references. References may name files below the folder of their own file,
and below the prefixes of --grant.

The URLs of netCDF-C work, such as file:///data/sea.zarr#mode=nczarr,file; with #mode=zarr, the metadata of NCZarr is
ignored.

* ? [abc] and ** match parts of names in directories, in buckets and in the listings of web servers. Quote the pattern, as in
's3://archive/2020/**/*.nc', to protect it from the shell. ** matches any directories. The matches are sorted by name. A
directory matches if it is a Zarr hierarchy; its contents do not match. A file whose name equals the pattern takes precedence.
A pattern without matches is an error.

A repository of the alpha generation of the format (September 2024) is a SOURCE, too: the import recreates its whole history,
with branches and tags, at LOCATION, which must not exist or must be an empty repository.";

#[derive(Debug, ArgGroup)]
#[command(allow_missing_positional = true)]
pub(crate) struct Import {
    /// The sources: paths, URLs, and patterns for them; `-` reads sources from standard input, one per line.
    #[arg(required_unless_present_any = ["files_from", "abandon"], num_args = 1.., value_name = "SOURCE", value_parser = with_causes(SourceName::parse))]
    pub(crate) sources: Vec<SourceName>,
    /// Also import the sources in a text file, one per line; empty lines and lines that begin with `#` are ignored.
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The group to copy into; created if it is missing.
    #[arg(long, value_name = "PATH", value_parser = with_causes(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    #[command(flatten)]
    pub(crate) selected: SelectionArgs,
    /// Append along this dimension to the arrays of the repository.
    #[arg(long, value_name = "DIM", group = "joined")]
    pub(crate) append: Option<String>,
    /// Concatenate the sources along this dimension.
    #[arg(long, value_name = "DIM", group = "joined")]
    pub(crate) concat: Option<String>,
    #[command(flatten)]
    pub(crate) collected: CollectionArgs,
    /// Accept coordinates along that dimension in any order, even if they overlap, turn back, or are missing.
    #[arg(long, requires = "joined", conflicts_with_all = ["overlap", "order"])]
    pub(crate) unordered: bool,
    /// The order of the sources [default: the order in which they are given].
    #[arg(long, value_enum, requires = "joined", value_name = "ORDER")]
    pub(crate) order: Option<SourceOrder>,
    /// How to treat elements whose coordinate lies within another source, or within the arrays of the repository; also GRIB
    /// messages of one file for the same element.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) overlap: Option<OnOverlap>,
    /// Units of time along that dimension, such as `seconds since 2000-01-01` [default: those of the first source].
    #[arg(long, value_name = "UNITS", requires = "joined")]
    pub(crate) time_units: Option<String>,
    #[command(flatten)]
    pub(crate) combined: MismatchArgs,
    #[command(flatten)]
    pub(crate) laid: ChunkLayoutArgs,
    /// Print the plan; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refer to the chunks in their files instead of copying them.
    #[arg(long)]
    pub(crate) r#virtual: bool,
    /// Copy this array nevertheless (repeatable).
    #[arg(long, value_name = "PATH", value_parser = with_causes(node_path), requires = "virtual")]
    pub(crate) copy: Vec<NodePath>,
    /// Read big-endian arrays of NCZarr as little-endian numbers, which netCDF-C before 4.9.3 wrote.
    #[arg(long)]
    pub(crate) legacy_endian: bool,
    #[command(flatten)]
    pub(crate) archives: ArchiveArgs,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// The order in which sources are concatenated.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SourceOrder {
    /// By their names.
    Name,
    /// By the first value of the coordinate.
    Coordinate,
}

/// The treatment of elements that overlap.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnOverlap {
    /// Fail (the default).
    Refuse,
    /// Keep those that come first.
    First,
    /// Keep those that come last, among the sources.
    Last,
}
