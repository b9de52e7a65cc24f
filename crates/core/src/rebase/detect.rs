//! Which of our edits collide with a commit that landed since? Pure functions over data that the caller has
//! fetched: every rule is a fast test.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{ChunkIndex, NodeId, NodeKind, NodePath};

use super::changes::Changes;
use super::conflict::Conflict;
use crate::change_set::{ChangeSet, ChunkTable, WrittenNode, seen_after, within};
use crate::metadata::document::{Reach, merge, reach};
use crate::session::Base;

/// Which rules decide what a conflict is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detector {
    /// Refuses every unsound combination, accepts every provably harmless one.
    #[default]
    Strict,
    /// What the reference implementation refuses and accepts, its unsound cases included.
    Compatible,
}

/// Chunks by array.
pub(crate) type ChunkSets = BTreeMap<NodeId, BTreeSet<ChunkIndex>>;

/// All that the decision depends on.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    /// The session's edits.
    pub(crate) ours: &'a ChangeSet,
    /// What the commit did.
    pub(crate) theirs: &'a Changes,
    /// The snapshot that both started from.
    pub(crate) before: &'a Base,
    /// The commit's snapshot.
    pub(crate) after: &'a Base,
    /// Chunks that both wrote with equal content.
    pub(crate) equal: &'a ChunkSets,
}

/// The chunks that both sides wrote: the caller finds out which of them are equal.
pub(crate) fn double_writes(ours: &ChangeSet, theirs: &Changes) -> ChunkSets {
    let mut both = ChunkSets::new();
    for (node, written) in &theirs.chunks {
        let Some(table) = ours.chunks().get(node) else {
            continue;
        };
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
    }
    for (path, node) in sides.ours.updated() {
        sides.updated(detector, path, node, &mut conflicts);
    }
    for (node, table) in sides.ours.chunks() {
        if let Some(path) = sides.ours.array_path(node)
            && !table.is_empty()
            && !sides
                .ours
                .created()
                .values()
                .any(|created| created.id == *node)
        {
            sides.written(detector, path, *node, table, &mut conflicts);
        }
    }
    for (path, (node, kind)) in sides.ours.deleted() {
        sides.deleted(detector, path, *node, *kind, &mut conflicts);
    }
    conflicts.sort();
    conflicts
}

