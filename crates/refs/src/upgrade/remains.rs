//! Refs and settings that files of spec version 1 have and `repo` does not.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use icefield_format::{RepoInfo, RepositoryConfig, SnapshotId, UpdateKind};

use super::scan::Scan;
use crate::spec_v2::{RepoObject, RepoState, is_upgrading, other_name};
use crate::{Remainder, Remainders};

impl Remainders {
    pub(super) fn of(state: &RepoState, remains: Vec<Remainder>) -> Self {
        Self {
            remains,
            newest_at: state.info.log().newest_at(),
        }
    }
}

/// The history of refs in the operations log of a repository that goes on after its upgrade.
#[derive(Debug, Default)]
pub(crate) struct Logged {
    /// All snapshots that it ever had, also those that have expired.
    snapshots: BTreeSet<SnapshotId>,
    /// The names of all branches that it ever had: an expiration deletes branches without an entry for each.
    branches: BTreeSet<String>,
    /// Tags that were created after the upgrade.
    new_tags: BTreeSet<String>,
    /// The configuration was saved after the upgrade.
    config_saved: bool,
}

impl Logged {
    /// Reads the log of a state as far back as it goes.
    pub(crate) async fn of(object: &RepoObject, state: Arc<RepoState>) -> Self {
        let mut logged = Self::default();
        let mut log = std::pin::pin!(object.log(state));
        let mut is_migrated = false;
        // Where a page is missing, less is known, and more is called new.
        while let Some(Ok(update)) = log.next().await {
            match update.kind {
                UpdateKind::NewCommit { branch, snapshot } => {
                    logged.branches.insert(branch);
                    logged.snapshots.insert(snapshot);
                }
                UpdateKind::NewDetachedSnapshot { snapshot } => {
                    logged.snapshots.insert(snapshot);
                }
                UpdateKind::CommitAmended {
                    branch,
                    previous,
                    snapshot,
                } => {
                    logged.branches.insert(branch);
                    logged.snapshots.extend([previous, snapshot]);
                }
                UpdateKind::BranchCreated { name }
                | UpdateKind::BranchReset { name, .. }
                | UpdateKind::BranchDeleted { name, .. } => {
                    logged.branches.insert(name);
                }
                UpdateKind::TagCreated { name } if !is_migrated => {
                    logged.new_tags.insert(name);
                }
                UpdateKind::ConfigChanged => logged.config_saved |= !is_migrated,
                UpdateKind::RepoMigrated { .. } => is_migrated = true,
                _ => {}
            }
        }
        logged
    }
}

/// Whether `repo` has a configuration: as this program writes it, or with the same meaning. What YAML tells apart and
/// FlexBuffers do not is the same.
fn is_stored(info: &RepoInfo, config: &RepositoryConfig) -> bool {
    let bytes = config.encode_flexbuffers().ok();
    bytes.as_deref() == info.config_bytes()
        || info.config().ok().flatten().unwrap_or_default() == *config
}

/// Returns what of a scan is not in a state of `repo`.
///
/// While the upgrade is under way, files say what holds: nothing else was edited since. Later, version 2 may have gone on, and
/// what it knew and gave up is no news.
pub(crate) fn remains(info: &RepoInfo, scan: &Scan, logged: &Logged) -> Vec<Remainder> {
    let is_upgrading = is_upgrading(info.status());
    let is_known = |id: &SnapshotId| info.snapshots().contains(id) || logged.snapshots.contains(id);
    let mut remains = Vec::new();
    for (name, tip) in &scan.branches {
        let is_there = match info.branch(name.as_str()) {
            Some(found) if is_upgrading => found == *tip,
            Some(found) => found == *tip || is_known(tip),
            None if is_upgrading => false,
            None => is_known(tip) && logged.branches.contains(name.as_str()),
        };
        if !is_there {
            remains.push(Remainder::Branch {
                name: name.clone(),
                tip: *tip,
                snapshots: Vec::new(),
            });
        }
    }
    for (name, target) in &scan.tags {
        let is_there = match info.tag(name.as_str()) {
            Some(found) => found == *target,
            None => info.is_deleted_tag(name.as_str()) && !is_upgrading && is_known(target),
        };
        let renamed = other_name(name.as_str(), *target);
        if !is_there && info.tag(&renamed) != Some(*target) {
            remains.push(Remainder::Tag {
                name: name.clone(),
                target: *target,
                snapshots: Vec::new(),
            });
        }
    }
    for (name, target) in &scan.deleted_tags {
        // A tag of version 2 that has only the name is not the one that was deleted.
        let is_another = match (info.tag(name.as_str()), target) {
            (Some(found), Some(target)) => found != *target,
            (Some(_), None) => logged.new_tags.contains(name.as_str()),
            (None, _) => false,
        };
        if !is_another && !info.is_deleted_tag(name.as_str()) {
            remains.push(Remainder::DeletedTag {
                name: name.clone(),
                target: *target,
            });
        }
    }
    if let Some(config) = &scan.config
        && !logged.config_saved
        && !is_stored(info, config)
    {
        remains.push(Remainder::Config(Box::new(config.clone())));
    }
    remains
}
