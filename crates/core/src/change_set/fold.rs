//! Folding the edits of a fork back into those of the session that it was forked from. Pure: the caller finds
//! out beforehand which doubly written chunks are equal.
//!
//! Both sides have edits on one base, and both began with the edits of the *origin*. What one side changed since
//! and the other did not is taken; what both changed alike is taken once; anything else is a conflict. The rules
//! prefer neither side, so that forks may be folded in any order and grouping.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{Checksum, ChunkIndex, ChunkRef, NodeId, NodeKind, NodePath};

use super::{ChangeSet, ChunkTable, PendingChunk, WrittenNode};
use crate::metadata::document::{Reach, reach};
use crate::rebase::{ChunkSets, Conflict, VersionSelection};
use crate::session::Base;

/// The edits that are folded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold<'a> {
    pub(crate) base: &'a Base,
    pub(crate) origin: &'a ChangeSet,
    pub(crate) ours: &'a ChangeSet,
    pub(crate) theirs: &'a ChangeSet,
}

/// What a change set says of one path.
#[derive(Clone, Copy, Debug)]
struct Entry<'a> {
    created: Option<&'a WrittenNode>,
    updated: Option<&'a WrittenNode>,
    deleted: Option<NodeId>,
    moved_from: Option<&'a NodePath>,
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        let key = |node: Option<&WrittenNode>| node.map(|node| (node.id, node.document.clone()));
        key(self.created) == key(other.created)
            && key(self.updated) == key(other.updated)
            && self.deleted == other.deleted
            && self.moved_from == other.moved_from
    }
}

impl ChangeSet {
    fn entry(&self, path: &NodePath) -> Entry<'_> {
        let created = self.created.get(path);
        Entry {
            created,
            updated: self.updated.get(path),
            deleted: self.deleted.get(path).map(|(id, _)| *id),
            moved_from: created.and_then(|node| self.moved.get(&node.id)),
        }
    }

    fn paths(&self) -> impl Iterator<Item = &NodePath> {
        let written = self.created.keys().chain(self.updated.keys());
        written.chain(self.deleted.keys())
    }
}

/// Nodes that both sides created alike under ids of their own, by their other id; the smaller id stays.
type Unified = BTreeMap<NodeId, NodeId>;

/// Their id of an array, its path, our table of it and theirs.
type Tables<'a> = (
    NodeId,
    &'a NodePath,
    Option<&'a Arc<ChunkTable>>,
    &'a Arc<ChunkTable>,
);

impl<'a> Fold<'a> {
    /// The chunks that both sides wrote since the origin, differently as far as the references tell.
    pub(crate) fn double_writes(&self) -> ChunkSets {
        let mut both = ChunkSets::new();
        for (node, path, ours, theirs) in self.tables() {
            let Some(ours) = ours else { continue };
            let origin = self.table(self.origin, path);
            if is_same(origin, theirs) || is_same(origin, ours) {
                continue;
            }
            let theirs_and_ours = rows_of(theirs).chain(boxed_rows(ours, theirs));
            for index in theirs_and_ours {
                let (was, now) = (origin.and_then(|it| it.get(index)), theirs.get(index));
                let mine = ours.get(index);
                if now != was && mine != was && mine != now {
                    both.entry(node).or_default().insert(index.into());
                }
            }
        }
        both
    }

    /// Folds; `equal` are those of the double writes that hold equal bytes.
    ///
    /// # Errors
    /// The conflicts, sorted.
    pub(crate) fn run(
        &self,
        equal: &ChunkSets,
        policy: VersionSelection,
    ) -> Result<ChangeSet, Vec<Conflict>> {
        let mut conflicts = Vec::new();
        let mut folded = self.ours.clone();
        folded.followers.extend(&self.theirs.followers);
        let mut unified = Unified::new();
        let mut paths: BTreeSet<&NodePath> = self.theirs.paths().collect();
        paths.extend(self.origin.paths());
        for path in paths {
            self.fold_node(path, &mut folded, &mut unified, &mut conflicts);
        }
        folded.unify(&unified);
        self.check_places(&folded, &mut conflicts);
        self.check_shifts(&mut conflicts);
        self.fold_limits(&unified, &mut folded);
        self.fold_chunks(equal, policy, &unified, &mut folded, &mut conflicts);
        if conflicts.is_empty() {
            return Ok(folded);
        }
        conflicts.sort();
        conflicts.dedup();
        Err(conflicts)
    }

