//! An array whose chunks are put together, and the parts that they are made of.

use std::ops::Range;

use icefield_core::{ArrayMetadata, ChunkIndex, NodePath};

use super::memory::Memory;
use super::part::Part;
use crate::codec::Codec;
use crate::regions::Region;

/// The destination of a chunk once all its elements are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sink {
    /// It is written.
    Write,
    /// It must be equal to the one that is there.
    Compare,
}

/// An array whose chunks are put together of parts.
///
/// The parts lie behind one another along the axis and fill the chunks to make; across they are as long as the array.
#[derive(Debug)]
pub(crate) struct Assembly {
    pub(super) path: NodePath,
    /// The array has no dimension; here it has one, of one element.
    pub(super) is_scalar: bool,
    pub(super) axis: usize,
    pub(super) shape: Vec<u64>,
    pub(super) chunk_shape: Vec<u64>,
    pub(super) codec: Codec,
    pub(super) parts: Vec<Part>,
    /// The chunks to make, along the axis.
    pub(super) ranges: Vec<Range<u64>>,
    /// Of the blocks of these chunks, those that are made; `None` for all.
    pub(super) own_blocks: Option<Range<u64>>,
    pub(super) sink: Sink,
    /// The chunks that an earlier attempt has made.
    pub(super) memory: Memory,
}

impl Assembly {
    /// Describes chunks of `array` between the `ranges` along an axis.
    pub(crate) fn new(
        (path, array): (NodePath, &ArrayMetadata),
        codec: Codec,
        (axis, ranges): (usize, Vec<Range<u64>>),
        parts: Vec<Part>,
        sink: Sink,
    ) -> Self {
        let is_scalar = array.shape.is_empty();
        let of_one = |lengths: &[u64]| match is_scalar {
            true => vec![1],
            false => lengths.to_vec(),
        };
        Self {
            path,
            is_scalar,
            axis,
            shape: of_one(&array.shape),
            chunk_shape: of_one(&array.chunk_shape),
            codec,
            parts,
            ranges,
            own_blocks: None,
            sink,
            memory: Memory::default(),
        }
    }

    /// Returns the path of the array.
    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    /// Returns how many chunks are put together at most.
    pub(crate) fn chunks(&self) -> u64 {
        let along: u64 = self.ranges.iter().map(|it| it.end - it.start).sum();
        let counts = self.chunk_counts().into_iter().enumerate();
        let others = counts.filter(|(axis, _)| *axis != self.axis);
        others.fold(along, |all, (_, count)| all.saturating_mul(count))
    }

    /// Returns the bytes of the elements of one chunk.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.codec.chunk_bytes()
    }

    /// Chunks of the array per dimension.
    pub(super) fn chunk_counts(&self) -> Vec<u64> {
        let lengths = self.shape.iter().zip(&self.chunk_shape);
        lengths
            .map(|(length, chunk)| length.div_ceil(*chunk))
            .collect()
    }

    /// The index of a chunk in a grid, of its place in the grid that has at least one dimension.
    pub(super) fn index(&self, place: &[u64]) -> ChunkIndex {
        let place = place
            .iter()
            .map(|it| u32::try_from(*it).unwrap_or(u32::MAX));
        match self.is_scalar {
            true => ChunkIndex::from(Vec::<u32>::new()),
            false => ChunkIndex::from(place.collect::<Vec<u32>>()),
        }
    }

    /// The box of a chunk of the array, whole.
    pub(super) fn chunk_box(&self, place: &[u64]) -> Region {
        Region::of_chunk(place, &self.chunk_shape)
    }

    /// The part of a box that a part has; `None` if it is empty.
    pub(super) fn of_part(&self, part: &Part, region: &Region) -> Option<Region> {
        let mut all = Region::new(vec![0; self.shape.len()], self.shape.clone());
        all.start[self.axis] = part.at;
        all.shape[self.axis] = part.length();
        all.common(region)
    }

    /// The chunks of a part in which a box lies that the part has: the first per dimension, and how many.
    pub(super) fn chunks_of_part(&self, part: &Part, region: &Region) -> Region {
        region
            .moved(self.axis, part.kept.start, part.at)
            .chunks(&part.chunk_shape)
    }
}
