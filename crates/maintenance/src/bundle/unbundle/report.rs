//! The report of reading a bundle into a repository.

use icefield_format::SnapshotId;
use serde::Serialize;

use crate::copy::{ConfigAction, CopiedRef, Moved};

/// The report of reading a bundle into a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnbundleReport {
    /// Where the bundle comes from, in the words of its maker.
    pub bundled_from: String,
    /// There was no repository at the destination before.
    pub created: bool,
    /// The version of the format that the bundle and the destination have.
    pub spec_version: u8,
    /// Chunk objects that were written.
    pub chunks: Moved,
    /// Manifests that were written.
    pub manifests: Moved,
    /// Transaction logs that were written.
    pub transaction_logs: Moved,
    /// Snapshots that were written.
    pub snapshots: Moved,
    /// The outcome for the configuration.
    pub config: ConfigAction,
    /// The outcome for the metadata of the repository. Spec version 2.
    pub metadata: ConfigAction,
    /// The outcome for the feature flags. Spec version 2.
    pub flags: ConfigAction,
    /// The outcome for each ref.
    pub refs: Vec<CopiedRef>,
    /// Snapshots whose ancestors were left out of the bundle.
    pub shortened: Vec<SnapshotId>,
}
