//! Branches, tags and histories, and the objects that they lead to.

use std::sync::Arc;

use futures::stream::BoxStream;
use icefield_format::{Manifest, ManifestId, Snapshot, SnapshotId, TransactionLog};
use icefield_refs::{
    BranchName, Edit, EditOutcome, RefList, RefsError, Refusal, SnapshotInfo, SnapshotSource,
    TagName,
};

use super::Repository;
use crate::{Diff, RepositoryError};

impl Repository {
    /// Lists branches and tags.
    ///
    /// # Errors
    /// What the store says.
    pub async fn refs(&self) -> Result<RefList, RepositoryError> {
        Ok(self.0.ledger.list().await?)
    }

    /// Walks a history, newest first.
    ///
    /// # Errors
    /// In the stream: [`RefsError::Fetch`], [`RefsError::Cycle`].
    pub fn ancestry(
        &self,
        start: SnapshotId,
    ) -> BoxStream<'static, Result<SnapshotInfo, RefsError>> {
        self.0.ledger.ancestry(start)
    }

    /// Creates a branch.
    ///
    /// # Errors
    /// A name that is not allowed for new refs, [`RefsError::SnapshotNotFound`], what the store says.
    pub async fn create_branch(
        &self,
        name: &str,
        target: SnapshotId,
    ) -> Result<EditOutcome, RepositoryError> {
        let name = BranchName::parse_new(name).map_err(RefsError::from)?;
        let edit = Edit::CreateBranch { name, target };
        let put = async { Ok(self.0.ledger.apply(edit).await?) };
        self.put_ref(target, put).await
    }

    /// Moves a branch to any snapshot. With `expected`, only if it points there now.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`], [`RefsError::SnapshotNotFound`], what the store says.
    pub async fn reset_branch(
        &self,
        name: &BranchName,
        target: SnapshotId,
        expected: Option<SnapshotId>,
    ) -> Result<EditOutcome, RepositoryError> {
        let put = async {
            let tip = match expected {
                Some(_) => self.0.ledger.resolve_branch(name).await?,
                None => self.0.ledger.branch_to_replace(name).await?,
            };
            if expected.is_some_and(|expected| expected != tip.snapshot) {
                return Ok(EditOutcome::Refused(Refusal::BranchMoved {
                    found: tip.snapshot,
                }));
            }
            let edit = Edit::Reset {
                name: name.clone(),
                target,
                expected: tip,
            };
            Ok(self.0.ledger.apply(edit).await?)
        };
        self.put_ref(target, put).await
    }

    /// Deletes a branch; its snapshots stay until they are collected.
    ///
    /// # Errors
    /// [`RefsError::MainIsPermanent`], [`RefsError::BranchNotFound`], what the store says.
    pub async fn delete_branch(&self, name: &BranchName) -> Result<EditOutcome, RepositoryError> {
        if name.is_main() {
            return Err(RefsError::MainIsPermanent.into());
        }
        let expected = self.0.ledger.branch_to_replace(name).await?;
        let edit = Edit::DeleteBranch {
            name: name.clone(),
            expected,
        };
        Ok(self.0.ledger.apply(edit).await?)
    }

    /// Creates a tag.
    ///
    /// # Errors
    /// A name that is not allowed for new refs, [`RefsError::SnapshotNotFound`], what the store says.
    pub async fn create_tag(
        &self,
        name: &str,
        target: SnapshotId,
    ) -> Result<EditOutcome, RepositoryError> {
        let name = TagName::parse_new(name).map_err(RefsError::from)?;
        let edit = Edit::CreateTag { name, target };
        let put = async { Ok(self.0.ledger.apply(edit).await?) };
        self.put_ref(target, put).await
    }

    /// Deletes a tag; its name stays taken.
    ///
    /// # Errors
    /// What the store says.
    pub async fn delete_tag(&self, name: &TagName) -> Result<EditOutcome, RepositoryError> {
        let edit = Edit::DeleteTag { name: name.clone() };
        Ok(self.0.ledger.apply(edit).await?)
    }

    /// Compares two snapshots, whatever their histories.
    ///
    /// # Errors
    /// Objects that cannot be read.
    pub async fn diff(&self, from: SnapshotId, to: SnapshotId) -> Result<Diff, RepositoryError> {
        Diff::between(&self.0, from, to).await
    }

    /// Reads and decodes one manifest.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn manifest(&self, id: ManifestId) -> Result<Arc<Manifest>, RepositoryError> {
        Ok(self.0.objects.manifest(id).await?)
    }

    /// Reads and decodes one snapshot.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, RepositoryError> {
        Ok(self.0.objects.snapshot(id).await?)
    }

    /// Forgets a snapshot: its next use reads what is stored. Expiration gives snapshots other parents.
    pub fn forget_snapshot(&self, id: SnapshotId) {
        SnapshotSource::forget(&*self.0.objects, id);
    }

    /// Reads and decodes the transaction log of one snapshot.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn transaction_log(
        &self,
        id: SnapshotId,
    ) -> Result<Arc<TransactionLog>, RepositoryError> {
        Ok(self.0.objects.stored_log(id).await?)
    }
}
