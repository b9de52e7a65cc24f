//! Damage to the bytes of a file, the same in every run.

/// Numbers that look random.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end as u64) as usize
    }

    /// Sets one to three bytes to other values.
    pub(crate) fn damage(&mut self, bytes: &mut [u8]) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            bytes[at] = match self.below(4) {
                0 => 0xff,
                1 => 0,
                2 => bytes[at] ^ (1 << self.below(8)),
                _ => self.below(256) as u8,
            };
        }
    }
}
