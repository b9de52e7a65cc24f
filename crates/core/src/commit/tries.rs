//! The attempts of a commit: each writes and publishes once, and a rebase follows a lost race.

use std::future::IntoFuture;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_refs::Tip;

use super::arrays::ManifestRewrite;
use super::outcome::CommitOutcome;
use super::plan::Description;
use super::publish;
use super::queue::Turn;
use super::replaced::{self, Replaced};
use super::request::Commit;
use super::store::Written;
use super::write::write;
use crate::objects::Fresh;
use crate::rebase::{ConflictSolver, RebaseOutcome};
use crate::session::{Hold, Moment, Phase, Publication, Session};
use crate::{CommitError, SessionError};

/// The longest first pause after a lost race; each further one may be twice as long, up to six times.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

impl Commit {
    pub(super) async fn run(mut self) -> Result<CommitOutcome, CommitError> {
        let session = self.session.clone();
        let mut hold = session.hold()?;
        // Writes in flight end; their chunks belong to this commit.
        let _all_writes_ended = session.in_flight().write().await;
        let tip = session.tip_held()?;
        if self.publication == Publication::Amend {
            replaced::check(&session, &tip)?;
            if self.changes_nothing()? {
                return Err(CommitError::NothingToCommit);
            }
        }
        let Some(solver) = self.solver.take() else {
            if let Some(refused) = self.check_after_lost_race(&tip).await? {
                return Ok(refused);
            }
            return Ok(self.attempt(&mut hold, &tip).await?.0);
        };
        let branch = session.branch().ok_or(SessionError::ReadOnly)?;
        if self.changes_nothing()? {
            return Err(CommitError::NothingToCommit);
        }
        let turn = Turn::wait(session.shared(), branch, tip.snapshot);
        let turn = self.interrupt.unless(turn).await?;
        let mut seen = None;
        if turn.has_passed(tip.snapshot) {
            if let Some(refused) = self.follow(&tip, &*solver).await? {
                return Ok(refused);
            }
            seen = Some(session.tip_held()?);
        }
        for lost in 0..self.tries {
            let tip = session.tip_held()?;
            let refused = match &seen {
                Some(seen) if *seen == tip => None,
                _ => self.check_after_lost_race(&tip).await?,
            };
            let outcome = match refused {
                Some(refused) => refused,
                None => {
                    let (outcome, fresh) = self.attempt(&mut hold, &tip).await?;
                    if let (CommitOutcome::Committed(id), Some(fresh)) = (&outcome, fresh) {
                        turn.hand_on(*id, fresh);
                        return Ok(outcome);
                    }
                    outcome
                }
            };
            let CommitOutcome::BranchMoved { found: Some(_), .. } = &outcome else {
                return Ok(outcome);
            };
            if lost + 1 == self.tries {
                return Ok(outcome);
            }
            self.interrupt.check()?;
            if lost > 0 {
                self.interrupt.unless(pause(&session, lost)).await?;
            }
            if let Some(refused) = self.follow(&tip, &*solver).await? {
                return Ok(refused);
            }
            seen = Some(session.tip_held()?);
        }
        unreachable!("BUG: the last try returns")
    }

    fn changes_nothing(&self) -> Result<bool, SessionError> {
        let may = self.allow_empty || self.rewrite != ManifestRewrite::No;
        Ok(!may && !self.session.has_changes()?)
    }

    /// Once a race on the branch was lost, looks where it stands before anything is written. Returns the
    /// outcome if there is no chance.
    async fn check_after_lost_race(&self, tip: &Tip) -> Result<Option<CommitOutcome>, CommitError> {
        let shared = self.session.shared();
        let branch = self.session.branch().ok_or(SessionError::ReadOnly)?;
        if self.changes_nothing()? || !shared.has_lost_race(branch) {
            return Ok(None);
        }
        let found = shared.ledger.branch_of(branch, tip).await?;
        if found.as_ref() != Some(tip) {
            self.session.state_mut()?.attempts += 1;
        }
        Ok(
            (found.as_ref() != Some(tip)).then(|| CommitOutcome::BranchMoved {
                expected: tip.snapshot,
                found: found.map(|tip| tip.snapshot),
            }),
        )
    }

