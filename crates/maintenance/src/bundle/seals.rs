//! Digests of the entries of a bundle, taken when it was checked, so that a later reading accepts no other bytes.
//!
//! A seal is the head of the digest of the file up to the end of an entry. Seals of as many entries are held as the bound
//! on memory allows; of a bundle with more, a reading that writes the entries of one window collects the seals of the
//! next, and the file is read once more.

/// The first half of a SHA-256: no other file that has it can be found.
pub(crate) type Seal = [u8; 16];

/// The seals of some entries that follow one another.
#[derive(Debug)]
pub(crate) struct Seals {
    from: u64,
    most: usize,
    seals: Vec<Seal>,
}

impl Seals {
    /// Returns an empty window that begins with an entry, with room for so many bytes of seals.
    pub(crate) fn new(from: u64, bytes: usize) -> Self {
        Self {
            from,
            most: (bytes / size_of::<Seal>()).max(16),
            seals: Vec::new(),
        }
    }

    /// Returns the empty window behind this one.
    pub(crate) fn following(&self) -> Self {
        Self {
            from: self.end(),
            most: self.most,
            seals: Vec::new(),
        }
    }

    /// The number of the entry behind the last one.
    fn end(&self) -> u64 {
        self.from + self.seals.len() as u64
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.seals.is_empty()
    }

    /// Takes the seal of an entry, if it is the next one of the window and there is room.
    pub(crate) fn take(&mut self, entry: u64, seal: Seal) {
        if entry == self.end() && self.seals.len() < self.most {
            self.seals.push(seal);
        }
    }

    /// Returns the seal of an entry; none if it is not in the window.
    pub(crate) fn of(&self, entry: u64) -> Option<Seal> {
        let at = usize::try_from(entry.checked_sub(self.from)?).ok()?;
        self.seals.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_in_exactly_one_window() {
        let mut window = Seals::new(0, 0);
        let mut met = Vec::new();
        loop {
            for entry in 0..100_u8 {
                window.take(u64::from(entry), [entry; 16]);
            }
            if window.is_empty() {
                break;
            }
            for entry in 0..100_u8 {
                if let Some(seal) = window.of(u64::from(entry)) {
                    assert_eq!(seal, [entry; 16]);
                    met.push(entry);
                }
            }
            window = window.following();
        }
        assert_eq!(met, (0..100).collect::<Vec<_>>());
    }
}