    /// The tables of arrays that their side has chunks of, with their id and with our table of the array.
    fn tables(&self) -> impl Iterator<Item = Tables<'a>> {
        let fold = *self;
        fold.theirs.chunks.iter().filter_map(move |(node, table)| {
            let path = fold.theirs.array_paths.get(node)?;
            let ours = fold.table(fold.ours, path);
            let ours = ours.filter(|_| !fold.is_replaced(path, node));
            Some((*node, path, ours, table))
        })
    }

    /// The table of the array that a side has at a path.
    fn table(&self, side: &'a ChangeSet, path: &NodePath) -> Option<&'a Arc<ChunkTable>> {
        side.chunks.get(&side.entry(path).id_in(self.base, path)?)
    }

    /// The table of an array as both sides began with it; `None` if another array was at the path, whose chunks say nothing
    /// of this one's.
    fn before(&self, path: &NodePath, node: &NodeId) -> Option<&'a Arc<ChunkTable>> {
        let was = self.origin.entry(path).id_in(self.base, path);
        was.filter(|was| was == node)
            .and_then(|was| self.origin.chunks.get(&was))
    }

    /// Whether they put another array, `theirs`, in the place of the one that we have as it was: what that one has says
    /// nothing of theirs.
    fn is_replaced(&self, path: &NodePath, theirs: &NodeId) -> bool {
        let id = |side: &ChangeSet| side.entry(path).id_in(self.base, path);
        let was = id(self.origin);
        was.is_some() && was != Some(*theirs) && id(self.ours) == was
    }

    fn fold_node(
        &self,
        path: &NodePath,
        folded: &mut ChangeSet,
        unified: &mut Unified,
        conflicts: &mut Vec<Conflict>,
    ) {
        let (was, ours, theirs) = (
            self.origin.entry(path),
            self.ours.entry(path),
            self.theirs.entry(path),
        );
        if theirs == was || theirs == ours {
            return;
        }
        if ours == was {
            if let Some(node) = was.id_in(self.base, path)
                && theirs.id_in(self.base, path) != Some(node)
                && self.theirs.moved_from(&node).is_none()
                && self.changed_chunks(self.ours, path).is_some()
            {
                let kind = NodeKind::Array;
                conflicts.push(deleted_and_updated(path, node, kind, false));
                return;
            }
            self.check_reach(path, was, theirs, self.ours, false, conflicts);
            folded.take_entry(path, self.theirs);
            return;
        }
        match (ours.created, theirs.created, ours.updated, theirs.updated) {
            (Some(a), Some(b), ..)
                if was.created.is_none()
                    && ours.moved_from.is_none()
                    && theirs.moved_from.is_none()
                    && alike(a, b) =>
            {
                let (kept, other) = match a.id < b.id {
                    true => (a, b),
                    false => (b, a),
                };
                unified.insert(other.id, kept.id);
                if let Some((id, kind)) = self.theirs.deleted.get(path) {
                    folded.deleted.insert(path.clone(), (*id, *kind));
                }
                folded.created.insert(path.clone(), kept.clone());
            }
            (Some(a), Some(b), ..) if a.id != b.id => {
                conflicts.push(Conflict::NewNodeConflictsWithExistingNode {
                    path: path.clone(),
                    node: a.id,
                    theirs: b.id,
                });
            }
            (_, _, Some(a), Some(b)) | (Some(a), Some(b), ..) if alike(a, b) => {
                if b.document < a.document {
                    folded.replace_metadata(path, b.clone());
                }
            }
            (None, None, Some(a), None) => {
                conflicts.push(deleted_and_updated(path, a.id, a.kind(), true));
            }
            (None, None, None, Some(b)) => {
                conflicts.push(deleted_and_updated(path, b.id, b.kind(), false));
            }
            _ => {
                let ids = [ours.id_in(self.base, path), theirs.id_in(self.base, path)];
                let gone = [ours.deleted, theirs.deleted];
                if let Some(node) = ids.into_iter().chain(gone).flatten().next() {
                    let path = path.clone();
                    conflicts.push(Conflict::ZarrMetadataDoubleUpdate { path, node });
                }
            }
        }
    }

    /// The chunks of an array that a side wrote or erased since the origin, of large boxes one for all; `None` if there are
    /// none.
    fn changed_chunks(&self, side: &'a ChangeSet, path: &NodePath) -> Option<BTreeSet<ChunkIndex>> {
        let id = side.entry(path).id_in(self.base, path)?;
        let table = side.chunks.get(&id)?;
        let origin = self.before(path, &id);
        let mut changed = changed_rows(origin, table);
        if erases_more(origin, table) {
            changed.extend(table.shown());
        }
        (!changed.is_empty()).then_some(changed)
    }

    /// Checks that chunks which `writer` wrote keep their place and meaning under metadata that the other
    /// side changed.
    fn check_reach(
        &self,
        path: &NodePath,
        was: Entry<'_>,
        now: Entry<'_>,
        writer: &'a ChangeSet,
        ours_changed_metadata: bool,
        conflicts: &mut Vec<Conflict>,
    ) {
        let (Some(after), Some(mut chunks)) = (now.written(), self.changed_chunks(writer, path))
        else {
            return;
        };
        let before = was.written().map(|node| node.document.clone());
        let before = before.or_else(|| {
            let record = self.base.record(self.base.position(path)?);
            Some(bytes::Bytes::copy_from_slice(record.user_data()))
        });
        let Some(before) = before else { return };
        match (reach(&before, &after.document), after.metadata.array()) {
            (Reach::Nothing | Reach::Attributes, _) => chunks.clear(),
            (Reach::Shape, Some(array)) => chunks.retain(|index| !array.contains(index)),
            _ => {}
        }
        if chunks.is_empty() {
            return;
        }
        let (path, node) = (path.clone(), after.id);
        conflicts.push(match ours_changed_metadata {
            true => Conflict::ZarrMetadataUpdateOfUpdatedChunks { path, node, chunks },
            false => Conflict::ChunksUpdatedInUpdatedArray { path, node, chunks },
        });
    }

    /// Checks that no new node is below an array, or below a group that the other side deleted.
    fn check_places(&self, folded: &ChangeSet, conflicts: &mut Vec<Conflict>) {
        for (path, node) in &folded.created {
            for above in path.ancestors() {
                if let Some(written) = folded.entry(&above).written() {
                    if written.kind() == NodeKind::Array {
                        conflicts.push(Conflict::NewNodeInInvalidGroup {
                            path: path.clone(),
                            node: node.id,
                            array: above,
                        });
                    }
                    break;
                }
                let is_gone =
                    folded.deleted.contains_key(&above) || self.origin.created.contains_key(&above);
                // One side may have deleted the group and then made a node where it was: groups need not be written. The
                // groups above that one may still be gone on the other side.
                let one_side_has_both = [self.ours, self.theirs].into_iter().any(|side| {
                    side.created.contains_key(path) && side.entry(&above) == folded.entry(&above)
                });
                if is_gone && one_side_has_both {
                    continue;
                }
                if is_gone {
                    conflicts.push(Conflict::NewNodeInDeletedGroup {
                        path: path.clone(),
                        node: node.id,
                        group: above,
                    });
                    break;
                }
                if self.base.position(&above).is_some() {
                    break;
                }
            }
        }
    }

    /// What resizes cut off on either side stays cut off.
    fn fold_limits(&self, unified: &Unified, folded: &mut ChangeSet) {
        for (node, view) in &self.theirs.views {
            if self.origin.views.get(node) == Some(view) {
                continue;
            }
            let node = unified.get(node).unwrap_or(node);
            match folded.views.get_mut(node) {
                // Only one side may have shifted an array, and the other has left it alone.
                Some(_) if self.is_shifted(self.theirs, node) => {
                    folded.views.insert(*node, view.clone());
                }
                Some(ours) => ours.intersect(view),
                None => {
                    folded.views.insert(*node, view.clone());
                }
            }
        }
    }

    /// Whether a side shifted an array of the base since the origin.
    fn is_shifted(&self, side: &ChangeSet, node: &NodeId) -> bool {
        let of = |side: &ChangeSet| {
            let view = side.views.get(node);
            view.map_or((false, Vec::new()), |view| {
                (view.is_shifted(), view.offset().to_vec())
            })
        };
        let (was, is) = (of(self.origin), of(side));
        is.0 && is != was
    }

    /// An array that one side shifted must be as it was on the other.
    fn check_shifts(&self, conflicts: &mut Vec<Conflict>) {
        let nodes: BTreeSet<&NodeId> = (self.ours.views.keys())
            .chain(self.theirs.views.keys())
            .collect();
        for node in nodes {
            let sides = [(self.ours, self.theirs), (self.theirs, self.ours)];
            for (one, other) in sides {
                let Some(view) = one.views.get(node) else {
                    continue;
                };
                let path = one.array_paths.get(node).unwrap_or(&view.home);
                let is_touched = other.views.get(node) != self.origin.views.get(node)
                    || self.changed_chunks(other, path).is_some();
                if self.is_shifted(one, node) && is_touched {
                    conflicts.push(Conflict::ShiftOfUpdatedArray {
                        path: path.clone(),
                        node: *node,
                    });
                }
            }
        }
    }

    /// Forgets chunks of the origin that a resize on their side cut off, where ours still has them as they were.
    fn drop_rows(
        &self,
        node: NodeId,
        origin: Option<&Arc<ChunkTable>>,
        ours: Option<&Arc<ChunkTable>>,
        theirs: &Arc<ChunkTable>,
        folded: &mut ChangeSet,
    ) {
        let Some(origin) = origin.filter(|_| !is_same(origin, theirs)) else {
            return;
        };
        let dropped: BTreeSet<ChunkIndex> = (0..origin.len() as u32)
            .filter(|row| {
                let index = origin.index(*row);
                theirs.get(index).is_none()
                    && ours.and_then(|it| it.get(index)) == Some(origin.at(*row))
            })
            .map(|row| origin.index(row).to_vec().into())
            .collect();
        if !dropped.is_empty() {
            folded.forget_chunks(&node, &dropped);
        }
    }

    fn fold_chunks(
        &self,
        equal: &ChunkSets,
        policy: VersionSelection,
        unified: &Unified,
        folded: &mut ChangeSet,
        conflicts: &mut Vec<Conflict>,
    ) {
        for (their_id, path, ours, theirs) in self.tables() {
            let origin = self.before(path, &their_id);
            let now_at = folded.entry(path).id_in(self.base, path);
            let theirs_now = unified.get(&their_id).copied().unwrap_or(their_id);
            if now_at == Some(theirs_now) {
                self.drop_rows(theirs_now, origin, ours, theirs, folded);
            }
            let mut changed = changed_rows(origin, theirs);
            let erases_more = erases_more(origin, theirs);
            if changed.is_empty() && !erases_more {
                continue;
            }
            // Gone, or another array in its place.
            let Some(node) = now_at.filter(|node| *node == theirs_now) else {
                let kind = NodeKind::Array;
                conflicts.push(deleted_and_updated(path, their_id, kind, false));
                continue;
            };
            let (was, mine) = (self.origin.entry(path), self.ours.entry(path));
            if mine != was {
                self.check_reach(path, was, mine, self.theirs, true, conflicts);
            }
            if erases_more {
                // What we wrote within their boxes is decided one by one, and the rest of the boxes is taken as it is.
                let ours = ours.map(|ours| boxed_rows(ours, theirs));
                changed.extend(ours.into_iter().flatten().map(ChunkIndex::from));
            }
            let same = equal.get(&their_id);
            let mut both = BTreeSet::new();
            for index in changed {
                let Some(now) = theirs.get(&index) else {
                    continue;
                };
                let was = origin.and_then(|it| it.get(&index));
                let mine = ours.and_then(|it| it.get(&index));
                let take = if mine == was {
                    true
                } else if mine == Some(now) {
                    false
                } else if same.is_some_and(|it| it.contains(&index)) {
                    // Equal bytes: any order of folding must end at one of the two references.
                    mine.is_none_or(|mine| rank(now) < rank(mine))
                } else {
                    match policy {
                        VersionSelection::UseOurs => false,
                        VersionSelection::UseTheirs => true,
                        VersionSelection::Fail => {
                            both.insert(index);
                            continue;
                        }
                    }
                };
                if take {
                    folded.set_chunk(path, node, &index, now);
                }
            }
            if erases_more {
                folded
                    .table_mut(path, node, theirs.rank())
                    .add_erased(theirs);
            }
            if !both.is_empty() {
                conflicts.push(Conflict::ChunkDoubleUpdate {
                    path: path.clone(),
                    node,
                    chunks: both,
                });
            }
        }
        let grids: Vec<(NodeId, Vec<u32>)> = folded
            .chunks
            .keys()
            .filter_map(|node| {
                let written = folded.entry(folded.array_paths.get(node)?).written()?;
                Some((*node, written.metadata.array()?.chunk_counts.clone()))
            })
            .collect();
        for (node, grid) in grids {
            let outside = |table: &Arc<ChunkTable>| !table.lies_within(&grid);
            if folded.chunks.get(&node).is_some_and(outside) {
                folded.keep_chunks_within(&node, &grid);
            }
        }
    }
}

