//! Working with what was committed before: merge, cherry-pick, revert, squash.
//!
//! All of them take the difference of two snapshots as edits, and carry these over to a session's base as a
//! rebase carries over the edits of a session: the same rules decide what collides, the same solvers settle it.
//! The result is the uncommitted edits of a session, and its commit is a normal one.

mod absorb;
mod doubles;
mod edits;

use std::collections::HashMap;
use std::sync::Arc;

use icefield_format::{NodeId, NodePath, SnapshotId};
use icefield_refs::{BranchName, EditOutcome, SnapshotInfo};
use serde_json::Value;

pub(crate) use edits::edits_between;

use self::doubles::forget_unchanged;
use crate::change_set::ChangeSet;
use crate::commit::MERGED_SNAPSHOT;
use crate::rebase::{Changes, Passed};
use crate::session::Base;
use crate::{
    CommitError, Conflict, ConflictSolver, Diff, RebaseError, Repository, RepositoryError, Session,
    SessionError,
};

/// The outcome of carrying changes of another history over to a session.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the changes may not be in the session"]
#[non_exhaustive]
pub enum ApplyOutcome {
    /// The changes are uncommitted edits of the session now: commit them.
    Applied(Diff),
    /// The session's snapshot has all the changes already, or a solver gave them up. A merge that ends so is not
    /// recorded; the next one meets the same changes.
    NothingToDo,
    /// Changes collide, and the solver did not settle them. The session is as before.
    Conflicts(Vec<Conflict>),
}

impl Repository {
    /// Returns the snapshot at which two histories parted: their newest common ancestor, where a merge counts as a
    /// descendant of both snapshots that it joined. Reads both histories back to that snapshot.
    ///
    /// # Errors
    /// [`RepositoryError::NoCommonAncestor`]; objects that cannot be read.
    pub async fn merge_base(
        &self,
        ours: SnapshotId,
        theirs: SnapshotId,
    ) -> Result<SnapshotId, RepositoryError> {
        let graph = self.ledger().graph();
        let met = icefield_refs::meeting_point(graph, ours, theirs, merged_by).await?;
        met.ok_or(RepositoryError::NoCommonAncestor { ours, theirs })
    }

    /// Puts all changes between two snapshots into one commit on top of the first, and creates a branch that points to
    /// it. The old history stays as it is. Returns the new snapshot, and the outcome of creating the branch.
    ///
    /// # Errors
    /// A name that is not allowed for new refs; [`CommitError::NothingToCommit`] if nothing changed; the errors of the
    /// store.
    pub async fn squash(
        &self,
        from: SnapshotId,
        to: SnapshotId,
        branch: &str,
        message: &str,
    ) -> Result<(SnapshotId, EditOutcome), CommitError> {
        BranchName::parse_new(branch).map_err(icefield_refs::RefsError::from)?;
        let session = self.write_session_at(from).await?;
        let objects = &self.shared().objects;
        let target = objects.snapshot(to).await?;
        let base = Arc::clone(&session.state()?.base);
        let edits = edits_between(self.shared(), &base, &Base::new(target)).await?;
        {
            let mut state = session.state_mut()?;
            state.changes = Arc::new(edits);
            state.taken.insert(to);
        }
        let snapshot = session.flush(message).await?;
        Ok((snapshot, self.create_branch(branch, snapshot).await?))
    }

    /// Returns the parent, time, message and metadata of one snapshot.
    ///
    /// # Errors
    /// The snapshot does not exist or cannot be read.
    pub async fn snapshot_info(&self, id: SnapshotId) -> Result<SnapshotInfo, RepositoryError> {
        Ok(self.ledger().snapshot(id).await?)
    }
}

impl Session {
    /// Takes over the changes of another history since it and the session's parted, as far back as the last merge of
    /// the two. They become uncommitted edits; the next commit records the merged snapshot under
    /// [`MERGED_SNAPSHOT`](crate::MERGED_SNAPSHOT).
    ///
    /// ```
    /// use std::sync::Arc;
    /// use icefield_core::{ApplyOutcome, BranchName, Detector, NodePath, Repository, WriteMode};
    /// # use icefield_storage_memory::MemoryStorage;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
    /// let tip = repository.resolve(&BranchName::main().into()).await?;
    /// let _ = repository.create_branch("experiment", tip).await?;
    /// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
    /// for (branch, path) in [("main", "/a"), ("experiment", "/b")] {
    ///     let session = repository.write_session(BranchName::parse(branch)?).await?;
    ///     session.set_metadata(&NodePath::parse(path)?, group.into(), WriteMode::Overwrite).await?;
    ///     let _ = session.commit(path).await?;
    /// }
    ///
    /// let source = repository.resolve(&BranchName::parse("experiment")?.into()).await?;
    /// let session = repository.write_session(BranchName::main()).await?;
    /// let outcome = session.merge(source, &Detector::Strict).await?;
    /// assert!(matches!(outcome, ApplyOutcome::Applied(_)));
    /// let _ = session.commit("merge of experiment").await?;
    /// assert_eq!(session.nodes(&NodePath::root())?.len(), 2, "/a and /b");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SessionError::UncommittedChanges`]; [`RepositoryError::NoCommonAncestor`]; objects that cannot be read; the
    /// error of the solver. The session is as before.
    pub async fn merge(
        &self,
        source: SnapshotId,
        solver: &dyn ConflictSolver,
    ) -> Result<ApplyOutcome, RebaseError> {
        let _hold = self.hold_any()?;
        let _all_writes_ended = self.in_flight().write().await;
        let repository = Repository::of(self.shared());
        let base = repository.merge_base(self.snapshot_id()?, source).await?;
        let snapshot = self.shared().objects.snapshot(source).await?;
        let outcome = self.apply_held(base, source, solver).await?;
        if let ApplyOutcome::Applied(_) = outcome {
            // Nothing is waited for since the edits are there: they never stand without this.
            let merged = Value::from(source.to_string());
            let mut state = self.state_mut()?;
            // Walks over histories rely on it that a child is newer than all that it came from.
            state.newer_than = snapshot.flushed_at();
            state.metadata.insert(MERGED_SNAPSHOT.to_owned(), merged);
        }
        Ok(outcome)
    }

