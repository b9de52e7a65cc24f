//! Rules for chunks: written, cut off and shifted ones.

use std::collections::BTreeSet;

use icefield_format::{ChunkIndex, NodeId, NodePath};
use icefield_storage::{PlantedBug, planted};

use super::sides::{Detector, Sides};
use crate::change_set::{BaseView, ChunkTable, PendingChunk, WrittenNode};
use crate::metadata::document::{Reach, hidden_chunks, reach};
use crate::rebase::conflict::Conflict;

impl Sides<'_> {
    /// Their chunks that our new metadata leaves without a place, or gives another meaning.
    pub(super) fn chunks_that_do_not_fit(
        &self,
        path: &NodePath,
        node: &WrittenNode,
        chunks: &BTreeSet<ChunkIndex>,
    ) -> BTreeSet<ChunkIndex> {
        let Some(before) = self.document(self.before, path, node.id) else {
            return chunks.clone();
        };
        let (reach, array) = (reach(before, &node.document), node.metadata.array());
        if self.moves_along(&node.id).is_some() && reach != Reach::Chunks {
            return BTreeSet::new();
        }
        let cut_off = self.chunks_cut_off(&node.id, path);
        let hides = newly_hidden(before, &node.document);
        let fits = |index: &ChunkIndex| {
            let has_meaning = match (reach, array) {
                (Reach::Nothing | Reach::Attributes, _) => true,
                (Reach::Shape, Some(array)) => array.contains(index),
                _ => false,
            };
            has_meaning && !cut_off.contains(index) && !hides(index)
        };
        chunks
            .iter()
            .filter(|index| !fits(index))
            .cloned()
            .collect()
    }

    /// Reports chunks that our resizes cut off, of an array whose metadata is not ours any more: what we cut
    /// off stays so.
    pub(super) fn cut_off(&self, node: &NodeId, home: &NodePath, conflicts: &mut Vec<Conflict>) {
        if self.ours.updated().contains_key(home)
            || self.ours.moved_from(node).is_some()
            || self.moves_along(node).is_some()
        {
            return;
        }
        let chunks = self.chunks_cut_off(node, home);
        if !chunks.is_empty() {
            conflicts.push(Conflict::ZarrMetadataUpdateOfUpdatedChunks {
                path: home.clone(),
                node: *node,
                chunks,
            });
        }
    }

    /// The chunks that they wrote where our resizes cut the array off, and that we did not write again.
    fn chunks_cut_off(&self, node: &NodeId, path: &NodePath) -> BTreeSet<ChunkIndex> {
        let (Some(view), Some(written)) =
            (self.view_after(path, node), self.theirs.chunks.get(node))
        else {
            return BTreeSet::new();
        };
        let table = self.ours.chunks_of(node);
        written
            .iter()
            .filter(|index| {
                !view.shows(index) && table.and_then(|table| table.get(index)).is_none()
            })
            .cloned()
            .collect()
    }

    /// Where a chunk of their snapshot is in ours, if anywhere.
    fn place(&self, node: &NodeId, index: &ChunkIndex) -> Option<ChunkIndex> {
        let Some(view) = self.moves_along(node) else {
            return Some(index.clone());
        };
        let mut place = Vec::new();
        view.place(index, &mut place).then(|| place.into())
    }

    /// Reports an array that we shifted and they gave another shape or other indices.
    pub(super) fn shifted(
        &self,
        detector: Detector,
        node: &NodeId,
        view: &BaseView,
        conflicts: &mut Vec<Conflict>,
    ) {
        let means_the_same = || {
            let documents = (
                self.document(self.before, &view.home, *node),
                self.document(self.after, &view.home, *node),
            );
            let (Some(before), Some(after)) = documents else {
                return false;
            };
            matches!(reach(before, after), Reach::Nothing | Reach::Attributes)
        };
        let is_resized = || {
            let grids = self.grids(node, &view.home);
            grids.is_none_or(|(before, after)| before != after)
        };
        let is_touched = self.theirs.deleted(node).is_some()
            || self.theirs.shifted.contains(node)
            || match detector {
                Detector::Strict => self.theirs.updated.contains(node) && !means_the_same(),
                Detector::Compatible => {
                    self.theirs.chunks.contains_key(node)
                        || self.theirs.updated.contains(node) && is_resized()
                }
            };
        if view.is_shifted() && is_touched {
            let path = self.ours.array_path(node).unwrap_or(&view.home).clone();
            conflicts.push(Conflict::ShiftOfUpdatedArray { path, node: *node });
        }
    }

    pub(super) fn written(
        &self,
        detector: Detector,
        path: &NodePath,
        node: NodeId,
        table: &ChunkTable,
        conflicts: &mut Vec<Conflict>,
    ) {
        let rows = |wanted: fn(PendingChunk<'_>) -> bool| -> BTreeSet<ChunkIndex> {
            (0..table.len() as u32)
                .filter(|row| wanted(table.at(*row)))
                .map(|row| ChunkIndex::from(table.index(row).to_vec()))
                .collect()
        };
        let all = || table.shown();
        if self.theirs.deleted(&node).is_some() {
            conflicts.push(Conflict::ChunksUpdatedInDeletedArray {
                path: path.clone(),
                node,
                chunks: all(),
            });
            return;
        }
        let shifted = self.theirs.shifted.contains(&node) && !self.followed.contains(&node);
        if shifted && detector == Detector::Strict {
            // Also of what we deleted: it is something else that is there now.
            conflicts.push(Conflict::ChunksUpdatedInShiftedArray {
                path: path.clone(),
                node,
                chunks: all(),
            });
            return;
        }
        if self.theirs.updated.contains(&node) {
            let unfit = match detector {
                Detector::Compatible => all(),
                // A chunk that we deleted needs no place.
                Detector::Strict => {
                    let set = rows(|chunk| chunk != PendingChunk::Deleted);
                    self.our_chunks_that_do_not_fit(path, node, set)
                }
            };
            if !unfit.is_empty() {
                conflicts.push(Conflict::ChunksUpdatedInUpdatedArray {
                    path: path.clone(),
                    node,
                    chunks: unfit,
                });
            }
        }
        let empty = BTreeSet::new();
        let equal = match detector {
            Detector::Strict => self.equal.get(&node).unwrap_or(&empty),
            Detector::Compatible => &empty,
        };
        let written = self.theirs.chunks.get(&node).unwrap_or(&empty);
        let both: BTreeSet<ChunkIndex> = written
            .iter()
            .filter(|index| !equal.contains(*index))
            .filter_map(|index| self.place(&node, index))
            .filter(|index| table.get(index).is_some())
            .collect();
        if !both.is_empty() && !planted(PlantedBug::DoubleWriteAllowed) {
            conflicts.push(Conflict::ChunkDoubleUpdate {
                path: path.clone(),
                node,
                chunks: both,
            });
        }
    }

    /// Our chunks that their new metadata leaves without a place, or gives another meaning.
    fn our_chunks_that_do_not_fit(
        &self,
        path: &NodePath,
        node: NodeId,
        chunks: BTreeSet<ChunkIndex>,
    ) -> BTreeSet<ChunkIndex> {
        let documents = (
            self.document(self.before, path, node),
            self.document(self.after, path, node),
        );
        let (Some(before), Some(after)) = documents else {
            return chunks;
        };
        let record = self.after.position(self.home(path, &node));
        let record = record.map(|it| self.after.record(it));
        let metadata = record.and_then(|record| self.after.metadata(record).ok());
        let Some(array) = metadata.as_ref().and_then(|it| it.array()) else {
            return chunks;
        };
        let reach = match reach(before, after) {
            Reach::Origin if self.followed.contains(&node) => Reach::Shape,
            reach => reach,
        };
        let hides = newly_hidden(before, after);
        match reach {
            Reach::Nothing => BTreeSet::new(),
            Reach::Attributes => chunks.into_iter().filter(hides).collect(),
            Reach::Shape => chunks
                .into_iter()
                .filter(|index| !array.contains(index) || hides(index))
                .collect(),
            Reach::Origin | Reach::Chunks => chunks,
        }
    }
}

/// Says of a chunk whether an edit of an array's metadata takes it out of the window, which chunks of others are no part of
/// then, whether there is one now or not.
fn newly_hidden(before: &[u8], after: &[u8]) -> impl Fn(&ChunkIndex) -> bool + use<> {
    let (before, after) = (hidden_chunks(before), hidden_chunks(after));
    move |index| {
        let is_below = |hidden: &[u32]| index.iter().zip(hidden).any(|(at, end)| at < end);
        before != after && is_below(&after) && !is_below(&before)
    }
}
