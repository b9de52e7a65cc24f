//! The index of a shard: where its inner chunks lie, and whether it is the one that was written.

use std::ops::Range;

use bytes::Bytes;

use crate::regions::product;

/// Both numbers of an inner chunk that is not there.
const ABSENT: u64 = u64::MAX;
/// Bytes of an entry.
const ENTRY: u64 = 16;

/// How the shards of an array keep the places of their inner chunks.
///
/// A shard is read in two steps: its index, at [`ShardIndex::range`], is checked by [`ShardIndex::entries`]; then
/// [`ShardIndex::span`] finds an inner chunk by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardIndex {
    /// Inner chunks per dimension, none of them zero.
    counts: Vec<u64>,
    is_at_start: bool,
    has_checksum: bool,
}

impl ShardIndex {
    pub(super) fn new(counts: Vec<u64>, is_at_start: bool, has_checksum: bool) -> Self {
        Self {
            counts,
            is_at_start,
            has_checksum,
        }
    }

    /// Returns how many inner chunks a shard has room for in each dimension.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns how many inner chunks a shard has room for.
    pub fn count(&self) -> u64 {
        product(&self.counts)
    }

    /// Returns the bytes of the index, its checksum included.
    pub fn length(&self) -> u64 {
        let checksum = if self.has_checksum { 4 } else { 0 };
        self.count().saturating_mul(ENTRY).saturating_add(checksum)
    }

    /// Returns the coordinates of the shard that holds an inner chunk, and the number of the chunk in it; `None` for
    /// coordinates of another rank.
    pub fn place(&self, index: &[u32]) -> Option<(Vec<u32>, u64)> {
        if index.len() != self.counts.len() {
            return None;
        }
        let (mut shard, mut number) = (Vec::with_capacity(index.len()), 0_u64);
        for (at, count) in index.iter().zip(&self.counts) {
            let at = u64::from(*at);
            shard.push(u32::try_from(at / count).ok()?);
            number = number.checked_mul(*count)?.checked_add(at % count)?;
        }
        Some((shard, number))
    }

    /// Returns the place of the index in a shard of `length` bytes.
    ///
    /// # Errors
    /// A shard that is shorter.
    pub fn range(&self, length: u64) -> Result<Range<u64>, String> {
        let own = self.length();
        let rest = length.checked_sub(own);
        let rest = rest.ok_or("it is shorter than the index of a shard")?;
        Ok(match self.is_at_start {
            true => 0..own,
            false => rest..length,
        })
    }

    /// Checks the bytes of an index, and returns its entries without the checksum.
    ///
    /// # Errors
    /// Another length, or a checksum of other bytes.
    pub fn entries(&self, index: &Bytes) -> Result<Bytes, String> {
        if index.len() as u64 != self.length() {
            return Err("it is shorter than the index of a shard".to_owned());
        }
        if !self.has_checksum {
            return Ok(index.clone());
        }
        let entries = index.slice(..index.len().saturating_sub(4));
        match index[entries.len()..] == crc32c::crc32c(&entries).to_le_bytes() {
            true => Ok(entries),
            false => Err("the checksum of its shard's index is wrong".to_owned()),
        }
    }

    /// Returns the place of an inner chunk in a shard of `length` bytes, by its number and the entries of the index; `None`
    /// if the shard lacks it, which takes both numbers of its entry.
    ///
    /// # Errors
    /// A place beyond the shard's end.
    pub fn span(entries: &[u8], number: u64, length: u64) -> Result<Option<Range<u64>>, String> {
        let (entries, _) = entries.as_chunks::<16>();
        let entry = usize::try_from(number).ok().and_then(|at| entries.get(at));
        let entry = entry.ok_or("the index of its shard has no such entry")?;
        let (offset, extent) = entry.split_at(8);
        let read = |part: &[u8]| u64::from_le_bytes(part.try_into().unwrap_or_default());
        let (offset, extent) = (read(offset), read(extent));
        if (offset, extent) == (ABSENT, ABSENT) {
            return Ok(None);
        }
        let end = offset.checked_add(extent).filter(|end| *end <= length);
        let end = end.ok_or("the index of its shard leads beyond the end")?;
        Ok(Some(offset..end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inner_chunk_has_a_shard_and_a_number() {
        let index = ShardIndex::new(vec![2, 2], false, false);
        assert_eq!(index.place(&[3, 6]), Some((vec![1, 3], 2)));
        assert_eq!(index.place(&[0, 1]), Some((vec![0, 0], 1)));
        assert_eq!(index.place(&[0]), None);
    }

    #[test]
    fn an_index_has_its_place_and_its_length() {
        let end = ShardIndex::new(vec![2], false, true);
        assert_eq!(end.range(100), Ok(64..100));
        assert!(end.range(35).is_err());
        assert!(end.entries(&vec![0; 32].into()).is_err());
        let start = ShardIndex::new(vec![2], true, false);
        assert_eq!(start.range(100), Ok(0..32));
    }

    #[test]
    fn a_chunk_is_absent_only_if_both_numbers_say_so() {
        let entry =
            |offset: u64, length: u64| [offset.to_le_bytes(), length.to_le_bytes()].concat();
        let span = |offset, length| ShardIndex::span(&entry(offset, length), 0, 10);
        assert_eq!(span(ABSENT, ABSENT), Ok(None));
        assert_eq!(span(2, 8), Ok(Some(2..10)));
        for (offset, length) in [(ABSENT, 0), (ABSENT, 5), (0, ABSENT), (2, 9)] {
            assert!(span(offset, length).is_err(), "{offset} {length}");
        }
        assert!(ShardIndex::span(&entry(0, 1), 1, 10).is_err());
    }
}