    /// Carries the edits over to where the branch stands. Returns the outcome if that cannot be.
    async fn follow(
        &mut self,
        tip: &Tip,
        solver: &dyn ConflictSolver,
    ) -> Result<Option<CommitOutcome>, CommitError> {
        Ok(match self.session.rebase_held(tip, solver).await? {
            RebaseOutcome::Rebased { .. } => {
                // Edits that both sides made may leave nothing to do; the commit still takes place.
                self.allow_empty |= self.rewrite == ManifestRewrite::No;
                None
            }
            RebaseOutcome::Conflicts {
                snapshot,
                conflicts,
            } => Some(CommitOutcome::Conflicts {
                snapshot,
                conflicts,
            }),
            RebaseOutcome::BranchGone => Some(CommitOutcome::BranchMoved {
                expected: tip.snapshot,
                found: None,
            }),
        })
    }

    /// Writes and publishes once.
    async fn attempt(
        &self,
        hold: &mut Hold<'_>,
        tip: &Tip,
    ) -> Result<(CommitOutcome, Option<Fresh>), CommitError> {
        let session = &self.session;
        session.state_mut()?.attempts += 1;
        // A rebase may have written chunks, too.
        let packs = session.send_needed()?;
        let guarded = Moment::now(&*session.shared().clock);
        // An old session may store its packs here, which takes as long as they do.
        self.interrupt.unless(session.guard(None)).await??;
        let replaced = match self.publication {
            Publication::Commit => None,
            Publication::Amend => {
                let replaced = Replaced::of_tip(session, tip);
                match self.interrupt.unless(replaced).await?? {
                    Ok(replaced) => Some(replaced),
                    Err(refused) => return Ok((refused, None)),
                }
            }
        };
        let description = Description {
            message: &self.message,
            metadata: &self.metadata,
            allow_empty: self.allow_empty,
            rewrite: self.rewrite,
            lost: &self.lost,
            extents: &self.extents,
            replaced: replaced.as_ref(),
        };
        // The written objects are garbage until they are published.
        let writing = write(session, Some(tip), description, &packs);
        let written = self.interrupt.unless(writing).await??;
        match written {
            Written::BranchMoved { found } => {
                let expected = tip.snapshot;
                Ok((CommitOutcome::BranchMoved { expected, found }, None))
            }
            Written::Prepared(prepared) => {
                // Dropped while the branch is being moved, the outcome is unknown.
                hold.then(Some(Phase::Unresolved {
                    tip: tip.clone(),
                    snapshot: prepared.snapshot().id,
                    publication: self.publication,
                }));
                let onto = (tip, self.publication);
                let outcome = publish::publish(session, &prepared, onto, &guarded).await;
                let phase = outcome.as_ref().ok();
                hold.then(phase.and_then(|it| publish::phase_after(it, onto)));
                let outcome = outcome?;
                if let CommitOutcome::Committed(_) = outcome {
                    session.end_lease().await;
                }
                Ok((outcome, Some(prepared.into_fresh())))
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

impl Session {
    /// Waits a random time, which grows with the number of lost races, so that other writers get their turn. A caller
    /// that rebases and commits in a loop of its own calls this after each lost race; [`Commit::rebase_with`] does so
    /// itself.
    pub async fn back_off(&self, lost: usize) {
        pause(self, lost).await;
    }
}

/// Waits a random time, longer after more lost races, so that writers of other processes get their turn.
async fn pause(session: &Session, lost: usize) {
    let shared = session.shared();
    let longest = FIRST_PAUSE * (1 << lost.min(6));
    let fraction = u16::from_le_bytes(shared.random());
    let pause = longest * u32::from(fraction) / u32::from(u16::MAX);
    shared.clock.sleep(pause).await;
}

impl Session {
    /// Finds out what became of a commit whose outcome was unknown, and carries it to its end: one that has
    /// not landed is published once more, under the same id and the same condition, so that it lands at most
    /// once.
    ///
    /// # Errors
    /// [`SessionError::NothingUnresolved`] if nothing was unknown; [`SessionError::Untraceable`] if the branch has lost
    /// what would tell; the errors of the store.
    pub async fn resolve(&self) -> Result<CommitOutcome, CommitError> {
        let (mut hold, snapshot, publication) = match self.hold_unresolved()? {
            Ok(held) => held,
            Err(committed) => return Ok(CommitOutcome::Committed(committed)),
        };
        let tip = self.tip_held()?;
        let onto = (&tip, publication);
        let outcome = publish::resolve(self, snapshot, onto).await?;
        hold.then(publish::phase_after(&outcome, onto));
        if let CommitOutcome::Committed(_) = outcome {
            self.end_lease().await;
        }
        Ok(outcome)
    }
}
