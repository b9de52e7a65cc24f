//! Answers to conflicts.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use icefield_format::{ChunkIndex, NodePath};
use icefield_storage::BoxError;

use super::conflict::Conflict;
use super::detect::{Detector, Sides};
use crate::Session;
use crate::change_set::ChangeSet;

/// The answer to one conflict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolution {
    /// There is none: the rebase fails.
    Fail,
    /// Our edit stays. Not possible where it has nowhere to go: that fails.
    Ours,
    /// Our edit gives way.
    Theirs,
    /// Of chunks that both wrote: these bytes take the place of both; chunks not named keep ours.
    Merged(Vec<(ChunkIndex, Bytes)>),
}

/// Decides conflicts. Implement it to settle what only the owner of the data can settle.
#[async_trait]
pub trait ConflictSolver: std::fmt::Debug + Send + Sync {
    /// Which rules decide what a conflict is.
    fn detector(&self) -> Detector {
        Detector::Strict
    }

    /// Answers one conflict. `ours` reads the session with its edits, `before` the snapshot that both started
    /// from, `theirs` the commit in the way.
    ///
    /// # Errors
    /// Whatever keeps it from deciding; the rebase then fails with it.
    async fn solve(
        &self,
        conflict: &Conflict,
        ours: &Session,
        before: &Session,
        theirs: &Session,
    ) -> Result<Resolution, BoxError>;
}

#[async_trait]
impl ConflictSolver for Detector {
    fn detector(&self) -> Detector {
        *self
    }

    async fn solve(
        &self,
        _: &Conflict,
        _: &Session,
        _: &Session,
        _: &Session,
    ) -> Result<Resolution, BoxError> {
        Ok(Resolution::Fail)
    }
}

/// Whose edit stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionSelection {
    /// Nobody's: the rebase fails.
    Fail,
    /// The session's.
    #[default]
    UseOurs,
    /// The commit's.
    UseTheirs,
}

impl VersionSelection {
    fn resolution(self) -> Resolution {
        match self {
            Self::Fail => Resolution::Fail,
            Self::UseOurs => Resolution::Ours,
            Self::UseTheirs => Resolution::Theirs,
        }
    }
}

/// A solver with one answer per kind of conflict. The default answers are those of the reference
/// implementation's solver.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BasicSolver {
    /// Which rules decide what a conflict is.
    pub detector: Detector,
    /// Of chunks that both wrote.
    pub on_chunk_conflict: VersionSelection,
    /// Of metadata that both changed.
    pub on_metadata_conflict: VersionSelection,
    /// Of an array that we deleted and they changed; `UseOurs` deletes it.
    pub on_delete_of_updated_array: VersionSelection,
    /// Of a group that we deleted and they changed; `UseOurs` deletes it with all that is in it now.
    pub on_delete_of_updated_group: VersionSelection,
    /// Of edits to what they deleted; `UseTheirs` gives the edits up, `UseOurs` fails.
    pub on_update_of_deleted: VersionSelection,
    /// Of nodes that both created; `UseOurs` puts ours in the place of theirs.
    pub on_new_node: VersionSelection,
}

impl Default for BasicSolver {
    fn default() -> Self {
        Self {
            detector: Detector::Strict,
            on_chunk_conflict: VersionSelection::UseOurs,
            on_metadata_conflict: VersionSelection::Fail,
            on_delete_of_updated_array: VersionSelection::UseOurs,
            on_delete_of_updated_group: VersionSelection::UseOurs,
            on_update_of_deleted: VersionSelection::Fail,
            on_new_node: VersionSelection::Fail,
        }
    }
}

#[async_trait]
impl ConflictSolver for BasicSolver {
    fn detector(&self) -> Detector {
        self.detector
    }

    async fn solve(
        &self,
        conflict: &Conflict,
        _: &Session,
        _: &Session,
        _: &Session,
    ) -> Result<Resolution, BoxError> {
        let selection = match conflict {
            Conflict::ChunkDoubleUpdate { .. } => self.on_chunk_conflict,
            Conflict::ZarrMetadataDoubleUpdate { .. }
            | Conflict::ZarrMetadataUpdateOfUpdatedChunks { .. }
            | Conflict::ChunksUpdatedInUpdatedArray { .. } => self.on_metadata_conflict,
            Conflict::DeleteOfUpdatedArray { .. } => self.on_delete_of_updated_array,
            Conflict::DeleteOfUpdatedGroup { .. } => self.on_delete_of_updated_group,
            Conflict::ZarrMetadataUpdateOfDeletedArray { .. }
            | Conflict::ZarrMetadataUpdateOfDeletedGroup { .. }
            | Conflict::ChunksUpdatedInDeletedArray { .. } => self.on_update_of_deleted,
            Conflict::NewNodeConflictsWithExistingNode { .. }
            | Conflict::NewNodeInInvalidGroup { .. }
            | Conflict::NewNodeInDeletedGroup { .. } => self.on_new_node,
        };
        Ok(selection.resolution())
    }
}

impl<S: ConflictSolver> From<S> for Box<dyn ConflictSolver>
where
    S: 'static,
{
    fn from(solver: S) -> Self {
        Box::new(solver)
    }
}

