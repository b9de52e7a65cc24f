//! Numbers of any width, one after another.

use super::super::problem::GribProblem;

/// Reads numbers of up to 32 bits, the highest bit first.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// The next byte.
    at: usize,
    /// Bits that were read from bytes and not handed on: the lowest ones.
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            held: 0,
            count: 0,
        }
    }

    /// Checks that there are so many numbers of so many bits.
    pub(super) fn check(&self, count: usize, bits: u8) -> Result<(), GribProblem> {
        let needed = (count as u64).saturating_mul(bits.into()).div_ceil(8);
        match self.bytes.len() as u64 {
            there if there >= needed => Ok(()),
            there => Err(GribProblem::SectionShort {
                section: 7,
                length: there + 5,
                needed: needed.saturating_add(5),
            }),
        }
    }

    /// Returns the next number; behind the end there are zeros.
    pub(super) fn next(&mut self, bits: u8) -> u32 {
        let bits = u32::from(bits).min(32);
        while self.count < bits {
            let byte = self.bytes.get(self.at).copied().unwrap_or(0);
            self.at += 1;
            self.held = self.held << 8 | u64::from(byte);
            self.count += 8;
        }
        self.count -= bits;
        let number = self.held >> self.count;
        self.held &= (1 << self.count) - 1;
        number as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width_are_read() {
        let mut bits = Bits::new(&[0b1010_0111, 0xff, 0, 1, 0x80, 7]);
        assert_eq!(bits.next(1), 1);
        assert_eq!(bits.next(3), 2);
        assert_eq!(bits.next(12), 0x7ff);
        assert_eq!(bits.next(0), 0);
        assert_eq!(bits.next(17), 3);
        assert_eq!(bits.next(7), 0);
        assert_eq!(bits.next(8), 7);
        assert_eq!(bits.next(32), 0);
        assert!(Bits::new(&[0; 4]).check(10, 3).is_ok());
        assert!(Bits::new(&[0; 4]).check(11, 3).is_err());
    }
}
