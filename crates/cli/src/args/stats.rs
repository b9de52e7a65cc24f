//! The statistics of an array.

use clap::Args as ArgGroup;
use icefield::{Location, NodePath};

use super::{At, Facts, in_full, node_path};

pub(crate) const STATS: &str = "\
Numbers are decoded by the CF conventions, as xarray decodes them: elements that equal _FillValue or missing_value, and NaN,
are missing; scale_factor and add_offset are applied. The array is read once, in parts: memory does not grow with its size.";

#[derive(Debug, ArgGroup)]
pub(crate) struct Stats {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// The array.
    #[arg(value_parser = in_full(node_path))]
    pub(crate) array: NodePath,
    /// A row for each index of this dimension, by its name or its number from 0.
    #[arg(long, value_name = "DIM")]
    pub(crate) by: Option<String>,
    #[command(flatten)]
    pub(crate) at: At,
    #[command(flatten)]
    pub(crate) facts: Facts,
}
