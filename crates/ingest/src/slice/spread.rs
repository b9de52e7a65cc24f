//! The elements of a dimension that a slice has.

/// Elements at equal distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spread {
    pub(super) start: u64,
    pub(super) step: u64,
    pub(super) count: usize,
}

impl Spread {
    /// Returns one element.
    pub(super) fn one(index: u64) -> Self {
        Self {
            start: index,
            step: 1,
            count: 1,
        }
    }

    /// Returns every element of a dimension, or every nth from the first on if it has more than `most`.
    pub(super) fn within(length: u64, most: usize) -> Self {
        let step = length.div_ceil(most.max(1) as u64).max(1);
        Self {
            start: 0,
            step,
            count: length.div_ceil(step) as usize,
        }
    }

    /// Returns the elements.
    pub(super) fn elements(self) -> impl Iterator<Item = u64> {
        (0..self.count as u64).map(move |at| self.start + at * self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_dimensions_lose_elements() {
        let elements = |length, most| Spread::within(length, most).elements().collect::<Vec<_>>();
        assert_eq!(elements(4, 4), [0, 1, 2, 3]);
        assert_eq!(elements(5, 4), [0, 2, 4]);
        assert_eq!(elements(9, 2), [0, 5]);
        assert_eq!(elements(1, 100), [0]);
        assert_eq!(Spread::within(u64::MAX, 1000).count, 1000);
        assert_eq!(Spread::one(7).elements().collect::<Vec<_>>(), [7]);
    }
}
