//! `icefield ls`, `tree`, `cat` and `mv`

use clap::Args as ArgGroup;
use icefield::{BranchName, Location, NodePath};

use super::common::{AtRevision, OutputFormat};
use super::parse::{node_path, with_causes};

/// `icefield ls`
#[derive(Debug, ArgGroup)]
pub(crate) struct Ls {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The group or the array.
    #[arg(value_parser = with_causes(node_path), default_value = "/")]
    pub(crate) path: NodePath,
    /// Also show shapes, data types, and the number of chunks that exist.
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield tree`
#[derive(Debug, ArgGroup)]
pub(crate) struct Tree {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield cat`
#[derive(Debug, ArgGroup)]
pub(crate) struct Cat {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The key, such as tos/zarr.json or tos/c/0/0/0.
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) at: AtRevision,
}

/// `icefield mv`
#[derive(Debug, ArgGroup)]
pub(crate) struct Mv {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The array or group.
    #[arg(value_parser = with_causes(node_path))]
    pub(crate) from: NodePath,
    /// Its new path.
    #[arg(value_parser = with_causes(node_path))]
    pub(crate) to: NodePath,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// If a concurrent commit has moved the node, move it on from its new path (spec version 2).
    #[arg(long)]
    pub(crate) follow_moves: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
