//! Chunks of the base that lie at other places than its manifests say, with the same bytes.

use std::collections::{BTreeSet, HashMap};

use icefield_format::{ChunkId, ChunkRef, NodeId};

/// A range of a chunk object: id, first byte, bytes.
type Range = (ChunkId, u64, u64);

/// References that manifests get in place of others. Nothing of this is an edit: readers see the same, logs do not name it, and it holds for
/// whatever base the session has when it is committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relocations {
    nodes: BTreeSet<NodeId>,
    moved: HashMap<Range, (ChunkId, u64)>,
}

impl Relocations {
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Lets the references of an array that lead to one range lead to another one, of the same length.
    pub(crate) fn add(&mut self, node: NodeId, from: Range, to: (ChunkId, u64)) {
        self.nodes.insert(node);
        self.moved.insert(from, to);
    }

    /// Returns whether manifests of an array are to be written anew.
    pub(crate) fn concern(&self, node: &NodeId) -> bool {
        self.nodes.contains(node)
    }

    /// Returns what a manifest is to say of a chunk.
    pub(crate) fn place<'a>(&self, chunk: ChunkRef<'a>) -> ChunkRef<'a> {
        let ChunkRef::Native { id, offset, length } = chunk else {
            return chunk;
        };
        match self.moved.get(&(id, offset, length)) {
            Some(&(id, offset)) => ChunkRef::Native { id, offset, length },
            None => chunk,
        }
    }

    /// Returns the objects that chunks were moved to.
    pub(crate) fn targets(&self) -> BTreeSet<ChunkId> {
        self.moved.values().map(|(id, _)| *id).collect()
    }
}
