//! Bounds on what a zip file may claim.

/// The bounds on the claims of a zip file, and on the memory that it takes. The defaults suit files from strangers with
/// large chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZipLimits {
    /// The largest number of entries; 10 million unless set.
    pub entries: u64,
    /// The largest number of bytes of all names together, which are kept in memory; 1 GiB unless set.
    pub names: u64,
    /// The largest decompressed size of a deflated entry in bytes, since it is decompressed into memory; 2 GiB unless
    /// set. A stored entry is no longer than its bytes in the file, and has no limit.
    pub entry_size: u64,
    /// How many times larger a deflated entry may become; 1032 unless set, which is what Deflate can reach, and so
    /// bounds only entries that lie. Constant chunks do come near it. Entries below 1 MiB are not measured.
    pub ratio: u64,
}

impl Default for ZipLimits {
    fn default() -> Self {
        Self {
            entries: 10_000_000,
            names: 1 << 30,
            entry_size: 2 << 30,
            ratio: 1032,
        }
    }
}

impl ZipLimits {
    /// Sets the largest number of entries.
    #[must_use]
    pub fn with_entries(mut self, entries: u64) -> Self {
        self.entries = entries;
        self
    }

    /// Sets the largest length of all names together, in bytes.
    #[must_use]
    pub fn with_names(mut self, bytes: u64) -> Self {
        self.names = bytes;
        self
    }

    /// Sets the largest decompressed size of a deflated entry, in bytes.
    #[must_use]
    pub fn with_entry_size(mut self, bytes: u64) -> Self {
        self.entry_size = bytes;
        self
    }

    /// Sets the largest ratio of decompressed to compressed size.
    #[must_use]
    pub fn with_ratio(mut self, ratio: u64) -> Self {
        self.ratio = ratio;
        self
    }
}
