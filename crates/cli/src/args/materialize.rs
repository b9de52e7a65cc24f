//! `icefield materialize`

use clap::Args as ArgGroup;
use icefield::{BranchName, Location, NodePath};

use super::common::OutputFormat;
use super::parse::{node_path, with_causes};

#[derive(Debug, ArgGroup)]
pub(crate) struct Materialize {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The array, or the group with everything below it.
    #[arg(value_parser = with_causes(node_path), default_value = "/")]
    pub(crate) path: NodePath,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
