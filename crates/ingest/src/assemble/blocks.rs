//! How the work is divided, within a bound on memory.

use std::ops::Range;

use super::assembly::Assembly;
use super::part::Part;
use crate::Limits;
use crate::regions::{Region, place};

/// Blocks along a dimension that are looked at one by one to count decodes; of more, the most that there can be are counted.
const COUNTED: u64 = 1 << 16;

/// Chunks of parts for each thread that are decoded while a chunk that is whole is encoded, which takes longer.
const AHEAD: usize = 4;

/// How the chunks to make are cut into blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    /// Chunks of the array per block and dimension; of the axis, all of a range.
    pub(super) widths: Vec<u64>,
    /// Chunks of parts that are decoded at a time.
    pub(crate) window: usize,
    /// Bytes that a block holds at most.
    pub(crate) held: u64,
    /// Chunks of parts that are decoded if all exist: one counts as often as there are blocks in which it lies.
    pub(crate) decodes: u64,
}

impl Blocks {
    /// Makes blocks as wide as chunks on both sides need to end together. If that is too much to hold, decodes fewer at a
    /// time; if it still is, halves the blocks where that costs the fewest decodes.
    pub(super) fn of(assembly: &Assembly, limits: Limits, threads: usize) -> Self {
        let counts = assembly.chunk_counts();
        let mut widths: Vec<u64> = counts.iter().map(|count| (*count).max(1)).collect();
        for axis in assembly.others() {
            let chunk = assembly.chunk_shape[axis];
            let mut common = chunk;
            for part in &assembly.parts {
                common = least_common(common, part.chunk_shape[axis]);
            }
            widths[axis] = widths[axis].min(common / chunk).max(1);
        }
        let held = |widths: &[u64], window| assembly.held(widths, window);
        let fits = |widths: &[u64], window| held(widths, window) <= limits.elements;
        let threads = threads.max(1);
        let widest = (threads * AHEAD).min(limits.chunks).max(threads);
        let mut window = (1..=widest).rev().find(|window| fits(&widths, *window));
        while window.is_none() {
            let Some(axis) = assembly.cheapest_cut(&widths) else {
                break;
            };
            widths[axis] = widths[axis].div_ceil(2);
            window = (threads..=widest)
                .rev()
                .find(|window| fits(&widths, *window));
        }
        let window = window
            .or_else(|| (1..threads).rev().find(|window| fits(&widths, *window)))
            .unwrap_or(1);
        Self {
            held: held(&widths, window),
            decodes: assembly.decodes(&widths),
            widths,
            window,
        }
    }

    /// Returns how many blocks there are; `None` if they cannot be counted.
    pub(super) fn count(&self, assembly: &Assembly) -> Option<u64> {
        let mut counts = self.counts(assembly).into_iter();
        let blocks = counts.try_fold(1_u64, u64::checked_mul)?;
        blocks.checked_mul(assembly.ranges.len() as u64)
    }

    /// Blocks per dimension, of one range of the axis.
    fn counts(&self, assembly: &Assembly) -> Vec<u64> {
        let counts = assembly.chunk_counts().into_iter().enumerate();
        let counts = counts.map(|(at, count)| match at == assembly.axis {
            true => 1,
            false => count.div_ceil(self.widths[at]),
        });
        counts.collect()
    }

    /// Returns the boxes of elements of all blocks that are made; `None` if they, or the chunks of parts in them, cannot be
    /// counted.
    pub(super) fn regions(
        &self,
        assembly: &Assembly,
    ) -> Option<impl Iterator<Item = Region> + use<>> {
        if self.decodes == u64::MAX {
            return None;
        }
        self.count(assembly)?;
        let (axis, shape) = (assembly.axis, assembly.shape.clone());
        let counts = self.counts(assembly);
        let lengths = assembly.chunk_shape.iter().zip(&self.widths);
        let lengths: Vec<u64> = lengths.map(|(chunk, width)| chunk * width).collect();
        let chunk = assembly.chunk_shape[axis];
        let blocks: u64 = counts.iter().product();
        let own = assembly.own_blocks.clone().unwrap_or(0..u64::MAX);
        let bound = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let (skipped, taken) = (bound(own.start), bound(own.end.saturating_sub(own.start)));
        let all = assembly.ranges.clone().into_iter().flat_map(move |range| {
            let (shape, lengths, counts) = (shape.clone(), lengths.clone(), counts.clone());
            (0..blocks).map(move |number| {
                let start = place(number, &counts);
                let mut start: Vec<u64> = start
                    .iter()
                    .zip(&lengths)
                    .map(|(at, length)| at * length)
                    .collect();
                let mut ends: Vec<u64> = start
                    .iter()
                    .zip(&lengths)
                    .map(|(start, length)| start + length)
                    .collect();
                (start[axis], ends[axis]) = (range.start * chunk, range.end * chunk);
                let ends = ends.iter().zip(&shape).zip(&start);
                let shape = ends.map(|((end, length), start)| (*end).min(*length) - start);
                let shape = shape.collect();
                Region::new(start, shape)
            })
        });
        Some(all.skip(skipped).take(taken))
    }
}