impl<'a> Entry<'a> {
    fn written(&self) -> Option<&'a WrittenNode> {
        self.created.or(self.updated)
    }

    /// The id of the node that stands at the path, if there is one.
    fn id_in(&self, base: &Base, path: &NodePath) -> Option<NodeId> {
        match (self.written(), self.deleted) {
            (Some(node), _) => Some(node.id),
            (None, Some(_)) => None,
            (None, None) => base.position(path).map(|it| base.record(it).id()),
        }
    }
}

impl ChangeSet {
    /// Takes over what another change set says of a path.
    fn take_entry(&mut self, path: &NodePath, other: &Self) {
        if let Some(gone) = self.created.remove(path)
            && other
                .created
                .get(path)
                .is_none_or(|node| node.id != gone.id)
            && !other.moved.contains_key(&gone.id)
        {
            self.drop_table(&gone.id);
            self.views.remove(&gone.id);
            self.moved.remove(&gone.id);
        }
        self.updated.remove(path);
        match other.deleted.get(path) {
            Some((id, kind)) => {
                if !other.moved.contains_key(id) {
                    self.drop_table(id);
                    self.views.remove(id);
                }
                self.deleted.insert(path.clone(), (*id, *kind));
            }
            None => drop(self.deleted.remove(path)),
        }
        if let Some(node) = other.updated.get(path) {
            self.updated.insert(path.clone(), node.clone());
        }
        if let Some(node) = other.created.get(path) {
            if let Some(home) = other.moved.get(&node.id) {
                self.moved.insert(node.id, home.clone());
                if let Some(at) = self.array_paths.get_mut(&node.id) {
                    *at = path.clone();
                }
            }
            self.created.insert(path.clone(), node.clone());
        }
    }

