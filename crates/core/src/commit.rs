//! Commits: *plan* what the new snapshot holds, *write* all immutable objects, *publish* by moving the branch.
//!
//! Nothing is visible before the one conditional write of the ref, and everything is after it. Stopped
//! anywhere, a commit leaves the old tip and some garbage, or the new tip.

mod amend;
mod arrays;
mod copied;
mod encode;
mod flush;
mod manifests;
mod plan;
mod publish;
mod queue;
mod run;
mod shifted;

use std::collections::{BTreeMap, BTreeSet};
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use icefield_format::{Extents, ManifestId, NodePath, SnapshotId};
use icefield_refs::Tip;
use icefield_storage::StorageError;
use serde_json::Value;

pub use amend::Amend;
pub(crate) use amend::Publication;
pub(crate) use arrays::Rewrite;
pub(crate) use encode::{manifest_refs, push_node};
pub(crate) use manifests::WrittenManifests;
use queue::Turn;
pub(crate) use shifted::shifted_arrays;

use crate::objects::Fresh;
use crate::rebase::{Conflict, ConflictSolver, RebaseOutcome};
use crate::session::{Hold, Moment, Phase, Session};
use crate::{CommitError, Interrupt, SessionError};

/// Attempts of a commit with rebase, unless the caller says otherwise.
const DEFAULT_TRIES: usize = 1000;
/// The longest first pause after a lost race; each further one may be twice as long, up to six times.
const FIRST_PAUSE: Duration = Duration::from_millis(2);

/// The item of a commit's metadata that names the rules by which it rewrote manifests.
pub const SPLITTING_CONFIG: &str = "splitting_config";

