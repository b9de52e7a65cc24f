//! Coordinates of chunks, boxes of them, and ranges of bytes.

use std::borrow::Borrow;
use std::fmt;
use std::ops::{Deref, Range};

/// Most dimensions of an array that this crate reads or writes.
///
/// The format sets no limit. One keeps the cost of checking the order of hostile, overlapping
/// indices linear.
pub const MAX_RANK: usize = 256;

/// The coordinates of one chunk in its array's grid, one number per dimension, counted in chunks. Compares
/// lexicographically, as manifests sort. Slices, vectors and arrays of `u32` convert into one; a scalar has the empty
/// index.
///
/// ```
/// use icefield_format::ChunkIndex;
///
/// let index = ChunkIndex::from([0, 12]);
/// assert_eq!(index.to_string(), "[0, 12]");
/// assert!(index < ChunkIndex::from([1, 0]));
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ChunkIndex(Box<[u32]>);

impl Deref for ChunkIndex {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl Borrow<[u32]> for ChunkIndex {
    fn borrow(&self) -> &[u32] {
        &self.0
    }
}

impl AsRef<[u32]> for ChunkIndex {
    fn as_ref(&self) -> &[u32] {
        &self.0
    }
}

impl From<Vec<u32>> for ChunkIndex {
    fn from(coordinates: Vec<u32>) -> Self {
        Self(coordinates.into_boxed_slice())
    }
}

impl From<&[u32]> for ChunkIndex {
    fn from(coordinates: &[u32]) -> Self {
        Self(coordinates.into())
    }
}

impl<const N: usize> From<[u32; N]> for ChunkIndex {
    fn from(coordinates: [u32; N]) -> Self {
        Self(coordinates.into())
    }
}

impl FromIterator<u32> for ChunkIndex {
    fn from_iter<I: IntoIterator<Item = u32>>(coordinates: I) -> Self {
        Self(coordinates.into_iter().collect())
    }
}

impl fmt::Display for ChunkIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter()).finish()
    }
}

impl fmt::Debug for ChunkIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A box of chunk coordinates: one half-open range per dimension, counted in chunks.
///
/// Without dimensions it contains the empty index, the one chunk of a scalar.
///
/// ```
/// use icefield_format::{ChunkIndex, Extents};
///
/// let indices = [ChunkIndex::from([1, 5]), ChunkIndex::from([2, 3])];
/// let extents = Extents::bounding(indices.iter().map(|index| &**index)).unwrap();
/// assert_eq!(extents.ranges(), [1..3, 3..6]);
/// assert!(extents.contains(&[2, 5]));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Extents(Vec<Range<u32>>);

impl Extents {
    /// Makes a box of these ranges. A range that ends before it starts is empty.
    #[must_use]
    pub fn new(ranges: Vec<Range<u32>>) -> Self {
        Self(ranges)
    }

    /// Returns the smallest box around the given indices.
    ///
    /// None if there are no indices, if their ranks differ, or if one has a coordinate of
    /// `u32::MAX`, which no half-open range can hold.
    pub fn bounding<'a>(indices: impl IntoIterator<Item = &'a [u32]>) -> Option<Self> {
        let mut indices = indices.into_iter();
        let mut extents = Self(indices.next()?.iter().map(|at| *at..*at).collect());
        extents.extend_to_last()?;
        for index in indices {
            extents.include(index)?;
        }
        Some(extents)
    }

    /// Turns the empty ranges of a first index into ranges of one.
    fn extend_to_last(&mut self) -> Option<()> {
        for range in &mut self.0 {
            range.end = range.end.checked_add(1)?;
        }
        Some(())
    }

    /// Grows the box to hold `index`; none if it cannot.
    pub(crate) fn include(&mut self, index: &[u32]) -> Option<()> {
        if index.len() != self.0.len() {
            return None;
        }
        for (range, at) in self.0.iter_mut().zip(index) {
            range.start = range.start.min(*at);
            range.end = range.end.max(at.checked_add(1)?);
        }
        Some(())
    }

    /// Tells whether the index has this box's rank and lies inside.
    #[must_use]
    pub fn contains(&self, index: &[u32]) -> bool {
        index.len() == self.0.len()
            && self
                .0
                .iter()
                .zip(index)
                .all(|(range, at)| range.contains(at))
    }

    /// Tells whether an index exists that both boxes contain.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(&other.0)
                .all(|(a, b)| a.start.max(b.start) < a.end.min(b.end))
    }

    /// Returns the number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Returns the range of each dimension.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u32>] {
        &self.0
    }
}

