//! Changes of a repository's state, as new values.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::graph::{NewSnapshotInfo, SnapshotGraph, SnapshotInfo};
use super::metadata::Metadata;
use super::ops_log::{OpsLog, UpdateKind};
use super::status::{FeatureFlag, FeatureFlags, RepoStatus};
use super::{MAIN_BRANCH, RepoEditError, RepoInfo};
use crate::config::RepositoryConfig;
use crate::id::SnapshotId;
use crate::text::Text;

/// The whole state of a repository that is made from nothing: of a new one, or of one that was upgraded.
#[derive(Debug)]
pub struct NewRepoInfo<'a> {
    /// The snapshots, parents before their children.
    pub snapshots: Vec<NewSnapshotInfo<'a>>,
    /// The branches with their tips, `main` among them.
    pub branches: BTreeMap<String, SnapshotId>,
    /// The tags with their snapshots.
    pub tags: BTreeMap<String, SnapshotId>,
    /// Names of deleted tags.
    pub deleted_tags: BTreeSet<String>,
    /// The status.
    pub status: RepoStatus,
    /// The metadata of the repository.
    pub metadata: BTreeMap<String, Value>,
    /// The configuration; none for the defaults.
    pub config: Option<RepositoryConfig>,
    /// The operations log.
    pub log: OpsLog,
}

/// A change of the state that is under way. Only [`finish`](Self::finish) makes it a state, with an entry in the
/// operations log.
///
/// It checks the rules of the format. The caller checks conditions on the former state, such as the tip of a branch,
/// and publishes under the condition that nothing has changed since.
#[derive(Debug, Clone)]
#[must_use = "a change is nothing before it is finished"]
pub struct RepoEdit {
    next: RepoInfo,
}

impl RepoInfo {
    /// Makes the state of a repository from nothing.
    ///
    /// # Errors
    /// [`RepoEditError`], where the parts do not fit each other.
    pub fn new(new: NewRepoInfo<'_>) -> Result<Self, RepoEditError> {
        let mut edit = RepoEdit {
            next: Self {
                branches: BTreeMap::new(),
                tags: BTreeMap::new(),
                deleted_tags: new
                    .deleted_tags
                    .iter()
                    .map(|it| it.as_str().into())
                    .collect(),
                snapshots: SnapshotGraph::default(),
                status: new.status,
                flags: FeatureFlags::default(),
                metadata: Metadata::encode(&new.metadata)?,
                config: None,
                log: new.log,
                extra: None,
            },
        };
        for snapshot in new.snapshots {
            edit.add_snapshot(snapshot)?;
        }
        for (name, tip) in &new.branches {
            edit.set_branch(name, *tip)?;
        }
        for (name, snapshot) in &new.tags {
            edit.create_tag(name, *snapshot)?;
        }
        edit.set_config(new.config.as_ref())?;
        match new.branches.contains_key(MAIN_BRANCH) {
            true => Ok(edit.next),
            false => Err(RepoEditError::Main),
        }
    }

    /// Returns the same state with other feature flags, for one that was made from nothing and is not stored yet.
    #[must_use]
    pub fn with_flags(self, flags: FeatureFlags) -> Self {
        Self { flags, ..self }
    }

    /// Begins a change.
    pub fn edit(&self) -> RepoEdit {
        RepoEdit { next: self.clone() }
    }
}

impl RepoEdit {
    /// Returns the state as changed so far.
    #[must_use]
    pub fn so_far(&self) -> &RepoInfo {
        &self.next
    }

    /// Adds a snapshot, which no ref reaches yet.
    ///
    /// # Errors
    /// `SnapshotExists`; `NoSnapshot` if its parent is not known; `Format` if its metadata cannot be written.
    pub fn add_snapshot(&mut self, new: NewSnapshotInfo<'_>) -> Result<&mut Self, RepoEditError> {
        self.next.snapshots.insert(new)?;
        Ok(self)
    }

    /// Gives a snapshot another parent, with the ancestors whose logs lie between.
    ///
    /// # Errors
    /// `NoSnapshot`, `OwnAncestor`.
    pub fn reparent(
        &mut self,
        id: SnapshotId,
        parent: Option<SnapshotId>,
        pruned_ancestor_tx_logs: &[SnapshotId],
    ) -> Result<&mut Self, RepoEditError> {
        let snapshots = &mut self.next.snapshots;
        snapshots.reparent(id, parent, pruned_ancestor_tx_logs)?;
        Ok(self)
    }

