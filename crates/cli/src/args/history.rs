//! `icefield log`, `diff` and `status`

use std::path::PathBuf;

use clap::Args as ArgGroup;
use icefield::{Location, RevisionSpec};

use super::common::{AtRevision, OutputFormat};
use super::parse::with_causes;

/// `icefield log`
#[derive(Debug, ArgGroup)]
pub(crate) struct Log {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Show at most N snapshots.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Draw the histories of all branches and tags.
    #[arg(long, conflicts_with = "revision")]
    pub(crate) graph: bool,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield diff`
#[derive(Debug, ArgGroup)]
pub(crate) struct Diff {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The older version.
    #[arg(value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) from: RevisionSpec,
    /// The newer version.
    #[arg(value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) to: RevisionSpec,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield status`
#[derive(Debug, ArgGroup)]
pub(crate) struct Status {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    /// The version to compare with.
    #[arg(long, value_name = "REF", value_parser = with_causes(RevisionSpec::parse), default_value = "main")]
    pub(crate) against: RevisionSpec,
    /// Show the uncommitted edits of a serialised fork instead.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["revision", "against"])]
    pub(crate) fork: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
