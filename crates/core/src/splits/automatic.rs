//! Cells by size: what an array gets that no rule is about.
//!
//! Nothing is stored about it. The lengths of the cells are read off the boxes of the manifests that exist, and kept
//! as long as the manifests that a commit would write have between 128 KiB and 1 MiB. An array whose references fit
//! into one manifest has one. Lengths that we choose are powers of two, so that cells of different lengths nest.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::cells::{self, Cells, WHOLE};

/// Bytes of a compressed manifest that lengths are chosen for.
const WANTED: f64 = (512 << 10) as f64;
/// Above this many, cells become smaller.
const MOST: f64 = (1 << 20) as f64;
/// Below this many, cells become larger.
const LEAST: f64 = (128 << 10) as f64;
/// The box around an array's references is taken for at most this many times as large as what is filled of it. One chunk
/// far away says little of what will lie between.
const MOST_REST: f64 = 1024.0;
/// Edited cells that are estimated; of more, so many spread over them.
const ESTIMATED: usize = 4096;

/// A manifest that exists.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Held {
    /// The box of its references, in chunks.
    pub(crate) ranges: Vec<Range<u32>>,
    /// Of the file.
    pub(crate) bytes: u64,
    pub(crate) refs: u64,
}

/// The facts about an array that are known when a commit is planned.
#[derive(Debug)]
pub(crate) struct Known<'a> {
    /// Chunks along each axis.
    pub(crate) grid: &'a [u32],
    /// The same before the commit, if the array existed and had this rank.
    pub(crate) before: Option<&'a [u32]>,
    pub(crate) dimensions: Option<&'a [Option<String>]>,
    pub(crate) held: &'a [Held],
    /// Indices of the references that are set, one behind the other, in any order.
    pub(crate) set: &'a [u32],
    /// Bytes of a compressed reference that is set, about.
    pub(crate) bytes_per_set: f64,
    /// Positions of manifests that are rewritten whatever is edited.
    pub(crate) rewritten: &'a [usize],
}

