//! Keeping writes away from a session while it is committed or rebased.

use icefield_format::SnapshotId;
use icefield_refs::Tip;

use super::{Phase, Session};
use crate::SessionError;

/// A session that takes no writes until this is dropped. Whatever ends the work on it, an error, a panic or a
/// dropped future, leaves the session in the phase that was set last.
#[derive(Debug)]
pub(crate) struct Hold<'a> {
    session: &'a Session,
    tip: Tip,
    after: Option<Phase>,
}

impl Session {
    /// Takes an open session.
    pub(crate) fn hold(&self) -> Result<Hold<'_>, SessionError> {
        let mut state = self.state_mut()?;
        state.phase.check_writable()?;
        let Phase::Open { tip } = &state.phase else {
            return Err(SessionError::ReadOnly);
        };
        let tip = tip.clone();
        state.phase = Phase::Committing { tip: tip.clone() };
        Ok(Hold {
            session: self,
            tip,
            after: None,
        })
    }
}

impl Session {
    /// Takes a session whose commit has an unknown outcome; the snapshot in doubt comes with it. The other
    /// case is a session that turned out to be committed.
    pub(crate) fn hold_unresolved(
        &self,
    ) -> Result<Result<(Hold<'_>, SnapshotId), SnapshotId>, SessionError> {
        let mut state = self.state_mut()?;
        match state.phase.clone() {
            Phase::Unresolved { tip, snapshot } => {
                state.phase = Phase::Committing { tip: tip.clone() };
                let after = Some(Phase::Unresolved {
                    tip: tip.clone(),
                    snapshot,
                });
                let hold = Hold {
                    session: self,
                    tip,
                    after,
                };
                Ok(Ok((hold, snapshot)))
            }
            Phase::Committed { snapshot } => Ok(Err(snapshot)),
            Phase::Committing { .. } => Err(SessionError::CommitInProgress),
            Phase::ReadOnly | Phase::Open { .. } => Err(SessionError::NothingUnresolved),
        }
    }

    /// The tip that a held session has now: a rebase moves it.
    pub(crate) fn tip_held(&self) -> Result<Tip, SessionError> {
        match &self.state()?.phase {
            Phase::Committing { tip } => Ok(tip.clone()),
            _ => Err(SessionError::ReadOnly),
        }
    }
}

impl Hold<'_> {
    /// Where the branch stood when the session was taken.
    pub(crate) fn tip(&self) -> &Tip {
        &self.tip
    }

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
            let open = Phase::Open { tip: tip.clone() };
            state.phase = self.after.take().unwrap_or(open);
        }
    }
}
