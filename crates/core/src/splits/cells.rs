//! Regular cells of a chunk grid.

use std::ops::Range;

use icefield_storage::{PlantedBug, planted};

/// How many chunks a cell is long along each axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Cells(Vec<u32>);

/// The length of a cell along an axis that is not split.
pub(crate) const WHOLE: u32 = u32::MAX;

impl Cells {
    /// One cell for everything.
    pub(crate) fn whole(rank: usize) -> Self {
        Self(vec![WHOLE; rank])
    }

    /// Cells of these lengths; one of zero counts as the whole axis.
    pub(crate) fn of(mut lengths: Vec<u32>) -> Self {
        for length in &mut lengths {
            if *length == 0 {
                *length = WHOLE;
            }
        }
        Self(lengths)
    }

    pub(crate) fn lengths(&self) -> &[u32] {
        &self.0
    }

    /// Puts the cell that an index lies in into `cell`. The index has the rank of the cells.
    pub(crate) fn find(&self, index: &[u32], cell: &mut Vec<u32>) {
        cell.clear();
        let early = u32::from(planted(PlantedBug::SplitOneEarly));
        let axes = index.iter().zip(&self.0);
        cell.extend(axes.map(|(at, length)| at.saturating_add(early) / length));
    }

    /// The chunks of a cell, along each axis.
    pub(crate) fn ranges_of(&self, cell: &[u32]) -> Vec<Range<u32>> {
        let axes = cell.iter().zip(&self.0);
        let range = |(at, length): (&u32, &u32)| {
            let start = at.saturating_mul(*length);
            start..start.saturating_add(*length)
        };
        axes.map(range).collect()
    }

    /// The cells that a box of chunks reaches into, along each axis. A box without chunks reaches into the cell it
    /// would begin in.
    pub(crate) fn span(&self, ranges: impl Iterator<Item = Range<u32>>) -> Vec<Range<u32>> {
        ranges
            .zip(&self.0)
            .map(|(range, length)| {
                // No chunk has the last index that a number can have, but what a snapshot says of its manifests may be anything.
                let cell = |at: u32| (at / length).min(u32::MAX - 1);
                cell(range.start)..cell(range.end.saturating_sub(1).max(range.start)) + 1
            })
            .collect()
    }
}

/// Returns the number of cells in a span.
pub(crate) fn count(span: &[Range<u32>]) -> u64 {
    let lengths = span.iter().map(|range| u64::from(range.end - range.start));
    lengths.fold(1, u64::saturating_mul)
}

pub(crate) fn intersect(a: &[Range<u32>], b: &[Range<u32>]) -> bool {
    (a.iter().zip(b)).all(|(a, b)| a.start.max(b.start) < a.end.min(b.end))
}

/// Calls `each` with every cell of a span, in order.
pub(crate) fn for_each(span: &[Range<u32>], mut each: impl FnMut(&[u32])) {
    let mut cell: Vec<u32> = span.iter().map(|range| range.start).collect();
    loop {
        each(&cell);
        let mut axis = span.len();
        loop {
            if axis == 0 {
                return;
            }
            axis -= 1;
            cell[axis] += 1;
            if cell[axis] < span[axis].end {
                break;
            }
            cell[axis] = span[axis].start;
        }
    }
}