impl Known<'_> {
    /// Chooses the cells.
    pub(crate) fn cells(&self) -> Cells {
        let rank = self.grid.len();
        if rank == 0 || self.bytes() <= WANTED {
            return Cells::whole(rank);
        }
        if self.held.len() < 2 {
            return match self.bytes() <= MOST {
                true => Cells::whole(rank),
                false => self.fresh(),
            };
        }
        self.adjusted(self.inferred())
    }

    fn rank(&self) -> usize {
        self.grid.len()
    }

    fn set_count(&self) -> u64 {
        (self.set.len() / self.rank().max(1)) as u64
    }

    /// Bytes of all references, if nothing that is set replaces another.
    fn bytes(&self) -> f64 {
        let held: f64 = self.held.iter().map(|held| held.bytes as f64).sum();
        held + self.set_count() as f64 * self.bytes_per_set
    }

    fn refs(&self) -> f64 {
        let held: u64 = self.held.iter().map(|held| held.refs).sum();
        (held + self.set_count()).max(1) as f64
    }

    /// The box around everything, within the grid.
    fn bounds(&self) -> Vec<Range<u32>> {
        (0..self.rank())
            .map(|axis| {
                let boxes = self.held.iter().filter_map(|held| held.ranges.get(axis));
                let set = self.set.iter().skip(axis).step_by(self.rank());
                let first = set.clone().min().into_iter().copied();
                let first = first.chain(boxes.clone().map(|it| it.start)).min();
                let last = set.max().map(|at| at.saturating_add(1)).into_iter();
                let last = last.chain(boxes.map(|it| it.end)).max();
                let end = last.unwrap_or(0).min(self.grid[axis]).max(1);
                first.unwrap_or(0).min(end - 1)..end
            })
            .collect()
    }

    /// Axes in the order in which they are split: first the one that grows, then from the outermost inwards, in which
    /// order references are sorted.
    fn order(&self) -> Vec<usize> {
        let grown = self.before.and_then(|before| {
            let mut grown: Vec<usize> = (0..self.rank()).collect();
            grown.retain(|axis| before.get(*axis) < self.grid.get(*axis));
            (grown.len() == 1).then(|| grown[0])
        });
        let named = || {
            let names = self.dimensions?;
            let is_time = |name: &Option<String>| name.as_deref().is_some_and(names_time);
            names.iter().position(is_time)
        };
        let first = grown.or_else(named).filter(|axis| *axis < self.rank());
        let others = (0..self.rank()).filter(|axis| Some(*axis) != first);
        first.into_iter().chain(others).collect()
    }

    /// Lengths for an array that was never split.
    fn fresh(&self) -> Cells {
        let bounds = self.bounds();
        // As logarithms: places along 256 axes are more than any float can say.
        let places = |ranges: &[Range<u32>]| -> f64 {
            let lengths = ranges.iter().map(|it| f64::from(it.end - it.start));
            lengths.map(f64::ln).sum()
        };
        // Chunks at the edge of an array say little of how densely it is filled.
        let filled = match self.held {
            [] => places(&bounds),
            [held, ..] => places(&held.ranges),
        };
        // As if the references were spread evenly, over the rest of the box as over what is filled.
        let rest = (places(&bounds) - filled.max(self.refs().ln())).exp();
        let mut lengths = vec![WHOLE; self.rank()];
        let mut bytes = self.bytes() * rest.min(MOST_REST);
        for axis in self.order() {
            if bytes <= WANTED {
                break;
            }
            let length = f64::from(bounds[axis].end - bounds[axis].start);
            let slab = bytes / length;
            let fitting = power_of_two_below(WANTED / slab);
            lengths[axis] = fitting;
            bytes = slab * f64::from(fitting);
        }
        Cells::of(lengths)
    }

    /// The lengths that the manifests were written with, as far as their boxes tell.
    fn inferred(&self) -> Vec<u32> {
        (0..self.rank())
            .map(|axis| {
                let ranges = || {
                    let ranges = self.held.iter().filter_map(|held| held.ranges.get(axis));
                    ranges.filter(|range| range.start < range.end)
                };
                let fits =
                    |length: u32| ranges().all(|it| it.start / length == (it.end - 1) / length);
                let longest = ranges().map(|it| it.end - it.start).max().unwrap_or(1);
                let mut length = longest.checked_next_power_of_two().unwrap_or(WHOLE);
                // Rules may have been of any length.
                if !fits(length) && fits(longest) {
                    length = longest;
                }
                while length < WHOLE && !fits(length) {
                    length = length.checked_mul(2).unwrap_or(WHOLE);
                }
                let cells = ranges()
                    .map(|it| it.start / length)
                    .collect::<BTreeSet<_>>();
                if cells.len() > 1 { length } else { WHOLE }
            })
            .collect()
    }

    /// Makes cells longer or shorter until what would be written has the wanted size.
    fn adjusted(&self, mut lengths: Vec<u32>) -> Cells {
        let (order, bounds) = (self.order(), self.bounds());
        let mut largest = self.largest_written(&lengths);
        while largest > MOST && shorten(&mut lengths, &order, &bounds) {
            largest = self.largest_written(&lengths);
        }
        // The edge of an array that grows is small by nature.
        while largest < LEAST && self.typical() < LEAST {
            let mut longer = lengths.clone();
            if !lengthen(&mut longer, &order, &bounds) {
                break;
            }
            let bytes = self.largest_written(&longer);
            if bytes > WANTED {
                break;
            }
            (lengths, largest) = (longer, bytes);
        }
        Cells::of(lengths)
    }

    /// Bytes of the manifest in the middle.
    fn typical(&self) -> f64 {
        let mut bytes: Vec<u64> = self.held.iter().map(|held| held.bytes).collect();
        bytes.sort_unstable();
        bytes.get(bytes.len() / 2).copied().unwrap_or(0) as f64
    }

    /// Bytes of the largest manifest that edits would have written, about.
    fn largest_written(&self, lengths: &[u32]) -> f64 {
        let cells = Cells::of(lengths.to_vec());
        let mut set: HashMap<Vec<u32>, f64> = HashMap::new();
        let (mut cell, mut last, mut count) = (Vec::new(), Vec::new(), 0.0);
        for index in self.set.chunks_exact(self.rank().max(1)) {
            cells.find(index, &mut cell);
            // Mostly they come in order.
            if cell != last {
                *set.entry(last.clone()).or_default() += count;
                std::mem::swap(&mut last, &mut cell);
                count = 0.0;
            }
            count += 1.0;
        }
        *set.entry(last).or_default() += count;
        set.remove(&[][..]);
        for position in self.rewritten {
            let Some(held) = self.held.get(*position) else {
                continue;
            };
            let span = cells.span(held.ranges.iter().cloned());
            if cells::count(&span) <= ESTIMATED as u64 {
                cells::for_each(&span, |cell| {
                    set.entry(cell.to_vec()).or_default();
                });
            }
        }
        // The same ones each time, though the map has no order.
        let mut all: Vec<(Vec<u32>, f64)> = set.into_iter().collect();
        all.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let each = all.len().div_ceil(ESTIMATED).max(1);
        let some = all.into_iter().step_by(each);
        let mut some: HashMap<Vec<u32>, Written> = some
            .map(|(cell, set)| (cell, Written { set, held: 0.0 }))
            .collect();
        for held in self.held {
            add_held(&cells, held, &mut some);
        }
        let refs: f64 = self.held.iter().map(|held| held.refs as f64).sum();
        let held: f64 = self.held.iter().map(|held| held.bytes as f64).sum();
        let per_held = (held / refs.max(1.0)).max(1.0);
        let bytes = |(cell, written): (&Vec<u32>, &Written)| {
            // New refs may replace stored ones: there are no more refs than places.
            let left = (self.places(&cells, cell) - written.set).max(0.0);
            written.set * self.bytes_per_set + written.held.min(left * per_held)
        };
        some.iter().map(bytes).fold(0.0, f64::max)
    }

    /// Chunks of a cell that lie within the grid.
    fn places(&self, cells: &Cells, cell: &[u32]) -> f64 {
        let axes = cell.iter().zip(cells.lengths()).zip(self.grid);
        axes.fold(1.0, |places, ((at, length), count)| {
            let start = u64::from(*at) * u64::from(*length);
            let end = (start + u64::from(*length)).min(u64::from(*count));
            places * end.saturating_sub(start).max(1) as f64
        })
    }
}

