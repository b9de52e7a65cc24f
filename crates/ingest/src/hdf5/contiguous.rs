//! Contiguous arrays, cut into chunks.

use std::collections::BTreeMap;

use super::chunks::{Space, Stored, StoredBytes, bytes_of, grid, whole};
use super::file::Hdf5;
use super::parsed::{Parsed, invalid};
use crate::ChunkExtents;
use crate::archive::advance;

/// Bytes of a contiguous array that are one chunk.
const BLOCK: u64 = 4 << 20;

impl Hdf5 {
    /// Finds the chunks of an array that lies in one piece.
    pub(super) fn contiguous(&self, space: &Space<'_>, address: u64, size: u64) -> Parsed<Stored> {
        let chunk_shape = blocks(space.shape, space.element)?;
        let chunk_bytes = bytes_of(&chunk_shape, space.element)?;
        let mut extents = ChunkExtents::new(space.shape.len());
        let total = bytes_of(space.shape, space.element)?;
        if !self.is_undefined(address) && total > 0 {
            if size != 0 && size < total {
                return Err(invalid(format!("it has {size} bytes of {total}")));
            }
            let cut = || {
                invalid(format!(
                    "the file ends before its {total} bytes at {address}"
                ))
            };
            let mut position = self.position(address, total).ok_or_else(cut)?;
            let grid = grid(space.shape, &chunk_shape);
            let mut index = vec![0u32; grid.len()];
            loop {
                extents.push(&index, 0, position, chunk_bytes);
                // Cannot overflow: the end is in the file.
                position = position.saturating_add(chunk_bytes);
                if !advance(&mut index, &grid) {
                    break;
                }
            }
        }
        Ok(Stored {
            chunk_shape,
            chunk_bytes,
            place: StoredBytes::File(extents),
            left_out: BTreeMap::new(),
        })
    }
}

/// Returns the shape of the chunks that a contiguous array is cut into: whole rows, and close to [`BLOCK`] bytes. Every
/// length divides that of the array, so that no chunk is shorter than the others.
fn blocks(shape: &[u64], element: u64) -> Parsed<Vec<u64>> {
    let mut chunk = whole(shape);
    if shape.contains(&0) {
        return Ok(chunk);
    }
    for axis in 0..chunk.len() {
        let rest = chunk.get(axis + 1..).unwrap_or_default();
        let row = bytes_of(rest, element)?;
        let Some(length) = chunk.get_mut(axis) else {
            break;
        };
        if length.checked_mul(row).is_some_and(|bytes| bytes <= BLOCK) {
            break;
        }
        let rows = BLOCK / row.max(1);
        if rows == 0 && axis + 1 < shape.len() {
            *length = 1;
            continue;
        }
        *length = divisor(*length, rows.max(1));
        break;
    }
    Ok(chunk)
}

/// Returns the largest divisor of `length` up to `most`. If there is none above an eighth of that, the smallest above it:
/// a few large chunks are better than many tiny ones.
fn divisor(length: u64, most: u64) -> u64 {
    // Searched by the number of parts, which is small for any array that fits in a file.
    const TRIES: usize = 1 << 16;
    let parts = length.div_ceil(most);
    let more = (parts..=parts.saturating_mul(8)).take(TRIES);
    let fewer = (1..parts).rev().take(TRIES);
    let found = more
        .chain(fewer)
        .find(|parts| length.is_multiple_of(*parts));
    found.map_or(length, |parts| length / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_arrays_are_cut_into_equal_chunks_of_whole_rows() {
        for (shape, element, expected) in [
            (&[][..], 8, &[][..]),
            (&[0, 5], 8, &[1, 5]),
            (&[1024, 1024], 4, &[1024, 1024]),
            (&[4096, 1024], 4, &[1024, 1024]),
            (&[3000, 1024], 4, &[1000, 1024]),
            (&[100, 3000, 1024], 4, &[1, 1000, 1024]),
            (&[12, 3000, 2000], 1, &[1, 1500, 2000]),
            (&[10_000_000], 8, &[500_000]),
            (&[10, 10_000_000], 8, &[1, 500_000]),
        ] {
            assert_eq!(
                blocks(shape, element).expect("counts"),
                expected,
                "{shape:?}"
            );
        }
        // A prime number of rows is not cut into single ones.
        assert_eq!(blocks(&[1_000_003], 8).expect("counts"), [1_000_003]);
        assert!(blocks(&[u64::MAX, u64::MAX], 8).is_err());
    }

    #[test]
    fn a_huge_length_takes_no_time() {
        for length in [u64::MAX, (1 << 61) - 1] {
            assert!(divisor(length, BLOCK) >= 1);
        }
    }
}