/// An answer that cannot be carried out.
#[derive(Debug)]
pub(crate) struct NotPossible;

/// Carries out an answer on edits that were carried over to the commit's snapshot. Merged chunks are the
/// caller's to store.
pub(crate) fn settle(
    conflict: &Conflict,
    resolution: &Resolution,
    sides: &Sides<'_>,
    changes: &mut Arc<ChangeSet>,
) -> Result<(), NotPossible> {
    let changes = Arc::make_mut(changes);
    match (conflict, resolution) {
        (_, Resolution::Fail) => Err(NotPossible),
        (Conflict::ChunkDoubleUpdate { .. }, Resolution::Ours | Resolution::Merged(_)) => Ok(()),
        (_, Resolution::Merged(_)) => Err(NotPossible),
        (Conflict::ChunkDoubleUpdate { node, chunks, .. }, Resolution::Theirs)
        | (Conflict::ChunksUpdatedInUpdatedArray { node, chunks, .. }, Resolution::Theirs)
        | (Conflict::ChunksUpdatedInDeletedArray { node, chunks, .. }, Resolution::Theirs) => {
            changes.forget_chunks(node, chunks);
            Ok(())
        }
        (
            Conflict::ZarrMetadataDoubleUpdate { .. } | Conflict::DeleteOfUpdatedArray { .. },
            Resolution::Ours,
        ) => Ok(()),
        (
            Conflict::ZarrMetadataDoubleUpdate { path, .. }
            | Conflict::ZarrMetadataUpdateOfUpdatedChunks { path, .. }
            | Conflict::ZarrMetadataUpdateOfDeletedArray { path, .. }
            | Conflict::ZarrMetadataUpdateOfDeletedGroup { path, .. },
            Resolution::Theirs,
        ) => {
            give_update_up(path, sides, changes);
            Ok(())
        }
        (Conflict::ZarrMetadataUpdateOfUpdatedChunks { path, node, chunks }, Resolution::Ours) => {
            changes.delete_chunks(path, *node, chunks);
            Ok(())
        }
        (
            Conflict::DeleteOfUpdatedArray { path, .. }
            | Conflict::DeleteOfUpdatedGroup { path, .. },
            Resolution::Theirs,
        ) => {
            give_delete_up(path, changes);
            Ok(())
        }
        (Conflict::DeleteOfUpdatedGroup { path, .. }, Resolution::Ours) => {
            delete_theirs(path, sides, changes);
            Ok(())
        }
        (Conflict::NewNodeConflictsWithExistingNode { path, .. }, Resolution::Ours) => {
            delete_theirs(path, sides, changes);
            Ok(())
        }
        (
            Conflict::NewNodeConflictsWithExistingNode { path, .. }
            | Conflict::NewNodeInInvalidGroup { path, .. }
            | Conflict::NewNodeInDeletedGroup { path, .. },
            Resolution::Theirs,
        ) => {
            let below: BTreeSet<NodePath> = changes
                .created()
                .keys()
                .filter(|created| *created == path || path.is_ancestor_of(created))
                .cloned()
                .collect();
            below.iter().for_each(|path| changes.forget_created(path));
            Ok(())
        }
        (
            Conflict::ChunksUpdatedInUpdatedArray { .. }
            | Conflict::ChunksUpdatedInDeletedArray { .. }
            | Conflict::ZarrMetadataUpdateOfDeletedArray { .. }
            | Conflict::ZarrMetadataUpdateOfDeletedGroup { .. }
            | Conflict::NewNodeInInvalidGroup { .. }
            | Conflict::NewNodeInDeletedGroup { .. },
            Resolution::Ours,
        ) => Err(NotPossible),
    }
}

/// Forgets our metadata of a node, and our chunks that theirs has no place for.
fn give_update_up(path: &NodePath, sides: &Sides<'_>, changes: &mut ChangeSet) {
    let Some(node) = changes.updated().get(path).map(|node| node.id) else {
        return;
    };
    changes.forget_updated(path);
    changes.see_whole_base(&node);
    let record = sides.after.position(path).map(|it| sides.after.record(it));
    let metadata = record.and_then(|record| sides.after.metadata(record).ok());
    match metadata.as_ref().and_then(|metadata| metadata.array()) {
        Some(array) => changes.keep_chunks_within(&node, &array.chunk_counts),
        None => changes.keep_chunks_within(&node, &[]),
    }
}

/// Forgets the deletion of a node, of what is below it, and of the groups above it.
fn give_delete_up(path: &NodePath, changes: &mut ChangeSet) {
    let kept: Vec<NodePath> = changes
        .deleted()
        .keys()
        .filter(|deleted| {
            *deleted == path || path.is_ancestor_of(deleted) || deleted.is_ancestor_of(path)
        })
        .cloned()
        .collect();
    kept.iter().for_each(|path| changes.forget_deleted(path));
}

/// Deletes what they have at and below a path, so that only ours is left there.
fn delete_theirs(path: &NodePath, sides: &Sides<'_>, changes: &mut ChangeSet) {
    let at = sides.after.position(path).map(|it| sides.after.record(it));
    for record in at.into_iter().chain(sides.after.records_below(path)) {
        changes.note_deleted(record.node_path(), record.id(), record.kind());
    }
}