/// What became of a commit.
#[derive(Debug)]
#[must_use = "the branch may have moved, or the outcome may be unknown"]
#[non_exhaustive]
pub enum CommitOutcome {
    /// The branch points to the new snapshot. The session is read-only now, at that snapshot.
    Committed(SnapshotId),
    /// Another commit or a reset was first. Nothing was published; the session and its edits are as before,
    /// or, of a commit with rebase that ran out of tries, based on a newer snapshot.
    BranchMoved {
        /// Where the branch stood when the session was opened.
        expected: SnapshotId,
        /// Where it stands now; `None` if it does not exist any more.
        found: Option<SnapshotId>,
    },
    /// Edits collide with a commit that landed meanwhile, and the solver did not settle it. Nothing was
    /// published; the session and its edits are as they were before the last rebase.
    Conflicts {
        /// The commit.
        snapshot: SnapshotId,
        /// All collisions with it.
        conflicts: Vec<Conflict>,
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
    publication: Publication,
    message: String,
    metadata: BTreeMap<String, Value>,
    allow_empty: bool,
    rewrite: Rewrite,
    lost: BTreeSet<ManifestId>,
    extents: BTreeMap<(NodePath, ManifestId), Extents>,
    solver: Option<Arc<dyn ConflictSolver>>,
    tries: usize,
    interrupt: Interrupt,
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

    /// Also rewrites the manifests of arrays that are not split as a new commit would split them, by the rules of
    /// `manifest.splitting` or by size; with `all`, those of every array. Only the edits are in the log: nothing that
    /// readers see changes. The commit's metadata has the rules under [`SPLITTING_CONFIG`], as the reference
    /// implementation writes them.
    ///
    /// Without edits and with nothing to rewrite there is [`CommitError::NothingToCommit`].
    pub fn rewrite_manifests(mut self, all: bool) -> Self {
        self.rewrite = match all {
            true => Rewrite::All,
            false => Rewrite::Misplaced,
        };
        let in_force = self.session.shared().configs.in_force();
        let manifest = in_force.config.manifest.as_ref();
        let rules = manifest
            .and_then(|manifest| manifest.splitting.as_ref()?.split_sizes.as_ref())
            .and_then(|rules| serde_json::to_value(rules).ok());
        let rules = serde_json::json!({ "split_sizes": rules });
        self.metadata(SPLITTING_CONFIG, rules)
    }

    /// Leaves manifests of the base out of the new snapshot, without reading them: those that are lost. Arrays that name
    /// them get a manifest of what their other manifests and the session's edits hold, and count as updated. For repairs;
    /// a commit that only does this changes something, and is not empty.
    pub fn leave_out_manifests(mut self, lost: BTreeSet<ManifestId>) -> Self {
        self.allow_empty |= !lost.is_empty();
        self.lost = lost;
        self
    }

    /// Says of manifests of the base where their references of an array lie: of those whose recorded extents are wrong.
    /// Nothing is read or written but the snapshot; the extents given must hold every reference of the array. Such arrays
    /// count as updated. For repairs; a commit that only does this changes something, and is not empty.
    pub fn correct_extents(mut self, extents: BTreeMap<(NodePath, ManifestId), Extents>) -> Self {
        self.allow_empty |= !extents.is_empty();
        self.extents = extents;
        self
    }

    /// When another commit was first, carries the edits over to it and tries again. Writers of one process
    /// take turns, so that each makes progress.
    pub fn rebase_with(mut self, solver: impl ConflictSolver + 'static) -> Self {
        self.solver = Some(Arc::new(solver));
        self
    }

    /// Limits the attempts of a commit with rebase; at least one. Default 1000.
    pub fn tries(mut self, tries: usize) -> Self {
        self.tries = tries.max(1);
        self
    }

    /// Ends early, as [`CommitError::Interrupted`], once `interrupt` is raised, as long as the branch is not being moved:
    /// nothing was published then, and the session still has its edits. With [`rebase_with`](Self::rebase_with) it may
    /// stand on a newer snapshot, as after other outcomes.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    async fn run(mut self) -> Result<CommitOutcome, CommitError> {
        let session = self.session.clone();
        let mut hold = session.hold()?;
        // Writes in flight end; their chunks belong to this commit.
        let _all_writes_ended = session.in_flight().write().await;
        let tip = session.tip_held()?;
        if self.publication == Publication::Amend {
            amend::check(&session, &tip)?;
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
        let may = self.allow_empty || self.rewrite != Rewrite::No;
        Ok(!may && self.session.state()?.changes.is_empty())
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
                // What both sides did alike may leave nothing to do; the commit is still one.
                self.allow_empty |= self.rewrite == Rewrite::No;
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
        let guarded = Moment::now(&*session.shared().clock);
        session.guard(None).await?;
        let replaced = self.interrupt.unless(self.replaced(tip)).await??;
        let replaced = match replaced {
            Ok(replaced) => replaced,
            Err(refused) => return Ok((refused, None)),
        };
        let description = plan::Description {
            message: &self.message,
            metadata: &self.metadata,
            allow_empty: self.allow_empty,
            rewrite: self.rewrite,
            lost: &self.lost,
            extents: &self.extents,
            replaced: replaced.as_ref(),
        };
        // What it has written is garbage until it is published.
        let writing = plan::write(session, Some(tip), description);
        let written = self.interrupt.unless(writing).await??;
        match written {
            plan::Written::BranchMoved { found } => {
                let expected = tip.snapshot;
                Ok((CommitOutcome::BranchMoved { expected, found }, None))
            }
            plan::Written::Prepared(prepared) => {
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

impl Session {
    /// Waits a random time, longer after more lost races, so that others get their turn: for a caller that rebases and commits by
    /// hand. [`Commit::rebase_with`] does it by itself.
    pub async fn pause_after_lost_races(&self, lost: usize) {
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

impl IntoFuture for Commit {
    type Output = Result<CommitOutcome, CommitError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.run().boxed()
    }
}

impl Session {
    /// Begins a commit of all edits to the session's branch.
    pub fn commit(&self, message: impl Into<String>) -> Commit {
        Commit {
            session: self.clone(),
            publication: Publication::Commit,
            message: message.into(),
            metadata: BTreeMap::new(),
            allow_empty: false,
            rewrite: Rewrite::No,
            lost: BTreeSet::new(),
            extents: BTreeMap::new(),
            solver: None,
            tries: DEFAULT_TRIES,
            interrupt: Interrupt::new(),
        }
    }

    /// Finds out what became of a commit whose outcome was unknown, and carries it to its end: one that has
    /// not landed is published once more, under the same id and the same condition, so that it lands at most
    /// once.
    ///
    /// # Errors
    /// [`SessionError::NothingUnresolved`] if nothing was unknown; [`SessionError::Untraceable`] if the branch has lost
    /// what would tell; what the store says.
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
