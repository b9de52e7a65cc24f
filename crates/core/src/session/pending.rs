//! The uncommitted edits of a session as a whole.

use std::sync::Arc;

use super::Session;
use crate::{Diff, SessionError};

impl Session {
    /// Returns whether the session has uncommitted edits.
    ///
    /// # Errors
    /// [`SessionError::Aborted`] after a panic inside the session.
    pub fn has_changes(&self) -> Result<bool, SessionError> {
        let state = self.state()?;
        Ok(!state.changes.is_empty() || !state.relocations.is_empty())
    }

    /// Returns the uncommitted edits, net of each other.
    ///
    /// Makes no request, unless an array was shifted: the manifests of the base tell which of its chunks moved, and those
    /// of which another chunk, or none, is at their place are named. Of other arrays, a chunk that was
    /// written counts, and be it what stood there before; those that a new shape cuts off do not.
    ///
    /// # Errors
    /// [`SessionError::Aborted`] after a panic inside the session; the errors of the store.
    pub async fn status(&self) -> Result<Diff, SessionError> {
        let (changes, base) = {
            let state = self.state()?;
            (Arc::clone(&state.changes), Arc::clone(&state.base))
        };
        Diff::of_changes(&self.shared().objects, &changes, &base).await
    }

    /// Forgets all uncommitted edits. A fork forgets only those that were made since it was forked, so that merging it
    /// undoes nothing of its session. Chunks that were uploaded for the edits stay behind as garbage.
    ///
    /// # Errors
    /// The reasons why a session cannot be written, such as [`SessionError::ReadOnly`].
    pub fn discard_changes(&self) -> Result<(), SessionError> {
        let mut state = self.state_mut()?;
        state.phase.check_writable()?;
        self.forget_packed(&state.changes);
        let origin = self.lineage().map(|lineage| Arc::clone(&lineage.origin));
        state.begin_with(origin.unwrap_or_default());
        state.relocations = Arc::default();
        state.metadata.clear();
        state.newer_than = 0;
        Ok(())
    }

    /// Returns the memory of the references to uncommitted chunks, in bytes. References shared with forks count in each
    /// session. Chunks that wait to be stored are not included: [`Session::buffered_bytes`] counts them.
    ///
    /// # Errors
    /// [`SessionError::Aborted`] after a panic inside the session.
    pub fn pending_bytes(&self) -> Result<usize, SessionError> {
        Ok(self.state()?.changes.memory_bytes())
    }
}
