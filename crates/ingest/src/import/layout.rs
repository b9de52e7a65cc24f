//! Which chunks of an array that grows are taken as they are, and which are put together of elements.
//!
//! ```text
//! here      | 0 1 2 . |                        three elements in chunks of four
//! source    | 3 4 5 6 | 7 8 . . |              begins within a chunk: all of it is put together anew
//! result    | 0 1 2 3 | 4 5 6 7 | 8 . . . |
//!
//! here      | 0 1 2 3 |
//! source    | 4 5 6 7 | 8 9 . . |              begins with a chunk: its chunks are taken as they are,
//! another   | 0 1 . . |                        but the last one of what something follows
//! result    | 0 1 2 3 | 4 5 6 7 | 8 9 0 1 |
//! ```

use std::ops::Range;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodeMetadata, NodePath};

use crate::plan::{Growth, Shift};

/// The part that one source adds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    /// Which of the sources.
    pub(super) source: usize,
    pub(super) growth: Growth,
    /// The import is done in shares, and another one has the source's other chunks.
    pub(super) is_borrowed: bool,
}

/// An array that grows, and all that is put behind what it has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Grown {
    pub(super) path: NodePath,
    pub(super) axis: usize,
    /// Elements along the axis that the repository has.
    pub(super) existing: u64,
    /// The array as it will be.
    pub(super) array: ArrayMetadata,
    /// Its document then.
    pub(super) document: Bytes,
    pub(super) parts: Vec<Part>,
}

/// The treatment of the chunks of an array along the axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// Chunks that are taken as they are, by the position of the part.
    pub(super) taken: Vec<(usize, Shift)>,
    /// Chunks of the array that are put together.
    pub(super) assembled: Vec<Range<u64>>,
}

impl Part {
    /// Returns what a source adds in an import that is not divided.
    pub(super) fn new(source: usize, growth: Growth) -> Self {
        Self {
            source,
            growth,
            is_borrowed: false,
        }
    }
}

impl Grown {
    /// Returns an array that grows along the axis of its first part; `None` without a part, or if the document is of no array.
    pub(super) fn new(
        path: NodePath,
        existing: u64,
        document: Bytes,
        parts: Vec<Part>,
    ) -> Option<Self> {
        let array = NodeMetadata::parse(&document).ok()?.array()?.clone();
        let axis = parts.first()?.growth.axis;
        Some(Self {
            path,
            axis,
            existing,
            array,
            document,
            parts,
        })
    }

    /// Returns the elements of a chunk along the axis.
    pub(super) fn chunk(&self) -> u64 {
        self.array.chunk_shape[self.axis]
    }

    /// Returns whether a part begins where one of its chunks would.
    pub(super) fn is_aligned(&self, part: &Part) -> bool {
        let growth = &part.growth;
        (growth.at % self.chunk()) == (growth.kept.start % self.chunk())
    }

    pub(super) fn layout(&self) -> Layout {
        let (chunk, total) = (self.chunk(), self.array.shape[self.axis]);
        let mut taken = Vec::new();
        // The chunks that a part gives whole, in order.
        let mut given: Vec<Range<u64>> = Vec::new();
        for (number, part) in self.parts.iter().enumerate() {
            let growth = &part.growth;
            if growth.recoded.is_some() || growth.length() == 0 || !self.is_aligned(part) {
                continue;
            }
            let length = growth.array.shape[self.axis];
            let ends = growth.at + growth.length() == total && growth.kept.end == length;
            let first = growth.kept.start.div_ceil(chunk);
            let end = match ends {
                true => length.div_ceil(chunk),
                false => growth.kept.end / chunk,
            };
            if first >= end {
                continue;
            }
            let to = (growth.at + (first * chunk - growth.kept.start)) / chunk;
            given.push(to..to + (end - first));
            let shift = Shift {
                axis: self.axis,
                chunks: first..end,
                to,
            };
            taken.push((number, shift));
        }
        let mut assembled = Vec::new();
        let mut next = self.existing / chunk;
        let end = match self.existing < total {
            true => total.div_ceil(chunk),
            false => next,
        };
        for range in given {
            if next < range.start {
                assembled.push(next..range.start);
            }
            next = range.end;
        }
        if next < end {
            assembled.push(next..end);
        }
        Layout { taken, assembled }
    }
}

