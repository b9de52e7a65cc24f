//! Which of our edits collide with a commit that landed since? Pure functions over data that the caller has
//! fetched: every rule is a fast test.

mod chunks;
mod nodes;
mod sides;

use std::collections::BTreeSet;

use icefield_format::ChunkIndex;

use super::changes::Changes;
use super::conflict::Conflict;
use crate::change_set::{BaseView, ChangeSet};
pub use sides::Detector;
pub(super) use sides::is_one_node;
pub(crate) use sides::{ChunkSets, Sides};

/// The chunks that both sides wrote: the caller finds out which of them are equal.
pub(crate) fn double_writes(ours: &ChangeSet, theirs: &Changes) -> ChunkSets {
    let mut both = ChunkSets::new();
    for (node, written) in &theirs.chunks {
        let Some(table) = ours.chunks_of(node) else {
            continue;
        };
        if ours.view_of(node).is_some_and(BaseView::is_shifted) {
            // Theirs is at another place, and moves along.
            continue;
        }
        let chunks: BTreeSet<ChunkIndex> = written
            .iter()
            .filter(|index| table.get(index).is_some())
            .cloned()
            .collect();
        if !chunks.is_empty() {
            both.insert(*node, chunks);
        }
    }
    both
}

/// Lists the collisions, sorted by kind and path.
pub(crate) fn detect(detector: Detector, sides: &Sides<'_>) -> Vec<Conflict> {
    let mut conflicts = Vec::new();
    for (path, node) in sides.ours.created() {
        sides.created(detector, path, node, &mut conflicts);
        if sides.ours.moved_from(&node.id).is_some() {
            sides.updated(detector, path, node, &mut conflicts);
        }
    }
    for (path, node) in sides.ours.updated() {
        sides.updated(detector, path, node, &mut conflicts);
    }
    for (node, table) in sides.ours.chunks() {
        if let Some(path) = sides.ours.array_path(node)
            && !table.is_empty()
            && (sides.ours.moved_from(node).is_some()
                || !sides.ours.has_created(path, node)
                || (detector == Detector::Strict && sides.is_one_node(path, node)))
        {
            sides.written(detector, path, *node, table, &mut conflicts);
        }
    }
    if detector == Detector::Strict {
        for (node, view) in sides.ours.views() {
            sides.cut_off(node, &view.home, &mut conflicts);
        }
    }
    for (node, view) in sides.ours.views() {
        sides.shifted(detector, node, view, &mut conflicts);
    }
    for (path, (node, kind)) in sides.ours.deleted() {
        sides.deleted(detector, path, *node, *kind, &mut conflicts);
    }
    conflicts.sort();
    conflicts
}
