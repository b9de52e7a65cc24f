//! Copies, bundles, and what is in the way of both.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args as ArgGroup;
use icefield::Location;
use icefield::format::SpecVersion;
use icefield::maintenance::RefChoice;

use super::{Facts, RevisionSpec, in_full, spec_version};

#[derive(Debug, ArgGroup)]
pub(crate) struct Copy {
    /// The repository.
    #[arg(value_name = "SRC", value_parser = in_full(Location::parse))]
    pub(crate) source: Location,
    /// Where to; a repository is created there if there is none.
    #[arg(value_name = "DST", value_parser = in_full(Location::parse))]
    pub(crate) destination: Location,
    #[command(flatten)]
    pub(crate) part: Part,
    /// Move branches of the destination also if they have commits that the source does not, and replace its configuration and, in
    /// spec version 2, its metadata and feature flags by those of the source.
    #[arg(long)]
    pub(crate) force: bool,
    /// The version of the format that the copy has [default: that of the source].
    #[arg(long, value_name = "VERSION", value_parser = spec_version)]
    pub(crate) spec: Option<SpecVersion>,
    /// Say what would be copied, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// `icefield downgrade`
#[derive(Debug, ArgGroup)]
pub(crate) struct Downgrade {
    /// The repository, of spec version 2.
    #[arg(value_name = "SRC", value_parser = in_full(Location::parse))]
    pub(crate) source: Location,
    /// Where to; a repository of version 1 is created there if there is none.
    #[arg(value_name = "DST", value_parser = in_full(Location::parse))]
    pub(crate) destination: Location,
    #[command(flatten)]
    pub(crate) part: Part,
    /// Leave out the branches and tags that version 1 cannot hold, and say which.
    #[arg(long)]
    pub(crate) leave_out: bool,
    /// Move branches of the destination also if they have commits that the source does not, and replace its configuration.
    #[arg(long)]
    pub(crate) force: bool,
    /// Say what would be copied and what would not be carried, and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

/// What stands below the help of `downgrade`.
pub(crate) const DOWNGRADE: &str = "\
The source stays as it is. Ids of snapshots and chunks stay; metadata files are written anew, without what version 1 has no place \
for, and all of that is named. What readers would miss is refused: arrays with chunk grids that are rectilinear or cannot be read, locations of virtual chunks \
that version 1 cannot spell, branches and tags whose names have a slash. --ref, --depth and --leave-out choose around it.";

/// Which part of a repository.
#[derive(Debug, ArgGroup)]
pub(crate) struct Part {
    /// Only this branch or tag: NAME, branch:NAME or tag:NAME (repeatable).
    #[arg(long = "ref", value_name = "NAME", value_parser = in_full(RefChoice::parse))]
    pub(crate) refs: Vec<RefChoice>,
    /// Only the newest N snapshots of each ref; the oldest of them then follows the initial snapshot.
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<NonZeroUsize>,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Bundle {
    /// The repository.
    #[arg(value_name = "SRC", value_parser = in_full(Location::parse))]
    pub(crate) source: Location,
    /// The file to write; - is standard output.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) part: Part,
    /// Leave out what this version reaches: who unpacks the bundle must have it.
    #[arg(long, value_name = "REF", value_parser = in_full(RevisionSpec::parse))]
    pub(crate) since: Option<RevisionSpec>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Unbundle {
    /// The file to read.
    pub(crate) file: PathBuf,
    /// Where to; a repository is created there if there is none.
    #[arg(value_name = "DST", value_parser = in_full(Location::parse))]
    pub(crate) destination: Location,
    /// Move branches of the destination also if they have commits that the bundle does not, and replace its configuration and, in
    /// spec version 2, its metadata and feature flags by those of the bundle.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) facts: Facts,
}
