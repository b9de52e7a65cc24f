//! The uncommitted edits of a session, as pure data: no I/O, no clock.
//!
//! Nodes are few and held in maps; chunk references are many and held in columns ([`ChunkTable`]), one table
//! per array. Everything is kept as the *net* effect against the base snapshot, which is what a transaction
//! log records: a node created and deleted again leaves no trace.

mod answer;
mod base_view;
mod blob;
mod blob_error;
mod chunk_table;
mod columns;
mod erased;
mod fold;
mod follow;
mod frame;
mod interned;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{ChunkIndex, NodeId, NodeKind, NodePath, SpecVersion};

pub(crate) use answer::Answer;
pub(crate) use base_view::BaseView;
pub(crate) use blob::ForkBlob;
pub use blob_error::ForkBlobError;
pub(crate) use chunk_table::{ChunkTable, PendingChunk};
pub(crate) use fold::Fold;

use crate::metadata::NodeMetadata;
use crate::virtual_chunks::VirtualRefs;

/// A node whose metadata this session wrote.
#[derive(Clone, Debug)]
pub(crate) struct WrittenNode {
    pub(crate) id: NodeId,
    /// The document, byte for byte.
    pub(crate) document: Bytes,
    pub(crate) metadata: Arc<NodeMetadata>,
}

impl WrittenNode {
    pub(crate) fn kind(&self) -> NodeKind {
        match *self.metadata {
            NodeMetadata::Group => NodeKind::Group,
            NodeMetadata::Array(_) => NodeKind::Array,
        }
    }
}

/// What the change set says of a path.
#[derive(Debug)]
pub(crate) enum NodeChange<'a> {
    /// The session created or updated the node.
    Written(&'a WrittenNode),
    /// The session deleted the base's node, and nothing took its place.
    Deleted,
    /// The base decides.
    Unchanged,
}

/// All uncommitted edits of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeSet {
    created: BTreeMap<NodePath, WrittenNode>,
    /// Created nodes that are nodes of the base under another path, with that path: they keep their id, and
    /// with it their chunks.
    moved: BTreeMap<NodeId, NodePath>,
    updated: BTreeMap<NodePath, WrittenNode>,
    deleted: BTreeMap<NodePath, (NodeId, NodeKind)>,
    /// Each is shared with the change sets that this one was cloned from or merged with, until one of them writes to that
    /// array.
    chunks: BTreeMap<NodeId, Arc<ChunkTable>>,
    /// Where the arrays with a table are.
    array_paths: BTreeMap<NodeId, NodePath>,
    /// Base arrays whose metadata this session wrote, or whose chunks it shifted.
    views: BTreeMap<NodeId, BaseView>,
    /// Arrays whose chunks are addressed by what they hold: where others shift them, ours move along.
    followers: BTreeSet<NodeId>,
    /// The highest revision of a table that was dropped: a new one goes on from there, so that equal revisions
    /// of one array's tables always mean equal content.
    dropped_revision: u64,
}

