//! Snapshots without a branch.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{SnapshotId, SpecVersion};
use icefield_refs::{Edit, EditOutcome, SnapshotInfo};
use serde_json::Value;

use super::arrays::ManifestRewrite;
use super::plan::Description;
use super::publish;
use super::store::Written;
use super::write::write;
use crate::session::{Moment, Phase, Session};
use crate::{CommitError, SessionError};

impl Session {
    /// Writes all edits as a snapshot that no branch or tag points to. The snapshot can be read by its id, and adopted
    /// by a branch or tag that is created at it or reset to it; until then it counts as garbage, which a collection
    /// deletes once it is old enough. Afterwards the session is read-only at that snapshot.
    ///
    /// # Errors
    /// [`CommitError::NothingToCommit`] without edits; a [`SessionError`](crate::SessionError) if the session takes no
    /// writes; the errors of the store, after which the session keeps its edits.
    pub async fn flush(&self, message: impl Into<String>) -> Result<SnapshotId, CommitError> {
        self.flush_with(message, BTreeMap::new(), false).await
    }

    /// As [`Session::flush`], with metadata, which the history shows beside the message, and, if so allowed, without
    /// edits.
    ///
    /// # Errors
    /// As [`Session::flush`].
    pub async fn flush_with(
        &self,
        message: impl Into<String>,
        metadata: BTreeMap<String, Value>,
        allow_empty: bool,
    ) -> Result<SnapshotId, CommitError> {
        let message = message.into();
        let mut hold = self.hold_any()?;
        let _all_writes_ended = self.in_flight().write().await;
        let base = self.state()?.base.snapshot().id();
        let stands = match self.branch() {
            Some(branch) => self.shared().ledger.branch(branch).await?,
            None => None,
        };
        if stands.is_none_or(|tip| tip.snapshot != base) {
            // Nothing may refer to what it stands on.
            self.state_mut()?.taken.insert(base);
        }
        let packs = self.send_needed()?;
        let guarded = Moment::now(&*self.shared().clock);
        self.guard(None).await?;
        let description = Description {
            message: &message,
            metadata: &metadata,
            allow_empty,
            rewrite: ManifestRewrite::No,
            lost: &BTreeSet::new(),
            extents: &BTreeMap::new(),
            replaced: None,
        };
        let Written::Prepared(prepared) = write(self, None, description, &packs).await? else {
            return Err(SessionError::ReadOnly.into());
        };
        let info = prepared.snapshot().clone();
        let snapshot = info.id;
        // A session that adopts it must find it after a loss of power.
        self.shared().storage.sync().await?;
        // And so must all that it needs, if it took long to write.
        self.guard_again(&guarded, snapshot).await?;
        self.register(info).await?;
        hold.then(Some(Phase::Committed { snapshot }));
        publish::advance_session(self, snapshot).await;
        Ok(snapshot)
    }

    /// Lists a snapshot that no ref points to, in a repository whose ledger lists snapshots.
    async fn register(&self, info: SnapshotInfo) -> Result<(), CommitError> {
        let ledger = &self.shared().ledger;
        if ledger.spec_version() == SpecVersion::V1 {
            return Ok(());
        }
        let snapshot = Box::new(info);
        match ledger.apply(Edit::Flush { snapshot }).await? {
            EditOutcome::Done(_) => Ok(()),
            // Nothing refuses it. A snapshot that may be listed or not is garbage until a ref points to it.
            EditOutcome::Refused(_) => Err(SessionError::ReadOnly.into()),
            EditOutcome::Unknown(source) => Err(SessionError::from(source).into()),
        }
    }
}
