//! The edits of chunks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use icefield_format::{ChunkIndex, NodeId, NodePath, SpecVersion};

use super::{ChangeSet, ChunkTable, PendingChunk};
use crate::virtual_chunks::VirtualRefs;

impl ChangeSet {
    /// Tables by node id; one may be empty.
    pub(crate) fn chunks(&self) -> &BTreeMap<NodeId, Arc<ChunkTable>> {
        &self.chunks
    }

    /// Returns the table of one array, which may be empty.
    pub(crate) fn chunks_of(&self, node: &NodeId) -> Option<&ChunkTable> {
        self.chunks.get(node).map(Arc::as_ref)
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

    pub(super) fn table_mut(
        &mut self,
        path: &NodePath,
        node: NodeId,
        rank: usize,
    ) -> &mut ChunkTable {
        let table = self.chunks.entry(node).or_insert_with(|| {
            self.array_paths.insert(node, path.clone());
            Arc::new(ChunkTable::after_revision(rank, self.dropped_revision))
        });
        let table = Arc::make_mut(table);
        if table.is_empty() && table.rank() != rank {
            // The old edits are gone, and so is the rank that the array had.
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

    /// Erases the boxes that another table erased.
    pub(crate) fn add_erased(&mut self, path: &NodePath, node: NodeId, other: &ChunkTable) {
        self.table_mut(path, node, other.rank()).add_erased(other);
    }

    /// Forgets what the session did to chunks outside a grid.
    pub(crate) fn keep_chunks_within(&mut self, node: &NodeId, grid: &[u32]) {
        if let Some(table) = self.chunks.get_mut(node) {
            Arc::make_mut(table).retain_within(grid);
        }
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

    /// Returns the bytes that the pending references hold.
    pub(crate) fn memory_bytes(&self) -> usize {
        let tables = self.chunks.values();
        tables.map(|table| table.memory_bytes()).sum()
    }
}