impl Assembly {
    /// The dimensions across.
    fn others(&self) -> impl Iterator<Item = usize> + use<> {
        let axis = self.axis;
        (0..self.shape.len()).filter(move |it| *it != axis)
    }

    /// Bytes that a block of so many chunks across holds at most.
    fn held(&self, widths: &[u64], window: usize) -> u64 {
        let (mut slab, mut length, mut part_bytes, mut slabs_in_all) = (u64::MAX, 1, 0_u64, 0_u64);
        for part in &self.parts {
            // Of the narrowest block, whose slabs the window reaches the most of.
            let across = self.others().map(|axis| {
                let chunk = part.chunk_shape[axis];
                let width = widths[axis] * self.chunk_shape[axis];
                let last = (self.shape[axis].max(1) - 1) % width + 1;
                (last / chunk).max(1)
            });
            slab = slab.min(across.fold(1, u64::saturating_mul));
            length = length.max(part.chunk_shape[self.axis]);
            part_bytes = part_bytes.max(part.codec.chunk_bytes());
            slabs_in_all += touched(part.length(), part.chunk_shape[self.axis]);
        }
        // The chunks that are decoded at a time follow one another; they are of so many slabs across the sweep.
        let slabs = (window as u64 - 1).div_ceil(slab.max(1)) + 1;
        let reach = slabs.min(slabs_in_all.max(1)).saturating_mul(length);
        let chunk = self.chunk_shape[self.axis];
        let longest = self.ranges.iter().map(|it| it.end - it.start).max();
        let open = touched(reach, chunk).min(longest.unwrap_or(0)).max(1);
        let open = self
            .others()
            .fold(open, |open, axis| open.saturating_mul(widths[axis]));
        let window = window as u64;
        let own = self.codec.chunk_bytes();
        // A chunk of a part is there encoded and decoded, and one that is written decoded and encoded.
        open.saturating_mul(own)
            .saturating_add(window.saturating_mul(2 * part_bytes))
            .saturating_add(window.min(open).saturating_mul(own))
    }

    /// The dimension along which a block spans the most chunks of parts: a cut there doubles the fewest.
    fn cheapest_cut(&self, widths: &[u64]) -> Option<usize> {
        let spans = |axis: usize| {
            let length = widths[axis] * self.chunk_shape[axis];
            let parts = self
                .parts
                .iter()
                .map(|part| length / part.chunk_shape[axis]);
            (parts.min(), widths[axis])
        };
        let cut = self.others().filter(|axis| widths[*axis] > 1);
        cut.max_by_key(|axis| spans(*axis))
    }

    /// Chunks of parts in all blocks, each as often as it lies in one.
    fn decodes(&self, widths: &[u64]) -> u64 {
        let of_part = |part: &Part| {
            let along = self.ranges.iter().map(|range| {
                let chunk = self.chunk_shape[self.axis];
                let end = (range.end * chunk).min(part.at + part.length());
                let first = (range.start * chunk).max(part.at);
                if first >= end {
                    return 0;
                }
                let moved = |at: u64| at - part.at + part.kept.start;
                spanned(moved(first)..moved(end), part.chunk_shape[self.axis])
            });
            let along: u64 = along.sum();
            self.others().fold(along, |all, axis| {
                let (length, chunk) = (
                    widths[axis] * self.chunk_shape[axis],
                    part.chunk_shape[axis],
                );
                let (shape, blocks) = (self.shape[axis], self.shape[axis].div_ceil(length));
                let across = if length.is_multiple_of(chunk) {
                    shape.div_ceil(chunk)
                } else if blocks > COUNTED {
                    blocks.saturating_mul(touched(length, chunk))
                } else {
                    let block = |at: u64| at * length..((at + 1) * length).min(shape);
                    (0..blocks).map(|at| spanned(block(at), chunk)).sum()
                };
                all.saturating_mul(across)
            })
        };
        self.parts.iter().map(of_part).fold(0, u64::saturating_add)
    }
}

