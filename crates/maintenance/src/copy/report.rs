//! The report of a copy, or of its dry run.

use icefield_format::SnapshotId;
use serde::Serialize;

use super::refs::CopiedRef;
use super::settings::ConfigAction;

/// Objects of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// How many.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Moved {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The report of a copy, or of its dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CopyReport {
    /// Nothing was written: this is what would be.
    pub dry_run: bool,
    /// There was no repository at the destination before.
    pub created: bool,
    /// The version of the format that the destination has.
    pub spec_version: u8,
    /// Chunk objects that were copied.
    pub chunks: Moved,
    /// Manifests that were copied.
    pub manifests: Moved,
    /// Transaction logs that were copied.
    pub transaction_logs: Moved,
    /// Snapshots that were copied.
    pub snapshots: Moved,
    /// The outcome for the configuration.
    pub config: ConfigAction,
    /// The outcome for the metadata of the repository. Spec version 2.
    pub metadata: ConfigAction,
    /// The outcome for the feature flags. Spec version 2.
    pub flags: ConfigAction,
    /// The outcome for each ref.
    pub refs: Vec<CopiedRef>,
    /// Snapshots whose ancestors were left behind: in the copy they follow the initial snapshot, and their bytes differ
    /// from the source's.
    pub shortened: Vec<SnapshotId>,
    /// Snapshots that were at the destination already, with fewer ancestors than in the source.
    pub ends_at: Vec<SnapshotId>,
    /// Snapshots whose transaction log is missing in the source; reading needs none.
    pub missing_logs: Vec<SnapshotId>,
}