    /// Gives the chunks of nodes that both sides created the id that stays.
    fn unify(&mut self, unified: &Unified) {
        for (from, to) in unified {
            if let Some(mut table) = self.chunks.remove(from) {
                self.drop_table(to);
                self.dropped_revision = self.dropped_revision.max(table.revision()) + 1;
                Arc::make_mut(&mut table).advance_to(self.dropped_revision);
                self.chunks.insert(*to, table);
            }
            if let Some(path) = self.array_paths.remove(from) {
                self.array_paths.insert(*to, path);
            }
        }
    }
}

/// Returns whether a side has the very table that both began with, as most arrays of most forks.
fn is_same(origin: Option<&Arc<ChunkTable>>, side: &Arc<ChunkTable>) -> bool {
    origin.is_some_and(|origin| Arc::ptr_eq(origin, side))
}

fn rows_of(table: &ChunkTable) -> impl Iterator<Item = &[u32]> {
    (0..table.len() as u32).map(|row| table.index(row))
}

/// The rows of a table that lie within boxes which another one erased, and that one has no rows of.
fn boxed_rows<'a>(
    table: &'a ChunkTable,
    eraser: &'a ChunkTable,
) -> impl Iterator<Item = &'a [u32]> {
    let erases = !eraser.erased().is_empty();
    let rows = erases.then(|| rows_of(table)).into_iter().flatten();
    rows.filter(|index| eraser.is_boxed(index) && eraser.row_of(index).is_none())
}

