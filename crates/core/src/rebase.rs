//! Carrying the edits of a session over to a branch that moved on.
//!
//! For each commit that landed since, oldest first: what did it do (its transaction log; without one, a
//! comparison of the snapshots), what of that [collides](Conflict) with our edits, and how is it
//! [settled](ConflictSolver)? Only when all is settled does the session change, all at once.

mod apply;
mod changes;
mod conflict;
mod detect;
mod equality;
mod follow;
mod missed;
mod moves;
mod solve;

use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{NodeId, NodePath, SnapshotId};
use icefield_refs::Tip;
use icefield_storage::{PlantedBug, planted};

pub(crate) use changes::Changes;
pub use conflict::Conflict;
pub use detect::Detector;
pub(crate) use equality::{WrittenTwice, equal_chunks};
pub use solve::{BasicSolver, ConflictSolver, Resolution, VersionSelection};

use crate::change_set::{ChangeSet, PendingChunk};
use crate::session::{Base, Phase, Session};
use crate::{RebaseError, SessionError};
use apply::carried_over;
pub(crate) use detect::ChunkSets;
use detect::{Sides, detect, double_writes, is_one_node};
use follow::Followed;
use moves::Moves;
use solve::settle;

/// The outcome of a rebase. Match on it: an unsettled conflict is no error.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the session may not be on the new tip"]
pub enum RebaseOutcome {
    /// The session is based on the tip of its branch.
    Rebased {
        /// The tip.
        onto: SnapshotId,
        /// The number of commits between the old base and the tip.
        commits: usize,
    },
    /// Edits collide with a commit, and no solver settled it. The session is as before.
    Conflicts {
        /// The commit.
        snapshot: SnapshotId,
        /// All collisions with it.
        conflicts: Vec<Conflict>,
    },
    /// The branch does not exist any more. The session is as before.
    BranchGone,
}

impl Session {
    /// Carries the edits over to the tip of the session's branch, commit by commit, oldest first. It waits for writes
    /// in flight, and changes the session only if all conflicts are settled. Nothing is committed;
    /// [`Commit::rebase_with`](crate::Commit::rebase_with) does both.
    ///
    /// # Errors
    /// [`RebaseError::BaseNotInHistory`] if the branch was reset or the base has expired: open a new session and write
    /// again. [`RebaseError::Solver`] if the solver failed; otherwise the errors of reading. The session is as before.
    pub async fn rebase(&self, solver: &dyn ConflictSolver) -> Result<RebaseOutcome, RebaseError> {
        let _hold = self.hold()?;
        let _all_writes_ended = self.in_flight().write().await;
        let tip = self.tip_held()?;
        self.rebase_held(&tip, solver).await
    }

    /// As [`Session::rebase`], for a caller that keeps writes away.
    #[tracing::instrument(level = "debug", skip_all, fields(from = %from.snapshot))]
    pub(crate) async fn rebase_held(
        &self,
        from: &Tip,
        solver: &dyn ConflictSolver,
    ) -> Result<RebaseOutcome, RebaseError> {
        let shared = self.shared();
        let branch = self.branch().ok_or(SessionError::ReadOnly)?;
        let Some(tip) = shared.ledger.branch_of(branch, from).await? else {
            return Ok(RebaseOutcome::BranchGone);
        };
        let missed = missed::missed(shared, from.snapshot, tip.snapshot).await?;
        let (mut base, mut changes) = {
            let state = self.state()?;
            (Arc::clone(&state.base), Arc::clone(&state.changes))
        };
        let commits = missed.len();
        let skipped = usize::from(planted(PlantedBug::MissedCommitSkipped));
        for commit in missed.into_iter().skip(skipped) {
            let after = Arc::new(Base::new(Arc::clone(&commit.snapshot)));
            let theirs = commit.changes(shared, &base, &after).await?;
            match self
                .carry_past(&base, &after, &theirs, changes, solver)
                .await?
            {
                Passed::Through(carried) => changes = carried,
                Passed::Stopped(conflicts) => {
                    return Ok(RebaseOutcome::Conflicts {
                        snapshot: commit.id(),
                        conflicts,
                    });
                }
            }
            base = after;
        }
        let mut state = self.state_mut()?;
        if !planted(PlantedBug::RebaseKeepsBase) {
            state.base = base;
        }
        state.changes = changes;
        if let Phase::Committing { tip: held } = &mut state.phase {
            *held = Some(tip.clone());
        }
        Ok(RebaseOutcome::Rebased {
            onto: tip.snapshot,
            commits,
        })
    }

