//! Which of our edits collide with a commit that landed since? Pure functions over data that the caller has
//! fetched: every rule is a fast test.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{ChunkIndex, NodeId, NodeKind, NodePath, NodeRecord};
use icefield_storage::{PlantedBug, planted};

use super::changes::Changes;
use super::conflict::Conflict;
use crate::change_set::{BaseView, ChangeSet, ChunkTable, PendingChunk, WrittenNode};
use crate::metadata::document::{Reach, hidden_chunks, merge, reach};
use crate::session::Base;

/// Which rules decide what a conflict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detector {
    /// Refuses every unsound combination, accepts every provably harmless one.
    #[default]
    Strict,
    /// The rules of the reference implementation, its unsound cases included.
    Compatible,
}

/// Chunks by array.
pub(crate) type ChunkSets = BTreeMap<NodeId, BTreeSet<ChunkIndex>>;

/// All that the decision depends on.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    /// The session's edits.
    pub(crate) ours: &'a ChangeSet,
    /// The changes of the commit.
    pub(crate) theirs: &'a Changes,
    /// The snapshot that both started from.
    pub(crate) before: &'a Base,
    /// The commit's snapshot.
    pub(crate) after: &'a Base,
    /// Chunks that both wrote with equal content.
    pub(crate) equal: &'a ChunkSets,
    /// Arrays of which our chunks have moved along with theirs already.
    pub(crate) followed: &'a BTreeSet<NodeId>,
}

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

