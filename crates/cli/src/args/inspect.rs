//! `icefield doctor` and `icefield inspect`

use clap::{Args as ArgGroup, ValueEnum};
use icefield::{Location, SnapshotId};

use super::common::OutputFormat;
use super::parse::with_causes;

/// `icefield doctor`
#[derive(Debug, ArgGroup)]
pub(crate) struct Doctor {
    /// The location, with or without a repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// Also write a small object below `icefield/doctor/`, and delete it.
    #[arg(long)]
    pub(crate) write: bool,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// `icefield inspect`
#[derive(Debug, ArgGroup)]
pub(crate) struct Inspect {
    /// The repository.
    #[arg(value_parser = with_causes(Location::parse))]
    pub(crate) location: Location,
    /// The kind of file.
    #[arg(value_enum)]
    pub(crate) kind: FileKind,
    /// The id of a manifest or of a snapshot; a transaction log has the id of its snapshot.
    #[arg(value_parser = with_causes(str::parse::<SnapshotId>))]
    pub(crate) id: SnapshotId,
    #[command(flatten)]
    pub(crate) output: OutputFormat,
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileKind {
    /// A snapshot: the hierarchy at one version.
    Snapshot,
    /// A manifest: the locations of the chunks of some arrays.
    Manifest,
    /// A transaction log: the changes of one commit.
    TransactionLog,
}
