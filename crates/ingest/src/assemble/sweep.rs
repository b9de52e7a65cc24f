//! Along which axis chunks are put together, and which of them one of several shares is.

use std::cmp::Reverse;
use std::sync::Arc;

use icefield_core::{ArrayMetadata, NodePath};

use super::assembly::{Assembly, Sink};
use super::blocks::{Blocks, least_common};
use super::part::{ChunksOf, Part};
use crate::Limits;
use crate::codec::Codec;

impl Assembly {
    /// Describes all chunks of an array that is one part, whose sweep may be along any axis: of those along which it fits
    /// the limits, the one with the fewest decodes is chosen.
    pub(crate) fn of_one_part(
        (path, array): (NodePath, &ArrayMetadata),
        codec: Codec,
        (codec_of_part, chunk_shape): (Codec, Vec<u64>),
        chunks: Arc<dyn ChunksOf>,
        sink: Sink,
        limits: Limits,
    ) -> Self {
        let part = Part {
            chunk_shape: match chunk_shape.is_empty() {
                true => vec![1],
                false => chunk_shape,
            },
            at: 0,
            kept: 0..0,
            codec: codec_of_part,
            chunks,
            is_moved: false,
        };
        let mut assembly = Self::new((path, array), codec, (0, Vec::new()), vec![part], sink);
        let axes = 0..assembly.shape.len();
        let best = axes.min_by_key(|axis| {
            assembly.sweep(*axis);
            assembly.cost(limits)
        });
        assembly.sweep(best.unwrap_or(0));
        assembly
    }

    /// Has the sweep go along an axis, over all chunks.
    fn sweep(&mut self, axis: usize) {
        self.axis = axis;
        for part in &mut self.parts {
            part.kept = 0..self.shape[axis];
        }
        let count = self.shape[axis].div_ceil(self.chunk_shape[axis]);
        self.ranges = std::iter::once(0..count).collect();
    }

    /// The cost of the sweep, as it compares: bytes beyond the limit, decodes, bytes held.
    fn cost(&self, limits: Limits) -> (u64, u64, u64) {
        let blocks = self.blocks(limits);
        let beyond = blocks.held.max(limits.elements);
        (beyond, blocks.decodes, blocks.held)
    }

    /// Leaves one of so many shares of the chunks of an array that is one part, so that nothing is decoded for two of them that is
    /// decoded once for the whole: a piece of the sweep that ends where chunks of both grids do, along the axis that has the most
    /// such pieces; or some of the blocks, if there are more of those.
    pub(crate) fn share(mut self, (number, of): (u64, u64), limits: Limits) -> Self {
        let of = of.max(1);
        if of == 1 {
            return self;
        }
        let own = |all: u64| {
            let begin = |number: u64| {
                let begin = u128::from(all) * u128::from(number.min(of)) / u128::from(of);
                begin as u64
            };
            begin(number)..begin(number.saturating_add(1))
        };
        let swept = self.axis;
        let blocks = self.blocks(limits).count(&self).unwrap_or(u64::MAX);
        let axes = 0..self.shape.len();
        let best = axes.min_by_key(|axis| {
            self.sweep(*axis);
            (Reverse(self.pieces(*axis).0.min(of)), self.cost(limits))
        });
        let axis = best.unwrap_or(0);
        let (pieces, width) = self.pieces(axis);
        if blocks.min(of) > pieces.min(of) {
            self.sweep(swept);
            self.own_blocks = Some(own(blocks));
            return self;
        }
        self.sweep(axis);
        let (own, count) = (own(pieces), self.chunk_counts()[axis]);
        let chunks =
            own.start.saturating_mul(width).min(count)..own.end.saturating_mul(width).min(count);
        self.ranges = match chunks.is_empty() {
            true => Vec::new(),
            false => vec![chunks],
        };
        self
    }

    /// In how many pieces the chunks along an axis can be cut, and of how many chunks each is.
    fn pieces(&self, axis: usize) -> (u64, u64) {
        let chunk = self.chunk_shape[axis];
        let common = self.parts.iter().fold(chunk, |common, part| {
            least_common(common, part.chunk_shape[axis])
        });
        (self.shape[axis].div_ceil(common), common / chunk)
    }

    /// Chunks that are put together at most, of the blocks that are made.
    pub(super) fn own_chunks(&self, limits: Limits) -> u64 {
        if self.own_blocks.is_none() {
            return self.chunks();
        }
        let regions = self.blocks(limits).regions(self).into_iter().flatten();
        let made = regions.map(|region| {
            let chunks = region.chunks(&self.chunk_shape);
            chunks.shape.iter().product::<u64>()
        });
        made.fold(0, u64::saturating_add)
    }

    /// Returns how the work is divided.
    pub(crate) fn blocks(&self, limits: Limits) -> Blocks {
        Blocks::of(self, limits, threads().min(limits.chunks.max(1)))
    }
}

/// Threads that decode at the same time.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