impl From<Vec<Range<u32>>> for Extents {
    fn from(ranges: Vec<Range<u32>>) -> Self {
        Self(ranges)
    }
}

impl FromIterator<Range<u32>> for Extents {
    fn from_iter<I: IntoIterator<Item = Range<u32>>>(ranges: I) -> Self {
        Self(ranges.into_iter().collect())
    }
}

impl fmt::Display for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter()).finish()
    }
}

impl fmt::Debug for Extents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The bytes of a value that a reader wants.
///
/// ```
/// use icefield_format::ByteRange;
///
/// assert_eq!(ByteRange::Suffix { length: 4 }.resolve(10), Some(6..10));
/// assert_eq!(ByteRange::From { offset: 11 }.resolve(10), None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ByteRange {
    /// All of them.
    #[default]
    All,
    /// From an offset to the end.
    From {
        /// First byte wanted.
        offset: u64,
    },
    /// A half-open range.
    Range {
        /// First byte wanted.
        start: u64,
        /// First byte no longer wanted.
        end: u64,
    },
    /// The last bytes.
    Suffix {
        /// The number of bytes.
        length: u64,
    },
}

impl ByteRange {
    /// Returns the range of bytes in a value of `size` bytes; none if any of them would lie outside.
    ///
    /// Strict on purpose: a range that is cut short in silence becomes a wrong chunk.
    #[must_use]
    pub fn resolve(self, size: u64) -> Option<Range<u64>> {
        let range = match self {
            Self::All => 0..size,
            Self::From { offset } => offset..size,
            Self::Range { start, end } => start..end,
            Self::Suffix { length } => size.checked_sub(length)?..size,
        };
        (range.start <= range.end && range.end <= size).then_some(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounding_box_is_tight() {
        let indices: [&[u32]; 3] = [&[1, 5], &[2, 3], &[0, 4]];
        let extents = Extents::bounding(indices).unwrap();
        assert_eq!(extents.ranges(), [0..3, 3..6]);
        assert!(extents.contains(&[2, 5]) && !extents.contains(&[3, 5]) && !extents.contains(&[1]));
        assert_eq!(extents.to_string(), "[0..3, 3..6]");
    }

    #[test]
    fn bounding_box_of_the_impossible_is_none() {
        assert_eq!(Extents::bounding(std::iter::empty()), None);
        let mixed: [&[u32]; 2] = [&[1], &[1, 2]];
        assert_eq!(Extents::bounding(mixed), None);
        let last: [&[u32]; 1] = [&[u32::MAX]];
        assert_eq!(Extents::bounding(last), None);
    }

    #[test]
    fn scalar_extents_hold_the_empty_index() {
        let none: [&[u32]; 1] = [&[]];
        let extents = Extents::bounding(none).unwrap();
        assert!(extents.contains(&[]) && extents.intersects(&Extents::default()));
    }

    #[test]
    fn boxes_intersect_only_in_every_dimension() {
        let a = Extents::new(vec![0..2, 0..2]);
        assert!(a.intersects(&Extents::new(vec![1..3, 1..3])));
        assert!(!a.intersects(&Extents::new(vec![1..3, 2..3])));
        assert!(!a.intersects(&Extents::new(vec![1..1, 0..2])));
        assert!(!a.intersects(&std::iter::once(0..2).collect()));
    }

    #[test]
    fn byte_ranges_are_strict() {
        assert_eq!(ByteRange::All.resolve(0), Some(0..0));
        assert_eq!(ByteRange::From { offset: 3 }.resolve(3), Some(3..3));
        assert_eq!(ByteRange::From { offset: 4 }.resolve(3), None);
        assert_eq!(ByteRange::Range { start: 1, end: 3 }.resolve(3), Some(1..3));
        assert_eq!(ByteRange::Range { start: 1, end: 4 }.resolve(3), None);
        assert_eq!(ByteRange::Range { start: 2, end: 1 }.resolve(3), None);
        assert_eq!(ByteRange::Suffix { length: 2 }.resolve(3), Some(1..3));
        assert_eq!(ByteRange::Suffix { length: 4 }.resolve(3), None);
        assert_eq!(
            ByteRange::Range {
                start: u64::MAX,
                end: u64::MAX
            }
            .resolve(3),
            None
        );
    }
}
