//! What `icefield fsck` can be asked.

use clap::Args as ArgGroup;
use icefield::{BranchName, Location, RevisionSpec};

use super::{Facts, in_full};

#[derive(Debug, ArgGroup)]
pub(crate) struct Fsck {
    /// The repository.
    #[arg(value_parser = in_full(Location::parse))]
    pub(crate) location: Location,
    /// Only what this version and its history reach.
    #[arg(long = "ref", value_name = "REF", value_parser = in_full(RevisionSpec::parse))]
    pub(crate) revision: Option<RevisionSpec>,
    /// Only the versions that refs point to now, not their histories.
    #[arg(long)]
    pub(crate) tips: bool,
    /// Read every chunk to its end.
    #[arg(long)]
    pub(crate) read: bool,
    /// Look whether the files of virtual chunks are there and unchanged, as far as --grant says.
    #[arg(long)]
    pub(crate) r#virtual: bool,
    /// Make a commit on each damaged branch that leaves out what cannot be read, move branches that point nowhere, and put a
    /// damaged `repo` back from its newest sound backup.
    #[arg(long, conflicts_with_all = ["revision", "tips"])]
    pub(crate) repair: bool,
    /// Say what a repair would do, and do nothing.
    #[arg(long, requires = "repair")]
    pub(crate) dry_run: bool,
    /// Leave out virtual chunks, too, whose files are missing, too short or changed.
    #[arg(long, requires = "repair")]
    pub(crate) drop_virtual: bool,
    /// Make this branch again, whose ref is lost, at the newest whole snapshot that no other branch reaches. A name that begins
    /// with `recovered/` takes snapshots that `repo` does not list, too, if their parent is certain.
    #[arg(long, requires = "repair", value_name = "NAME", value_parser = in_full(BranchName::parse))]
    pub(crate) restore_branch: Option<BranchName>,
    /// After `repo` was put back from a backup: give up the snapshots that it does not list, which may be of acknowledged commits, so
    /// that `gc` and `expire` run again.
    #[arg(long, requires = "repair")]
    pub(crate) give_up_unlisted: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}
