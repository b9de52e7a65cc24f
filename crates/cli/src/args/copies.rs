//! `icefield copy`, `downgrade`, `bundle` and `unbundle`

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args as ArgGroup;
use icefield::format::SpecVersion;
use icefield::maintenance::RefChoice;
use icefield::{Location, RevisionSpec};

use super::common::OutputFormat;
use super::parse::{spec_version, with_causes};

#[derive(Debug, ArgGroup)]
pub(crate) struct Copy {
    /// The repository.
    #[arg(value_name = "SRC", value_parser = with_causes(Location::parse))]
    pub(crate) source: Location,
    /// The destination; a repository is created there if there is none.
    #[arg(value_name = "DST", value_parser = with_causes(Location::parse))]
    pub(crate) destination: Location,
    #[command(flatten)]
    pub(crate) part: RefSelectionArgs,
    /// Move branches of the destination even if they have commits that the source does not have. Replace its configuration and, in
    /// spec version 2, its metadata and feature flags with those of the source.
    #[arg(long)]
    pub(crate) force: bool,
    /// The version of the format of the copy [default: the version of the source].
    #[arg(long, value_name = "VERSION", value_parser = spec_version)]
    pub(crate) spec: Option<SpecVersion>,
    /// Show what would be copied; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield downgrade`
#[derive(Debug, ArgGroup)]
pub(crate) struct Downgrade {
    /// The repository, of spec version 2.
    #[arg(value_name = "SRC", value_parser = with_causes(Location::parse))]
    pub(crate) source: Location,
    /// The destination; a repository of version 1 is created there if there is none.
    #[arg(value_name = "DST", value_parser = with_causes(Location::parse))]
    pub(crate) destination: Location,
    #[command(flatten)]
    pub(crate) part: RefSelectionArgs,
    /// Leave out the branches and tags that version 1 cannot hold, and list them.
    #[arg(long)]
    pub(crate) leave_out: bool,
    /// Move branches of the destination even if they have commits that the source does not have. Replace its configuration.
    #[arg(long)]
    pub(crate) force: bool,
    /// Show what would be copied and what would be lost; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// The text below the help of `downgrade`.
pub(crate) const DOWNGRADE: &str = "\
The source does not change. Snapshots and chunks keep their ids. Metadata files are rewritten without the parts that version 1 has \
no place for, and the report lists those. The command refuses parts that readers would miss: arrays with rectilinear or unreadable \
chunk grids, locations of virtual chunks that version 1 cannot express, and branches and tags whose names contain a slash. Exclude \
them with --ref, --depth or --leave-out.";

/// The part of a repository to copy.
#[derive(Debug, ArgGroup)]
pub(crate) struct RefSelectionArgs {
    /// Only this branch or tag: NAME, branch:NAME or tag:NAME (repeatable).
    #[arg(long = "ref", value_name = "NAME", value_parser = with_causes(RefChoice::parse))]
    pub(crate) refs: Vec<RefChoice>,
    /// Only the newest N snapshots of each ref; the initial snapshot becomes the parent of the oldest.
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<NonZeroUsize>,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Bundle {
    /// The repository.
    #[arg(value_name = "SRC", value_parser = with_causes(Location::parse))]
    pub(crate) source: Location,
    /// The file to write; - is standard output.
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) part: RefSelectionArgs,
    /// Leave out objects that this version reaches: the repository that reads the bundle must have them.
    #[arg(long, value_name = "REF", value_parser = with_causes(RevisionSpec::parse))]
    pub(crate) since: Option<RevisionSpec>,
    /// Replace the file if it exists.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

#[derive(Debug, ArgGroup)]
pub(crate) struct Unbundle {
    /// The file to read.
    pub(crate) file: PathBuf,
    /// The destination; a repository is created there if there is none.
    #[arg(value_name = "DST", value_parser = with_causes(Location::parse))]
    pub(crate) destination: Location,
    /// Move branches of the destination even if they have commits that the bundle does not have. Replace its configuration and, in
    /// spec version 2, its metadata and feature flags with those of the bundle.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
