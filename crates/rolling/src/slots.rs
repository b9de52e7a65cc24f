//! Which chunks of a window are there, and how many are not.

use std::collections::BTreeMap;

use icefield_core::{ChunkIndex, NodePath};

/// The chunks of a stretch of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// Array by array, sorted by path.
    pub arrays: Vec<ArraySlots>,
}

/// The chunks of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySlots {
    /// The array.
    pub path: NodePath,
    /// Chunks that belong there.
    pub expected: u64,
    /// Chunks that are there.
    pub written: u64,
    /// The first few that are not.
    pub missing: Vec<ChunkIndex>,
    /// Of each slab that lacks some, by its coordinate: how many.
    pub missing_in: BTreeMap<u32, u64>,
}

impl Slots {
    /// Returns the number of chunks that were never written.
    pub fn missing(&self) -> u64 {
        self.arrays.iter().map(ArraySlots::missing_count).sum()
    }

    /// Returns whether every chunk is there.
    pub fn is_complete(&self) -> bool {
        self.missing() == 0
    }
}

impl ArraySlots {
    /// Returns the number of chunks that were never written.
    pub fn missing_count(&self) -> u64 {
        self.expected - self.written
    }
}
