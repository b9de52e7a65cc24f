//! The file of one entry: encoding, and checking what was read.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | `ICEFCAC1` |
//! | 8..16 | XXH3 of all of the head after this |
//! | 16..32 | digest of the repository and the key ([`EntryId`]) |
//! | 32..40 | size of the whole object |
//! | 40..48, 48..56 | the range of the object that follows, half open |
//! | 56..60 | length of the version |
//! | 60..64 | bytes of a block |
//! | 64.. | the version that the store gave, then XXH3 of each block, 8 bytes each: the end of the head |
//! | | the bytes of the object |
//!
//! Numbers are little-endian. Each block has a checksum of its own, so that a read of a part checks what it reads.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use icefield_storage::{GetRange, Version};
use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_128};

const MAGIC: [u8; 8] = *b"ICEFCAC1";
/// Bytes of the head before the version.
const FIXED: usize = 64;
/// Bytes under one checksum.
const BLOCK: u32 = 64 << 10;
/// Bytes of the longest version that is kept.
const MAX_VERSION: usize = 4096;

/// Names one object of one repository among all entries of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryId([u8; 16]);

impl EntryId {
    pub(crate) fn new(repository: &str, key: &str) -> Self {
        Self(xxh3_128(format!("{repository}\0{key}").as_bytes()).to_le_bytes())
    }
}

/// The description of an object in its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntryHead {
    /// Bytes of the whole object.
    pub(crate) object_size: u64,
    /// The part that the entry has.
    pub(crate) range: Range<u64>,
    /// The state that the part is of.
    pub(crate) version: Version,
    sums: Vec<u64>,
}

/// A part of an object, from an entry.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) head: EntryHead,
    /// The part that was asked for.
    pub(crate) range: Range<u64>,
    pub(crate) bytes: Bytes,
}

/// The outcome of reading the file of an entry.
#[derive(Debug)]
pub(crate) enum Loaded {
    Hit(Entry),
    /// The object is known, and has no such range: the answer is an error of the caller.
    OutOfObject(EntryHead),
    /// The entry does not have all of what is asked for, or that is longer than the reader takes.
    Elsewhere,
    /// The file is not what was written.
    Flawed,
}

impl EntryHead {
    /// Describes what `parts` are; `None` if they are not as many bytes as the range, or the version is too long.
    pub(crate) fn of(
        object_size: u64,
        range: Range<u64>,
        version: Version,
        parts: &[Bytes],
    ) -> Option<Self> {
        let length: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let is_whole = range.end.checked_sub(range.start) == Some(length);
        if !is_whole || length == 0 || version.as_str().len() > MAX_VERSION {
            return None;
        }
        Some(Self {
            object_size,
            range,
            version,
            sums: sums_of(parts),
        })
    }

    fn data_len(&self) -> u64 {
        self.range.end - self.range.start
    }

    fn head_len(&self) -> u64 {
        (FIXED + self.version.as_str().len() + 8 * self.sums.len()) as u64
    }

    /// Returns the bytes of the file of the entry.
    pub(crate) fn file_len(&self) -> u64 {
        self.head_len() + self.data_len()
    }

    pub(crate) fn encode(&self, id: EntryId) -> Vec<u8> {
        let version = self.version.as_str().as_bytes();
        let mut head = Vec::with_capacity(FIXED + version.len() + 8 * self.sums.len());
        head.extend_from_slice(&MAGIC);
        head.extend_from_slice(&[0; 8]);
        head.extend_from_slice(&id.0);
        for number in [self.object_size, self.range.start, self.range.end] {
            head.extend_from_slice(&number.to_le_bytes());
        }
        let version_len = u32::try_from(version.len()).unwrap_or(u32::MAX);
        head.extend_from_slice(&version_len.to_le_bytes());
        head.extend_from_slice(&BLOCK.to_le_bytes());
        head.extend_from_slice(version);
        for sum in &self.sums {
            head.extend_from_slice(&sum.to_le_bytes());
        }
        let (first, rest) = head.split_at_mut(16);
        first[8..].copy_from_slice(&xxh3_64(rest).to_le_bytes());
        head
    }

