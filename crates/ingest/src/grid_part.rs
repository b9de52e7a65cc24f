//! Numbered parts of what lies in the grids of arrays: runs of places, the same for each process that is told how many there are.
//!
//! ```text
//! places     /a  0 1 2 3 4 5 | /b  6 7 8 | /c  9
//! of three   the first       | the second   | the third
//! ```

use std::ops::Range;

/// One of so many parts, by its number from 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GridPart {
    number: u32,
    of: u32,
}

impl GridPart {
    /// All there is.
    pub(crate) const WHOLE: Self = Self { number: 0, of: 1 };

    pub(crate) fn new(number: u32, of: u32) -> Self {
        Self {
            number,
            of: of.max(1),
        }
    }

    /// Returns the places of the part, of so many.
    pub(crate) fn places(self, all: u128) -> Range<u128> {
        let (number, of) = (u128::from(self.number), u128::from(self.of));
        // No array has so many chunks that this would not fit.
        let begin = |number: u128| (all / of) * number + (all % of) * number / of;
        begin(number.min(of))..begin((number + 1).min(of))
    }

    /// Returns the places of the part in each of several grids, which have these numbers of chunks per dimension: counted from the
    /// first place of the grid.
    pub(crate) fn in_grids(self, grids: &[&[u32]]) -> Vec<Range<u128>> {
        let all = grids.iter().map(|counts| places(counts));
        let own = self.places(all.fold(0, u128::saturating_add));
        let mut before = 0_u128;
        let of_each = grids.iter().map(|counts| {
            let start = before;
            before = start.saturating_add(places(counts));
            let common = own.start.max(start)..own.end.min(before);
            common.start - start..common.end.max(common.start) - start
        });
        of_each.collect()
    }
}

/// Returns how many places a grid of so many chunks per dimension has.
pub(crate) fn places(counts: &[u32]) -> u128 {
    let counts = counts.iter().map(|count| u128::from(*count));
    counts.fold(1, u128::saturating_mul)
}

/// Returns the number of a place in a grid, the last dimension varying fastest.
pub(crate) fn place_of(index: &[u32], counts: &[u32]) -> u128 {
    let along = index.iter().zip(counts);
    along.fold(0, |place, (at, count)| {
        let place = place.saturating_mul(u128::from(*count));
        place.saturating_add(u128::from(*at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_belongs_to_one_part() {
        for all in [0, 1, 5, 12, 1000, u128::MAX] {
            for of in [1, 2, 7, 1000, u32::MAX] {
                let part = |number| GridPart::new(number, of).places(all);
                assert_eq!((part(0).start, part(of - 1).end), (0, all), "{all} {of}");
                for number in (0..of - 1).take(1000) {
                    let (one, next) = (part(number), part(number + 1));
                    assert_eq!(one.end, next.start, "{number} of {of}");
                    assert!(one.end - one.start <= all / u128::from(of) + 1);
                }
            }
        }
    }

    #[test]
    fn each_place_of_several_grids_belongs_to_one_part() {
        let grids: [&[u32]; 5] = [&[2, 3], &[], &[0, 7], &[5], &[3, 0]];
        for of in [1, 2, 5, 12, 40] {
            let mut next = [0_u128; 5];
            for number in 0..of {
                let found = GridPart::new(number, of).in_grids(&grids);
                for (at, own) in found.iter().enumerate().filter(|(_, own)| !own.is_empty()) {
                    assert_eq!(own.start, next[at], "{number} of {of}, grid {at}");
                    next[at] = own.end;
                }
            }
            assert_eq!(next, [6, 1, 0, 5, 0], "{of}");
        }
    }

    #[test]
    fn places_are_numbered_in_the_order_of_coordinates() {
        let counts = [2, 3, 4];
        let mut number = 0;
        for (a, b, c) in
            (0..2).flat_map(|a| (0..3).flat_map(move |b| (0..4).map(move |c| (a, b, c))))
        {
            assert_eq!(place_of(&[a, b, c], &counts), number);
            number += 1;
        }
        assert_eq!(
            (places(&counts), places(&[]), places(&[3, 0])),
            (number, 1, 0)
        );
        assert_eq!(places(&[u32::MAX; 5]), u128::MAX);
    }
}
