//! The report of reading a bundle into a repository.

use icefield_format::SnapshotId;
use serde::Serialize;

use crate::copy::{ConfigAction, CopiedRef, Moved};

/// The report of reading a bundle into a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct UnbundleReport {
    /// The description of the bundle's source, in the words of its maker.
    pub bundled_from: String,
    /// Whether the repository at the destination is new.
    pub created: bool,
    /// The version of the format that the bundle and the destination have.
    pub spec_version: u8,
    /// The chunk objects that were written.
    pub chunks: Moved,
    /// The manifests that were written.
    pub manifests: Moved,
    /// The transaction logs that were written.
    pub transaction_logs: Moved,
    /// The snapshots that were written.
    pub snapshots: Moved,
    /// The outcome for the configuration.
    pub config: ConfigAction,
    /// The outcome for the metadata of the repository. Spec version 2.
    pub metadata: ConfigAction,
    /// The outcome for the feature flags. Spec version 2.
    pub flags: ConfigAction,
    /// The outcome for each ref.
    pub refs: Vec<CopiedRef>,
    /// The snapshots whose ancestors were left out of the bundle.
    pub shortened: Vec<SnapshotId>,
}
