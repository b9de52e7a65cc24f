//! What is imported, and how.

use std::path::PathBuf;

use clap::{Args as ArgGroup, ValueEnum};
use icefield::{BranchName, Location, NodePath, SourceName};

use super::{Archives, Collected, Combined, Facts, Laid, Selected, in_full, node_path};

pub(super) const SOURCES: &str = "\
SOURCE is a Zarr directory (format 2 or 3; NCZarr of every generation), or a file of HDF5, NetCDF-4, NetCDF-3, GRIB (edition 2),
TIFF, DMR++ or kerchunk's references, as a path or a URL. References may name files below the folder of their own file, and
below what --grant says.

The URLs of netCDF-C are understood, such as file:///data/sea.zarr#mode=nczarr,file; with #mode=zarr, what NCZarr recorded
is not looked at.

* ? [abc] and ** stand for parts of names, in directories, buckets and the lists of web servers: 's3://archive/2020/**/*.nc' in quotes, so
that the shell leaves it alone. ** stands for any directories. What matches is sorted by name; a directory is a source if it is
a Zarr hierarchy, and what lies in one is none. A file that is called like a pattern wins. What matches nothing is an error.

A repository of the alpha generation of the format (September 2024) is a SOURCE, too: its whole history, with branches and
tags, is made again at LOCATION, where there must be nothing, or an empty repository.";

#[derive(Debug, ArgGroup)]
#[command(allow_missing_positional = true)]
pub(crate) struct Import {
    /// What to import: paths, URLs, and patterns for them; `-` reads such names from standard input, one on each line.
    #[arg(required_unless_present_any = ["files_from", "abandon"], num_args = 1.., value_name = "SOURCE", value_parser = in_full(SourceName::parse))]
    pub(crate) sources: Vec<SourceName>,
    /// Import what a text file names, too: one source on each line; empty lines and those that begin with `#` are left out.
    #[arg(long, value_name = "FILE")]
    pub(crate) files_from: Option<PathBuf>,
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The branch to commit to.
    #[arg(long, value_parser = in_full(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The group to copy into; created if it is missing.
    #[arg(long, value_name = "PATH", value_parser = in_full(node_path), default_value = "/")]
    pub(crate) group: NodePath,
    #[command(flatten)]
    pub(crate) selected: Selected,
    /// Append along this dimension to the arrays that are there.
    #[arg(long, value_name = "DIM", group = "Behind")]
    pub(crate) append: Option<String>,
    /// Put the sources behind one another along this dimension.
    #[arg(long, value_name = "DIM", group = "Behind")]
    pub(crate) concat: Option<String>,
    #[command(flatten)]
    pub(crate) collected: Collected,
    /// Take coordinates along that dimension as they come, also if they overlap or go back.
    #[arg(long, requires = "Behind", conflicts_with_all = ["overlap", "order"])]
    pub(crate) unordered: bool,
    /// The order of the sources, if it is not the one in which they are given.
    #[arg(long, value_enum, requires = "Behind", value_name = "ORDER")]
    pub(crate) order: Option<SourceOrder>,
    /// What becomes of elements whose coordinate lies within another source, or within what is there; and of GRIB messages for one
    /// place of a file.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) overlap: Option<Overlapping>,
    /// Units of the time along that dimension, as `seconds since 2000-01-01`; without, those of the first source.
    #[arg(long, value_name = "UNITS", requires = "Behind")]
    pub(crate) time_units: Option<String>,
    #[command(flatten)]
    pub(crate) combined: Combined,
    #[command(flatten)]
    pub(crate) laid: Laid,
    /// Print what would be done, and do nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Refer to the chunks where they lie instead of copying them.
    #[arg(long)]
    pub(crate) r#virtual: bool,
    /// Copy this array all the same (repeatable).
    #[arg(long, value_name = "PATH", value_parser = in_full(node_path), requires = "virtual")]
    pub(crate) copy: Vec<NodePath>,
    /// Big-endian arrays of NCZarr hold little-endian numbers, as netCDF-C before 4.9.3 wrote them.
    #[arg(long)]
    pub(crate) legacy_endian: bool,
    #[command(flatten)]
    pub(crate) archives: Archives,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// In which order sources are put behind one another.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum SourceOrder {
    /// By their names.
    Name,
    /// By the first value of the coordinate.
    Coordinate,
}

/// What becomes of elements that overlap.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Overlapping {
    /// Fail (the default).
    Refuse,
    /// Keep those that come first.
    First,
    /// Keep those that come last, among the sources.
    Last,
}
