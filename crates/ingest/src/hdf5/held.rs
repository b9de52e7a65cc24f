//! How much memory the contents of a file may take.

use std::cell::Cell;

use hdf5_reader::error::Error;

use super::parsed::Parsed;

/// Bytes that every file may take.
const ANY: u64 = 32 << 20;
/// Bytes for each byte of the file. A file of many small attributes takes about five.
const TIMES: u64 = 16;

/// Counts the bytes that are made of parts of a file and kept until all of it is read. Links, shared messages and
/// indexes can lead to one part any number of times; each time counts.
#[derive(Debug)]
pub(super) struct Held {
    bytes: Cell<u64>,
    most: u64,
}

impl Held {
    /// Begins with nothing of a file of so many bytes.
    pub(super) fn new(file: u64) -> Self {
        Self {
            bytes: Cell::new(0),
            most: file.saturating_mul(TIMES).saturating_add(ANY),
        }
    }

    /// Counts bytes before they are kept.
    pub(super) fn add(&self, bytes: usize) -> Parsed<()> {
        self.check(bytes)?;
        self.bytes
            .set(self.bytes.get().saturating_add(bytes as u64));
        Ok(())
    }

    /// Makes sure that there is room for bytes that are given back soon.
    pub(super) fn check(&self, bytes: usize) -> Parsed<()> {
        match self.bytes.get().saturating_add(bytes as u64) <= self.most {
            true => Ok(()),
            false => Err(Error::ResourceLimit(format!(
                "its contents take more than {} bytes of memory, the most for a file of its length (32 MiB and 16 bytes for each byte of the file): leave links out, which can lead to one part many times, or repack the file with fewer objects",
                self.most
            ))),
        }
    }

    /// Returns the bytes so far.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.get()
    }
}
