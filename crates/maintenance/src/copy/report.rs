//! The report of a copy, or of its dry run.

use icefield_format::SnapshotId;
use serde::Serialize;

use super::refs::CopiedRef;
use super::settings::ConfigAction;

/// The objects of one kind that were transferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// The number of objects.
    pub objects: u64,
    /// The bytes of these objects.
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
    /// Whether nothing was written, so that the report counts what would be.
    pub dry_run: bool,
    /// Whether the repository at the destination is new.
    pub created: bool,
    /// The version of the format of the destination.
    pub spec_version: u8,
    /// The chunk objects that were copied.
    pub chunks: Moved,
    /// The manifests that were copied.
    pub manifests: Moved,
    /// The transaction logs that were copied.
    pub transaction_logs: Moved,
    /// The snapshots that were copied.
    pub snapshots: Moved,
    /// The outcome for the configuration.
    pub config: ConfigAction,
    /// The outcome for the metadata of the repository. Spec version 2.
    pub metadata: ConfigAction,
    /// The outcome for the feature flags. Spec version 2.
    pub flags: ConfigAction,
    /// The outcome for each ref.
    pub refs: Vec<CopiedRef>,
    /// The snapshots whose ancestors were left behind. In the copy they follow the initial snapshot, so their bytes
    /// differ from the source's.
    pub shortened: Vec<SnapshotId>,
    /// The snapshots that were at the destination already, with fewer ancestors than in the source.
    pub ends_at: Vec<SnapshotId>,
    /// The snapshots whose transaction log is missing in the source. Readers need no logs.
    pub missing_logs: Vec<SnapshotId>,
}
