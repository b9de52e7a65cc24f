//! Reading the header's own terms from its first bytes.

use bytes::Bytes;

/// Why a header was not read.
#[derive(Debug)]
pub(super) enum CursorError {
    /// It goes on at least to here, beyond the bytes at hand.
    Short {
        /// Bytes of the file.
        needed: u64,
    },
    /// It breaks a rule.
    Damaged(String),
}

/// A place in the header.
pub(super) struct Cursor<'a> {
    bytes: &'a Bytes,
    at: usize,
    /// Whether counts have 8 bytes: CDF-5.
    wide: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a Bytes) -> Self {
        Self {
            bytes,
            at: 0,
            wide: false,
        }
    }

    /// From here on counts have 8 bytes.
    pub(super) fn set_wide(&mut self, wide: bool) {
        self.wide = wide;
    }

    pub(super) fn is_wide(&self) -> bool {
        self.wide
    }

    /// The next bytes, and not those that fill up a word after them.
    pub(super) fn padded(&mut self, length: u64) -> Result<Bytes, CursorError> {
        let taken = self.take(length)?;
        // Padding that is missing at the very end of a file does no harm; it is looked for all the same, because
        // something must follow.
        let padding = (4 - length % 4) % 4;
        self.take(padding)?;
        Ok(taken)
    }

    fn take(&mut self, length: u64) -> Result<Bytes, CursorError> {
        let needed = (self.at as u64).saturating_add(length);
        if needed > self.bytes.len() as u64 {
            return Err(CursorError::Short { needed });
        }
        let start = self.at;
        // Not more than the length of a buffer.
        self.at = needed as usize;
        Ok(self.bytes.slice(start..self.at))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CursorError> {
        let bytes = self.take(N as u64)?;
        let mut array = [0; N];
        array.copy_from_slice(&bytes);
        Ok(array)
    }

    pub(super) fn magic(&mut self) -> Result<[u8; 4], CursorError> {
        self.array()
    }

    pub(super) fn u32(&mut self) -> Result<u32, CursorError> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, CursorError> {
        self.array().map(u64::from_be_bytes)
    }

    /// A count: 4 bytes, or 8 in CDF-5.
    pub(super) fn count(&mut self) -> Result<u64, CursorError> {
        match self.wide {
            true => self.u64(),
            false => self.u32().map(u64::from),
        }
    }

    pub(super) fn name(&mut self) -> Result<String, CursorError> {
        let length = self.count()?;
        let bytes = self.padded(length)?;
        match std::str::from_utf8(&bytes) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(CursorError::Damaged(format!(
                "the name {:?} in its header is not UTF-8",
                String::from_utf8_lossy(&bytes)
            ))),
        }
    }

    /// The length of a list that begins with `tag`; a list that is absent has none.
    pub(super) fn list(&mut self, tag: u32, what: &str) -> Result<u64, CursorError> {
        let found = self.u32()?;
        let count = self.count()?;
        match (found, count) {
            (0, 0) => Ok(0),
            (found, count) if found == tag => Ok(count),
            _ => Err(CursorError::Damaged(format!(
                "where its list of {what} should begin there is the tag {found}"
            ))),
        }
    }
}
