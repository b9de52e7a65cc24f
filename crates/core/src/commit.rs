//! Commits: *plan* what the new snapshot holds, *write* all immutable objects, *publish* by moving the branch.
//!
//! Nothing is visible before the one conditional write of the ref, and everything is after it. Stopped
//! anywhere, a commit leaves the old tip and some garbage, or the new tip.

mod manifests;
mod plan;
mod publish;

use std::collections::BTreeMap;
use std::future::IntoFuture;

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_format::SnapshotId;
use icefield_refs::Tip;
use icefield_storage::StorageError;
use serde_json::Value;

use crate::session::{Phase, Session};
use crate::{CommitError, SessionError};

/// What became of a commit.
#[derive(Debug)]
#[must_use = "the branch may have moved, or the outcome may be unknown"]
pub enum CommitOutcome {
    /// The branch points to the new snapshot. The session is read-only now, at that snapshot.
    Committed(SnapshotId),
    /// Another commit or a reset was first. Nothing was published; the session and its edits are as before.
    BranchMoved {
        /// Where the branch stood when the session was opened.
        expected: SnapshotId,
        /// Where it stands now; `None` if it does not exist any more.
        found: Option<SnapshotId>,
    },
    /// The store did not say whether the branch moved, and reading it did not tell. The commit may still
    /// appear. [`Session::resolve`] finds out; until then the session takes no writes.
    Unknown {
        /// The snapshot to look for in the history of the branch.
        snapshot: SnapshotId,
        /// What the store said.
        source: StorageError,
    },
}

/// A commit that is being described: set what it needs, then `await` it.
#[derive(Debug)]
#[must_use = "nothing is committed before this is awaited"]
pub struct Commit {
    session: Session,
    message: String,
    metadata: BTreeMap<String, Value>,
    allow_empty: bool,
}

impl Commit {
    /// Adds one item of metadata, which the history shows beside the message.
    pub fn metadata(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(name.into(), value.into());
        self
    }

    /// Allows a commit that changes nothing.
    pub fn allow_empty(mut self) -> Self {
        self.allow_empty = true;
        self
    }

    async fn run(self) -> Result<CommitOutcome, CommitError> {
        let tip = begin(&self.session)?;
        // Dropped before the end, for whatever reason, the guard puts the session into a state that says so.
        let mut guard = Guard {
            session: &self.session,
            after: Phase::Open { tip: tip.clone() },
        };
        // Writes in flight end; their chunks belong to this commit.
        let _all_writes_ended = self.session.in_flight().write().await;
        let written = plan::write(&self.session, &tip, &self.message, &self.metadata, self.allow_empty)
            .await?;
        match written {
            plan::Written::BranchMoved { found } => Ok(CommitOutcome::BranchMoved {
                expected: tip.snapshot,
                found,
            }),
            plan::Written::Prepared(prepared) => {
                guard.after = Phase::Unresolved {
                    tip: tip.clone(),
                    snapshot: prepared.snapshot(),
                };
                let outcome = publish::publish(&self.session, prepared, &tip).await;
                guard.after = publish::phase_after(&outcome, tip);
                outcome
            }
        }
    }
}

impl IntoFuture for Commit {
    type Output = Result<CommitOutcome, CommitError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.run().boxed()
    }
}

/// Takes the session for a commit: later writes are refused.
fn begin(session: &Session) -> Result<Tip, CommitError> {
    let mut state = session.state_mut()?;
    match &state.phase {
        Phase::Open { tip } => {
            let tip = tip.clone();
            state.phase = Phase::Committing { tip: tip.clone() };
            Ok(tip)
        }
        Phase::ReadOnly => Err(SessionError::ReadOnly.into()),
        Phase::Committing { .. } => Err(SessionError::CommitInProgress.into()),
        Phase::Unresolved { snapshot, .. } => Err(SessionError::Unresolved(*snapshot).into()),
        Phase::Committed { snapshot } => Err(SessionError::Committed(*snapshot).into()),
    }
}

struct Guard<'a> {
    session: &'a Session,
    after: Phase,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if let Ok(mut state) = self.session.state_mut()
            && matches!(state.phase, Phase::Committing { .. })
        {
            state.phase = self.after.clone();
        }
    }
}

impl Session {
    /// Begins a commit of all edits to the session's branch.
    pub fn commit(&self, message: impl Into<String>) -> Commit {
        Commit {
            session: self.clone(),
            message: message.into(),
            metadata: BTreeMap::new(),
            allow_empty: false,
        }
    }

    /// Finds out what became of a commit whose outcome was unknown, and carries it to its end: one that has
    /// not landed is published once more, under the same id and the same condition, so that it lands at most
    /// once.
    ///
    /// # Errors
    /// [`SessionError::ReadOnly`] if nothing was unknown; what the store says.
    pub async fn resolve(&self) -> Result<CommitOutcome, CommitError> {
        let (tip, snapshot) = {
            let mut state = self.state_mut()?;
            match state.phase.clone() {
                Phase::Unresolved { tip, snapshot } => {
                    state.phase = Phase::Committing { tip: tip.clone() };
                    (tip, snapshot)
                }
                Phase::Committed { snapshot } => return Ok(CommitOutcome::Committed(snapshot)),
                Phase::Committing { .. } => return Err(SessionError::CommitInProgress.into()),
                Phase::ReadOnly | Phase::Open { .. } => return Err(SessionError::ReadOnly.into()),
            }
        };
        let mut guard = Guard {
            session: self,
            after: Phase::Unresolved {
                tip: tip.clone(),
                snapshot,
            },
        };
        let outcome = publish::resolve(self, snapshot, &tip).await;
        if let Ok(outcome) = &outcome {
            guard.after = publish::phase_after_outcome(outcome, tip);
        }
        outcome
    }
}
