//! Cutting an array that lies in one piece into chunks that do so, too.

/// The length that a chunk should have, in bytes.
const WANTED: u64 = 4 << 20;
/// Up to here an array is one chunk.
const WHOLE: u64 = 8 << 20;
/// Smaller chunks are not made, in bytes.
const SMALLEST: u64 = 64 << 10;
/// Divisors are looked for up to here.
const MOST_TRIED: u64 = 1 << 20;

/// Returns the chunk shape: ones, then a divisor of a length, then whole lengths. Every chunk is full, because a Zarr
/// chunk at the edge is as long as all others and there is nothing in the file to fill it up with. So a length that
/// has no fitting divisor stays whole.
///
/// `shape` has no zero whose product with the other lengths would overflow; a length of zero has a chunk of one.
pub(crate) fn pieces(shape: &[u64], element_bytes: u64) -> Vec<u64> {
    let mut chunk: Vec<u64> = shape.iter().map(|length| (*length).max(1)).collect();
    let mut bytes = chunk
        .iter()
        .fold(element_bytes, |all, one| all.saturating_mul(*one));
    if bytes == u64::MAX {
        return chunk;
    }
    for length in &mut chunk {
        if bytes <= WHOLE {
            break;
        }
        let row = bytes / *length;
        if row >= WANTED {
            bytes = row;
            *length = 1;
            continue;
        }
        *length = nearest(*length, row);
        break;
    }
    chunk
}

/// The divisor of `length` that makes chunks nearest to what is wanted.
fn nearest(length: u64, row: u64) -> u64 {
    let mut best = length;
    let mut try_one = |divisor: u64| {
        let bytes = divisor.saturating_mul(row);
        if bytes >= SMALLEST && distance(bytes) < distance(best.saturating_mul(row)) {
            best = divisor;
        }
    };
    let candidates = 1..=length.isqrt().min(MOST_TRIED);
    for small in candidates.filter(|small| length.is_multiple_of(*small)) {
        try_one(small);
        try_one(length / small);
    }
    best
}

/// How many times a size is larger or smaller than wanted, in parts of a hundred.
fn distance(bytes: u64) -> u64 {
    match bytes >= WANTED {
        true => bytes.saturating_mul(100) / WANTED,
        false => WANTED * 100 / bytes.max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_arrays_are_one_chunk() {
        assert_eq!(pieces(&[], 8), Vec::<u64>::new());
        assert_eq!(pieces(&[1 << 20], 8), [1 << 20]);
        assert_eq!(pieces(&[0, 5], 8), [1, 5]);
    }

    #[test]
    fn large_ones_are_cut_at_rows() {
        assert_eq!(pieces(&[1000, 500, 500], 4), [4, 500, 500]);
        assert_eq!(pieces(&[3, 20_000, 40_000], 4), [1, 25, 40_000]);
        assert_eq!(pieces(&[8761, 25_000], 4), [1, 25_000]);
    }

    #[test]
    fn a_length_without_a_fitting_divisor_stays_whole() {
        // A prime.
        assert_eq!(pieces(&[15_485_863], 8), [15_485_863]);
        assert_eq!(pieces(&[u64::MAX, 2], 8), [u64::MAX, 2]);
        assert_eq!(pieces(&[(1 << 61) - 1], 1), [(1 << 61) - 1]);
    }
}
