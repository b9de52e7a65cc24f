//! Keeping writes away from a session while it is committed or rebased.

use icefield_format::SnapshotId;
use icefield_refs::Tip;

use super::{Phase, Publication, Session};
use crate::SessionError;

/// A session that takes no writes until this is dropped. Whatever ends the work on it, an error, a panic or a
/// dropped future, leaves the session in the phase that was set last.
#[derive(Debug)]
pub(crate) struct Hold<'a> {
    session: &'a Session,
    after: Option<Phase>,
}

impl Session {
    /// Takes an open session on a branch.
    pub(crate) fn hold(&self) -> Result<Hold<'_>, SessionError> {
        if matches!(self.state()?.phase, Phase::Detached) {
            return Err(SessionError::NoBranch);
        }
        self.hold_any()
    }

    /// Takes a session that can be written.
    pub(crate) fn hold_any(&self) -> Result<Hold<'_>, SessionError> {
        let mut state = self.state_mut()?;
        state.phase.check_writable()?;
        let tip = match &state.phase {
            Phase::Open { tip } => Some(tip.clone()),
            _ => None,
        };
        state.phase = Phase::Committing { tip };
        Ok(Hold {
            session: self,
            after: None,
        })
    }

    /// Takes a session whose commit has an unknown outcome; the snapshot in doubt comes with it, and how it was to be
    /// published. The other case is a session that turned out to be committed.
    pub(crate) fn hold_unresolved(
        &self,
    ) -> Result<Result<(Hold<'_>, SnapshotId, Publication), SnapshotId>, SessionError> {
        let mut state = self.state_mut()?;
        match state.phase.clone() {
            Phase::Unresolved {
                tip,
                snapshot,
                publication,
            } => {
                state.phase = Phase::Committing {
                    tip: Some(tip.clone()),
                };
                let after = Some(Phase::Unresolved {
                    tip,
                    snapshot,
                    publication,
                });
                let hold = Hold {
                    session: self,
                    after,
                };
                Ok(Ok((hold, snapshot, publication)))
            }
            Phase::Committed { snapshot } => Ok(Err(snapshot)),
            Phase::Committing { .. } => Err(SessionError::CommitInProgress),
            Phase::ReadOnly | Phase::Open { .. } | Phase::Detached => {
                Err(SessionError::NothingUnresolved)
            }
        }
    }

    /// The tip that a held session has now: a rebase moves it.
    pub(crate) fn tip_held(&self) -> Result<Tip, SessionError> {
        match &self.state()?.phase {
            Phase::Committing { tip: Some(tip) } => Ok(tip.clone()),
            Phase::Committing { tip: None } => Err(SessionError::NoBranch),
            _ => Err(SessionError::ReadOnly),
        }
    }
}

impl Hold<'_> {
    /// Says which phase follows; `None`, as without this: open again, on the tip that the session has then.
    pub(crate) fn then(&mut self, phase: Option<Phase>) {
        self.after = phase;
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        if let Ok(mut state) = self.session.state_mut()
            && let Phase::Committing { tip } = &state.phase
        {
            let open = match tip {
                Some(tip) => Phase::Open { tip: tip.clone() },
                None => Phase::Detached,
            };
            state.phase = self.after.take().unwrap_or(open);
        }
    }
}
