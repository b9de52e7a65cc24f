//! Sessions for the workers of a distributed write.
//!
//! A *fork* begins with the uncommitted edits of the session that it was forked from, its *origin*, and takes
//! further ones. Serialised, it goes to another process; merged back, its edits since the origin become edits of
//! that session. Chunks are in the store before their references are in a fork, so that only references travel.

use std::sync::Arc;

use bytes::Bytes;
use icefield_format::SnapshotId;
use tokio::sync::RwLockWriteGuard;

use super::{Base, Lineage, Moment, Session, SessionLease};
use crate::change_set::{ChangeSet, ForkBlob, ForkBlobError};
use crate::repository::Shared;
use crate::{Repository, RepositoryError, SessionError};

/// The reason why a fork could not be made, read or merged. The session is as before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// Only forks are serialised.
    #[error("this session is no fork: fork it, and send the fork")]
    NotAFork,
    /// The fork belongs to another session, of this repository or of another.
    #[error("the fork was not made from this session: merge it where it comes from")]
    OtherSession,
    /// Forks made from different states of one session are merged there, not into each other.
    #[error(
        "the two forks were made from different states of their session: merge each into that session"
    )]
    OtherOrigin,
    /// An answer says what its fork changed, and what that began with is not known here any more.
    #[error(
        "the session was changed and forked again since the fork of this answer was made, and an answer says only what its fork changed: open it with a fork that was made together with it, and merge that"
    )]
    OriginForgotten,
    /// The session has another base now.
    #[error(
        "the fork is based on snapshot {fork}, and the session on {session} since it was rebased: merge forks before rebasing"
    )]
    OtherBase {
        /// The base of the fork.
        fork: SnapshotId,
        /// The base of the session.
        session: SnapshotId,
    },
    /// The bytes are no fork.
    #[error(transparent)]
    Blob(#[from] ForkBlobError),
    /// A snapshot of the repository could not be had.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The session cannot be forked or merged into, or a chunk cannot be read.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl Repository {
    /// Opens a fork that was serialised by [`Session::to_bytes`], in this process or another.
    ///
    /// # Errors
    /// [`ForkError::Blob`] if the bytes are damaged or of another version of this program; [`RepositoryError::Fetch`]
    /// if the fork belongs to another repository.
    pub async fn open_fork(&self, bytes: &[u8]) -> Result<Session, ForkError> {
        let shared = self.shared();
        let blob = ForkBlob::decode(bytes, shared.settings.max_metadata_bytes)?;
        let snapshot = shared.objects.snapshot(blob.base).await;
        let base = Base::new(snapshot.map_err(RepositoryError::from)?);
        Ok(Session::of_blob(shared, blob, &Arc::new(base))?)
    }
}

impl Session {
    /// Returns the fork that was serialised, on its base.
    pub(super) fn of_blob(
        shared: &Arc<Shared>,
        blob: ForkBlob,
        base: &Arc<Base>,
    ) -> Result<Self, ForkBlobError> {
        blob.check(base)?;
        let lineage = Lineage {
            family: blob.family,
            origin_id: blob.origin_id,
            origin: Arc::new(blob.origin),
        };
        let lease = SessionLease::received(blob.lease, Moment::now(&*shared.clock));
        Ok(Self::forked(
            shared,
            base,
            Arc::new(blob.changes),
            lineage,
            (Arc::new(lease), blob.taken),
            None,
        ))
    }

    /// Returns a session of its own that begins with all edits made so far, for a worker that writes a part of the
    /// data. Nothing is written to the store. Writes that are in flight are not in the fork. A fork belongs to no
    /// branch: [`Session::merge_forks`] brings its edits back.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use icefield_core::{
    ///     BranchName, MergeOutcome, NodePath, Repository, VersionSelection, WriteMode,
    /// };
    /// # use icefield_storage_memory::MemoryStorage;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
    /// let session = repository.write_session(BranchName::main()).await?;
    /// let sent = session.fork()?.to_bytes().await?;
    ///
    /// // In the worker:
    /// let fork = repository.open_fork(&sent).await?;
    /// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    /// fork.set_metadata(&NodePath::parse("/part")?, group.into(), WriteMode::Overwrite).await?;
    /// let returned = fork.to_bytes().await?;
    ///
    /// // In the coordinator:
    /// let outcome = session.merge_forks([&returned], VersionSelection::Fail).await?;
    /// assert_eq!(outcome, MergeOutcome::Merged);
    /// assert!(session.has_changes()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The reasons why a session cannot be written.
    pub fn fork(&self) -> Result<Self, SessionError> {
        let state = self.state()?;
        state.phase.check_writable()?;
        let lineage = match self.lineage() {
            Some(lineage) => lineage.clone(),
            None => self.new_lineage(&state.changes),
        };
        let (base, changes) = (Arc::clone(&state.base), Arc::clone(&state.changes));
        let taken = state.taken.clone();
        // The fork refers to what waits to be stored, too.
        self.packer().pin();
        drop(state);
        let lease = Arc::clone(self.lease());
        Ok(Self::forked(
            self.shared(),
            &base,
            changes,
            lineage,
            (lease, taken),
            Some(self.packer()),
        ))
    }

    /// The lineage of forks of a session that is none itself.
    fn new_lineage(&self, changes: &Arc<ChangeSet>) -> Lineage {
        let mut last = self.last_fork();
        let family = last.as_ref().map(|it| it.family);
        match &*last {
            Some(lineage) if Arc::ptr_eq(&lineage.origin, changes) => lineage.clone(),
            _ => {
                let lineage = Lineage {
                    family: family.unwrap_or_else(|| self.random()),
                    origin_id: self.random(),
                    origin: Arc::clone(changes),
                };
                *last = Some(lineage.clone());
                lineage
            }
        }
    }

    /// Returns whether the session is a fork: on no branch, and to be merged into the session that it comes from.
    pub fn is_fork(&self) -> bool {
        self.lineage().is_some()
    }

    /// Stores and makes durable what was written; as long as the result is held, no write begins.
    pub(super) async fn ready_to_send(&self) -> Result<RwLockWriteGuard<'_, ()>, SessionError> {
        let all_writes_ended = self.in_flight().write().await;
        self.store_needed().await?;
        // Objects that wait to be merged must not be taken for garbage meanwhile.
        self.keep_lease().await;
        self.shared().storage.sync().await?;
        Ok(all_writes_ended)
    }

    /// Serialises a fork: compact, with a version number, without credentials. Its chunks are durable when this
    /// returns; the bytes contain only references to them.
    ///
    /// # Errors
    /// [`ForkError::NotAFork`], [`SessionError::ChunksNotStored`], and the errors of the store.
    pub async fn to_bytes(&self) -> Result<Bytes, ForkError> {
        let lineage = self.lineage().ok_or(ForkError::NotAFork)?;
        let _all_writes_ended = self.ready_to_send().await?;
        let state = self.state()?;
        state.phase.check_writable()?;
        let blob = ForkBlob {
            base: state.base.snapshot().id(),
            base_time: state.base.snapshot().flushed_at(),
            family: lineage.family,
            origin_id: lineage.origin_id,
            lease: self.send_lease(),
            taken: state.taken.clone(),
            origin: ChangeSet::clone(&lineage.origin),
            changes: ChangeSet::clone(&state.changes),
        };
        Ok(blob.encode()?)
    }
}