/// The estimated refs of a planned manifest.
#[derive(Clone, Copy, Debug)]
struct Written {
    /// References that are set.
    set: f64,
    /// Bytes of those that manifests hold, some of which may be replaced.
    held: f64,
}

/// Makes cells shorter along the first axis that can be, into parts that nest; false if none can.
fn shorten(lengths: &mut [u32], order: &[usize], bounds: &[Range<u32>]) -> bool {
    for axis in order {
        let most = (bounds[*axis].end).checked_next_power_of_two();
        let length = lengths[*axis].min(most.unwrap_or(WHOLE));
        if length > 1 && bounds[*axis].end - bounds[*axis].start > 1 {
            // Cells of rules may have any length. Parts that did not nest would have the manifests of the whole array
            // rewritten at once.
            let parts = [2, 3, 5, 7]
                .into_iter()
                .find(|parts| length.is_multiple_of(*parts));
            lengths[*axis] = length / parts.unwrap_or(length);
            return true;
        }
    }
    false
}

/// Doubles the last axis that is split; false if none is.
fn lengthen(lengths: &mut [u32], order: &[usize], bounds: &[Range<u32>]) -> bool {
    let Some(axis) = order.iter().rev().find(|axis| lengths[**axis] != WHOLE) else {
        return false;
    };
    let doubled = lengths[*axis].checked_mul(2);
    // Nothing lies beyond: the whole axis from now on.
    let end = bounds[*axis].end;
    lengths[*axis] = doubled.filter(|it| *it < end).unwrap_or(WHOLE);
    true
}

/// Adds the bytes of a manifest to those cells that it reaches into, as if its references were spread evenly.
fn add_held(cells: &Cells, held: &Held, written: &mut HashMap<Vec<u32>, Written>) {
    let span = cells.span(held.ranges.iter().cloned());
    let share = held.bytes as f64 / cells::count(&span) as f64;
    if cells::count(&span) <= written.len() as u64 {
        cells::for_each(&span, |cell| {
            if let Some(written) = written.get_mut(cell) {
                written.held += share;
            }
        });
        return;
    }
    for (cell, written) in written {
        if (span.iter().zip(cell)).all(|(range, at)| range.contains(at)) {
            written.held += share;
        }
    }
}

fn power_of_two_below(number: f64) -> u32 {
    // Casts of floats saturate.
    let number = (number as u32).max(1);
    1 << number.ilog2()
}

/// Dimensions of these names grow, as a rule.
fn names_time(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let whole = ["t", "date", "step", "valid_time", "forecast_reference_time"];
    name.starts_with("time") || name.ends_with("time") || whole.contains(&name.as_str())
}
