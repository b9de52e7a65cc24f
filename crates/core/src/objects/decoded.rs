//! The objects that the cache holds: their keys, their decoded forms and their weights.

use std::sync::Arc;

use icefield_format::{
    FileKind, FormatError, FormatFile, Manifest, ManifestId, Snapshot, SnapshotId, TransactionLog,
    layout,
};
use icefield_storage::Bytes;
use quick_cache::Weighter;

use crate::Settings;

/// The kinds of immutable files, and their words in errors and object metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CachedKind {
    Snapshot,
    Manifest,
    TransactionLog,
}

impl CachedKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Snapshot => "snapshot",
            Self::Manifest => "manifest",
            Self::TransactionLog => "transaction log",
        }
    }

    pub(super) fn file(self, id: [u8; 12]) -> FormatFile {
        match self {
            Self::Snapshot => FormatFile::Snapshot(SnapshotId::from_bytes(id)),
            Self::Manifest => FormatFile::Manifest(ManifestId::from_bytes(id)),
            Self::TransactionLog => FormatFile::TransactionLog(SnapshotId::from_bytes(id)),
        }
    }

    /// Returns the key of the object of an id, and the text of the id.
    pub(super) fn key(self, id: [u8; 12]) -> (String, String) {
        match self {
            Self::Snapshot => {
                let id = SnapshotId::from_bytes(id);
                (layout::snapshot_key(id), id.to_string())
            }
            Self::Manifest => {
                let id = ManifestId::from_bytes(id);
                (layout::manifest_key(id), id.to_string())
            }
            Self::TransactionLog => {
                let id = SnapshotId::from_bytes(id);
                (layout::transaction_log_key(id), id.to_string())
            }
        }
    }

    pub(super) fn of_file(self) -> FileKind {
        match self {
            Self::Snapshot => FileKind::Snapshot,
            Self::Manifest => FileKind::Manifest,
            Self::TransactionLog => FileKind::TransactionLog,
        }
    }
}

/// The key of an object in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Name {
    pub(super) kind: CachedKind,
    pub(super) id: [u8; 12],
    /// Of a transaction log, the parent that its snapshot had in the graph before the log was read: expiration makes
    /// the log tell more before it gives the snapshot another parent, so that a reader that goes by this parent finds a log
    /// that is as new.
    pub(super) behind: Option<SnapshotId>,
}

impl Name {
    pub(super) fn new(kind: CachedKind, id: [u8; 12]) -> Self {
        let behind = None;
        Self { kind, id, behind }
    }

    pub(super) fn log_of(id: SnapshotId, behind: Option<SnapshotId>) -> Self {
        Self {
            kind: CachedKind::TransactionLog,
            id: *id.as_bytes(),
            behind,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Decoded {
    Snapshot(Arc<Snapshot>),
    Manifest(Arc<Manifest>),
    TransactionLog(Arc<TransactionLog>),
    /// A file that this process wrote, to be decoded at its first use.
    File(Bytes),
}

impl Decoded {
    pub(super) fn body_len(&self) -> usize {
        match self {
            Self::Snapshot(snapshot) => snapshot.body_len(),
            Self::Manifest(manifest) => manifest.body_len(),
            Self::TransactionLog(log) => log.body_len(),
            Self::File(file) => file.len(),
        }
    }
}

/// Makes an object of a file that should have the given id.
pub(super) type Decode = fn(&[u8], [u8; 12], &Settings) -> Result<Decoded, FormatError>;

#[derive(Clone, Debug)]
pub(super) struct ByBytes;

impl Weighter<Name, Decoded> for ByBytes {
    fn weight(&self, _: &Name, object: &Decoded) -> u64 {
        object.body_len() as u64 + 128
    }
}

pub(super) fn decode_snapshot(
    file: &[u8],
    id: [u8; 12],
    settings: &Settings,
) -> Result<Decoded, FormatError> {
    let id = SnapshotId::from_bytes(id);
    Snapshot::decode(file, id, &settings.decode_limits).map(|it| Decoded::Snapshot(Arc::new(it)))
}

pub(super) fn decode_manifest(
    file: &[u8],
    id: [u8; 12],
    settings: &Settings,
) -> Result<Decoded, FormatError> {
    let id = ManifestId::from_bytes(id);
    Manifest::decode(file, id, &settings.decode_limits).map(|it| Decoded::Manifest(Arc::new(it)))
}

pub(super) fn decode_log(
    file: &[u8],
    id: [u8; 12],
    settings: &Settings,
) -> Result<Decoded, FormatError> {
    let id = SnapshotId::from_bytes(id);
    TransactionLog::decode(file, id, &settings.decode_limits)
        .map(|it| Decoded::TransactionLog(Arc::new(it)))
}
