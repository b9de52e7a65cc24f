//! Answers to conflicts.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use icefield_format::{ChunkIndex, NodeId, NodeKind, NodePath};
use icefield_storage::BoxError;

use super::conflict::Conflict;
use super::detect::{Detector, Sides};
use crate::Session;
use crate::change_set::{BaseView, ChangeSet, NodeChange, WrittenNode};
use crate::grid::within;

/// The answer of a solver to one conflict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Resolution {
    /// No resolution: the rebase ends with this conflict.
    Fail,
    /// The session's edit stays. Where that is impossible, such as for a chunk of an array that was deleted, the rebase
    /// ends with the conflict.
    Ours,
    /// The session's edit is given up.
    Theirs,
    /// The bytes that take the place of chunks that both sides wrote, encoded as chunks of the array; chunks that are
    /// not named keep the session's bytes. An index that does not collide makes the rebase end with the conflict.
    Merged(Vec<(ChunkIndex, Bytes)>),
}

/// Decides conflicts. Implement it for decisions that depend on the data, such as the maximum of two writers:
///
/// ```
/// use icefield_core::{Conflict, ConflictSolver, Resolution, Session};
/// # type BoxError = Box<dyn std::error::Error + Send + Sync>;
///
/// /// Keeps our chunks, and refuses everything else.
/// #[derive(Debug)]
/// struct OurChunks;
///
/// #[async_trait::async_trait]
/// impl ConflictSolver for OurChunks {
///     async fn solve(
///         &self,
///         conflict: &Conflict,
///         _ours: &Session,
///         _before: &Session,
///         _theirs: &Session,
///     ) -> Result<Resolution, BoxError> {
///         Ok(match conflict {
///             Conflict::ChunkDoubleUpdate { .. } => Resolution::Ours,
///             _ => Resolution::Fail,
///         })
///     }
/// }
/// ```
#[async_trait]
pub trait ConflictSolver: std::fmt::Debug + Send + Sync {
    /// Which rules decide what a conflict is.
    fn detector(&self) -> Detector {
        Detector::Strict
    }

    /// Answers one conflict. Commits to the same branch wait until the answer is there, so that one made from in
    /// here would wait for itself. `ours` reads the session with its edits, `before` the snapshot that both started
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

/// The side whose edit stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VersionSelection {
    /// Neither side: the rebase fails.
    Fail,
    /// The session's edit stays.
    #[default]
    UseOurs,
    /// The commit's edit stays.
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

/// A solver with one answer for each kind of conflict. The default answers are those of the reference implementation's
/// solver: chunks and deletions of the session win, and everything else fails.
///
/// ```
/// use icefield_core::{BasicSolver, VersionSelection};
///
/// // An append-only job that gives way wherever another writer was first.
/// let solver = BasicSolver::of(VersionSelection::UseTheirs);
/// assert_eq!(solver.on_chunk_conflict, VersionSelection::UseTheirs);
/// assert_eq!(BasicSolver::default().on_chunk_conflict, VersionSelection::UseOurs);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BasicSolver {
    /// The rules that decide what a conflict is.
    pub detector: Detector,
    /// The answer for chunks that both sides wrote.
    pub on_chunk_conflict: VersionSelection,
    /// The answer for metadata that both sides changed, and for chunks of an array whose metadata the other side
    /// changed.
    pub on_metadata_conflict: VersionSelection,
    /// The answer for an array that the session deleted and the commit changed; `UseOurs` deletes it.
    pub on_delete_of_updated_array: VersionSelection,
    /// The answer for a group that the session deleted and the commit changed; `UseOurs` deletes it with everything
    /// below it.
    pub on_delete_of_updated_group: VersionSelection,
    /// The answer for edits of a node that the commit deleted; `UseTheirs` gives the edits up, `UseOurs` fails.
    pub on_update_of_deleted: VersionSelection,
    /// The answer for edits of a node that the commit moved; `UseOurs` carries the edits along to the new path,
    /// `UseTheirs` gives them up.
    pub on_moved: VersionSelection,
    /// The answer for nodes that both sides created; `UseOurs` puts the session's node in the place of the commit's.
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
            on_moved: VersionSelection::Fail,
            on_new_node: VersionSelection::Fail,
        }
    }
}

