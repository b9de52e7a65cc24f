//! Opening sessions.

use std::sync::Arc;

use icefield_format::{SnapshotId, SpecVersion};
use icefield_refs::{BranchName, Tip};

use super::shared::Shared;
use super::{Repository, Revision, Start};
use crate::RepositoryError;
use crate::session::{Base, Session};

impl Repository {
    /// Opens a session that reads one snapshot. A branch or tag is resolved once, here: the session shows the same
    /// snapshot whatever is committed later.
    ///
    /// Where the configuration says so (`manifest.preload`), the session begins to fetch manifests in the background.
    ///
    /// # Errors
    /// The ref, snapshot or time does not exist, or an object cannot be read.
    pub async fn read_session(
        &self,
        revision: impl Into<Revision>,
    ) -> Result<Session, RepositoryError> {
        let revision = revision.into();
        let id = self.resolve(&revision).await?;
        self.session_at(id, &revision).await
    }

    pub(super) async fn session_at(
        &self,
        id: SnapshotId,
        revision: &Revision,
    ) -> Result<Session, RepositoryError> {
        let base = self.base(id).await?;
        let branch = match &revision.start {
            Start::Branch(name) => Some(name.clone()),
            _ => None,
        };
        Ok(Session::read_only(Arc::clone(&self.0), base, branch).begin_preload())
    }

    /// Opens a session that writes to a branch, based on the branch's tip at this moment. Nothing is locked: other
    /// sessions may commit first, and this one then rebases or begins again.
    ///
    /// # Errors
    /// - [`icefield_refs::RefsError::BranchNotFound`]: create the branch first.
    /// - [`icefield_refs::RefsError::NotOnline`]: the repository's status forbids writes.
    /// - [`RepositoryError::UnsafeStore`]: the store cannot decide races.
    /// - Otherwise an object that cannot be read.
    pub async fn write_session(
        &self,
        branch: impl Into<BranchName>,
    ) -> Result<Session, RepositoryError> {
        let branch = branch.into();
        let tip = self.writable_tip(&branch).await?;
        let base = self.base(tip.snapshot).await?;
        Ok(Session::writable(Arc::clone(&self.0), base, branch, tip).begin_preload())
    }

    /// Opens a session that writes to a branch and takes no edits but moves. Ordinary sessions take moves together with
    /// other edits, too.
    ///
    /// # Errors
    /// [`RepositoryError::NeedsSpecVersion2`], and those of [`Repository::write_session`].
    pub async fn rearrange_session(
        &self,
        branch: impl Into<BranchName>,
    ) -> Result<Session, RepositoryError> {
        let found = self.spec_version();
        if found < SpecVersion::V2 {
            let what = "a session that only moves nodes";
            return Err(RepositoryError::NeedsSpecVersion2 { what, found });
        }
        let branch = branch.into();
        let tip = self.writable_tip(&branch).await?;
        let base = self.base(tip.snapshot).await?;
        Ok(Session::rearranging(Arc::clone(&self.0), base, branch, tip))
    }

    /// Returns where a branch stands, if it can be committed to.
    pub(crate) async fn writable_tip(&self, branch: &BranchName) -> Result<Tip, RepositoryError> {
        Shared::check_safe_commits(&*self.0.storage).await?;
        Ok(self.0.ledger.branch_to_write(branch).await?)
    }

    /// Opens a writable session that belongs to no branch. It can be flushed ([`Session::flush`]), and not committed.
    ///
    /// # Errors
    /// An object that cannot be read.
    pub async fn write_session_at(&self, id: SnapshotId) -> Result<Session, RepositoryError> {
        let base = self.base(id).await?;
        Ok(Session::detached(Arc::clone(&self.0), base).begin_preload())
    }

    pub(crate) async fn base(&self, id: SnapshotId) -> Result<Base, RepositoryError> {
        Ok(Base::new(self.0.objects.snapshot(id).await?))
    }
}