/// The rows of a table that differ from what both sides began with.
fn changed_rows(origin: Option<&Arc<ChunkTable>>, table: &Arc<ChunkTable>) -> BTreeSet<ChunkIndex> {
    if is_same(origin, table) {
        return BTreeSet::new();
    }
    let was = |index: &[u32]| origin.and_then(|it| it.get(index));
    rows_of(table)
        .filter(|index| was(index) != table.get(index))
        .map(ChunkIndex::from)
        .collect()
}

/// Whether a side erased boxes since the origin.
fn erases_more(origin: Option<&Arc<ChunkTable>>, table: &ChunkTable) -> bool {
    let erased = table.erased();
    !erased.is_empty() && origin.is_none_or(|origin| origin.erased() != erased)
}

fn alike(a: &WrittenNode, b: &WrittenNode) -> bool {
    a.kind() == b.kind() && reach(&a.document, &b.document) == Reach::Nothing
}

fn deleted_and_updated(path: &NodePath, node: NodeId, kind: NodeKind, by_them: bool) -> Conflict {
    let path = path.clone();
    match (kind, by_them) {
        (NodeKind::Array, true) => Conflict::ZarrMetadataUpdateOfDeletedArray { path, node },
        (NodeKind::Group, true) => Conflict::ZarrMetadataUpdateOfDeletedGroup { path, node },
        (NodeKind::Array, false) => Conflict::DeleteOfUpdatedArray { path, node },
        (NodeKind::Group, false) => Conflict::DeleteOfUpdatedGroup {
            path,
            node,
            child: None,
        },
    }
}

/// A total order of what a chunk can be.
fn rank(chunk: PendingChunk<'_>) -> impl Ord {
    match chunk {
        PendingChunk::Deleted => (0, Vec::new(), 0, 0, Vec::new()),
        PendingChunk::Set(ChunkRef::Inline(bytes)) => (1, bytes.to_vec(), 0, 0, Vec::new()),
        PendingChunk::Set(ChunkRef::Native { id, offset, length }) => {
            (2, id.as_bytes().to_vec(), offset, length, Vec::new())
        }
        PendingChunk::Set(ChunkRef::Virtual {
            location,
            offset,
            length,
            checksum,
        }) => {
            let checksum = match checksum {
                None => Vec::new(),
                Some(Checksum::ETag(tag)) => tag.as_bytes().to_vec(),
                Some(Checksum::LastModified(seconds)) => seconds.to_be_bytes().to_vec(),
            };
            (3, location.as_bytes().to_vec(), offset, length, checksum)
        }
    }
}
