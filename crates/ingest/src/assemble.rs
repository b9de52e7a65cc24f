//! Chunks that are put together of the elements of other chunks: at seams between sources, where grids or codecs differ, and
//! where an array gets another grid.
//!
//! The chunks to make are cut into *blocks*. Along one axis, the sweep, a block reaches from the first chunk to the last one;
//! across, it is as wide as the chunks on both sides need to end at the same elements, if memory allows:
//!
//! ```text
//! chunks of parts    |   |   |   |   |   |   |     of 4 elements
//! chunks to make     |     |     |     |     |     of 6
//! blocks             |           |           |     of 12: no chunk of a part lies in two
//! ```
//!
//! Within a block the chunks of parts are read and decoded in the order of the sweep, each once, a few of them at a time on
//! all threads. A chunk begins with the first element that falls into it, and is encoded and written with the last one. So a
//! block holds the chunks that are open and the ones being decoded, however long the sweep is; `blocks` counts
//! how much that is, and makes blocks narrower until it fits [`Limits::elements`].

mod block;
mod blocks;
mod gauge;
mod memory;
mod part;

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodePath, Session};

use self::block::{Block, Done};
pub(crate) use self::blocks::Blocks;
use self::gauge::Gauge;
use self::memory::Memory;
pub(crate) use self::part::{ChunksOf, OfSession, OfSource, Part};
use crate::codec::Codec;
use crate::limits::Budget;
use crate::regions::Region;
use crate::{Ignored, ImportError, LayoutError, Limits, PlanError, Progress};

/// What was put together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assembled {
    /// Chunks that were written, and those that were recalled.
    pub(crate) chunks: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Chunks that were compared.
    pub(crate) compared: u64,
    /// Chunks of parts that were decoded for it.
    pub(crate) decoded: u64,
    /// The most bytes that were held at once: chunks encoded, decoded, and put together.
    pub(crate) held: u64,
    /// What lies beside the chunks of parts and is none.
    pub(crate) ignored: Ignored,
}

/// What becomes of a chunk once all its elements are there.
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
    path: NodePath,
    /// The array has no dimension; here it has one, of one element.
    is_scalar: bool,
    axis: usize,
    shape: Vec<u64>,
    chunk_shape: Vec<u64>,
    codec: Codec,
    parts: Vec<Part>,
    /// The chunks to make, along the axis.
    ranges: Vec<Range<u64>>,
    /// Of the blocks of these chunks, those that are made; `None` for all.
    own_blocks: Option<Range<u64>>,
    sink: Sink,
    /// What is remembered of the chunks that were made, if anything.
    memory: Memory,
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

    /// What the sweep costs, as it compares: what it holds beyond the limit, decodes, what it holds.
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
            blocks::least_common(common, part.chunk_shape[axis])
        });
        (self.shape[axis].div_ceil(common), common / chunk)
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

    /// Chunks that are put together at most, of the blocks that are made.
    fn own_chunks(&self, limits: Limits) -> u64 {
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

    /// Returns the bytes of the elements of one chunk.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.codec.chunk_bytes()
    }

    /// Returns how the work is divided.
    pub(crate) fn blocks(&self, limits: Limits) -> Blocks {
        Blocks::of(self, limits, threads().min(limits.chunks.max(1)))
    }

    /// Chunks of the array per dimension.
    fn chunk_counts(&self) -> Vec<u64> {
        let lengths = self.shape.iter().zip(&self.chunk_shape);
        lengths
            .map(|(length, chunk)| length.div_ceil(*chunk))
            .collect()
    }

    /// The index of a chunk in a grid, of its place in the grid that has at least one dimension.
    fn index(&self, place: &[u64]) -> ChunkIndex {
        let place = place
            .iter()
            .map(|it| u32::try_from(*it).unwrap_or(u32::MAX));
        match self.is_scalar {
            true => ChunkIndex::from(Vec::<u32>::new()),
            false => ChunkIndex::from(place.collect::<Vec<u32>>()),
        }
    }

    /// The box of a chunk of the array, whole.
    fn chunk_box(&self, place: &[u64]) -> Region {
        let start = place.iter().zip(&self.chunk_shape);
        let start = start.map(|(at, chunk)| at * chunk).collect();
        Region::new(start, self.chunk_shape.clone())
    }

    /// What of a box a part has; `None` if that is nothing.
    fn of_part(&self, part: &Part, region: &Region) -> Option<Region> {
        let mut all = Region::new(vec![0; self.shape.len()], self.shape.clone());
        all.start[self.axis] = part.at;
        all.shape[self.axis] = part.length();
        all.common(region)
    }

    /// The chunks of a part in which a box lies that the part has: the first per dimension, and how many.
    fn chunks_of_part(&self, part: &Part, region: &Region) -> Region {
        region
            .moved(self.axis, part.kept.start, part.at)
            .chunks(&part.chunk_shape)
    }
}

