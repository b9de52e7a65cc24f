//! The checksum of HDF5's filter Fletcher-32, which Zarr calls `numcodecs.fletcher32`: four bytes behind the data.
//!
//! ```text
//! words     big-endian, of two bytes; a last single byte is the upper half of a word
//! sum 1     of the words, modulo 65535
//! sum 2     of every state of sum 1, modulo 65535
//! stored    sum 1 + (sum 2 << 16), little-endian
//! ```

#[cfg(feature = "codecs")]
pub(crate) mod codec;

/// Bytes of the checksum.
const LENGTH: usize = 4;
/// Words that can be added up before `u32` would overflow.
const WORDS: usize = 360;

/// The Fletcher checksum of HDF5 (`H5Z_FILTER_FLETCHER32`): four bytes behind the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fletcher32;

impl Fletcher32 {
    /// Returns the data followed by its checksum.
    pub fn encoded(self, mut data: Vec<u8>) -> Vec<u8> {
        let sum = sum(&data);
        data.extend(sum.to_le_bytes());
        data
    }

    /// Returns the data of a chunk; `None` if the checksum does not match.
    ///
    /// As HDF5 does, it accepts the sums of HDF5 up to 1.6.2, whose two halves have their bytes swapped. It also
    /// accepts sums over an odd number of bytes that leave out the last one, as the crate `zarrs` up to 0.23.14 writes
    /// them.
    pub fn decoded(self, chunk: &[u8]) -> Option<&[u8]> {
        let (data, stored) = chunk.split_last_chunk::<LENGTH>()?;
        let right = sum(data).to_le_bytes();
        let [a, b, c, d] = right;
        let is_sound = *stored == right
            || *stored == [b, a, d, c]
            || data.len() % 2 == 1 && *stored == sum(&data[..data.len() - 1]).to_le_bytes();
        is_sound.then_some(data)
    }
}

fn sum(data: &[u8]) -> u32 {
    let (mut first, mut second) = (0_u32, 0_u32);
    // The remainder zero is spelt 65535 unless all words are zero.
    let reduced = |sum: u32| (sum & 0xffff) + (sum >> 16);
    for words in data.chunks(2 * WORDS) {
        for word in words.chunks(2) {
            let low = word.get(1).copied().unwrap_or(0);
            first += u32::from(u16::from_be_bytes([word[0], low]));
            second += first;
        }
        (first, second) = (reduced(first), reduced(second));
    }
    (reduced(second) << 16) | reduced(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_belongs_to_its_data() {
        let chunk = Fletcher32.encoded(vec![0, 1, 2]);
        assert_eq!(chunk, [0, 1, 2, 1, 2, 2, 2]);
        assert_eq!(Fletcher32.decoded(&chunk), Some(&[0, 1, 2][..]));
        for bit in 0..chunk.len() * 8 {
            let mut damaged = chunk.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Fletcher32.decoded(&damaged), None, "bit {bit}");
        }
        assert_eq!(Fletcher32.decoded(&chunk[..3]), None);
        assert_eq!(Fletcher32.decoded(&[0; 4]), Some(&[][..]));
    }

    #[test]
    fn sums_of_older_writers_are_known() {
        let swapped = [0, 1, 2, 2, 1, 2, 2];
        assert_eq!(Fletcher32.decoded(&swapped), Some(&swapped[..3]));
        let without_the_last = [0, 1, 2, 1, 0, 1, 0];
        assert_eq!(Fletcher32.decoded(&without_the_last), Some(&[0, 1, 2][..]));
        // Of an even number of bytes none is left out.
        assert_eq!(Fletcher32.decoded(&[0, 1, 2, 3, 1, 0, 1, 0]), None);
    }
}