impl ChangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.created.is_empty()
            && self.updated.is_empty()
            && self.deleted.is_empty()
            && self.chunks.values().all(|table| table.is_empty())
            && !self.views.values().any(BaseView::is_shifted)
    }

    pub(crate) fn created(&self) -> &BTreeMap<NodePath, WrittenNode> {
        &self.created
    }

    /// Returns whether the session created this very node.
    pub(crate) fn has_created(&self, path: &NodePath, node: &NodeId) -> bool {
        self.created
            .get(path)
            .is_some_and(|created| created.id == *node)
    }

    /// Returns where the base has a node that the session moved.
    pub(crate) fn moved_from(&self, node: &NodeId) -> Option<&NodePath> {
        self.moved.get(node)
    }

    /// Nodes of the base that have another path now: where each was, and where it is.
    pub(crate) fn moves(&self) -> impl Iterator<Item = (&NodePath, &NodePath, &WrittenNode)> {
        let created = self.created.iter();
        created.filter_map(|(to, node)| Some((self.moved.get(&node.id)?, to, node)))
    }

    pub(crate) fn updated(&self) -> &BTreeMap<NodePath, WrittenNode> {
        &self.updated
    }

    pub(crate) fn deleted(&self) -> &BTreeMap<NodePath, (NodeId, NodeKind)> {
        &self.deleted
    }

    /// Tables by node id; one may be empty.
    pub(crate) fn chunks(&self) -> &BTreeMap<NodeId, Arc<ChunkTable>> {
        &self.chunks
    }

    /// Returns the table of one array, which may be empty.
    pub(crate) fn chunks_of(&self, node: &NodeId) -> Option<&ChunkTable> {
        self.chunks.get(node).map(Arc::as_ref)
    }

    pub(crate) fn node(&self, path: &NodePath) -> NodeChange<'_> {
        if let Some(node) = self.created.get(path).or_else(|| self.updated.get(path)) {
            NodeChange::Written(node)
        } else if self.deleted.contains_key(path) {
            NodeChange::Deleted
        } else {
            NodeChange::Unchanged
        }
    }

    /// Records a node that exists neither in the base nor in the session.
    pub(crate) fn create_node(&mut self, path: NodePath, node: WrittenNode) {
        self.created.insert(path, node);
    }

    /// Records new metadata of a node that exists, in the base or in the session.
    ///
    /// Chunk references outside the new grid are dropped at once, the session's and, through what is
    /// grid, the base's.
    pub(crate) fn update_node(
        &mut self,
        path: &NodePath,
        node: WrittenNode,
        previous: Option<&NodeMetadata>,
    ) {
        let id = node.id;
        if let Some(array) = node.metadata.array() {
            let counts = &array.chunk_counts;
            let previous = previous.and_then(NodeMetadata::array);
            // Of an array that only grew, nothing is outside; there may be millions of rows, and thousands of appends.
            let grew = previous.is_some_and(|it| within_grid(&it.chunk_counts, counts));
            if let Some(table) = self.chunks.get_mut(&id)
                && !grew
            {
                Arc::make_mut(table).retain_within(counts);
            }
            if let Some(previous) = previous
                && (!self.created.contains_key(path) || self.moved.contains_key(&id))
            {
                self.view(path, id, &previous.chunk_counts).resize(counts);
            }
        }
        if let Some(created) = self.created.get_mut(path) {
            *created = node;
        } else {
            self.updated.insert(path.clone(), node);
        }
    }

    /// What is seen of an array of the base, all of its `grid` unless a limit is known.
    fn view(&mut self, path: &NodePath, id: NodeId, grid: &[u32]) -> &mut BaseView {
        let home = self.moved.get(&id).unwrap_or(path);
        let whole = || BaseView::whole(home.clone(), grid);
        self.views.entry(id).or_insert_with(whole)
    }

    /// Moves all chunks of an array by so many per dimension, and forgets those that leave its `grid`. `in_base`: the base has
    /// the array, under this path or the one that it was moved from.
    pub(crate) fn shift_chunks(
        &mut self,
        path: &NodePath,
        node: NodeId,
        grid: &[u32],
        by: &[i64],
        in_base: bool,
    ) {
        if in_base {
            self.view(path, node, grid).shift(by, grid);
        }
        if let Some(table) = self.chunks.get_mut(&node) {
            Arc::make_mut(table).shift(by, grid);
        }
    }

    /// From now on, the chunks of an array move along where others shift it.
    pub(crate) fn follow_shifts(&mut self, node: NodeId) {
        self.followers.insert(node);
    }

    pub(crate) fn followers(&self) -> &BTreeSet<NodeId> {
        &self.followers
    }

    /// Moves the edits of chunks of an array, and nothing of the base.
    pub(crate) fn move_edits(&mut self, node: &NodeId, by: &[i64], grid: &[u32]) {
        if let Some(table) = self.chunks.get_mut(node) {
            Arc::make_mut(table).shift(by, grid);
        }
    }

    /// Records the deletion of one node; `base` is its id and kind if the base snapshot has it under this
    /// path (also where the session has put another node in its place).
    pub(crate) fn delete_node(&mut self, path: &NodePath, base: Option<(NodeId, NodeKind)>) {
        self.forget_created(path);
        if let Some((id, kind)) = base
            && !self.moved.contains_key(&id)
        {
            self.note_deleted(path.clone(), id, kind);
        }
    }

    /// Records that a node has another path from now on. `node` is what stands there now, `base` its path in
    /// the base if it is one of the base's nodes and was not moved before.
    pub(crate) fn move_node(
        &mut self,
        from: &NodePath,
        to: &NodePath,
        node: WrittenNode,
        base: Option<&NodePath>,
    ) {
        let (id, kind) = (node.id, node.kind());
        self.updated.remove(from);
        self.created.remove(from);
        if let Some(base) = base {
            self.deleted.insert(base.clone(), (id, kind));
            self.moved.insert(id, base.clone());
        }
        if let Some(path) = self.array_paths.get_mut(&id) {
            *path = to.clone();
        }
        self.created.insert(to.clone(), node);
    }

    /// Records a node of the base under another path; what the base has at its old path is recorded apart.
    pub(crate) fn insert_moved(&mut self, home: &NodePath, to: NodePath, node: WrittenNode) {
        self.moved.insert(node.id, home.clone());
        self.created.insert(to, node);
    }

    /// Gives a node that the session created another id.
    pub(crate) fn change_id(&mut self, path: &NodePath, id: NodeId) {
        let Some(node) = self.created.get_mut(path) else {
            return;
        };
        let old = std::mem::replace(&mut node.id, id);
        if let Some(table) = self.chunks.remove(&old) {
            self.chunks.insert(id, table);
        }
        if let Some(path) = self.array_paths.remove(&old) {
            self.array_paths.insert(id, path);
        }
        if self.followers.remove(&old) {
            self.followers.insert(id);
        }
    }

    /// Records that a moved node is back where the base has it; `changed` if its metadata is another.
    pub(crate) fn move_back(&mut self, from: &NodePath, node: WrittenNode, changed: bool) {
        let Some(home) = self.moved.remove(&node.id) else {
            return;
        };
        self.created.remove(from);
        self.deleted.remove(&home);
        if let Some(path) = self.array_paths.get_mut(&node.id) {
            *path = home.clone();
        }
        if changed {
            self.updated.insert(home, node);
        }
    }

    /// Returns the pending reference of a chunk, if the session wrote or deleted it.
    pub(crate) fn chunk(&self, node: &NodeId, index: &[u32]) -> Option<PendingChunk<'_>> {
        self.chunks.get(node)?.get(index)
    }

    /// Records the reference of a chunk, or its deletion.
    pub(crate) fn set_chunk(
        &mut self,
        path: &NodePath,
        node: NodeId,
        index: &[u32],
        chunk: PendingChunk<'_>,
    ) {
        self.table_mut(path, node, index.len()).set(index, chunk);
    }

    pub(crate) fn set_virtual(
        &mut self,
        path: &NodePath,
        node: NodeId,
        rank: usize,
        refs: &VirtualRefs<'_>,
        version: SpecVersion,
    ) {
        self.table_mut(path, node, rank).set_virtual(refs, version);
    }

    fn table_mut(&mut self, path: &NodePath, node: NodeId, rank: usize) -> &mut ChunkTable {
        let table = self.chunks.entry(node).or_insert_with(|| {
            self.array_paths.insert(node, path.clone());
            Arc::new(ChunkTable::after_revision(rank, self.dropped_revision))
        });
        let table = Arc::make_mut(table);
        if table.is_empty() && table.rank() != rank {
            // What it held is gone, and so is the rank that the array had.
            *table = ChunkTable::after_revision(rank, table.revision());
        }
        table
    }

    /// Forgets what the session did to the chunks of an array.
    pub(crate) fn drop_table(&mut self, node: &NodeId) {
        if let Some(table) = self.chunks.remove(node) {
            self.dropped_revision = self.dropped_revision.max(table.revision());
        }
    }

    /// Returns where an array is whose chunks the session wrote.
    pub(crate) fn array_path(&self, node: &NodeId) -> Option<&NodePath> {
        self.array_paths.get(node)
    }

    /// Forgets a node that the session created: the base has it now.
    pub(crate) fn forget_created(&mut self, path: &NodePath) {
        if let Some(node) = self.created.remove(path) {
            self.drop_table(&node.id);
            self.views.remove(&node.id);
            self.moved.remove(&node.id);
        }
    }

    /// Forgets that the session created a node: the base has an equal one now, whose id it has from now on.
    pub(crate) fn adopt_equal(&mut self, path: &NodePath, id: NodeId) {
        self.change_id(path, id);
        self.adopt_created(path);
    }

    /// Forgets that the session created a node: the base has this very node now. The chunks written to it stay.
    pub(crate) fn adopt_created(&mut self, path: &NodePath) {
        if let Some(node) = self.created.remove(path) {
            self.views.remove(&node.id);
        }
    }

    /// Forgets new metadata: the base has it now.
    pub(crate) fn forget_updated(&mut self, path: &NodePath) {
        self.updated.remove(path);
    }

    /// Forgets all that the session did to a node of the base that it has not moved.
    pub(crate) fn forget_node(&mut self, path: &NodePath, id: &NodeId) {
        self.updated.remove(path);
        self.deleted.remove(path);
        self.views.remove(id);
        self.drop_table(id);
    }

    /// Forgets a deletion: the base has no such node any more, or it stays.
    pub(crate) fn forget_deleted(&mut self, path: &NodePath) {
        self.deleted.remove(path);
    }

    /// Puts other metadata in the place of the session's, which changes no shape.
    pub(crate) fn replace_metadata(&mut self, path: &NodePath, node: WrittenNode) {
        match self.created.get_mut(path) {
            Some(created) => *created = node,
            None => drop(self.updated.insert(path.clone(), node)),
        }
    }

    /// Records the deletion of a node of the base, whatever stands in its place.
    pub(crate) fn note_deleted(&mut self, path: NodePath, id: NodeId, kind: NodeKind) {
        self.updated.remove(&path);
        self.drop_table(&id);
        self.views.remove(&id);
        self.deleted.insert(path, (id, kind));
    }

    /// Deletes chunks of an array, whatever they are.
    pub(crate) fn delete_chunks(
        &mut self,
        path: &NodePath,
        node: NodeId,
        indices: &BTreeSet<ChunkIndex>,
    ) {
        for index in indices {
            self.set_chunk(path, node, index, PendingChunk::Deleted);
        }
    }

    /// Erases a box of the array's grid: the chunks that the session has set, those of the base, whose coordinates are given one
    /// behind the other, and whatever a concurrent commit puts there. Returns how many chunks there were.
    pub(crate) fn delete_box(
        &mut self,
        path: &NodePath,
        node: NodeId,
        within: &[Range<u32>],
        base: &[u32],
    ) -> u64 {
        if within.iter().any(Range::is_empty) {
            return 0;
        }
        self.table_mut(path, node, within.len())
            .delete_box(within, base)
    }

    /// Gives chunks that are only erased as part of a box a row of their own: the base has them now, so that a log names them.
    pub(crate) fn name_erased(&mut self, node: &NodeId, indices: &BTreeSet<ChunkIndex>) {
        let Some(table) = self.chunks.get_mut(node) else {
            return;
        };
        for index in indices {
            if table.is_boxed(index) && table.row_of(index).is_none() {
                Arc::make_mut(table).set(index, PendingChunk::Deleted);
            }
        }
    }

    /// Forgets what the session did to chunks outside a grid.
    pub(crate) fn keep_chunks_within(&mut self, node: &NodeId, grid: &[u32]) {
        if let Some(table) = self.chunks.get_mut(node) {
            Arc::make_mut(table).retain_within(grid);
        }
    }

    /// Forgets that the session ever made an array smaller.
    pub(crate) fn see_whole_base(&mut self, node: &NodeId) {
        self.views.remove(node);
    }

    /// Forgets what the session did to some chunks of an array.
    pub(crate) fn forget_chunks(&mut self, node: &NodeId, indices: &BTreeSet<ChunkIndex>) {
        if let Some(table) = self.chunks.get_mut(node) {
            Arc::make_mut(table).forget(indices);
        }
    }

    /// Forgets that boxes of an array were erased.
    pub(crate) fn forget_boxes(&mut self, node: &NodeId) {
        if let Some(table) = self.chunks.get_mut(node) {
            Arc::make_mut(table).forget_boxes();
        }
    }

    /// Base arrays of which not all is seen where the base has it, as far as the session may have changed that.
    pub(crate) fn views(&self) -> &BTreeMap<NodeId, BaseView> {
        &self.views
    }

    /// Follows a resize of the base: what the session never cut off is seen as far as the new base has it.
    pub(crate) fn see_resized_base(&mut self, node: &NodeId, before: &[u32], after: &[u32]) {
        if let Some(view) = self.views.get_mut(node) {
            view.follow_base(before, after);
        }
    }

    /// Returns whether something of a grid that the base has is not seen.
    pub(crate) fn cuts(&self, node: &NodeId, grid: &[u32]) -> bool {
        self.views.get(node).is_some_and(|view| view.cuts(grid))
    }

    /// Returns what is seen of an array of the base, if that may not be all of it.
    pub(crate) fn view_of(&self, node: &NodeId) -> Option<&BaseView> {
        self.views.get(node)
    }

    /// Returns the bytes that the pending references hold.
    pub(crate) fn memory_bytes(&self) -> usize {
        let tables = self.chunks.values();
        tables.map(|table| table.memory_bytes()).sum()
    }
}

/// Returns whether a grid has the rank of another one, and is nowhere longer.
fn within_grid(grid: &[u32], other: &[u32]) -> bool {
    grid.len() == other.len() && grid.iter().zip(other).all(|(one, other)| one <= other)
}

/// Returns whether an index has the rank of a grid and lies within it.
pub(crate) fn within(index: &[u32], grid: &[u32]) -> bool {
    index.len() == grid.len() && index.iter().zip(grid).all(|(i, n)| i < n)
}

#[cfg(test)]
mod tests;
