//! `icefield du`

use clap::{Args as ArgGroup, ValueEnum};
use icefield::Location;

use super::common::{AtRevision, OutputFormat};
use super::parse::with_causes;

#[derive(Debug, ArgGroup)]
pub(crate) struct Du {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Count per array, commit, ref or container; without it, everything that is stored.
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) by: Option<DuGrouping>,
    /// The version whose arrays, or the history whose commits, are counted.
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// The unit that bytes are counted per.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DuGrouping {
    /// The bytes of each array at one version.
    Array,
    /// The bytes that each commit of a history added.
    Commit,
    /// The bytes that each branch and tag reaches, and those that only it reaches: the cost of keeping it.
    Ref,
    /// The virtual chunks of each container.
    Container,
}
