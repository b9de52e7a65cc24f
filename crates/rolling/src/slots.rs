//! Which chunks of a window are there, and how many are not.

use std::collections::BTreeMap;

use icefield_core::{ChunkIndex, NodePath};

/// The chunks of a part of a window, written or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slots {
    /// The arrays, sorted by path.
    pub arrays: Vec<ArraySlots>,
}

/// The chunks of one array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArraySlots {
    /// The path of the array.
    pub path: NodePath,
    /// The number of chunks in the part.
    pub expected: u64,
    /// The number of these that are written.
    pub written: u64,
    /// The first few chunks that are not written.
    pub missing: Vec<ChunkIndex>,
    /// The number of missing chunks by their coordinate along the dimension, without coordinates that lack none.
    pub missing_in: BTreeMap<u32, u64>,
}

impl Slots {
    /// Returns the number of chunks that were never written.
    pub fn missing(&self) -> u64 {
        self.arrays.iter().map(ArraySlots::missing_count).sum()
    }

    /// Returns whether every chunk is written.
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
