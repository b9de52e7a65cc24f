//! The answer of a fork: its own edits, without those that it began with.

use std::sync::Arc;

use bytes::Bytes;
use icefield_format::SnapshotId;

use super::fork::ForkError;
use super::{Base, Lineage, Moment, Session, SessionLease};
use crate::change_set::{Answer, ForkBlob};

impl Session {
    /// Serialises what a fork changed since it was forked: for [`Session::open_answer`] of the session that was forked, or of
    /// a fork that was made together with it. However many edits the session had before, the answer is as long as those of
    /// the fork; of an array of which the fork took back pending chunks, all pending chunks are in it. Its chunks are
    /// durable when this returns.
    ///
    /// For any other receiver there is [`Session::to_bytes`]: an answer alone can be neither read nor written.
    ///
    /// # Errors
    /// [`ForkError::NotAFork`], [`crate::SessionError::ChunksNotStored`], the errors of the store.
    pub async fn to_answer(&self) -> Result<Bytes, ForkError> {
        let lineage = self.lineage().ok_or(ForkError::NotAFork)?;
        let _all_writes_ended = self.ready_to_send().await?;
        let state = self.state()?;
        state.phase.check_writable()?;
        let answer = Answer::new(
            (&*state.base, lineage.family, lineage.origin_id),
            &lineage.origin,
            &state.changes,
            self.send_lease(),
            state.taken.clone(),
        );
        Ok(answer.encode()?)
    }

    /// Opens an answer to this session, from [`Session::to_answer`]: the fork that it comes from, to be merged. It can be
    /// opened by any fork that was made from the same state, and by the session itself until it is forked again after
    /// further edits.
    ///
    /// # Errors
    /// [`ForkError::OtherSession`], [`ForkError::OriginForgotten`], [`ForkError::OtherBase`]; [`ForkError::Blob`] if the bytes
    /// are damaged or of another version; the reasons why a session cannot be written.
    pub fn open_answer(&self, bytes: &[u8]) -> Result<Self, ForkError> {
        let (base, known) = {
            let state = self.state()?;
            state.phase.check_writable()?;
            (Arc::clone(&state.base), self.known_lineage())
        };
        self.of_answer(bytes, known.as_ref(), &base)
    }

    /// The origin of forks of this session, or of forks that were made together with it, as far as it is known.
    pub(super) fn known_lineage(&self) -> Option<Lineage> {
        match self.lineage() {
            Some(ours) => Some(ours.clone()),
            None => self.last_fork().clone(),
        }
    }

    /// Opens a fork of a session as it was, with this base, or an answer to it, with this lineage, whatever it does
    /// meanwhile.
    pub(super) fn unpacked(
        &self,
        bytes: &[u8],
        known: Option<&Lineage>,
        base: &Arc<Base>,
    ) -> Result<Self, ForkError> {
        if !ForkBlob::is_one(bytes) {
            return self.of_answer(bytes, known, base);
        }
        let shared = self.shared();
        let blob = ForkBlob::decode(bytes, shared.settings.max_metadata_bytes)?;
        check_base(blob.base, base)?;
        Ok(Self::of_blob(shared, blob, base)?)
    }

    fn of_answer(
        &self,
        bytes: &[u8],
        known: Option<&Lineage>,
        base: &Arc<Base>,
    ) -> Result<Self, ForkError> {
        let answer = Answer::decode(bytes)?;
        let lineage = known.filter(|ours| ours.family == answer.family);
        let lineage = lineage.ok_or(ForkError::OtherSession)?;
        if lineage.origin_id != answer.origin_id {
            return Err(ForkError::OriginForgotten);
        }
        check_base(answer.base, base)?;
        let shared = self.shared();
        let lease = SessionLease::received(answer.lease, Moment::now(&*shared.clock));
        let taken = answer.taken.clone();
        let limit = shared.settings.max_metadata_bytes;
        let changes = answer.changes_on(&lineage.origin, base, limit)?;
        Ok(Self::forked(
            shared,
            base,
            Arc::new(changes),
            lineage.clone(),
            (Arc::new(lease), taken),
            None,
        ))
    }
}

/// Checks that edits of this snapshot are merged on it.
pub(super) fn check_base(fork: SnapshotId, base: &Base) -> Result<(), ForkError> {
    let session = base.snapshot().id();
    match fork == session {
        true => Ok(()),
        false => Err(ForkError::OtherBase { fork, session }),
    }
}
