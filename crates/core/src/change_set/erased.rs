//! Boxes of chunks that a session erased, whether there were chunks or not.
//!
//! Erasing is an edit also where the base has nothing: a chunk that a concurrent commit puts there collides with it. A box stays
//! a box, however many cells it has; the chunks that were known to be there have rows of their own beside it, because a log
//! names them.

use std::collections::BTreeSet;
use std::ops::Range;

use icefield_format::ChunkIndex;

use crate::grid::within;
use crate::splits;

/// Cells of an array's boxes that a log names one by one, at most. A log of larger boxes names the chunks that were there.
pub(crate) const MOST_NAMED: u64 = 1 << 12;

/// The boxes of one array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErasedBoxes {
    /// None is empty, none lies within another one.
    boxes: Vec<Vec<Range<u32>>>,
    /// Cells of the boxes whose erasure was given up.
    spared: BTreeSet<ChunkIndex>,
}

impl ErasedBoxes {
    /// The parts are taken as they are.
    pub(super) fn of(boxes: Vec<Vec<Range<u32>>>, spared: BTreeSet<ChunkIndex>) -> Self {
        Self { boxes, spared }
    }

    pub(super) fn boxes(&self) -> &[Vec<Range<u32>>] {
        &self.boxes
    }

    pub(super) fn spared(&self) -> &BTreeSet<ChunkIndex> {
        &self.spared
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.boxes.is_empty()
    }

    pub(super) fn contains(&self, index: &[u32]) -> bool {
        self.boxes.iter().any(|it| is_in(it, index)) && !self.spared.contains(index)
    }

    /// Returns whether a box of the same rank has a cell in common with one of these.
    pub(super) fn meet(&self, other: &[Range<u32>]) -> bool {
        let mut of_one_rank = self.boxes.iter().filter(|it| it.len() == other.len());
        of_one_rank.any(|it| splits::intersect(it, other))
    }

    /// Adds a box, which is not empty.
    pub(super) fn add(&mut self, within: Vec<Range<u32>>) {
        self.spared.retain(|index| !is_in(&within, index));
        self.push(within);
    }

    /// Adds the boxes of another set. A cell that one of them erases is erased.
    pub(super) fn add_all(&mut self, other: &Self) {
        let before = self.clone();
        other.boxes.iter().for_each(|it| self.push(it.clone()));
        self.spared.extend(other.spared.iter().cloned());
        (self.spared).retain(|index| !before.contains(index) && !other.contains(index));
    }

    /// A slab that follows on another one makes one box of the two: windows that are trimmed again and again keep one.
    fn push(&mut self, mut within: Vec<Range<u32>>) {
        if self.boxes.iter().any(|it| encloses(it, &within)) {
            return;
        }
        loop {
            self.boxes.retain(|it| !encloses(&within, it));
            let found = self
                .boxes
                .iter()
                .position(|it| joined(it, &within).is_some());
            let Some(at) = found else { break };
            let other = self.boxes.swap_remove(at);
            within = joined(&other, &within).unwrap_or(other);
        }
        self.boxes.push(within);
    }

    /// Leaves cells as the base has them.
    pub(super) fn spare(&mut self, indices: &BTreeSet<ChunkIndex>) {
        let erased = indices.iter().filter(|index| self.contains(index));
        let erased: Vec<ChunkIndex> = erased.cloned().collect();
        self.spared.extend(erased);
    }

    /// Forgets what lies outside a grid.
    pub(super) fn clip(&mut self, grid: &[u32]) {
        self.map(|it| {
            let axes = it.iter().zip(grid);
            let inside = axes.map(|(range, count)| range.start..range.end.min(*count));
            (it.len() == grid.len()).then(|| inside.collect())
        });
        self.spared.retain(|index| within(index, grid));
    }

