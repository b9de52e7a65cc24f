//! The part of the elements of a file that an array takes: a member of a compound, and of a number the bits that count.

/// A part of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Take {
    /// Bytes of an element in the file.
    pub(super) of: usize,
    /// First byte that is taken.
    pub(super) offset: usize,
    /// Bytes that are taken.
    pub(super) size: usize,
    /// The conversion of the numbers among them.
    pub(super) narrow: Option<Narrow>,
}

/// Integers that use a part of their bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Narrow {
    /// Bytes of one.
    pub(super) size: usize,
    pub(super) big: bool,
    pub(super) signed: bool,
    /// First bit that counts, from the least significant one.
    pub(super) offset: u32,
    /// Bits that count.
    pub(super) precision: u32,
}

impl Take {
    /// Returns what is taken of elements.
    pub(super) fn of(self, elements: &[u8]) -> Vec<u8> {
        let end = self.offset.saturating_add(self.size);
        let elements = elements.chunks_exact(self.of.max(1));
        let parts = elements.flat_map(|it| it.get(self.offset..end).unwrap_or_default());
        let mut taken: Vec<u8> = parts.copied().collect();
        if let Some(narrow) = self.narrow {
            for number in taken.chunks_exact_mut(narrow.size.max(1)) {
                narrow.widen(number);
            }
        }
        taken
    }
}

impl Narrow {
    /// Gives a number all its bits.
    pub(super) fn widen(self, number: &mut [u8]) {
        let mut bytes = [0; 8];
        let order = |number: &mut [u8]| {
            if self.big {
                number.reverse();
            }
        };
        order(number);
        for (to, from) in bytes.iter_mut().zip(&*number) {
            *to = *from;
        }
        let value = u64::from_le_bytes(bytes) >> self.offset.min(63);
        let unused = 64_u32.saturating_sub(self.precision).min(63);
        let value = match self.signed {
            true => ((value << unused).cast_signed() >> unused).cast_unsigned(),
            false => value << unused >> unused,
        };
        for (to, from) in number.iter_mut().zip(value.to_le_bytes()) {
            *to = from;
        }
        order(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrow_integers_get_their_signs() {
        let narrow = |signed, big| Narrow {
            size: 2,
            big,
            signed,
            offset: 2,
            precision: 12,
        };
        let widened = |narrow: Narrow, mut bytes: [u8; 2]| {
            narrow.widen(&mut bytes);
            bytes
        };
        // Bits outside of the twelve are anything.
        let minus_two = (0xc003_u16 | 0xffe << 2).to_le_bytes();
        assert_eq!(
            widened(narrow(true, false), minus_two),
            (-2_i16).to_le_bytes()
        );
        assert_eq!(
            widened(narrow(false, false), minus_two),
            0xffe_u16.to_le_bytes()
        );
        let five = (5_u16 << 2).to_be_bytes();
        assert_eq!(widened(narrow(true, true), five), 5_u16.to_be_bytes());
    }

    #[test]
    fn members_are_taken_of_whole_elements() {
        let take = Take {
            of: 3,
            offset: 1,
            size: 2,
            narrow: None,
        };
        assert_eq!(take.of(&[0, 1, 2, 3, 4, 5, 6]), [1, 2, 4, 5]);
    }
}