impl BasicSolver {
    /// Returns a solver that gives one answer to every conflict, by the strict rules.
    pub fn of(selection: VersionSelection) -> Self {
        Self {
            detector: Detector::Strict,
            on_chunk_conflict: selection,
            on_metadata_conflict: selection,
            on_delete_of_updated_array: selection,
            on_delete_of_updated_group: selection,
            on_update_of_deleted: selection,
            on_moved: selection,
            on_new_node: selection,
        }
    }

    /// Returns the same solver, except that it carries edits along to the new paths of nodes that the commit moved.
    #[must_use]
    pub fn follow_moves(self) -> Self {
        Self {
            on_moved: VersionSelection::UseOurs,
            ..self
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
            | Conflict::ChunksUpdatedInUpdatedArray { .. }
            | Conflict::ChunksUpdatedInShiftedArray { .. } => self.on_metadata_conflict,
            // On top of theirs it may mean something else; only the caller that shifted knows.
            Conflict::ShiftOfUpdatedArray { .. } => VersionSelection::Fail,
            Conflict::EditOfMovedNode { .. } => self.on_moved,
            Conflict::MoveOperationCannotBeRebased { .. } => VersionSelection::Fail,
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

/// An answer that cannot be carried out.
#[derive(Debug)]
pub(crate) struct NotPossible;

/// Carries out an answer on edits that were carried over to the commit's snapshot. Merged chunks are the
/// caller's to store.
pub(crate) fn settle(
    conflict: &Conflict,
    resolution: &Resolution,
    detector: Detector,
    sides: &Sides<'_>,
    changes: &mut Arc<ChangeSet>,
) -> Result<(), NotPossible> {
    let changes = Arc::make_mut(changes);
    match (conflict, resolution) {
        (_, Resolution::Fail)
        | (
            Conflict::ShiftOfUpdatedArray { .. }
            | Conflict::EditOfMovedNode { .. }
            | Conflict::MoveOperationCannotBeRebased { .. },
            _,
        ) => Err(NotPossible),
        (Conflict::ChunkDoubleUpdate { node, chunks, .. }, Resolution::Ours) => {
            changes.name_erased(node, chunks);
            Ok(())
        }
        (Conflict::ChunkDoubleUpdate { node, chunks, .. }, Resolution::Merged(merged)) => {
            changes.name_erased(node, chunks);
            // Of an array that we shifted, both have the same index for different chunks: a merge would be a guess.
            let has_two_indices = sides.moves_along(node).is_some();
            match !has_two_indices && merged.iter().all(|(index, _)| chunks.contains(index)) {
                true => Ok(()),
                false => Err(NotPossible),
            }
        }
        (_, Resolution::Merged(_)) => Err(NotPossible),
        (Conflict::ChunkDoubleUpdate { node, chunks, .. }, Resolution::Theirs)
        | (Conflict::ChunksUpdatedInUpdatedArray { node, chunks, .. }, Resolution::Theirs)
        | (Conflict::ChunksUpdatedInShiftedArray { node, chunks, .. }, Resolution::Theirs)
        | (Conflict::ChunksUpdatedInDeletedArray { node, chunks, .. }, Resolution::Theirs) => {
            let names_all = match conflict {
                Conflict::ChunkDoubleUpdate { .. } => false,
                // By the strict rules, what we erased needs no place there, and stays erased. The others name all edits of the
                // array, though not each cell of a large box.
                Conflict::ChunksUpdatedInUpdatedArray { .. } => detector == Detector::Compatible,
                _ => true,
            };
            if names_all {
                changes.forget_boxes(node);
            }
            changes.forget_chunks(node, chunks);
            Ok(())
        }
        (Conflict::ZarrMetadataDoubleUpdate { .. }, Resolution::Ours) => Ok(()),
        (
            Conflict::DeleteOfUpdatedArray { path, node }
            | Conflict::DeleteOfUpdatedGroup { path, node, .. },
            Resolution::Ours,
        ) if sides
            .after
            .position(path)
            .map(|it| sides.after.record(it).id())
            != Some(*node) =>
        {
            // They gave it another path: a delete of this one would delete nothing, in silence.
            Err(NotPossible)
        }
        (Conflict::DeleteOfUpdatedArray { .. }, Resolution::Ours) => Ok(()),
        (
            Conflict::ZarrMetadataDoubleUpdate { path, .. }
            | Conflict::ZarrMetadataUpdateOfUpdatedChunks { path, .. }
            | Conflict::ZarrMetadataUpdateOfDeletedArray { path, .. }
            | Conflict::ZarrMetadataUpdateOfDeletedGroup { path, .. },
            Resolution::Theirs,
        ) => {
            let node = conflict.node();
            if changes.view_of(&node).is_some_and(BaseView::is_shifted) {
                // Chunks that were shifted along with the metadata would stay behind.
                return Err(NotPossible);
            }
            give_update_up(path, node, sides, changes);
            Ok(())
        }
        (Conflict::ZarrMetadataUpdateOfUpdatedChunks { node, .. }, Resolution::Ours)
            if sides.moves_along(node).is_some() =>
        {
            // The chunks have other indices here, and are gone with those that we drop.
            Err(NotPossible)
        }
        (Conflict::ZarrMetadataUpdateOfUpdatedChunks { path, node, chunks }, Resolution::Ours) => {
            let grid = match changes.node(path) {
                NodeChange::Written(written) => written.metadata.array().map(|it| &it.chunk_counts),
                _ => None,
            };
            let grid = grid.cloned().or_else(|| Some(sides.grids(node, path)?.1));
            // Those outside the grid have no place to be deleted from.
            let grid = grid.unwrap_or_default();
            let inside = |index: &&ChunkIndex| within(index, &grid);
            let inside = chunks.iter().filter(inside).cloned().collect();
            changes.delete_chunks(path, *node, &inside);
            Ok(())
        }
        (
            Conflict::DeleteOfUpdatedArray { path, .. }
            | Conflict::DeleteOfUpdatedGroup { path, .. },
            Resolution::Theirs,
        ) => give_delete_up(path, changes),
        (Conflict::DeleteOfUpdatedGroup { path, node, .. }, Resolution::Ours) => {
            if changes.moved_from(node).is_some() {
                // It only moved: what they created in it would go in silence.
                return Err(NotPossible);
            }
            delete_theirs(path, sides, changes);
            Ok(())
        }
        (Conflict::NewNodeConflictsWithExistingNode { path, .. }, Resolution::Ours) => {
            replace_theirs(path, sides, changes);
            Ok(())
        }
        (
            Conflict::NewNodeConflictsWithExistingNode { path, .. }
            | Conflict::NewNodeInInvalidGroup { path, .. }
            | Conflict::NewNodeInDeletedGroup { path, .. },
            Resolution::Theirs,
        ) => give_creation_up(path, sides, changes),
        (
            Conflict::ChunksUpdatedInUpdatedArray { .. }
            | Conflict::ChunksUpdatedInShiftedArray { .. }
            | Conflict::ChunksUpdatedInDeletedArray { .. }
            | Conflict::ZarrMetadataUpdateOfDeletedArray { .. }
            | Conflict::ZarrMetadataUpdateOfDeletedGroup { .. }
            | Conflict::NewNodeInInvalidGroup { .. }
            | Conflict::NewNodeInDeletedGroup { .. },
            Resolution::Ours,
        ) => Err(NotPossible),
    }
}

/// Forgets a node that we created. What we created below it stays if their node is a group, too.
fn give_creation_up(
    path: &NodePath,
    sides: &Sides<'_>,
    changes: &mut ChangeSet,
) -> Result<(), NotPossible> {
    let there = sides.after.position(path).map(|it| sides.after.record(it));
    let keeps_children = there.is_some_and(|record| record.kind() == NodeKind::Group);
    let given_up: Vec<NodePath> = changes
        .created()
        .keys()
        .filter(|created| *created == path || (!keeps_children && path.is_ancestor_of(created)))
        .cloned()
        .collect();
    let moved = |path: &NodePath| {
        let node = changes.created().get(path);
        node.is_some_and(|node| changes.moved_from(&node.id).is_some())
    };
    if given_up.iter().any(moved) {
        // Given up, a node that only moved would be gone.
        return Err(NotPossible);
    }
    given_up
        .iter()
        .for_each(|path| changes.forget_created(path));
    Ok(())
}

/// Deletes their node where we created one. What they have below it stays if both are groups.
fn replace_theirs(path: &NodePath, sides: &Sides<'_>, changes: &mut ChangeSet) {
    let theirs = sides.after.position(path).map(|it| sides.after.record(it));
    let ours = changes.created().get(path).map(WrittenNode::kind);
    match theirs {
        Some(theirs) if theirs.kind() == NodeKind::Group && ours == Some(NodeKind::Group) => {
            changes.note_deleted(path.clone(), theirs.id(), theirs.kind());
        }
        _ => delete_theirs(path, sides, changes),
    }
}

/// Forgets our metadata of a node, and our chunks that theirs has no place for.
fn give_update_up(path: &NodePath, node: NodeId, sides: &Sides<'_>, changes: &mut ChangeSet) {
    let home = sides.home(path, &node);
    let record = sides.after.position(home).map(|it| sides.after.record(it));
    let record = record.filter(|record| record.id() == node);
    let metadata = record
        .as_ref()
        .and_then(|record| sides.after.metadata(*record).ok());
    match (record, &metadata) {
        _ if home == path => changes.forget_updated(path),
        (Some(record), Some(metadata)) => {
            let theirs = WrittenNode {
                id: node,
                document: Bytes::copy_from_slice(record.user_data()),
                metadata: Arc::clone(metadata),
            };
            changes.replace_metadata(path, theirs);
        }
        // They deleted what we moved.
        _ => changes.forget_created(path),
    }
    changes.see_whole_base(&node);
    match metadata.as_ref().and_then(|metadata| metadata.array()) {
        Some(array) => changes.keep_chunks_within(&node, &array.chunk_counts),
        None => changes.drop_table(&node),
    }
}

/// Forgets the deletion of a node, of what is below it, and of the groups above it.
fn give_delete_up(path: &NodePath, changes: &mut ChangeSet) -> Result<(), NotPossible> {
    let kept: Vec<(NodePath, (NodeId, NodeKind))> = changes
        .deleted()
        .iter()
        .filter(|(deleted, _)| {
            *deleted == path || path.is_ancestor_of(deleted) || deleted.is_ancestor_of(path)
        })
        .map(|(path, node)| (path.clone(), *node))
        .collect();
    if kept
        .iter()
        .any(|(_, (node, _))| changes.moved_from(node).is_some())
    {
        // It was not deleted but moved, and cannot be in two places.
        return Err(NotPossible);
    }
    // Nodes that we created in the place of a node that stays, or below an array that stays, have no place left.
    let displaced: Vec<NodePath> = changes
        .created()
        .keys()
        .filter(|created| {
            kept.iter().any(|(path, (_, kind))| {
                path == *created || (*kind == NodeKind::Array && path.is_ancestor_of(created))
            })
        })
        .cloned()
        .collect();
    displaced
        .iter()
        .for_each(|path| changes.forget_created(path));
    kept.iter()
        .for_each(|(path, _)| changes.forget_deleted(path));
    Ok(())
}

/// Deletes what they have at and below a path, so that only ours is left there.
fn delete_theirs(path: &NodePath, sides: &Sides<'_>, changes: &mut ChangeSet) {
    let at = sides.after.position(path).map(|it| sides.after.record(it));
    for record in at.into_iter().chain(sides.after.records_below(path)) {
        if changes.moved_from(&record.id()).is_some() {
            continue;
        }
        changes.note_deleted(record.node_path(), record.id(), record.kind());
    }
}
