//! The content of a copy for a repository: refs with the snapshots that they need, and the settings.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{DecodeLimits, FeatureFlags, RepositoryConfig, SnapshotId};
use serde_json::Value;

use crate::{BranchName, RefsError, SnapshotInfo, TagName};

/// The settings of a repository that a copy takes along. The status is not part of it: that belongs to a place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RepoSettings {
    /// The configuration; none for the defaults.
    pub config: Option<RepositoryConfig>,
    /// The metadata of the repository. Spec version 2.
    pub metadata: BTreeMap<String, Value>,
    /// The feature flags. Spec version 2.
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
    /// Names of deleted tags, and the targets of the tags, where they are known.
    pub deleted_tags: Vec<(TagName, Option<SnapshotId>)>,
    /// The settings that the repository must have when the edit lands, and those that it has afterwards; none to leave them as they are.
    pub settings: Option<Box<(RepoSettings, RepoSettings)>>,
}

impl RepoSettings {
    /// Returns the settings in a decoded `repo`.
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
