//! `icefield merge`, `cherry-pick`, `revert` and `squash`

use clap::{Args as ArgGroup, ValueEnum};
use icefield::{BranchName, Location, RevisionSpec};

use super::common::OutputFormat;
use super::parse::{new_branch, with_causes};

/// `icefield merge`, `cherry-pick` and `revert`
#[derive(Debug, ArgGroup)]
pub(crate) struct Carry {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The version to merge, or the commit to pick or to revert.
    #[arg(value_name = "REF", value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) revision: RevisionSpec,
    /// The branch to commit to.
    #[arg(long, value_parser = with_causes(BranchName::parse), default_value = "main")]
    pub(crate) branch: BranchName,
    /// The side whose change stays where both sides changed the same chunk or node.
    #[arg(long, value_enum, default_value_t = OnConflict::Fail, value_name = "SIDE")]
    pub(crate) on_conflict: OnConflict,
    /// Apply changes to arrays or groups that the branch has moved at their new paths (spec version 2).
    #[arg(long)]
    pub(crate) follow_moves: bool,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// The side whose change stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnConflict {
    /// Commit nothing; exit code 3.
    Fail,
    /// The change of the given version stays.
    Source,
    /// The change of the branch stays.
    Branch,
}

/// `icefield squash`
#[derive(Debug, ArgGroup)]
pub(crate) struct Squash {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The version that becomes the parent of the new commit.
    #[arg(value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) from: RevisionSpec,
    /// The version whose contents the new commit has.
    #[arg(value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) to: RevisionSpec,
    /// The new branch.
    #[arg(value_parser = with_causes(new_branch))]
    pub(crate) name: BranchName,
    /// The commit message.
    #[arg(short, long)]
    pub(crate) message: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