    /// Carries edits past one commit.
    pub(crate) async fn carry_past(
        &self,
        before: &Arc<Base>,
        after: &Arc<Base>,
        theirs: &Changes,
        ours: Arc<ChangeSet>,
        solver: &dyn ConflictSolver,
    ) -> Result<Passed, RebaseError> {
        let shared = self.shared();
        let (before, ours) = match self.past_moves(before, after, theirs, ours, solver).await? {
            Ok(past) => past,
            Err(conflicts) => return Ok(Passed::Stopped(conflicts)),
        };
        let before = &before;
        let ours = self.with_ids_of_their_own(solver.detector(), after, theirs, ours);
        let followed = match solver.detector() {
            Detector::Strict => self.follow(before, after, theirs, ours).await?,
            Detector::Compatible => Followed::nothing(theirs, ours),
        };
        let (ours, theirs) = (followed.ours, &*followed.theirs);
        let both = double_writes(&ours, theirs);
        let equal = match solver.detector() {
            Detector::Strict => {
                let written_twice = both
                    .into_iter()
                    .filter_map(|(node, chunks)| Some((node, ours.array_path(&node)?, chunks)))
                    .flat_map(|(node, path, chunks)| {
                        let theirs = ours.moved_from(&node).unwrap_or(path).clone();
                        chunks.into_iter().map(move |index| WrittenTwice {
                            node,
                            index,
                            ours: path.clone(),
                            theirs: theirs.clone(),
                        })
                    })
                    .collect();
                let ours_view = Self::view_of(shared, after, &ours);
                let theirs_view = Self::view_of(shared, after, &Arc::default());
                equal_chunks(&ours_view, &theirs_view, written_twice).await?
            }
            Detector::Compatible => ChunkSets::new(),
        };
        let sides = Sides {
            ours: &ours,
            theirs,
            before,
            after,
            equal: &equal,
            followed: &followed.arrays,
        };
        let conflicts = detect(solver.detector(), &sides);
        let mut answers = Vec::with_capacity(conflicts.len());
        if !conflicts.is_empty() {
            let sessions = (
                Self::view_of(shared, before, &ours),
                Self::view_of(shared, before, &Arc::default()),
                Self::view_of(shared, after, &Arc::default()),
            );
            for conflict in &conflicts {
                let answer = solver
                    .solve(conflict, &sessions.0, &sessions.1, &sessions.2)
                    .await
                    .map_err(RebaseError::Solver)?;
                answers.push(answer);
            }
        }
        let carried = carried_over(solver.detector(), &sides).map_err(RebaseError::Merged)?;
        let mut carried = Arc::new(carried);
        for (conflict, answer) in conflicts.iter().zip(&answers) {
            if settle(conflict, answer, solver.detector(), &sides, &mut carried).is_err() {
                return Ok(Passed::Stopped(conflicts));
            }
        }
        for (conflict, answer) in conflicts.iter().zip(answers) {
            if let Resolution::Merged(chunks) = answer {
                for (index, bytes) in chunks {
                    self.put_merged(&mut carried, conflict, &index, bytes)
                        .await?;
                }
            }
        }
        Ok(Passed::Through(carried))
    }
}

impl Session {
    /// Carries edits past the moves of a commit, as if it did nothing else. Returns the snapshot that the rest of the commit
    /// was made on, with our edits of it; or what collides.
    async fn past_moves(
        &self,
        before: &Arc<Base>,
        after: &Arc<Base>,
        theirs: &Changes,
        ours: Arc<ChangeSet>,
        solver: &dyn ConflictSolver,
    ) -> Result<Result<(Arc<Base>, Arc<ChangeSet>), Vec<Conflict>>, RebaseError> {
        let Some((node, (path, _))) = theirs.moved.first_key_value() else {
            return Ok(Ok((Arc::clone(before), ours)));
        };
        if solver.detector() == Detector::Compatible {
            let (path, node) = (path.clone(), *node);
            let conflict = Conflict::MoveOperationCannotBeRebased { path, node };
            return Ok(Err(vec![conflict]));
        }
        let shared = self.shared();
        let moves = Moves::of(theirs, before, after);
        let conflicts = moves.detect(&ours);
        let nothing = Arc::default();
        let sessions = (
            Self::view_of(shared, before, &ours),
            Self::view_of(shared, before, &nothing),
            Self::view_of(shared, after, &nothing),
        );
        let mut settled = ChangeSet::clone(&ours);
        for conflict in &conflicts {
            let answer = solver
                .solve(conflict, &sessions.0, &sessions.1, &sessions.2)
                .await
                .map_err(RebaseError::Solver)?;
            if moves.settle(conflict, &answer, &mut settled).is_err() {
                return Ok(Err(conflicts));
            }
        }
        let Ok(followed) = moves.followed(&settled) else {
            return Ok(Err(conflicts));
        };
        let limits = shared.objects.decode_limits();
        let moved = moves.carried_out(limits).map_err(SessionError::from)?;
        Ok(Ok((Arc::new(moved), Arc::new(followed))))
    }

    /// Two sides may have taken over one commit that created a node. Where it is not the same node any more, under
    /// another path or with other metadata, ours is another one.
    fn with_ids_of_their_own(
        &self,
        detector: Detector,
        after: &Base,
        theirs: &Changes,
        mut ours: Arc<ChangeSet>,
    ) -> Arc<ChangeSet> {
        let twice: Vec<NodePath> = ours
            .created()
            .iter()
            .filter(|(path, node)| {
                theirs.created.contains(&node.id)
                    && ours.moved_from(&node.id).is_none()
                    && !(detector == Detector::Strict && is_one_node(&ours, after, path, &node.id))
            })
            .map(|(path, _)| path.clone())
            .collect();
        for path in twice {
            Arc::make_mut(&mut ours).change_id(&path, NodeId::from_bytes(self.random()));
        }
        ours
    }

    /// Stores a chunk that a solver merged from both sides, and refers to it.
    async fn put_merged(
        &self,
        changes: &mut Arc<ChangeSet>,
        conflict: &Conflict,
        index: &[u32],
        bytes: Bytes,
    ) -> Result<(), SessionError> {
        let (path, node) = (conflict.path(), conflict.node());
        if bytes.is_empty() {
            return Err(SessionError::EmptyChunk {
                path: path.clone(),
                index: index.to_vec().into(),
            });
        }
        let stored = self.store_chunk(bytes).await?;
        let chunk = PendingChunk::Set(stored.as_ref());
        Arc::make_mut(changes).set_chunk(path, node, index, chunk);
        Ok(())
    }
}

/// The outcome of carrying edits past one commit.
pub(crate) enum Passed {
    Through(Arc<ChangeSet>),
    Stopped(Vec<Conflict>),
}