#[cfg(test)]
mod tests {
    use icefield_core::NodeMetadata;
    use serde_json::json;

    use super::*;

    fn array(length: u64, chunk: u64) -> ArrayMetadata {
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": [length], "data_type": "int8",
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [chunk] } },
            "chunk_key_encoding": { "name": "default" }, "fill_value": 0, "codecs": ["bytes"],
        });
        let metadata = NodeMetadata::parse(document.to_string().as_bytes()).expect("valid");
        metadata.array().expect("an array").clone()
    }

    /// An array in chunks of four, behind whose elements parts are put of so many elements each, of which some are kept.
    fn grown(existing: u64, parts: &[(u64, Range<u64>)]) -> Grown {
        let path = NodePath::parse("/x").expect("a path");
        let mut at = existing;
        let parts = parts.iter().enumerate().map(|(source, (length, kept))| {
            let growth = Growth {
                from: path.clone(),
                array: array(*length, 4),
                document: Bytes::new(),
                to: path.clone(),
                axis: 0,
                at,
                kept: kept.clone(),
                recoded: None,
            };
            at += growth.length();
            Part {
                source,
                growth,
                is_borrowed: false,
            }
        });
        let parts = parts.collect();
        Grown {
            axis: 0,
            existing,
            array: array(at, 4),
            document: Bytes::new(),
            parts,
            path,
        }
    }

    fn shift(chunks: Range<u64>, to: u64) -> Shift {
        Shift {
            axis: 0,
            chunks,
            to,
        }
    }

    #[test]
    fn whole_chunks_are_taken_and_seams_put_together() {
        for (existing, parts, taken, assembled) in [
            (0, vec![(8, 0..8)], vec![(0, shift(0..2, 0))], vec![]),
            (4, vec![(8, 0..8)], vec![(0, shift(0..2, 1))], vec![]),
            // A source that ends within a chunk does so for good, if nothing follows.
            (4, vec![(6, 0..6)], vec![(0, shift(0..2, 1))], vec![]),
            (
                0,
                vec![(8, 0..8), (6, 0..6), (2, 0..2)],
                vec![(0, shift(0..2, 0)), (1, shift(0..1, 2))],
                vec![3..4],
            ),
            // Behind a seam nothing fits, until it does.
            (
                3,
                vec![(5, 0..5), (8, 0..8)],
                vec![(1, shift(0..2, 2))],
                vec![0..2],
            ),
            (3, vec![(8, 0..8)], vec![], vec![0..3]),
            // Elements that are left out at the start move the others.
            (3, vec![(9, 3..9)], vec![(0, shift(1..3, 1))], vec![0..1]),
            // Elements left out at the end are no part of a chunk.
            (0, vec![(8, 0..6)], vec![(0, shift(0..1, 0))], vec![1..2]),
            (3, vec![(4, 4..4)], vec![], vec![]),
            (3, vec![], vec![], vec![]),
        ] {
            let layout = grown(existing, &parts).layout();
            let expected = Layout { taken, assembled };
            assert_eq!(layout, expected, "{existing} {parts:?}");
        }
    }

    #[test]
    fn nothing_is_taken_of_what_must_be_encoded_anew() {
        let mut one = grown(4, &[(8, 0..8)]);
        one.parts[0].growth.recoded = Some(crate::Difference {
            member: "codecs".to_owned(),
            existing: None,
            source: None,
        });
        let layout = one.layout();
        assert_eq!((layout.taken, layout.assembled), (vec![], vec![1..3]));
    }
}
