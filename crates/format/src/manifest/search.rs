//! Finds a chunk ref by its index.
//!
//! Each look at a ref far from the last one misses the processor's caches two or three times, so
//! few looks count more than few instructions. Chunks mostly fill a box of their grid evenly.
//! Interpolation then hits at once in a full grid and comes within a few refs after three looks in
//! a thinned-out one; a binary search takes twenty for a million refs. Where refs are uneven, a
//! search that widens from the last look bounds the cost to twice that of a binary search.

use std::cmp::Ordering;

use super::ChunkRef;
use super::ref_box::{MAX_DIMENSIONS, RefBox};
use super::refs::{ArrayRefs, RefRecord};
use crate::error::FormatError;
use crate::order;

/// Looks by interpolation before giving up on evenness.
const MAX_LOOKS: usize = 4;

impl<'a> ArrayRefs<'a> {
    /// Finds the ref of one chunk.
    ///
    /// # Errors
    /// As [`RefRecord::chunk_ref`].
    pub fn get(&self, index: &[u32]) -> Result<Option<ChunkRef<'a>>, FormatError> {
        match self.position(index) {
            Ok(position) => self.record(position).chunk_ref().map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Finds the position of a chunk's ref.
    ///
    /// # Errors
    /// The position where such a ref would be.
    pub fn position(&self, index: &[u32]) -> Result<usize, usize> {
        position(self, index)
    }
}

/// Returns the position of the ref with this index, or else the one where it would be.
fn position(array: &ArrayRefs<'_>, index: &[u32]) -> Result<usize, usize> {
    // Refs before `low` are less than the index, refs at `high` or after are greater.
    let (mut low, mut high) = (0, array.len());
    let Some(line) = Line::new(array, index) else {
        return bisect(array, low, high, index);
    };
    let mut guess = line.start(array.len());
    for _ in 0..MAX_LOOKS {
        let record = array.record(guess);
        match record.cmp_index(index) {
            Ordering::Equal => return Ok(guess),
            Ordering::Less => low = guess + 1,
            Ordering::Greater => high = guess,
        }
        if low == high {
            return Err(low);
        }
        guess = line.next(guess, &record).clamp(low, high - 1);
    }
    widen(array, low, high, guess, index)
}

/// Places indices on a line: their rank in the row-major order of the box that the refs span.
struct Line<'a> {
    corners: &'a RefBox,
    rank: usize,
    /// Where the wanted index is.
    wanted: f64,
    /// Length of the line.
    length: f64,
    /// Refs for each place on the line.
    density: f64,
}

impl<'a> Line<'a> {
    /// Returns none where interpolation makes no sense: few refs, many dimensions, an index of
    /// another rank.
    fn new(array: &ArrayRefs<'a>, index: &[u32]) -> Option<Self> {
        let corners = array.corners()?;
        let rank = array.record(0).rank();
        if rank > MAX_DIMENSIONS || rank != index.len() {
            return None;
        }
        let sides = corners.low.iter().zip(&corners.high).take(rank);
        let length = sides.fold(1.0, |length, (low, high)| length * side(*low, *high));
        let density = array.len() as f64 / length;
        let mut line = Self {
            corners,
            rank,
            wanted: 0.0,
            length,
            density,
        };
        line.wanted = line.place(index.iter().copied());
        Some(line)
    }

    /// Returns the place of an index; outside of the box, that of a near one inside.
    fn place(&self, index: impl Iterator<Item = u32>) -> f64 {
        let sides = self
            .corners
            .low
            .iter()
            .zip(&self.corners.high)
            .take(self.rank);
        sides.zip(index).fold(0.0, |before, ((low, high), at)| {
            before * side(*low, *high) + f64::from(at.clamp(*low, *high) - low)
        })
    }

    fn start(&self, len: usize) -> usize {
        // Exact in a full grid, where the quotient need not be.
        let full = self.length == len as f64;
        let guess = if full {
            self.wanted
        } else {
            self.wanted * self.density
        };
        (guess as usize).min(len - 1)
    }

    /// Returns where to look after a look at a position has found another record.
    fn next(&self, at: usize, record: &RefRecord<'_>) -> usize {
        let step = (self.wanted - self.place(record.coordinates())) * self.density;
        // Saturates; the caller brings it back into its bounds.
        (at as f64 + step) as usize
    }
}

fn side(low: u32, high: u32) -> f64 {
    f64::from(high - low) + 1.0
}

/// Searches between `low` and `high`, beginning near `from`.
fn widen(
    array: &ArrayRefs<'_>,
    mut low: usize,
    mut high: usize,
    from: usize,
    index: &[u32],
) -> Result<usize, usize> {
    let (mut up, mut down, mut step) = (from, from, 1);
    // Brackets the index: once by going up, or by going down.
    match array.record(from).cmp_index(index) {
        Ordering::Equal => return Ok(from),
        Ordering::Less => {
            low = from + 1;
            while low < high {
                up = up.saturating_add(step).min(high - 1);
                match array.record(up).cmp_index(index) {
                    Ordering::Less => (low, step) = (up + 1, step * 2),
                    Ordering::Equal => return Ok(up),
                    Ordering::Greater => {
                        high = up;
                        break;
                    }
                }
            }
        }
        Ordering::Greater => {
            high = from;
            while low < high {
                down = down.saturating_sub(step).max(low);
                match array.record(down).cmp_index(index) {
                    Ordering::Greater => (high, step) = (down, step * 2),
                    Ordering::Equal => return Ok(down),
                    Ordering::Less => {
                        low = down + 1;
                        break;
                    }
                }
            }
        }
    }
    bisect(array, low, high, index)
}

fn bisect(array: &ArrayRefs<'_>, low: usize, high: usize, index: &[u32]) -> Result<usize, usize> {
    order::search(low..high, |at| array.record(at).cmp_index(index))
}
