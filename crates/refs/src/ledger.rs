//! The ledger: reading what of a repository changes in place.

use std::sync::Arc;

use futures::stream::{BoxStream, StreamExt};
use icefield_format::{RepositoryConfig, Snapshot, SnapshotId, SpecVersion};
use icefield_storage::{Key, Storage, Version};

use crate::graph::{LedgerGraph, SnapshotInfo, SnapshotSource};
use crate::ref_files::{self, RefFiles};
use crate::walk::{Pace, ancestors};
use crate::{BranchName, EditOutcome, FetchError, Misspelled, RefList, RefsError, TagName, Tip};

/// What is known of one tag name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagState {
    /// The name was never given.
    Absent,
    /// The tag points to this snapshot.
    Present(SnapshotId),
    /// The tag was deleted; the name stays taken.
    Deleted,
}

/// The stored configuration and the state of the object that holds it.
#[derive(Clone, Debug)]
pub struct StoredConfig {
    /// The configuration.
    pub config: RepositoryConfig,
    /// The state that a later save expects.
    pub version: Version,
}

/// All of one repository that changes in place. Cheap to clone; holds no state but the handles it was given.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(crate) files: RefFiles,
    pub(crate) snapshots: Arc<dyn SnapshotSource>,
}

impl Ledger {
    /// Returns the ledger of a repository of spec version 1 at `storage`; asks the store nothing.
    pub fn spec_v1(storage: Arc<dyn Storage>, snapshots: Arc<dyn SnapshotSource>) -> Self {
        Self {
            files: RefFiles::new(storage),
            snapshots,
        }
    }

    /// Returns the version of the format that the repository has.
    pub fn spec_version(&self) -> SpecVersion {
        SpecVersion::V1
    }

    /// Returns where a branch stands, `None` if there is no such branch.
    ///
    /// # Errors
    /// [`RefsError::InvalidRefFile`] and what the store says.
    pub async fn branch(&self, name: &BranchName) -> Result<Option<Tip>, RefsError> {
        self.files.branch(name).await
    }

    /// Returns where the branch stands now that a tip was read of, `None` if it is gone. In a bucket, a branch whose name is
    /// the other spelling of this one is another branch, also where [`Ledger::branch`] would find it.
    ///
    /// # Errors
    /// As [`Ledger::branch`].
    pub async fn branch_of(&self, name: &BranchName, tip: &Tip) -> Result<Option<Tip>, RefsError> {
        self.files.branch_of(name, tip).await
    }

    /// Returns what is known of a tag name.
    ///
    /// # Errors
    /// [`RefsError::InvalidRefFile`] and what the store says.
    pub async fn tag(&self, name: &TagName) -> Result<TagState, RefsError> {
        self.files.tag(name).await
    }

    /// Returns where a branch stands.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`], and as [`Ledger::branch`].
    pub async fn resolve_branch(&self, name: &BranchName) -> Result<Tip, RefsError> {
        self.branch(name)
            .await?
            .ok_or_else(|| RefsError::BranchNotFound(name.clone()))
    }

    /// Returns what a tag points to.
    ///
    /// # Errors
    /// [`RefsError::TagNotFound`], [`RefsError::TagDeleted`], and as [`Ledger::tag`].
    pub async fn resolve_tag(&self, name: &TagName) -> Result<SnapshotId, RefsError> {
        match self.tag(name).await? {
            TagState::Present(id) => Ok(id),
            TagState::Absent => Err(RefsError::TagNotFound(name.clone())),
            TagState::Deleted => Err(RefsError::TagDeleted(name.clone())),
        }
    }

    /// Lists all refs, and everything else below `refs/`.
    ///
    /// # Errors
    /// What the store says; a list that failed is never an empty one.
    pub async fn list(&self) -> Result<RefList, RefsError> {
        self.files.list().await
    }

    /// Returns the keys of the file and of the tombstone of a tag by the name that [`Ledger::list`] gives it, in the spelling
    /// that the store has one of them in.
    ///
    /// # Errors
    /// [`RefsError::SpelledTwice`] and what the store says.
    pub async fn tag_keys(&self, name: &TagName) -> Result<(Key, Key), RefsError> {
        let form = self.files.form_in_list(name).await?;
        Ok((
            ref_files::tag_key(name, form)?,
            ref_files::tombstone_key(name, form)?,
        ))
    }

    /// Gives an object of a ref the store's own spelling. Readers that come in between see it spelled twice, which writers
    /// refuse; a call that was interrupted there is finished by the next one.
    ///
    /// # Errors
    /// [`RefsError::SpelledTwice`] if the store has both spellings with different bytes, [`RefsError::NoConditions`], and
    /// what the store says.
    pub async fn respell(&self, misspelled: &Misspelled) -> Result<EditOutcome, RefsError> {
        self.files.respell(misspelled).await
    }

    /// Returns the graph of the repository, as far as this handle has it in memory, else as it is stored.
    pub fn graph(&self) -> LedgerGraph {
        LedgerGraph {
            storage: Arc::clone(self.storage()),
            snapshots: Arc::clone(&self.snapshots),
        }
    }

    /// Walks a history, newest first, one snapshot at a time. The stream ends after the first error.
    pub fn ancestry(
        &self,
        start: SnapshotId,
    ) -> BoxStream<'static, Result<SnapshotInfo, RefsError>> {
        ancestors(self.graph(), start, Pace::together(1)).boxed()
    }

    /// Describes one snapshot.
    ///
    /// # Errors
    /// The [`FetchError`] that names it.
    pub async fn snapshot(&self, id: SnapshotId) -> Result<SnapshotInfo, FetchError> {
        SnapshotInfo::of(&*self.snapshots.snapshot(id).await?)
    }

    /// Returns whether the file of a snapshot is in the state in which the graph told its parent. Expiration rewrites files.
    pub fn is_as_read(&self, file: &Snapshot, parent: Option<SnapshotId>) -> bool {
        file.parent_id() == parent
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        self.files.shared_storage()
    }

    /// Checks that a ref may point to `id`.
    ///
    /// # Errors
    /// [`RefsError::SnapshotNotFound`] if there is no such snapshot.
    pub async fn check_target(&self, id: SnapshotId) -> Result<(), RefsError> {
        match self.snapshots.snapshot(id).await {
            Ok(_) => Ok(()),
            Err(FetchError::Missing { .. }) => Err(RefsError::SnapshotNotFound(id)),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the state of a branch that is to be replaced or deleted whatever it points to, also if its ref
    /// file is damaged. In a bucket, the name is that of the list: one in the other spelling is not looked for.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`] and what the store says.
    pub async fn branch_to_replace(&self, name: &BranchName) -> Result<Tip, RefsError> {
        let tip = self.files.branch_to_replace(name).await?;
        tip.ok_or_else(|| RefsError::BranchNotFound(name.clone()))
    }

    /// Reads the stored configuration, `None` if none is stored.
    ///
    /// # Errors
    /// [`RefsError::Config`] and what the store says.
    pub async fn config(&self) -> Result<Option<StoredConfig>, RefsError> {
        let Some((bytes, version)) = self.files.read_config().await? else {
            return Ok(None);
        };
        let config =
            RepositoryConfig::decode(&bytes).map_err(|source| RefsError::Config { source })?;
        Ok(Some(StoredConfig { config, version }))
    }
}