    /// Reads the head of a file of `file_len` bytes; `None` if it is not one of this object, whole.
    fn read(file: &File, file_len: u64, id: EntryId) -> io::Result<Option<Self>> {
        let mut fixed = [0; FIXED];
        if file_len < FIXED as u64 {
            return Ok(None);
        }
        file.read_exact_at(&mut fixed, 0)?;
        let number = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&fixed[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let small = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&fixed[at..at + 4]);
            u32::from_le_bytes(bytes)
        };
        let (object_size, range) = (number(32), number(40)..number(48));
        let (version_len, block) = (small(56) as usize, small(60));
        let is_ours = fixed[..8] == MAGIC && fixed[16..32] == id.0 && block == BLOCK;
        let is_range = range.start < range.end && range.end <= object_size;
        if !is_ours || !is_range || version_len > MAX_VERSION {
            return Ok(None);
        }
        // Before memory is taken for as many checksums as the head claims, the file must be as long.
        let blocks = (range.end - range.start).div_ceil(u64::from(BLOCK));
        let head_len = blocks
            .checked_mul(8)
            .and_then(|sums| sums.checked_add((FIXED + version_len) as u64));
        let claimed = head_len.and_then(|head| head.checked_add(range.end - range.start));
        let (Some(head_len), true) = (head_len, claimed == Some(file_len)) else {
            return Ok(None);
        };
        let Ok(rest_len) = usize::try_from(head_len - FIXED as u64) else {
            return Ok(None);
        };
        let mut rest = vec![0; rest_len];
        file.read_exact_at(&mut rest, FIXED as u64)?;
        let mut hasher = Xxh3Default::new();
        hasher.update(&fixed[16..]);
        hasher.update(&rest);
        if hasher.digest() != number(8) {
            return Ok(None);
        }
        let (version, sums) = rest.split_at(version_len);
        let Ok(version) = std::str::from_utf8(version) else {
            return Ok(None);
        };
        let (sums, _) = sums.as_chunks::<8>();
        Ok(Some(Self {
            object_size,
            range,
            version: Version::new(version),
            sums: sums.iter().map(|sum| u64::from_le_bytes(*sum)).collect(),
        }))
    }

    /// Reads and checks a part that the entry has.
    fn read_part(&self, file: &File, wanted: &Range<u64>) -> io::Result<Option<Bytes>> {
        let block = u64::from(BLOCK);
        let (start, end) = (
            wanted.start - self.range.start,
            wanted.end - self.range.start,
        );
        let first = start / block;
        let (from, to) = (
            first * block,
            end.next_multiple_of(block).min(self.data_len()),
        );
        let (Ok(length), Ok(first)) = (usize::try_from(to - from), usize::try_from(first)) else {
            return Ok(None);
        };
        let mut data = vec![0; length];
        file.read_exact_at(&mut data, self.head_len() + from)?;
        let expected = self.sums.get(first..).unwrap_or_default();
        let found = data.chunks(BLOCK as usize).map(xxh3_64);
        if !found
            .zip(expected)
            .all(|(found, expected)| found == *expected)
        {
            return Ok(None);
        }
        let (skipped, kept) = ((start - from) as usize, (end - start) as usize);
        Ok(Some(Bytes::from(data).slice(skipped..skipped + kept)))
    }
}

/// Reads what `range` asks for from the file of an entry, if it is at most `longest` bytes.
///
/// # Errors
/// The operating system's; a file that is shorter than it was a moment ago is [`Loaded::Flawed`].
pub(crate) fn load(
    file: &File,
    file_len: u64,
    id: EntryId,
    range: &GetRange,
    longest: u64,
) -> io::Result<Loaded> {
    let read = || -> io::Result<Loaded> {
        let Some(head) = EntryHead::read(file, file_len, id)? else {
            return Ok(Loaded::Flawed);
        };
        let Some(wanted) = range.resolve(head.object_size) else {
            return Ok(Loaded::OutOfObject(head));
        };
        let is_there = head.range.start <= wanted.start && wanted.end <= head.range.end;
        if !is_there || wanted.end - wanted.start > longest {
            return Ok(Loaded::Elsewhere);
        }
        Ok(match head.read_part(file, &wanted)? {
            Some(bytes) => Loaded::Hit(Entry {
                head,
                range: wanted,
                bytes,
            }),
            None => Loaded::Flawed,
        })
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(Loaded::Flawed),
        loaded => loaded,
    }
}

fn sums_of(parts: &[Bytes]) -> Vec<u64> {
    if let [one] = parts {
        return one.chunks(BLOCK as usize).map(xxh3_64).collect();
    }
    let mut sums = Vec::new();
    let mut hasher = Xxh3Default::new();
    let mut missing = BLOCK as usize;
    for part in parts {
        let mut rest = &part[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(missing));
            hasher.update(now);
            missing -= now.len();
            rest = later;
            if missing == 0 {
                sums.push(hasher.digest());
                hasher.reset();
                missing = BLOCK as usize;
            }
        }
    }
    if missing < BLOCK as usize {
        sums.push(hasher.digest());
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_the_checksums_of_the_whole() {
        let whole: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
        let parts: Vec<Bytes> = [
            0..1,
            1..65_536,
            65_536..65_536,
            65_536..140_000,
            140_000..200_000,
        ]
        .map(|range| Bytes::copy_from_slice(&whole[range]))
        .to_vec();
        assert_eq!(sums_of(&parts), sums_of(&[whole.into()]));
        assert_eq!(sums_of(&parts).len(), 4);
    }

    #[test]
    fn a_body_of_another_length_makes_no_entry() {
        let of = |range, text: &'static str| {
            EntryHead::of(10, range, Version::new("1"), &[Bytes::from(text)])
        };
        assert!(of(0..4, "abcd").is_some());
        assert!(of(0..4, "abc").is_none());
        assert!(of(0..4, "abcde").is_none());
        assert!(of(4..4, "").is_none());
    }
}
