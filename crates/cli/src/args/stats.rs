//! `icefield stats`

use clap::Args as ArgGroup;
use icefield::{Location, NodePath};

use super::common::{AtRevision, OutputFormat};
use super::parse::{node_path, with_causes};

pub(crate) const STATS: &str = "\
Numbers are decoded by the CF conventions, as in xarray: elements equal to _FillValue or missing_value, and NaN, are missing;
scale_factor and add_offset are applied. The array is read once, in parts, so that memory does not grow with its size.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Stats {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The array.
    #[arg(value_parser = with_causes(node_path))]
    pub(crate) array: NodePath,
    /// Print a row for each index of this dimension, given by its name or its number from 0.
    #[arg(long, value_name = "DIM")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
