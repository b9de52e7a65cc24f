//! `icefield init`, `info`, `upgrade`, `set-status` and `ops-log`

use clap::{Args as ArgGroup, ValueEnum};
use icefield::Location;
use icefield::format::SpecVersion;

use super::common::{AtRevision, OutputFormat};
use super::parse::{spec_version, with_causes};

/// The default version of the format for new repositories.
const DEFAULT_SPEC: &str = "1";

/// `icefield init`
#[derive(Debug, ArgGroup)]
pub(crate) struct Init {
    /// Where to create the repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The version of the format. Every release of every reader opens version 1; version 2 needs icechunk 2 or icefield.
    #[arg(long, value_name = "VERSION", default_value = DEFAULT_SPEC, value_parser = spec_version)]
    pub(crate) spec: SpecVersion,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield info`
#[derive(Debug, ArgGroup)]
pub(crate) struct Info {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Count chunks and bytes by where they are stored; reads all manifests.
    #[arg(short, long)]
    pub(crate) long: bool,
    #[command(flatten)]
    pub(crate) at: AtRevision,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

pub(super) const UPGRADE: &str = "\
An upgrade changes no array, and reads or copies no chunk: it moves the refs and the configuration into the object `repo`, which \
also lists the history. Programs that know only version 1 of the format cannot open the repository any more.

Other programs may write during the upgrade. It carries over commits that land before it moves their branch, and refuses later \
ones. A stopped upgrade leaves the repository read-only; the next run continues it. Where a version-1 program has written refs \
beside `repo` after an upgrade, a second upgrade carries them over.";

/// `icefield upgrade`
#[derive(Debug, ArgGroup)]
pub(crate) struct Upgrade {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Show the planned steps; write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield set-status`
#[derive(Debug, ArgGroup)]
pub(crate) struct SetStatus {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The status: whether programs may write to the repository.
    pub(crate) status: Availability,
    /// The reason, which refused writers are shown.
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// The statuses that can be set.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Availability {
    /// Allow reads and writes.
    Online,
    /// Allow reads only.
    ReadOnly,
}

/// `icefield ops-log`
#[derive(Debug, ArgGroup)]
pub(crate) struct OpsLog {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Show at most N entries.
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}