    /// Moves all by so many chunks per dimension, and forgets what leaves a grid.
    pub(super) fn shift(&mut self, by: &[i64], grid: &[u32]) {
        self.map(|it| {
            let axes = it.iter().zip(by).zip(grid);
            let moved = axes.map(|((range, by), count)| {
                let to = |at: u32| {
                    let at = i64::from(at).saturating_add(*by);
                    u32::try_from(at.clamp(0, i64::from(*count))).unwrap_or(*count)
                };
                to(range.start)..to(range.end)
            });
            Some(moved.collect())
        });
        let spared = std::mem::take(&mut self.spared);
        let moved = spared.iter().filter_map(|index| {
            let axes = index.iter().zip(by).zip(grid);
            let moved = axes.map(|((at, by), count)| {
                let at = i64::from(*at).checked_add(*by)?;
                u32::try_from(at).ok().filter(|at| at < count)
            });
            moved.collect::<Option<ChunkIndex>>()
        });
        self.spared = moved.collect();
    }

    fn map(&mut self, change: impl Fn(&[Range<u32>]) -> Option<Vec<Range<u32>>>) {
        let boxes = std::mem::take(&mut self.boxes);
        let changed = boxes.iter().filter_map(|it| change(it));
        for within in changed.filter(|it| !it.iter().any(Range::is_empty)) {
            self.push(within);
        }
        if self.boxes.is_empty() {
            self.spared.clear();
        }
    }

    /// Returns whether all boxes lie within a grid and have its rank.
    pub(super) fn lie_within(&self, grid: &[u32]) -> bool {
        self.boxes.iter().all(|it| {
            let mut axes = it.iter().zip(grid);
            it.len() == grid.len() && axes.all(|(range, count)| range.end <= *count)
        })
    }

    /// Returns whether nothing of the boxes would leave a grid if it moved.
    pub(super) fn stay_within(&self, by: &[i64], grid: &[u32]) -> bool {
        self.boxes.iter().all(|it| {
            it.iter().zip(by).zip(grid).all(|((range, by), count)| {
                let first = i64::from(range.start).saturating_add(*by);
                let end = i64::from(range.end).saturating_add(*by);
                first >= 0 && end <= i64::from(*count)
            })
        })
    }

    /// The cells, if they are so few that a log names them.
    pub(super) fn cells(&self) -> Option<BTreeSet<ChunkIndex>> {
        let counts = self.boxes.iter().map(|it| splits::count(it));
        let all = counts.fold(0, u64::saturating_add);
        if all > MOST_NAMED {
            return None;
        }
        let mut cells = BTreeSet::new();
        for it in &self.boxes {
            splits::for_each(it, |index| {
                if !self.spared.contains(index) {
                    cells.insert(ChunkIndex::from(index));
                }
            });
        }
        Some(cells)
    }

    /// The first cell of each box, to have something to show of it.
    pub(super) fn corners(&self) -> BTreeSet<ChunkIndex> {
        let corner = |it: &Vec<Range<u32>>| it.iter().map(|range| range.start).collect();
        self.boxes.iter().map(corner).collect()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let boxes = self.boxes.iter();
        let boxes: usize = boxes.map(|it| it.capacity() * 8 + 24).sum();
        let spared = self.spared.iter();
        boxes + spared.map(|it| it.len() * 4 + 32).sum::<usize>()
    }
}

fn is_in(within: &[Range<u32>], index: &[u32]) -> bool {
    let mut axes = within.iter().zip(index);
    within.len() == index.len() && axes.all(|(range, at)| range.contains(at))
}

fn encloses(outer: &[Range<u32>], inner: &[Range<u32>]) -> bool {
    let mut axes = outer.iter().zip(inner);
    outer.len() == inner.len() && axes.all(|(a, b)| a.start <= b.start && b.end <= a.end)
}

/// The one box that two make which differ along one axis, and touch or overlap there.
fn joined(a: &[Range<u32>], b: &[Range<u32>]) -> Option<Vec<Range<u32>>> {
    if a.len() != b.len() {
        return None;
    }
    let mut differ = (0..a.len()).filter(|axis| a[*axis] != b[*axis]);
    let (axis, None) = (differ.next()?, differ.next()) else {
        return None;
    };
    let (one, other) = (&a[axis], &b[axis]);
    if one.start > other.end || other.start > one.end {
        return None;
    }
    let mut joined = a.to_vec();
    joined[axis] = one.start.min(other.start)..one.end.max(other.end);
    Some(joined)
}

#[cfg(test)]
mod tests;
