//! Bits of a packed stream, the most significant one of each byte first.

/// Reads numbers of any number of bits.
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    /// Bits read so far.
    at: usize,
}

impl<'a> Bits<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads a number of up to 64 bits; `None` behind the end.
    pub(super) fn read(&mut self, count: u32) -> Option<u64> {
        let mut value = 0_u64;
        let mut left = count;
        while left > 0 {
            let byte = u64::from(*self.bytes.get(self.at / 8)?);
            let here = 8 - (self.at % 8) as u32;
            let taken = here.min(left);
            let part = byte >> (here - taken) & ((1 << taken) - 1);
            value = value << taken | part;
            self.at = self.at.checked_add(taken as usize)?;
            left -= taken;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_cross_bytes() {
        let mut bits = Bits::new(&[0b1010_1100, 0b0101_0011, 0xff]);
        assert_eq!(bits.read(3), Some(0b101));
        assert_eq!(bits.read(0), Some(0));
        assert_eq!(bits.read(9), Some(0b0_1100_0101));
        assert_eq!(bits.read(12), Some(0b0011_1111_1111));
        assert_eq!(bits.read(1), None);
        assert_eq!(Bits::new(&[0xff; 8]).read(64), Some(u64::MAX));
    }
}
