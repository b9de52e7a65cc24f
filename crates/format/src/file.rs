//! The files of a repository: their kinds, the versions of the format, and their names in errors.

use std::fmt;

use crate::id::{ManifestId, SnapshotId};

/// The number of bytes before the body.
pub const HEADER_LEN: usize = 39;

/// The kind of a binary file, byte 37 of its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FileKind {
    /// `snapshots/ID`.
    Snapshot = 1,
    /// `manifests/ID`.
    Manifest = 2,
    /// `transactions/ID`.
    TransactionLog = 4,
    /// `repo`, of spec 2.
    RepoInfo = 6,
}

impl FileKind {
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        [
            Self::Snapshot,
            Self::Manifest,
            Self::TransactionLog,
            Self::RepoInfo,
        ]
        .into_iter()
        .find(|kind| *kind as u8 == byte)
    }

    /// Returns the name of the kind in the metadata of objects (`ic_file_type`).
    #[must_use]
    pub fn metadata_name(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Manifest => "manifest",
            Self::TransactionLog => "transaction-log",
            Self::RepoInfo => "repo-info",
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Snapshot => "snapshot",
            Self::Manifest => "manifest",
            Self::TransactionLog => "transaction log",
            Self::RepoInfo => "repo info",
        })
    }
}

/// The version of the format that a file is written in, byte 36 of its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SpecVersion {
    /// Refs and configuration are files of their own.
    V1 = 1,
    /// One mutable object, `repo`, has refs, configuration and the graph of snapshots.
    V2 = 2,
}

impl SpecVersion {
    /// The latest version that is read and written.
    pub const LATEST: Self = Self::V2;
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", *self as u8)
    }
}

/// Names one file of a repository in errors, by its kind and the id that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FormatFile {
    /// `snapshots/ID`.
    Snapshot(SnapshotId),
    /// `manifests/ID`.
    Manifest(ManifestId),
    /// `transactions/ID`, named after its snapshot.
    TransactionLog(SnapshotId),
    /// `repo` of spec 2, or an earlier version of it.
    RepoInfo,
    /// A branch's or tag's `ref.json`.
    Ref,
    /// `config.yaml`.
    Config,
    /// A file of which only the bytes are known.
    Unnamed,
}

impl FormatFile {
    /// Returns the kind that the file's header must state; none for text files and [`FormatFile::Unnamed`].
    #[must_use]
    pub fn kind(self) -> Option<FileKind> {
        match self {
            Self::Snapshot(_) => Some(FileKind::Snapshot),
            Self::Manifest(_) => Some(FileKind::Manifest),
            Self::TransactionLog(_) => Some(FileKind::TransactionLog),
            Self::RepoInfo => Some(FileKind::RepoInfo),
            Self::Ref | Self::Config | Self::Unnamed => None,
        }
    }
}

impl fmt::Display for FormatFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Snapshot(id) => write!(f, "snapshot {id}"),
            Self::Manifest(id) => write!(f, "manifest {id}"),
            Self::TransactionLog(id) => write!(f, "transaction log {id}"),
            Self::RepoInfo => f.write_str("repo"),
            Self::Ref => f.write_str("ref.json"),
            Self::Config => f.write_str("config.yaml"),
            Self::Unnamed => f.write_str("file"),
        }
    }
}
