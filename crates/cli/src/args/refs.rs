//! `icefield branch` and `icefield tag`

use clap::{Args as ArgGroup, Subcommand};
use icefield::{BranchName, Location, RevisionSpec, TagName};

use super::common::{AtRevision, OutputFormat};
use super::parse::{new_branch, new_tag, with_causes};

#[derive(Debug, Subcommand)]
pub(crate) enum Branch {
    /// List branches and the snapshots that they point to.
    List(ListRefs),
    /// Create a branch.
    Create {
        /// The repository.
        #[arg(value_parser = with_causes(Location::parse))]
        location: Location,
        /// The new name.
        #[arg(value_parser = with_causes(new_branch))]
        name: BranchName,
        #[command(flatten)]
        at: AtRevision,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Delete a branch; its snapshots stay.
    Delete {
        /// The repository.
        #[arg(value_parser = with_causes(Location::parse))]
        location: Location,
        /// The branch.
        #[arg(value_parser = with_causes(BranchName::parse))]
        name: BranchName,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Move a branch to another version.
    Reset {
        /// The repository.
        #[arg(value_parser = with_causes(Location::parse))]
        location: Location,
        /// The branch.
        #[arg(value_parser = with_causes(BranchName::parse))]
        name: BranchName,
        /// The version that it shall point to.
        #[arg(long = "ref", value_name = "REF", value_parser = with_causes(RevisionSpec::parse))]
        revision: RevisionSpec,
        /// Move it only if it points to this version now; exit code 3 otherwise.
        #[arg(long, value_name = "REF", value_parser = with_causes(RevisionSpec::parse))]
        expect: Option<RevisionSpec>,
        #[command(flatten)]
        output: OutputFormat,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tag {
    /// List tags and the snapshots that they point to.
    List(ListRefs),
    /// Create a tag. Its name stays taken, even after the tag is deleted.
    Create {
        /// The repository.
        #[arg(value_parser = with_causes(Location::parse))]
        location: Location,
        /// The new name.
        #[arg(value_parser = with_causes(new_tag))]
        name: TagName,
        #[command(flatten)]
        at: AtRevision,
        #[command(flatten)]
        output: OutputFormat,
    },
    /// Delete a tag.
    Delete {
        /// The repository.
        #[arg(value_parser = with_causes(Location::parse))]
        location: Location,
        /// The tag.
        #[arg(value_parser = with_causes(TagName::parse))]
        name: TagName,
        #[command(flatten)]
        output: OutputFormat,
    },
}

#[derive(Debug, ArgGroup)]
pub(crate) struct ListRefs {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
