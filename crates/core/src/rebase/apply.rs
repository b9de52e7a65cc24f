//! Carrying the edits of a session over to a newer base, once all collisions are settled.

use std::sync::Arc;

use icefield_format::ChunkIndex;
use icefield_storage::{PlantedBug, planted};

use super::detect::{Detector, Sides};
use crate::change_set::{ChangeSet, NodeChange, WrittenNode};
use crate::metadata::{MetadataError, NodeMetadata};

/// Returns our edits against their snapshot; chunks that both wrote alike are theirs.
///
/// # Errors
/// If a merged document is no metadata, which the merge rules exclude.
pub(crate) fn carried_over(
    detector: Detector,
    sides: &Sides<'_>,
) -> Result<ChangeSet, MetadataError> {
    let mut changes = sides.ours.clone();
    for (path, node) in sides.ours.created() {
        if detector == Detector::Strict && sides.is_one_node(path, &node.id) {
            changes.adopt_created(path);
        } else if detector == Detector::Strict
            && let Some(position) = sides.after.position(path)
            && sides.equal_to_existing(path, node)
            && !keeps_its_delete(sides, path)
        {
            // Theirs was first: its id is the node's. What we erased in it stays erased in what others write to it.
            changes.adopt_equal(path, sides.after.record(position).id());
        }
    }
    for (path, (node, _)) in sides.ours.deleted() {
        let there = sides
            .after
            .position(path)
            .is_some_and(|position| sides.after.record(position).id() == *node);
        if !there {
            changes.forget_deleted(path);
        }
    }
    for path in changes.created().keys().cloned().collect::<Vec<_>>() {
        // Deleted and created again by both, which the reference lets pass: ours takes the place of theirs.
        let there = sides.after.position(&path).map(|it| sides.after.record(it));
        if let Some(theirs) = there
            && detector == Detector::Compatible
            && sides.ours.deleted().contains_key(&path)
            && !changes.deleted().contains_key(&path)
        {
            changes.note_deleted(path, theirs.id(), theirs.kind());
        }
    }
    for (node, view) in sides.ours.views() {
        if let Some((before, after)) = sides.grids(node, &view.home)
            && !planted(PlantedBug::ResizeForgotten)
        {
            changes.see_resized_base(node, &before, &after);
        }
    }
    let moved = sides.ours.created().iter();
    let moved = moved.filter(|(_, node)| sides.ours.moved_from(&node.id).is_some());
    for (path, node) in sides.ours.updated().iter().chain(moved) {
        if !sides.theirs.updated.contains(&node.id) {
            continue;
        }
        let home = sides.home(path, &node.id);
        let Some(document) = sides.merged(path, node) else {
            continue;
        };
        let theirs = sides
            .after
            .position(home)
            .map(|position| sides.after.record(position).user_data());
        // A chunk that we cut off is a change, whatever the shape is now.
        let grid = sides.after.grid_of(&node.id, home);
        let cut = grid.is_some_and(|grid| changes.cuts(&node.id, &grid));
        if theirs == Some(&document[..]) && home == path && !cut {
            changes.forget_updated(path);
        } else {
            let metadata = Arc::new(NodeMetadata::parse_new(&document, usize::MAX)?);
            let merged = WrittenNode {
                id: node.id,
                document: document.into(),
                metadata,
            };
            changes.replace_metadata(path, merged);
        }
    }
    for (node, indices) in sides.equal {
        // Where we had cut the array off, theirs is not seen: ours stays.
        let view = changes.view_of(node).cloned();
        let seen = |index: &&ChunkIndex| view.as_ref().is_none_or(|view| view.shows(index));
        let theirs = indices.iter().filter(seen).cloned().collect();
        changes.forget_chunks(node, &theirs);
    }
    for node in &sides.theirs.updated {
        // Deletions of chunks that their resize left no place for.
        let Some(path) = sides.ours.array_path(node) else {
            continue;
        };
        if matches!(changes.node(path), NodeChange::Unchanged)
            && let Some((_, after)) = sides.grids(node, sides.home(path, node))
        {
            changes.keep_chunks_within(node, &after);
        }
    }
    Ok(changes)
}

/// Whether the node at a path is the one that we deleted there before we created ours.
fn keeps_its_delete(sides: &Sides<'_>, path: &icefield_format::NodePath) -> bool {
    let now = sides
        .after
        .position(path)
        .map(|position| sides.after.record(position).id());
    sides
        .ours
        .deleted()
        .get(path)
        .is_some_and(|(deleted, _)| Some(*deleted) == now)
}
