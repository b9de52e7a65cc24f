//! Sessions that go on where another one broke off: chunks that it has stored are set again, and its lease is theirs.
//!
//! Nothing refers to such chunks but what the caller remembers of them. A collection spares them as long as the lease is
//! renewed, and for one floor after that; what it has taken all the same, the commit finds out, as of any old session.

use std::sync::Arc;

use icefield_format::{ChunkId, ChunkIndex, ChunkRef, NodePath};
use icefield_refs::{BranchName, micros_of_time};
use icefield_storage::{DeleteOutcome, Deletion, StorageExt};

use super::write::array_of;
use super::{Moment, SentLease, Session, SessionLease};
use crate::change_set::PendingChunk;
use crate::collection::Lease;
use crate::{Repository, RepositoryError, SessionError, WriteMode};

/// The lease of a session, with which another session continues its work, also in another process. Its text is
/// `ID:START`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeasePass {
    id: [u8; 12],
    /// When the session began, by the store's clock, in microseconds since 1970.
    started: u64,
}

impl LeasePass {
    /// Reads the text of a pass; `None` if the text is no pass.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, started) = text.split_once(':')?;
        let id: ChunkId = id.parse().ok()?;
        Some(Self {
            id: *id.as_bytes(),
            started: started.parse().ok()?,
        })
    }
}

impl std::fmt::Display for LeasePass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", ChunkId::from_bytes(self.id), self.started)
    }
}

impl Session {
    /// Makes all written chunks durable, renews the lease, and returns it for a session that continues this one's work.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn lease_pass(&self) -> Result<LeasePass, SessionError> {
        let _all_writes_ended = self.ready_to_send().await?;
        self.renew_lease().await?;
        let sent = self.send_lease();
        Ok(LeasePass {
            id: sent.id,
            started: sent.started,
        })
    }

    /// Sets a chunk that the session stored whose pass this one was opened with: a range of an object. Nothing is read: the
    /// object must exist.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], [`SessionError::OutOfGrid`], [`SessionError::EmptyChunk`],
    /// [`SessionError::RangeOutOfChunk`] for a range that no object can have, and the reasons why a session cannot be written.
    pub async fn set_stored_chunk(
        &self,
        path: &NodePath,
        index: &[u32],
        id: ChunkId,
        (offset, length): (u64, u64),
    ) -> Result<(), SessionError> {
        let _permit = self.begin_write().await?;
        let node = array_of(&*self.state()?, path)?.id;
        let index_of = || ChunkIndex::from(index.to_vec());
        if length == 0 {
            let (path, index) = (path.clone(), index_of());
            return Err(SessionError::EmptyChunk { path, index });
        }
        if offset.checked_add(length).is_none() {
            return Err(SessionError::RangeOutOfChunk {
                path: path.clone(),
                index: index_of(),
                range: format!("from {offset} on, {length} of them,"),
                length: u64::MAX - offset,
            });
        }
        let chunk = ChunkRef::Native { id, offset, length };
        let chunk = PendingChunk::Set(chunk);
        self.record(path, node, index, chunk, WriteMode::Overwrite)?;
        Ok(())
    }
}

impl Repository {
    /// As [`Repository::write_session`], for a session that continues the work of one that broke off. It takes over
    /// that session's lease.
    ///
    /// # Errors
    /// As [`Repository::write_session`].
    pub async fn write_session_after(
        &self,
        branch: impl Into<BranchName>,
        pass: &LeasePass,
    ) -> Result<Session, RepositoryError> {
        let branch = branch.into();
        let tip = self.writable_tip(&branch).await?;
        let base = self.base(tip.snapshot).await?;
        let shared = Arc::clone(self.shared());
        let now = micros_of_time(shared.clock.now());
        let sent = SentLease {
            id: pass.id,
            age: now.saturating_sub(pass.started),
            sent_at: now,
            started: pass.started,
        };
        let lease = SessionLease::received(sent, Moment::now(&*shared.clock));
        Ok(Session::continued(shared, base, branch, tip, lease).begin_preload())
    }

    /// Ends the lease of a session that no other one will continue: the chunks that it stored are garbage from now on.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn end_lease(&self, pass: &LeasePass) -> Result<(), RepositoryError> {
        let deletion = Deletion::from(Lease::key(pass.id));
        match self.shared().storage.delete_one(deletion).await? {
            DeleteOutcome::Deleted | DeleteOutcome::Refused => Ok(()),
            DeleteOutcome::Unknown(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_is_a_text_and_back() {
        let pass = LeasePass {
            id: [7; 12],
            started: 12,
        };
        assert_eq!(LeasePass::parse(&pass.to_string()), Some(pass));
        for wrong in ["", "x:1", "00000000000000000000", "00000000000000000000:x"] {
            assert_eq!(LeasePass::parse(wrong), None, "{wrong:?}");
        }
    }
}