/// Threads that decode at the same time.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Puts all chunks together. Decoding and encoding run on all threads of the runtime.
///
/// # Errors
/// [`LayoutError::TooManyBlocks`]; the first chunk that cannot be read, decoded, encoded or written, by name;
/// [`ImportError::ChunkDiffers`].
pub(crate) async fn run(
    session: &Session,
    all: Vec<Assembly>,
    limits: Limits,
    progress: &dyn Progress,
) -> Result<Assembled, ImportError> {
    let mut done = Assembled::default();
    let expected = all
        .iter()
        .map(|assembly| assembly.own_chunks(limits))
        .fold(0, u64::saturating_add);
    if expected == 0 {
        return Ok(done);
    }
    let parts = all.iter().flat_map(|assembly| &assembly.parts);
    let listed: Vec<Arc<dyn ChunksOf>> = parts
        .filter(|part| !part.is_moved)
        .map(|part| Arc::clone(&part.chunks))
        .collect();
    let divided: Result<Vec<_>, LayoutError> = all
        .into_iter()
        .map(|assembly| {
            let (blocks, assembly) = (assembly.blocks(limits), Arc::new(assembly));
            let too_many = || LayoutError::TooManyBlocks {
                path: assembly.path.clone(),
            };
            let regions = blocks.regions(&assembly).ok_or_else(too_many)?;
            Ok((assembly, blocks, regions))
        })
        .collect();
    let divided = divided.map_err(PlanError::from)?;
    progress.expected(expected);
    let (budget, gauge) = (Budget::of(limits.elements), Arc::new(Gauge::default()));
    let counted = Arc::clone(&gauge);
    let blocks = divided.into_iter().flat_map(|(assembly, blocks, regions)| {
        let gauge = Arc::clone(&counted);
        regions.map(move |region| {
            let block = Block::new(Arc::clone(&assembly), region, Arc::clone(&gauge));
            let block = Arc::new(block);
            (block, blocks.window, blocks.held)
        })
    });
    let mut results = stream::iter(blocks)
        .map(|(block, window, held)| {
            let (session, budget) = (session.clone(), budget.clone());
            stream::once(async move {
                let held = budget.hold(held).await;
                block.run(session, window).map(move |done| {
                    let _held = &held;
                    done
                })
            })
            .flatten()
            .boxed()
        })
        .flatten_unordered(limits.chunks.max(1))
        .boxed();
    while let Some(one) = results.try_next().await? {
        match one {
            Done::Decoded => done.decoded += 1,
            Done::Absent => progress.absent(1),
            Done::Compared => {
                progress.absent(1);
                done.compared += 1;
            }
            Done::Written(bytes) => {
                progress.chunk(bytes);
                done.chunks += 1;
                done.bytes += bytes;
            }
        }
    }
    done.held = gauge.peak();
    for chunks in listed {
        done.ignored.merge(chunks.ignored());
    }
    Ok(done)
}
