//! `icefield fsck`

use clap::Args as ArgGroup;
use icefield::{BranchName, Location, RevisionSpec};

use super::common::OutputFormat;
use super::parse::with_causes;

#[derive(Debug, ArgGroup)]
pub(crate) struct Fsck {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Check only objects that this version and its history reach.
    #[arg(long = "ref", value_name = "REF", value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) revision: Option<RevisionSpec>,
    /// Check only the versions that refs point to now, not their histories.
    #[arg(long)]
    pub(crate) tips: bool,
    /// Read every chunk to its end.
    #[arg(long)]
    pub(crate) read: bool,
    /// Check that the files of virtual chunks exist and are unchanged, as far as --grant allows.
    #[arg(long)]
    pub(crate) r#virtual: bool,
    /// Commit to each damaged branch without its unreadable parts, move branches that point nowhere, and restore a damaged
    /// `repo` from its newest intact backup.
    #[arg(long, conflicts_with_all = ["revision", "tips"])]
    pub(crate) repair: bool,
    /// Show what a repair would do; change nothing.
    #[arg(long, requires = "repair")]
    pub(crate) dry_run: bool,
    /// Also leave out virtual chunks whose files are missing, too short or changed.
    #[arg(long, requires = "repair")]
    pub(crate) drop_virtual: bool,
    /// Recreate this branch, whose ref is lost, at the newest intact snapshot that no other branch reaches. With a name that begins
    /// with `recovered/`, snapshots that `repo` does not list qualify, too, if their parent is certain.
    #[arg(long, requires = "repair", value_name = "NAME", value_parser = with_causes(BranchName::parse))]
    pub(crate) restore_branch: Option<BranchName>,
    /// After `repo` was restored from a backup, give up the snapshots that it does not list, so that `gc` and `expire` run again.
    /// Acknowledged commits may be among them.
    #[arg(long, requires = "repair")]
    pub(crate) give_up_unlisted: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