    /// Takes over the changes of one commit as uncommitted edits.
    ///
    /// # Errors
    /// [`SessionError::UncommittedChanges`]; [`RepositoryError::NoParent`] for the first snapshot of a repository;
    /// [`RepositoryError::ParentExpired`]; objects that cannot be read; the error of the solver. The session is as
    /// before.
    pub async fn cherry_pick(
        &self,
        commit: SnapshotId,
        solver: &dyn ConflictSolver,
    ) -> Result<ApplyOutcome, RebaseError> {
        let parent = self.parent_of(commit).await?;
        self.apply(parent, commit, solver).await
    }

    /// Undoes the changes of one commit, as uncommitted edits; changes of later commits stay. A later change of the
    /// same chunk or node is a conflict.
    ///
    /// # Errors
    /// As [`Session::cherry_pick`].
    pub async fn revert(
        &self,
        commit: SnapshotId,
        solver: &dyn ConflictSolver,
    ) -> Result<ApplyOutcome, RebaseError> {
        let parent = self.parent_of(commit).await?;
        self.apply(commit, parent, solver).await
    }

    /// Applies the difference between two snapshots as uncommitted edits, whatever their histories.
    ///
    /// # Errors
    /// As [`Session::cherry_pick`].
    pub async fn apply(
        &self,
        from: SnapshotId,
        to: SnapshotId,
        solver: &dyn ConflictSolver,
    ) -> Result<ApplyOutcome, RebaseError> {
        let _hold = self.hold_any()?;
        let _all_writes_ended = self.in_flight().write().await;
        self.apply_held(from, to, solver).await
    }

    /// As [`Session::apply`], for a caller that keeps writes away.
    async fn apply_held(
        &self,
        from: SnapshotId,
        to: SnapshotId,
        solver: &dyn ConflictSolver,
    ) -> Result<ApplyOutcome, RebaseError> {
        let base = {
            let state = self.state()?;
            if !state.changes.is_empty() {
                return Err(SessionError::UncommittedChanges.into());
            }
            Arc::clone(&state.base)
        };
        let shared = self.shared();
        let objects = &shared.objects;
        let (before, target) = futures::try_join!(objects.snapshot(from), objects.snapshot(to))?;
        let (before, target) = (Arc::new(Base::new(before)), Arc::new(Base::new(target)));
        let mut edits = edits_between(shared, &before, &target).await?;
        if edits.is_empty() {
            return Ok(ApplyOutcome::NothingToDo);
        }
        self.draw_ids_again(&base, &mut edits);
        let diff = Diff::between(shared, from, base.snapshot().id()).await?;
        let mut theirs = Changes::of_diff(&diff, &before, &base);
        let (our_side, their_side) = ((&before, &target, &mut edits), (&base, &mut theirs));
        forget_unchanged(shared, our_side, their_side).await?;
        let edits = Arc::new(edits);
        let carried = match self
            .carry_past(&before, &base, &theirs, edits, solver)
            .await?
        {
            Passed::Through(carried) => carried,
            Passed::Stopped(conflicts) => return Ok(ApplyOutcome::Conflicts(conflicts)),
        };
        if carried.is_empty() {
            return Ok(ApplyOutcome::NothingToDo);
        }
        let applied = Diff::of_changes(objects, &carried, &base).await?;
        let mut state = self.state_mut()?;
        state.begin_with(carried);
        state.taken.insert(to);
        drop(state);
        Ok(ApplyOutcome::Applied(applied))
    }

    /// A node that is created again, and that the session's snapshot has under another path, is another node.
    fn draw_ids_again(&self, base: &Base, edits: &mut ChangeSet) {
        let nodes = base.snapshot().nodes();
        let homes: HashMap<_, _> = nodes.map(|node| (node.id(), node.node_path())).collect();
        let twice: Vec<NodePath> = edits
            .created()
            .iter()
            .filter(|(path, node)| {
                edits.moved_from(&node.id).is_none()
                    && homes.get(&node.id).is_some_and(|home| home != *path)
            })
            .map(|(path, _)| path.clone())
            .collect();
        for path in twice {
            edits.change_id(&path, NodeId::from_bytes(self.random()));
        }
    }

    async fn parent_of(&self, commit: SnapshotId) -> Result<SnapshotId, RebaseError> {
        let repository = Repository::of(self.shared());
        let parent = repository.snapshot_info(commit).await?.parent_id;
        let parent = parent.ok_or(RepositoryError::NoParent { snapshot: commit })?;
        repository.check_parent(commit, parent).await?;
        Ok(parent)
    }
}

/// The snapshots whose changes a commit joins with those of its parent.
fn merged_by(info: &SnapshotInfo) -> Vec<SnapshotId> {
    let recorded = info.metadata.get(MERGED_SNAPSHOT).and_then(Value::as_str);
    recorded
        .and_then(|id| id.parse().ok())
        .into_iter()
        .collect()
}
