//! The part of a base array that a session sees, and where: resizes cut refs off, shifts move them.

use std::ops::Range;

use icefield_format::NodePath;
use icefield_storage::{PlantedBug, planted};

/// The references of a base array that are still seen, and how far each lies from where the base has it.
///
/// A reference of the base at `b` is seen at `b + offset` if `b` lies within `seen`. Resizes and shifts only ever make
/// `seen` smaller: a shrink followed by a growth brings nothing back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BaseView {
    /// Where the base has the array.
    pub(crate) home: NodePath,
    /// Per dimension, in the base's coordinates; of another rank than the array: nothing is seen.
    seen: Vec<Range<u32>>,
    /// Per dimension, in chunks.
    offset: Vec<i64>,
    /// Whether it was ever shifted, and be it back and forth: what that cut off is no matter of the metadata.
    is_shifted: bool,
}

impl BaseView {
    /// Sees all of a grid, where the base has it.
    pub(crate) fn whole(home: NodePath, grid: &[u32]) -> Self {
        let seen = grid.iter().map(|count| 0..*count).collect();
        Self::of(home, seen, vec![0; grid.len()], false)
    }

    /// The parts have one length.
    pub(crate) fn of(
        home: NodePath,
        seen: Vec<Range<u32>>,
        offset: Vec<i64>,
        is_shifted: bool,
    ) -> Self {
        let offset = offset.into_iter().map(|by| by.clamp(-FAR, FAR)).collect();
        Self {
            home,
            seen,
            offset,
            is_shifted,
        }
    }

    pub(crate) fn seen(&self) -> &[Range<u32>] {
        &self.seen
    }

    pub(crate) fn offset(&self) -> &[i64] {
        &self.offset
    }

    /// Returns whether it was ever shifted.
    pub(crate) fn is_shifted(&self) -> bool {
        self.is_shifted
    }

    /// Cuts off what lies outside a grid.
    pub(crate) fn resize(&mut self, grid: &[u32]) {
        if self.seen.len() != grid.len() {
            // Another rank: no reference of the base has a meaning any more, also if that rank comes back. A scalar's grid has
            // no length that could say so: one of another rank does.
            self.seen = vec![0..0; grid.len().max(1)];
            self.offset = vec![0; self.seen.len()];
            return;
        }
        for ((seen, by), count) in self.seen.iter_mut().zip(&self.offset).zip(grid) {
            let first = clamped(-by);
            let end = clamped(i64::from(*count) - by);
            seen.end = seen.end.min(end);
            seen.start = seen.start.max(first).min(seen.end);
        }
    }

    /// Moves everything by so many chunks per dimension, and cuts off what leaves the grid.
    pub(crate) fn shift(&mut self, by: &[i64], grid: &[u32]) {
        self.is_shifted |= by.iter().any(|by| *by != 0);
        if self.offset.len() == by.len() {
            for (offset, by) in self.offset.iter_mut().zip(by) {
                let far = i64::from(planted(PlantedBug::ShiftOneFar)) * by.signum();
                // Twice the largest coordinate moves anything out of any grid.
                *offset = offset
                    .saturating_add(*by)
                    .saturating_add(far)
                    .clamp(-FAR, FAR);
            }
        }
        self.resize(grid);
    }

    /// Returns whether a reference that the base has at an index is still seen.
    pub(crate) fn shows(&self, base: &[u32]) -> bool {
        base.len() == self.seen.len() && self.seen.iter().zip(base).all(|(it, at)| it.contains(at))
    }

    /// Puts where the base has what is seen at an index into `into`; returns whether that may be anything.
    pub(crate) fn find(&self, index: &[u32], into: &mut Vec<u32>) -> bool {
        into.clear();
        if index.len() != self.seen.len() {
            return false;
        }
        for ((at, by), seen) in index.iter().zip(&self.offset).zip(&self.seen) {
            match u32::try_from(i64::from(*at) - by) {
                Ok(base) if seen.contains(&base) => into.push(base),
                _ => return false,
            }
        }
        true
    }

    /// Puts where a reference of the base is seen into `into`; returns whether it is.
    pub(crate) fn place(&self, base: &[u32], into: &mut Vec<u32>) -> bool {
        into.clear();
        if !self.shows(base) {
            return false;
        }
        // Within `seen`, every sum is a coordinate of the grid.
        into.extend((base.iter().zip(&self.offset)).map(|(at, by)| clamped(i64::from(*at) + by)));
        true
    }

    /// Returns where a box of the base is seen, without what is not; `None` if nothing is.
    pub(crate) fn place_box(&self, base: &[Range<u32>]) -> Option<Vec<Range<u32>>> {
        if base.len() != self.seen.len() {
            return None;
        }
        let axes = base.iter().zip(&self.seen).zip(&self.offset);
        let place = |((base, seen), by): ((&Range<u32>, &Range<u32>), &i64)| {
            let (start, end) = (base.start.max(seen.start), base.end.min(seen.end));
            let moved = |at: u32| clamped(i64::from(at) + by);
            (start < end).then(|| moved(start)..moved(end))
        };
        axes.map(place).collect()
    }

    /// Returns where the base has what is seen within a box; `None` if that is nothing.
    pub(crate) fn find_box(&self, placed: &[Range<u32>]) -> Option<Vec<Range<u32>>> {
        if placed.len() != self.seen.len() {
            return None;
        }
        let axes = placed.iter().zip(&self.seen).zip(&self.offset);
        let find = |((placed, seen), by): ((&Range<u32>, &Range<u32>), &i64)| {
            let base = |at: u32| clamped(i64::from(at) - by);
            let start = base(placed.start).max(seen.start);
            let end = base(placed.end).min(seen.end);
            (start < end).then_some(start..end)
        };
        axes.map(find).collect()
    }

