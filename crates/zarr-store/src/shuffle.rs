//! The order of bytes of HDF5's filter shuffle, which Zarr calls `numcodecs.shuffle`: the first bytes of all elements, then the
//! second ones, and so on.
//!
//! ```text
//! elements     a1 a2 a3 a4  b1 b2 b3 b4  c1 c2 c3 c4     of four bytes
//! shuffled     a1 b1 c1  a2 b2 c2  a3 b3 c3  a4 b4 c4
//! ```

#[cfg(feature = "codecs")]
pub(crate) mod codec;

/// Elements that are moved at a time: so many bytes of each plane lie behind one another.
const BLOCK: usize = 16;

/// The byte shuffle of HDF5 for elements of one width: first the first bytes of all elements, then the second ones, and
/// so on. Bytes after the last whole element stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffle {
    /// Bytes of an element, at least one.
    width: usize,
}

impl Shuffle {
    /// Returns the shuffle of elements of this many bytes; `None` for zero.
    pub fn of(width: usize) -> Option<Self> {
        (width > 0).then_some(Self { width })
    }

    /// Returns elements in shuffled order.
    pub fn encoded(self, elements: &[u8]) -> Vec<u8> {
        let mut shuffled = elements.to_vec();
        let count = elements.len() / self.width;
        match self.width {
            1 => {}
            2 => split::<2>(elements, &mut shuffled, count),
            4 => split::<4>(elements, &mut shuffled, count),
            8 => split::<8>(elements, &mut shuffled, count),
            width => {
                for (at, element) in elements.chunks_exact(width).enumerate() {
                    let places = shuffled.iter_mut().skip(at).step_by(count);
                    places.zip(element).for_each(|(to, byte)| *to = *byte);
                }
            }
        }
        shuffled
    }

    /// Returns shuffled elements in their own order.
    pub fn decoded(self, shuffled: &[u8]) -> Vec<u8> {
        let mut elements = shuffled.to_vec();
        let count = elements.len() / self.width;
        match self.width {
            1 => {}
            2 => join::<2>(shuffled, &mut elements, count),
            4 => join::<4>(shuffled, &mut elements, count),
            8 => join::<8>(shuffled, &mut elements, count),
            width => {
                for (at, element) in elements.chunks_exact_mut(width).enumerate() {
                    let places = shuffled.iter().skip(at).step_by(count);
                    places.zip(element).for_each(|(byte, to)| *to = *byte);
                }
            }
        }
        elements
    }
}

/// Moves the bytes of `count` elements of `N` bytes to planes of one byte of each.
fn split<const N: usize>(elements: &[u8], shuffled: &mut [u8], count: usize) {
    let (elements, _) = elements.as_chunks::<N>();
    let (blocks, rest) = elements.as_chunks::<BLOCK>();
    for plane in 0..N {
        let Some(plane_bytes) = shuffled.get_mut(plane * count..(plane + 1) * count) else {
            return;
        };
        let (to, to_rest) = plane_bytes.as_chunks_mut::<BLOCK>();
        for (to, block) in to.iter_mut().zip(blocks) {
            for (to, element) in to.iter_mut().zip(block) {
                *to = element[plane];
            }
        }
        let pairs = to_rest.iter_mut().zip(rest);
        pairs.for_each(|(to, element)| *to = element[plane]);
    }
}

/// Undoes [`split`]. Blocks of a length that is known become a few instructions each.
fn join<const N: usize>(shuffled: &[u8], elements: &mut [u8], count: usize) {
    let (elements, _) = elements.as_chunks_mut::<N>();
    let (blocks, rest) = elements.as_chunks_mut::<BLOCK>();
    let planes: [(&[[u8; BLOCK]], &[u8]); N] = std::array::from_fn(|plane| {
        let plane = shuffled.get(plane * count..(plane + 1) * count);
        plane.unwrap_or_default().as_chunks()
    });
    for (at, block) in blocks.iter_mut().enumerate() {
        for (plane, (bytes, _)) in planes.iter().enumerate() {
            let Some(bytes) = bytes.get(at) else {
                continue;
            };
            for (element, byte) in block.iter_mut().zip(bytes) {
                element[plane] = *byte;
            }
        }
    }
    for (plane, (_, bytes)) in planes.iter().enumerate() {
        for (element, byte) in rest.iter_mut().zip(*bytes) {
            element[plane] = *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_where_they_belong_and_back() {
        assert_eq!(Shuffle::of(0), None);
        for width in 1..=9 {
            let shuffle = Shuffle::of(width).expect("positive");
            for length in [
                0,
                1,
                width,
                width + 1,
                15 * width,
                16 * width,
                53 * width + width / 2,
            ] {
                let elements: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
                let count = length / width;
                let mut expected = elements.clone();
                for (at, byte) in elements[..count * width].iter().enumerate() {
                    expected[at % width * count + at / width] = *byte;
                }
                assert_eq!(shuffle.encoded(&elements), expected, "{width} {length}");
                assert_eq!(shuffle.decoded(&expected), elements, "{width} {length}");
            }
        }
    }
}