    /// Keeps only some of the snapshots.
    ///
    /// # Errors
    /// `ParentOfKept`, `Named`. Nothing is changed then.
    pub fn retain_snapshots(
        &mut self,
        keep: impl Fn(SnapshotInfo<'_>) -> bool,
    ) -> Result<&mut Self, RepoEditError> {
        let mut refs = self.next.branches().chain(self.next.tags());
        let lost = refs.find(|(_, id)| !self.next.snapshots.get(id).is_some_and(&keep));
        if let Some((name, snapshot)) = lost {
            let name = name.to_owned();
            return Err(RepoEditError::Named { snapshot, name });
        }
        drop(refs);
        self.next.snapshots.retain(keep)?;
        Ok(self)
    }

    fn known(&self, id: SnapshotId) -> Result<SnapshotId, RepoEditError> {
        match self.next.snapshots.contains(&id) {
            true => Ok(id),
            false => Err(RepoEditError::NoSnapshot(id)),
        }
    }

    /// Creates a branch, or moves it.
    ///
    /// # Errors
    /// `NoSnapshot`.
    pub fn set_branch(&mut self, name: &str, tip: SnapshotId) -> Result<&mut Self, RepoEditError> {
        let tip = self.known(tip)?;
        self.next.branches.insert(Text::from(name), tip);
        Ok(self)
    }

    /// Deletes a branch.
    ///
    /// # Errors
    /// `NoBranch`; `Main`.
    pub fn delete_branch(&mut self, name: &str) -> Result<&mut Self, RepoEditError> {
        if name == MAIN_BRANCH {
            return Err(RepoEditError::Main);
        }
        match self.next.branches.remove(name.as_bytes()) {
            Some(_) => Ok(self),
            None => Err(RepoEditError::NoBranch(name.to_owned())),
        }
    }

    /// Creates a tag.
    ///
    /// # Errors
    /// `NoSnapshot`, `TagExists`; `DeletedTag` if there was one of that name.
    pub fn create_tag(&mut self, name: &str, id: SnapshotId) -> Result<&mut Self, RepoEditError> {
        if self.next.is_deleted_tag(name) {
            return Err(RepoEditError::DeletedTag(name.to_owned()));
        }
        if self.next.tag(name).is_some() {
            return Err(RepoEditError::TagExists(name.to_owned()));
        }
        let id = self.known(id)?;
        self.next.tags.insert(Text::from(name), id);
        Ok(self)
    }

    /// Deletes a tag. Its name stays taken.
    ///
    /// # Errors
    /// `NoTag`.
    pub fn delete_tag(&mut self, name: &str) -> Result<&mut Self, RepoEditError> {
        if self.next.tags.remove(name.as_bytes()).is_none() {
            return Err(RepoEditError::NoTag(name.to_owned()));
        }
        self.next.deleted_tags.insert(Text::from(name));
        Ok(self)
    }

    /// Takes a name for that of a deleted tag, whether there is such a tag or not.
    pub fn take_tag_name(&mut self, name: &str) -> &mut Self {
        self.next.tags.remove(name.as_bytes());
        self.next.deleted_tags.insert(Text::from(name));
        self
    }

    /// Sets the status.
    pub fn set_status(&mut self, status: RepoStatus) -> &mut Self {
        self.next.status = status;
        self
    }

    /// Sets a feature flag, or with `None` puts it back to its default.
    pub fn set_flag(&mut self, flag: FeatureFlag, value: Option<bool>) -> &mut Self {
        self.next.flags = self.next.flags.with(flag, value);
        self
    }

    /// Replaces the metadata of the repository.
    ///
    /// # Errors
    /// `Format` if a value cannot be written.
    pub fn set_metadata(
        &mut self,
        metadata: &BTreeMap<String, Value>,
    ) -> Result<&mut Self, RepoEditError> {
        self.next.metadata = Metadata::encode(metadata)?;
        Ok(self)
    }

    /// Replaces the configuration; none means that of the defaults.
    ///
    /// # Errors
    /// `Format` if a value cannot be written.
    pub fn set_config(
        &mut self,
        config: Option<&RepositoryConfig>,
    ) -> Result<&mut Self, RepoEditError> {
        let config = config.map(RepositoryConfig::encode_flexbuffers);
        self.next.config = config.transpose()?;
        Ok(self)
    }

    /// Ends the change with its entries in the log; see [`OpsLog::appended`].
    ///
    /// # Errors
    /// `Log`.
    pub fn finish(
        self,
        updates: impl IntoIterator<Item = (UpdateKind, u64)>,
        backup: &str,
        page: usize,
    ) -> Result<RepoInfo, RepoEditError> {
        let log = self.next.log.appended(updates, backup, page)?;
        Ok(RepoInfo { log, ..self.next })
    }

    /// Ends the change with its entries alone in the log, which continues in the backup; see [`OpsLog::shortened`].
    ///
    /// # Errors
    /// `Log`.
    pub fn finish_shortened(
        self,
        updates: impl IntoIterator<Item = (UpdateKind, u64)>,
        backup: &str,
    ) -> Result<RepoInfo, RepoEditError> {
        let log = self.next.log.shortened(updates, backup)?;
        Ok(RepoInfo { log, ..self.next })
    }
}
