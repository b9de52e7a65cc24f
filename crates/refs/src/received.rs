//! What a copy brings to a repository: refs with the snapshots that they need, and what a repository says of itself.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{DecodeLimits, FeatureFlags, RepositoryConfig, SnapshotId};
use serde_json::Value;

use crate::ledger::Layout;
use crate::{BranchName, Ledger, RefsError, SnapshotInfo, TagName};

/// What a repository says of itself that is neither a ref nor a snapshot. Its status is not part of it: that belongs to a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepoSettings {
    /// The configuration; none for the defaults.
    pub config: Option<RepositoryConfig>,
    /// The metadata of the repository. Spec version 2.
    pub metadata: BTreeMap<String, Value>,
    /// What the repository allows. Spec version 2.
    pub flags: FeatureFlags,
}

/// A branch of another repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedBranch {
    /// Its name.
    pub name: BranchName,
    /// Where it points afterwards.
    pub target: SnapshotId,
    /// Where it must point when the edit lands; none: there must be no such branch.
    pub expected: Option<SnapshotId>,
}

/// Refs of another repository, with their snapshots, whose files are stored already.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    /// Snapshots, parents before their children. One that is listed already is given the parent that it has here.
    pub snapshots: Vec<SnapshotInfo>,
    /// Snapshots among them whose ancestors are left behind. One that is listed already keeps the parent that it has.
    pub shortened: BTreeSet<SnapshotId>,
    /// Branches.
    pub branches: Vec<ReceivedBranch>,
    /// Tags, whose names must be free.
    pub tags: Vec<(TagName, SnapshotId)>,
    /// Names that are taken for ever, and what the tags pointed to, where that is known.
    pub deleted_tags: Vec<(TagName, Option<SnapshotId>)>,
    /// What the repository says of itself when the edit lands, and afterwards; none to leave it as it is.
    pub settings: Option<Box<(RepoSettings, RepoSettings)>>,
}

impl Ledger {
    /// Returns what the repository says of itself.
    ///
    /// # Errors
    /// [`RefsError::Config`], [`RefsError::InvalidRepo`], and what the store says.
    pub async fn settings(&self) -> Result<RepoSettings, RefsError> {
        let Layout::V2(object) = &self.layout else {
            let stored = self.config().await?;
            return Ok(RepoSettings {
                config: stored.map(|stored| stored.config),
                ..RepoSettings::default()
            });
        };
        RepoSettings::of(&object.read().await?.info)
    }
}

impl RepoSettings {
    /// Returns what a decoded `repo` says.
    ///
    /// # Errors
    /// [`RefsError::Config`], [`RefsError::InvalidRepo`].
    pub fn of(info: &icefield_format::RepoInfo) -> Result<Self, RefsError> {
        let config = info.config();
        let metadata = info.metadata(DecodeLimits::default().max_metadata);
        Ok(Self {
            config: config.map_err(RefsError::config_in_repo)?,
            metadata: metadata.map_err(|source| RefsError::InvalidRepo { source })?,
            flags: info.flags().clone(),
        })
    }
}
