//! The mark of one write: the same in the message of its commit and in the bytes of its chunk.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, ensure};

/// One write of one process. No two processes of a repository have the same number, so no two writes have the same stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// The number of the process.
    pub writer: u32,
    /// Which of its writes it is.
    pub round: u32,
    /// The chunk that it writes.
    pub chunk: u32,
}

/// Bytes of a stamp in a chunk.
const LENGTH: usize = 12;

impl Stamp {
    /// Returns a chunk of at least so many bytes that holds nothing but the stamp, again and again.
    #[must_use]
    pub fn bytes(self, at_least: usize) -> Vec<u8> {
        let [writer, round, chunk] = [self.writer, self.round, self.chunk].map(u32::to_le_bytes);
        let once = [writer, round, chunk].concat();
        once.repeat(at_least.div_ceil(LENGTH).max(1))
    }

    /// Reads the stamp of a chunk.
    ///
    /// # Errors
    /// If the chunk is not one stamp, whole and repeated.
    pub fn of_bytes(bytes: &[u8]) -> anyhow::Result<Self> {
        let (first, _) = bytes
            .split_first_chunk::<LENGTH>()
            .context("a short chunk")?;
        ensure!(
            bytes.len().is_multiple_of(LENGTH) && bytes.chunks(LENGTH).all(|part| part == first),
            "a chunk of {} bytes is not one stamp",
            bytes.len()
        );
        let part = |at: usize| {
            let bytes = [first[at], first[at + 1], first[at + 2], first[at + 3]];
            u32::from_le_bytes(bytes)
        };
        Ok(Self {
            writer: part(0),
            round: part(4),
            chunk: part(8),
        })
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stamp {} {} {}", self.writer, self.round, self.chunk)
    }
}

impl FromStr for Stamp {
    type Err = anyhow::Error;

    fn from_str(message: &str) -> anyhow::Result<Self> {
        let numbers = message.strip_prefix("stamp ").unwrap_or_default();
        let numbers: Vec<u32> = numbers
            .split(' ')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .with_context(|| format!("{message:?} is no stamp"))?;
        let [writer, round, chunk] = numbers[..] else {
            anyhow::bail!("{message:?} is no stamp");
        };
        Ok(Self {
            writer,
            round,
            chunk,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_from_a_message_and_from_bytes() {
        let stamp = Stamp {
            writer: 7,
            round: 300,
            chunk: 63,
        };
        assert_eq!(stamp.to_string().parse::<Stamp>().unwrap(), stamp);
        for length in [1, 12, 600] {
            let bytes = stamp.bytes(length);
            assert!(bytes.len() >= length);
            assert_eq!(Stamp::of_bytes(&bytes).unwrap(), stamp);
        }
    }

    #[test]
    fn a_torn_or_mixed_chunk_is_refused() {
        let stamp = Stamp {
            writer: 7,
            round: 300,
            chunk: 63,
        };
        let bytes = stamp.bytes(600);
        assert!(Stamp::of_bytes(&bytes[..599]).is_err());
        assert!(Stamp::of_bytes(&[]).is_err());
        let mut mixed = bytes;
        mixed[300] ^= 1;
        assert!(Stamp::of_bytes(&mixed).is_err());
        assert!("prepare".parse::<Stamp>().is_err());
        assert!("stamp 1 2".parse::<Stamp>().is_err());
    }
}