/// Chunks in which elements lie.
fn spanned(elements: Range<u64>, chunk: u64) -> u64 {
    (elements.end - 1) / chunk + 1 - elements.start / chunk
}

/// Chunks in which so many elements lie at most, wherever the first one does.
fn touched(length: u64, chunk: u64) -> u64 {
    match length {
        0 => 0,
        length => (length - 1).div_ceil(chunk) + 1,
    }
}

pub(super) fn least_common(one: u64, other: u64) -> u64 {
    let (mut a, mut b) = (one, other);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    one.saturating_mul(other / a.max(1))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use bytes::Bytes;
    use icefield_core::{ChunkIndex, NodeMetadata, NodePath};
    use serde_json::{Value, json};

    use super::*;
    use crate::ImportError;
    use crate::assemble::{ChunksOf, Sink};
    use crate::codec::Codec;

    #[derive(Debug)]
    struct Nothing;

    #[async_trait]
    impl ChunksOf for Nothing {
        async fn read(&self, _: &ChunkIndex) -> Result<Option<Bytes>, ImportError> {
            Ok(None)
        }

        fn name(&self, index: &ChunkIndex) -> String {
            index.to_string()
        }

        fn state(&self) -> Option<String> {
            None
        }
    }

    fn document(shape: &[u64], chunk: &[u64]) -> Value {
        json!({
            "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "int8",
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
            "chunk_key_encoding": { "name": "default" }, "fill_value": 0, "codecs": ["bytes"],
        })
    }

    /// An array of bytes that goes from one grid to another, within so many bytes.
    fn blocks(shape: &[u64], from: &[u64], to: &[u64], bytes: u64) -> (Blocks, Assembly) {
        let target = document(shape, to);
        let metadata = NodeMetadata::parse(target.to_string().as_bytes()).expect("valid");
        let codec = |document: &Value| Codec::of(document).expect("known");
        let limits = Limits::default().with_elements(bytes);
        let path = NodePath::parse("/x").expect("a path");
        let assembly = Assembly::of_one_part(
            (path, metadata.array().expect("an array")),
            codec(&target),
            (codec(&document(shape, from)), from.to_vec()),
            Arc::new(Nothing),
            Sink::Write,
            limits,
        );
        (Blocks::of(&assembly, limits, 2), assembly)
    }

    #[test]
    fn each_chunk_is_decoded_once_where_memory_allows() {
        let chunks = |shape: &[u64], chunk: &[u64]| -> u64 {
            let lengths = shape.iter().zip(chunk);
            lengths
                .map(|(length, chunk)| length.div_ceil(*chunk))
                .product()
        };
        for (shape, from, to) in [
            ([100, 60], [10, 4], [7, 6]),
            ([100, 60], [1, 60], [100, 1]),
            ([97, 53], [13, 8], [5, 11]),
            ([8, 8], [8, 8], [1, 1]),
        ] {
            let (found, _) = blocks(&shape, &from, &to, 1 << 20);
            assert_eq!(
                found.decodes,
                chunks(&shape, &from),
                "{shape:?} {from:?} {to:?}"
            );
            assert!(found.held <= 1 << 20, "{found:?}");
        }
    }

    #[test]
    fn blocks_become_narrower_until_they_fit() {
        let mut decodes = 0;
        for bytes in [200_000, 40_000, 10_000, 3_000] {
            let (found, assembly) = blocks(&[100, 400, 100], &[1, 400, 100], &[100, 4, 4], bytes);
            // The bytes of one column, two chunks of the source and what is written.
            let least = 100 * 16 + 2 * 40_000 + 1600;
            assert!(found.held <= bytes.max(least), "{bytes}: {found:?}");
            assert!(found.decodes >= decodes, "{bytes}: {found:?}");
            decodes = found.decodes;
            // All chunks are made, each in one block.
            let made: u64 = found
                .regions(&assembly)
                .expect("few")
                .map(|region| region.shape.iter().product::<u64>())
                .sum();
            assert_eq!(made, 100 * 400 * 100);
        }
        assert!(decodes > 100);
    }

    #[test]
    fn blocks_beyond_counting_are_none() {
        let shape = [4_000_000_000; 4];
        for (from, to) in [([1; 4], [1; 4]), ([1; 4], [50; 4]), ([50; 4], [1; 4])] {
            let (found, assembly) = blocks(&shape, &from, &to, 1 << 20);
            assert!(found.regions(&assembly).is_none(), "{found:?}");
        }
    }
}