/// Whether the node that we created is in their snapshot under the same id, with equal metadata: ids are drawn at
/// random, so both sides took it over from one commit. Its chunks are compared one by one.
pub(super) fn is_one_node(ours: &ChangeSet, after: &Base, path: &NodePath, node: &NodeId) -> bool {
    let (Some(created), Some(position)) = (ours.created().get(path), after.position(path)) else {
        return false;
    };
    let theirs = after.record(position);
    theirs.id() == *node
        && created.id == *node
        && ours.moved_from(node).is_none()
        && reach(&created.document, theirs.user_data()) == Reach::Nothing
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

impl Sides<'_> {
    /// Where the snapshots have a node that our edits have at `path`.
    pub(super) fn home<'a>(&'a self, path: &'a NodePath, node: &NodeId) -> &'a NodePath {
        self.ours.moved_from(node).unwrap_or(path)
    }

    fn document<'a>(&self, base: &'a Base, path: &NodePath, node: NodeId) -> Option<&'a [u8]> {
        let record = base.record(base.position(self.home(path, &node))?);
        (record.id() == node).then(|| record.user_data())
    }

    fn created(
        &self,
        detector: Detector,
        path: &NodePath,
        node: &WrittenNode,
        conflicts: &mut Vec<Conflict>,
    ) {
        if let Some(theirs) = self.taken(detector, path) {
            let equal = detector == Detector::Strict
                && (self.is_one_node(path, &node.id) || self.equal_to_existing(path, node));
            if !equal {
                conflicts.push(Conflict::NewNodeConflictsWithExistingNode {
                    path: path.clone(),
                    node: node.id,
                    theirs,
                });
            }
        }
        if detector == Detector::Strict
            && node.kind() == NodeKind::Array
            && let Some(child) = self.child_that_stays(path)
        {
            conflicts.push(Conflict::NewNodeConflictsWithExistingNode {
                path: path.clone(),
                node: node.id,
                theirs: child,
            });
        }
        for ancestor in path.ancestors() {
            if detector == Detector::Strict && self.ours.created().contains_key(&ancestor) {
                // Collisions of the ancestor itself are reported for the ancestor.
                break;
            }
            let now = self
                .after
                .position(&ancestor)
                .map(|it| self.after.record(it));
            let gone = self.ours.deleted().get(&ancestor).map(|(node, _)| *node);
            if gone.is_some() && now.as_ref().is_none_or(|record| Some(record.id()) == gone) {
                // We deleted it ourselves.
                continue;
            }
            if let Some(record) = now {
                if record.kind() == NodeKind::Array {
                    conflicts.push(Conflict::NewNodeInInvalidGroup {
                        path: path.clone(),
                        node: node.id,
                        array: ancestor,
                    });
                }
                break;
            }
            let was = self
                .before
                .position(&ancestor)
                .map(|it| self.before.record(it));
            if detector == Detector::Strict
                && was.is_some_and(|record| self.theirs.deleted(&record.id()).is_some())
            {
                conflicts.push(Conflict::NewNodeInDeletedGroup {
                    path: path.clone(),
                    node: node.id,
                    group: ancestor,
                });
                break;
            }
        }
    }

    /// A node below a path that will still be there.
    fn child_that_stays(&self, path: &NodePath) -> Option<NodeId> {
        self.after
            .records_below(path)
            .map(|record| (record.node_path(), record.id()))
            .find(|(path, node)| self.ours.deleted().get(path).map(|(gone, _)| gone) != Some(node))
            .map(|(_, node)| node)
    }

    /// The node that stands where we created one, unless it is the one that we deleted there.
    fn taken(&self, detector: Detector, path: &NodePath) -> Option<NodeId> {
        let existing = self.after.record(self.after.position(path)?).id();
        match (self.ours.deleted().get(path), detector) {
            (None, _) => Some(existing),
            (Some(_), Detector::Compatible) => None,
            (Some((deleted, _)), Detector::Strict) => (*deleted != existing).then_some(existing),
        }
    }

    pub(super) fn is_one_node(&self, path: &NodePath, node: &NodeId) -> bool {
        is_one_node(self.ours, self.after, path, node)
    }

    /// Whether the node that they created is the one that we created: equal groups, or equal arrays without
    /// chunks. That we erased some says nothing else.
    pub(super) fn equal_to_existing(&self, path: &NodePath, ours: &WrittenNode) -> bool {
        let Some(position) = self.after.position(path) else {
            return false;
        };
        let theirs = self.after.record(position);
        let no_chunks = self
            .ours
            .chunks_of(&ours.id)
            .is_none_or(ChunkTable::sets_nothing)
            && self
                .after
                .array(position)
                .is_none_or(|array| array.manifest_count() == 0);
        theirs.kind() == ours.kind()
            && self.ours.moved_from(&ours.id).is_none()
            && no_chunks
            && reach(&ours.document, theirs.user_data()) == Reach::Nothing
    }

    fn updated(
        &self,
        detector: Detector,
        path: &NodePath,
        node: &WrittenNode,
        conflicts: &mut Vec<Conflict>,
    ) {
        match self.theirs.deleted(&node.id) {
            Some(NodeKind::Array) => {
                conflicts.push(Conflict::ZarrMetadataUpdateOfDeletedArray {
                    path: path.clone(),
                    node: node.id,
                });
                return;
            }
            Some(NodeKind::Group) => {
                conflicts.push(Conflict::ZarrMetadataUpdateOfDeletedGroup {
                    path: path.clone(),
                    node: node.id,
                });
                return;
            }
            None => {}
        }
        let collides = || match detector {
            Detector::Strict => self.merged(path, node).is_none(),
            Detector::Compatible => !self.only_moves(path, node),
        };
        if self.theirs.updated.contains(&node.id) && collides() {
            conflicts.push(Conflict::ZarrMetadataDoubleUpdate {
                path: path.clone(),
                node: node.id,
            });
            return;
        }
        if detector == Detector::Strict
            && let Some(chunks) = self.theirs.chunks.get(&node.id)
        {
            let unfit = self.chunks_that_do_not_fit(path, node, chunks);
            if !unfit.is_empty() {
                conflicts.push(Conflict::ZarrMetadataUpdateOfUpdatedChunks {
                    path: path.clone(),
                    node: node.id,
                    chunks: unfit,
                });
            }
        }
    }

    /// Whether the node got another path from us, and kept its metadata.
    fn only_moves(&self, path: &NodePath, node: &WrittenNode) -> bool {
        self.ours.moved_from(&node.id).is_some()
            && self.document(self.before, path, node.id) == Some(&node.document[..])
    }

    /// Our and their new metadata of a node in one document, if the two edits are independent.
    pub(super) fn merged(&self, path: &NodePath, node: &WrittenNode) -> Option<Vec<u8>> {
        let before = self.document(self.before, path, node.id)?;
        let after = self.document(self.after, path, node.id)?;
        merge(before, &node.document, after)
    }

    /// Their chunks that our new metadata leaves without a place, or gives another meaning.
    fn chunks_that_do_not_fit(
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
    fn cut_off(&self, node: &NodeId, home: &NodePath, conflicts: &mut Vec<Conflict>) {
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

    /// The part of their snapshot's array that our edits leave visible; `None`: all of it.
    pub(super) fn view_after(&self, path: &NodePath, node: &NodeId) -> Option<BaseView> {
        let mut view = self.ours.view_of(node)?.clone();
        let (before, after) = self.grids(node, self.home(path, node))?;
        view.follow_base(&before, &after);
        Some(view)
    }

    /// How the chunks of an array move that we shift. Those that they wrote before we do move along with the others, and
    /// are dropped with the others: that is what one after the other means.
    pub(super) fn moves_along(&self, node: &NodeId) -> Option<&BaseView> {
        self.ours.view_of(node).filter(|view| view.is_shifted())
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
    fn shifted(
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

    /// The grids of an array before and after their commit.
    pub(super) fn grids(&self, node: &NodeId, path: &NodePath) -> Option<(Vec<u32>, Vec<u32>)> {
        Some((
            self.before.grid_of(node, path)?,
            self.after.grid_of(node, path)?,
        ))
    }

    fn written(
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

    fn deleted(
        &self,
        detector: Detector,
        path: &NodePath,
        node: NodeId,
        kind: NodeKind,
        conflicts: &mut Vec<Conflict>,
    ) {
        // They gave it another path, where it would stay.
        let moved = detector == Detector::Strict && self.theirs.created.contains(&node);
        if self.theirs.deleted(&node).is_some() && !moved {
            return;
        }
        let updated = moved || self.theirs.updated.contains(&node);
        match kind {
            // It only has another path: what they did to it stays.
            NodeKind::Array if self.ours.moved_from(&node).is_some() => {}
            NodeKind::Array => {
                let touched = updated || self.theirs.chunks.contains_key(&node);
                if touched && !planted(PlantedBug::DeleteOfUpdatedAllowed) {
                    conflicts.push(Conflict::DeleteOfUpdatedArray {
                        path: path.clone(),
                        node,
                    });
                }
            }
            NodeKind::Group => {
                if updated && self.ours.moved_from(&node).is_none() {
                    conflicts.push(Conflict::DeleteOfUpdatedGroup {
                        path: path.clone(),
                        node,
                        child: None,
                    });
                } else if detector == Detector::Strict
                    && let Some(child) = self.child_that_they_touched(path)
                {
                    conflicts.push(Conflict::DeleteOfUpdatedGroup {
                        path: path.clone(),
                        node,
                        child: Some(child),
                    });
                }
            }
        }
    }

    /// The first node below a path that they created or changed.
    fn child_that_they_touched(&self, path: &NodePath) -> Option<NodePath> {
        let is_ours = |record: &NodeRecord<'_>| {
            let deleted = self.ours.deleted().get(&record.node_path());
            deleted.is_some_and(|(id, _)| *id == record.id())
        };
        let touched = |record: &NodeRecord<'_>| {
            let id = &record.id();
            self.ours.moved_from(id).is_none()
                && (self.theirs.created.contains(id)
                    || self.theirs.updated.contains(id)
                    || self.theirs.chunks.contains_key(id)
                    || self.theirs.moved.contains_key(id) && !is_ours(record))
        };
        self.after
            .records_below(path)
            .find(touched)
            .map(|record| record.node_path())
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