impl Sides<'_> {
    fn document<'a>(&self, base: &'a Base, path: &NodePath, node: NodeId) -> Option<&'a [u8]> {
        let record = base.record(base.position(path)?);
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
            let equal = detector == Detector::Strict && self.equal_to_existing(path, node);
            if !equal {
                conflicts.push(Conflict::NewNodeConflictsWithExistingNode {
                    path: path.clone(),
                    node: node.id,
                    theirs,
                });
            }
        }
        for ancestor in path.ancestors() {
            if self.ours.created().contains_key(&ancestor) {
                // What the ancestor itself collides with is reported for the ancestor.
                break;
            }
            let now = self
                .after
                .position(&ancestor)
                .map(|it| self.after.record(it));
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

    /// The node that stands where we created one, unless it is the one that we deleted there.
    fn taken(&self, detector: Detector, path: &NodePath) -> Option<NodeId> {
        let existing = self.after.record(self.after.position(path)?).id();
        match (self.ours.deleted().get(path), detector) {
            (None, _) => Some(existing),
            (Some(_), Detector::Compatible) => None,
            (Some((deleted, _)), Detector::Strict) => (*deleted != existing).then_some(existing),
        }
    }

    /// Whether the node that they created is the one that we created: equal groups, or equal arrays without
    /// chunks.
    pub(super) fn equal_to_existing(&self, path: &NodePath, ours: &WrittenNode) -> bool {
        let Some(position) = self.after.position(path) else {
            return false;
        };
        let theirs = self.after.record(position);
        let no_chunks = self
            .ours
            .chunks()
            .get(&ours.id)
            .is_none_or(ChunkTable::is_empty)
            && self
                .after
                .array(position)
                .is_none_or(|array| array.manifest_count() == 0);
        theirs.kind() == ours.kind()
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
        if self.theirs.updated.contains(&node.id)
            && (detector == Detector::Compatible || self.merged(path, node).is_none())
        {
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
        let seen = self.seen_after(path, &node.id);
        let fits = |index: &ChunkIndex| match (reach, array) {
            (Reach::Nothing | Reach::Attributes, _) => true,
            (Reach::Shape, Some(array)) => {
                array.contains(index) && seen.as_ref().is_none_or(|grid| within(index, grid))
            }
            _ => false,
        };
        chunks
            .iter()
            .filter(|index| !fits(index))
            .cloned()
            .collect()
    }

    /// The grid within which our edits leave chunks of their snapshot to be seen; `None`: all of it.
    fn seen_after(&self, path: &NodePath, node: &NodeId) -> Option<Vec<u32>> {
        let seen = self.ours.visible_grid(node)?;
        let (before, after) = self.grids(path)?;
        Some(seen_after(seen, &before, &after))
    }

    /// The grids of an array before and after their commit.
    pub(super) fn grids(&self, path: &NodePath) -> Option<(Vec<u32>, Vec<u32>)> {
        let grid = |base: &Base| {
            let record = base.record(base.position(path)?);
            let metadata = base.metadata(record).ok()?;
            Some(metadata.array()?.chunk_counts.clone())
        };
        Some((grid(self.before)?, grid(self.after)?))
    }

    fn written(
        &self,
        detector: Detector,
        path: &NodePath,
        node: NodeId,
        table: &ChunkTable,
        conflicts: &mut Vec<Conflict>,
    ) {
        let all = || -> BTreeSet<ChunkIndex> {
            (0..table.len() as u32)
                .map(|row| ChunkIndex::from(table.index(row).to_vec()))
                .collect()
        };
        if self.theirs.deleted(&node).is_some() {
            conflicts.push(Conflict::ChunksUpdatedInDeletedArray {
                path: path.clone(),
                node,
                chunks: all(),
            });
            return;
        }
        if self.theirs.updated.contains(&node) {
            let unfit = match detector {
                Detector::Compatible => all(),
                Detector::Strict => self.our_chunks_that_do_not_fit(path, node, all()),
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
            .filter(|index| table.get(index).is_some() && !equal.contains(*index))
            .cloned()
            .collect();
        if !both.is_empty() {
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
        let record = self.after.position(path).map(|it| self.after.record(it));
        let metadata = record.and_then(|record| self.after.metadata(record).ok());
        let Some(array) = metadata.as_ref().and_then(|it| it.array()) else {
            return chunks;
        };
        match reach(before, after) {
            Reach::Nothing | Reach::Attributes => BTreeSet::new(),
            // A chunk that we deleted needs no place.
            Reach::Shape => chunks
                .into_iter()
                .filter(|index| !array.contains(index))
                .collect(),
            Reach::Chunks => chunks,
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
        if self.theirs.deleted(&node).is_some() {
            return;
        }
        let updated = self.theirs.updated.contains(&node);
        match kind {
            NodeKind::Array => {
                let touched = updated || self.theirs.chunks.contains_key(&node);
                // The reference looks at the group that was named, not at what went with it.
                let only_with_its_group =
                    detector == Detector::Compatible && self.deleted_with_its_group(path);
                if touched && !only_with_its_group {
                    conflicts.push(Conflict::DeleteOfUpdatedArray {
                        path: path.clone(),
                        node,
                    });
                }
            }
            NodeKind::Group => {
                if updated {
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

    pub(super) fn deleted_with_its_group(&self, path: &NodePath) -> bool {
        path.ancestors()
            .any(|ancestor| self.ours.deleted().contains_key(&ancestor))
    }

    /// The first node below a path that they created or changed.
    fn child_that_they_touched(&self, path: &NodePath) -> Option<NodePath> {
        let touched = |id: &NodeId| {
            self.theirs.created.contains(id)
                || self.theirs.updated.contains(id)
                || self.theirs.chunks.contains_key(id)
        };
        self.after
            .records_below(path)
            .find(|record| touched(&record.id()))
            .map(|record| record.node_path())
    }
}
