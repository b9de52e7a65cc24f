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
    /// Returns the names of all branches and tags. Takes one listing, or one read in version 2; no ref is resolved.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn refs(&self) -> Result<RefList, RepositoryError> {
        Ok(self.0.ledger.list().await?)
    }

    /// Walks a history from a snapshot to the initial one, newest first. Objects are read as the stream is polled.
    ///
    /// # Errors
    /// In the stream: [`RefsError::Fetch`] for a snapshot that cannot be read, [`RefsError::Cycle`] for a damaged
    /// history.
    pub fn ancestry(
        &self,
        start: SnapshotId,
    ) -> BoxStream<'static, Result<SnapshotInfo, RefsError>> {
        self.0.ledger.ancestry(start)
    }

    /// Creates a branch that points to a snapshot. The outcome is `Refused` if the name is in use.
    ///
    /// # Errors
    /// A name that is not allowed for new refs, [`RefsError::SnapshotNotFound`], and the errors of the store. Nothing
    /// was changed.
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

    /// Moves a branch to any snapshot, also one that is not in its history. With `expected`, only if the branch points
    /// there now, so that no commit is lost unseen. Open sessions on the branch cannot commit before they are rebased.
    ///
    /// # Errors
    /// [`RefsError::BranchNotFound`], [`RefsError::SnapshotNotFound`], and the errors of the store. Nothing was
    /// changed.
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

    /// Deletes a branch. Its snapshots can be read by id until a collection deletes those that no other ref reaches.
    ///
    /// # Errors
    /// [`RefsError::MainIsPermanent`], [`RefsError::BranchNotFound`], and the errors of the store.
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

    /// Creates a tag, which points to one snapshot for ever. The outcome is `Refused` if the name is in use, or
    /// belonged to a tag that was deleted.
    ///
    /// # Errors
    /// A name that is not allowed for new refs, [`RefsError::SnapshotNotFound`], and the errors of the store. Nothing
    /// was changed.
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

    /// Deletes a tag. Its name is never used again, so that no reader can take one version for another.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn delete_tag(&self, name: &TagName) -> Result<EditOutcome, RepositoryError> {
        let edit = Edit::DeleteTag { name: name.clone() };
        Ok(self.0.ledger.apply(edit).await?)
    }

    /// Compares two snapshots, whatever their histories. Reads the manifests in which they differ.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn diff(&self, from: SnapshotId, to: SnapshotId) -> Result<Diff, RepositoryError> {
        Diff::between(&self.0, from, to).await
    }

    /// Reads and decodes one manifest. It comes from the cache if it is there.
    ///
    /// # Errors
    /// An object that does not exist, is damaged, or cannot be read.
    pub async fn manifest(&self, id: ManifestId) -> Result<Arc<Manifest>, RepositoryError> {
        Ok(self.0.objects.manifest(id).await?)
    }

    /// Reads and decodes one snapshot. It comes from the cache if it is there.
    ///
    /// # Errors
    /// An object that does not exist, is damaged, or cannot be read.
    pub async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, RepositoryError> {
        Ok(self.0.objects.snapshot(id).await?)
    }

    /// Removes a snapshot from the cache: its next use reads the store. Expiration calls it, because it gives snapshots
    /// other parents.
    pub fn forget_snapshot(&self, id: SnapshotId) {
        SnapshotSource::forget(&*self.0.objects, id);
    }

    /// Reads and decodes the transaction log of one snapshot: the nodes and chunks that its commit changed.
    ///
    /// # Errors
    /// An object that does not exist, is damaged, or cannot be read.
    pub async fn transaction_log(
        &self,
        id: SnapshotId,
    ) -> Result<Arc<TransactionLog>, RepositoryError> {
        Ok(self.0.objects.stored_log(id).await?)
    }
}