    /// Follows a resize of the base, from `before` to `after`: what was never cut off is seen as far as the base has it.
    pub(crate) fn follow_base(&mut self, before: &[u32], after: &[u32]) {
        if self.seen.len() != before.len() || self.seen.len() != after.len() {
            return;
        }
        for ((seen, before), after) in self.seen.iter_mut().zip(before).zip(after) {
            if seen.end >= *before {
                seen.end = *after;
                seen.start = seen.start.min(seen.end);
            }
        }
    }

    /// Returns whether something of a grid that the base has is not seen.
    pub(crate) fn cuts(&self, grid: &[u32]) -> bool {
        let whole = |(seen, count): (&Range<u32>, &u32)| seen.start == 0 && seen.end >= *count;
        !(self.seen.len() == grid.len() && self.seen.iter().zip(grid).all(whole))
    }

    /// Sees only what another view sees, too. Both move alike, or one of them not at all.
    pub(crate) fn intersect(&mut self, other: &Self) {
        if self.seen.len() != other.seen.len() {
            return;
        }
        for (ours, theirs) in self.seen.iter_mut().zip(&other.seen) {
            ours.end = ours.end.min(theirs.end);
            ours.start = ours.start.max(theirs.start).min(ours.end);
        }
    }
}

/// Farther than any two coordinates lie apart.
const FAR: i64 = 1 << 33;

/// The coordinate nearest to a number.
fn clamped(at: i64) -> u32 {
    u32::try_from(at.max(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(grid: &[u32]) -> BaseView {
        BaseView::whole(NodePath::parse("/a").expect("a path"), grid)
    }

    fn found(view: &BaseView, index: &[u32]) -> Option<Vec<u32>> {
        let mut base = Vec::new();
        view.find(index, &mut base).then_some(base)
    }

    #[test]
    fn what_leaves_the_grid_does_not_come_back() {
        let mut view = view(&[10]);
        view.shift(&[-3], &[10]);
        assert_eq!(found(&view, &[0]), Some(vec![3]));
        assert_eq!(found(&view, &[6]), Some(vec![9]));
        assert_eq!(found(&view, &[7]), None);
        view.shift(&[3], &[10]);
        assert_eq!(view.offset(), [0]);
        assert!(view.is_shifted());
        assert_eq!(found(&view, &[2]), None);
        assert_eq!(found(&view, &[3]), Some(vec![3]));
        assert!(view.cuts(&[10]));
    }

    #[test]
    fn resizes_cut_where_things_are_seen() {
        let mut view = view(&[10, 4]);
        view.shift(&[2, -1], &[10, 4]);
        view.resize(&[5, 4]);
        assert_eq!(view.seen(), [0..3, 1..4]);
        assert_eq!(view.place_box(&[2..9, 0..2]), Some(vec![4..5, 0..1]));
        assert_eq!(view.place_box(&[3..9, 0..2]), None);
        assert_eq!(view.find_box(&[4..9, 0..1]), Some(vec![2..3, 1..2]));
        assert_eq!(view.find_box(&[0..2, 0..1]), None);
        assert_eq!(view.find_box(&[4..9]), None);
        view.resize(&[100, 4]);
        assert_eq!(found(&view, &[5, 0]), None);
        let mut place = Vec::new();
        assert!(view.place(&[2, 3], &mut place));
        assert_eq!(place, [4, 2]);
        view.resize(&[3]);
        assert_eq!(found(&view, &[0]), None);
        view.resize(&[3, 3]);
        assert_eq!(found(&view, &[0, 0]), None);
    }

    #[test]
    fn shifts_farther_than_any_coordinate_leave_nothing() {
        for by in [i64::MIN, i64::MAX] {
            let mut view = view(&[u32::MAX]);
            view.shift(&[by], &[u32::MAX]);
            view.shift(&[by], &[u32::MAX]);
            assert_eq!(found(&view, &[0]), None);
            assert_eq!(found(&view, &[u32::MAX - 1]), None);
        }
    }

    /// Every reference is where a plain map says that it is, after any shifts and resizes.
    #[test]
    fn a_map_says_the_same() {
        let mut state = 3_u64;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let mut grid = draw(9) as u32;
            let mut view = view(&[grid]);
            let mut map: Vec<(u32, i64)> = (0..grid).map(|at| (at, i64::from(at))).collect();
            for _ in 0..draw(6) {
                if draw(2) == 0 {
                    grid = draw(9) as u32;
                    view.resize(&[grid]);
                } else {
                    let by = draw(9) as i64 - 4;
                    view.shift(&[by], &[grid]);
                    map.iter_mut().for_each(|(_, at)| *at += by);
                }
                map.retain(|(_, at)| (0..i64::from(grid)).contains(at));
            }
            for at in 0..12_u32 {
                let expected = map.iter().find(|(_, place)| *place == i64::from(at));
                let expected = expected.map(|(base, _)| vec![*base]);
                assert_eq!(found(&view, &[at]), expected);
            }
            for base in 0..9_u32 {
                let mut place = Vec::new();
                let is_seen = view.place(&[base], &mut place);
                let expected = map.iter().find(|(it, _)| *it == base);
                assert_eq!(is_seen, expected.is_some());
                assert!(expected.is_none_or(|(_, at)| i64::from(place[0]) == *at));
            }
        }
    }
}
