//! The places of inner chunks in shards, by the index that each shard has.

use bytes::Bytes;
use http::StatusCode;
use quick_cache::sync::Cache;
use serde_json::Value;
use std::ops::Range;

use crate::failure::Failure;
use crate::object::Object;

/// Both numbers of an inner chunk that is not there.
const ABSENT: u64 = u64::MAX;
/// Bytes of an entry of the index.
const ENTRY: u64 = 16;
/// Bytes of the longest index that is kept.
const MAX_INDEX: u64 = 4 << 20;
/// Indexes that are kept of an array.
const INDEXES: usize = 64;

/// How the shards of an array are built, and the indexes that were read.
#[derive(Debug)]
pub(crate) struct Shards {
    /// Inner chunks per dimension of a shard.
    counts: Vec<u64>,
    is_at_start: bool,
    /// Bytes of the checksum behind the index.
    checksum: u64,
    /// By the tag of the shard.
    indexes: Cache<String, Bytes>,
}

impl Shards {
    /// Reads the codecs of an array's document; `None` if it has no shards. What else there is to say against them is the
    /// concern of the dialect of format 2.
    pub(crate) fn of(document: &str) -> Option<Self> {
        let document: Value = serde_json::from_str(document).ok()?;
        let codec = document["codecs"].as_array()?.first()?;
        if codec["name"] != "sharding_indexed" {
            return None;
        }
        let settings = &codec["configuration"];
        let lengths = |value: &Value| -> Option<Vec<u64>> {
            value.as_array()?.iter().map(Value::as_u64).collect()
        };
        let inner = lengths(&settings["chunk_shape"])?;
        let outer = lengths(&document["chunk_grid"]["configuration"]["chunk_shape"])?;
        let counts = outer
            .iter()
            .zip(&inner)
            .map(|(outer, inner)| outer / (*inner).max(1));
        let index = settings["index_codecs"].as_array().map_or(0, Vec::len);
        Some(Self {
            counts: counts.collect(),
            is_at_start: settings["index_location"] == "start",
            checksum: if index > 1 { 4 } else { 0 },
            indexes: Cache::new(INDEXES),
        })
    }

    /// Returns the coordinates of the shard that holds an inner chunk, and the number of the chunk in it.
    pub(crate) fn place(&self, index: &[u32]) -> (Vec<u32>, u64) {
        let mut shard = Vec::with_capacity(index.len());
        let mut number = 0;
        for (at, count) in index.iter().zip(&self.counts) {
            let (at, count) = (u64::from(*at), (*count).max(1));
            shard.push(u32::try_from(at / count).unwrap_or(u32::MAX));
            number = number * count + at % count;
        }
        (shard, number)
    }

    /// Returns the place of an inner chunk in a shard, `None` if the shard does not have it.
    pub(crate) async fn span(
        &self,
        shard: &Object,
        number: u64,
    ) -> Result<Option<Range<u64>>, Failure> {
        let damaged = |what: &str| Failure::damage(format!("a shard is damaged: {what}"));
        let entries = self
            .counts
            .iter()
            .fold(ENTRY, |all, one| all.saturating_mul(*one));
        if entries > MAX_INDEX {
            let message =
                format!("the indexes of its shards have {entries} bytes, more than {MAX_INDEX}");
            return Err(Failure::new(
                StatusCode::NOT_IMPLEMENTED,
                "unsupported",
                message,
            ));
        }
        let length = entries + self.checksum;
        if length > shard.length {
            return Err(damaged("it is shorter than its index"));
        }
        let range = match self.is_at_start {
            true => 0..entries,
            false => shard.length - length..shard.length - self.checksum,
        };
        let read = async { shard.source.read(range).await };
        let index = self
            .indexes
            .get_or_insert_async(shard.tag.as_str(), read)
            .await?;
        let at = usize::try_from(number * ENTRY).unwrap_or(usize::MAX);
        let entry = index.get(at..at.saturating_add(16));
        let (offset, length) = entry
            .ok_or_else(|| damaged("its index is too short"))?
            .split_at(8);
        let number = |part: &[u8]| u64::from_le_bytes(part.try_into().unwrap_or_default());
        let (offset, length) = (number(offset), number(length));
        if (offset, length) == (ABSENT, ABSENT) {
            return Ok(None);
        }
        let end = offset
            .checked_add(length)
            .filter(|end| *end <= shard.length);
        Ok(Some(
            offset..end.ok_or_else(|| damaged("its index leads beyond its end"))?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v3::BYTES;

    fn shards(location: &str, sums: &str) -> Shards {
        let document = format!(
            r#"{{"chunk_grid": {{"configuration": {{"chunk_shape": [2, 4]}}}}, "codecs": [{{"name": "sharding_indexed",
            "configuration": {{"chunk_shape": [1, 2], "index_location": "{location}", "index_codecs": ["bytes"{sums}]}}}}]}}"#
        );
        Shards::of(&document).unwrap()
    }

    fn index(entries: &[(u64, u64)]) -> Vec<u8> {
        let words = entries
            .iter()
            .flat_map(|(offset, length)| [*offset, *length]);
        words.flat_map(u64::to_le_bytes).collect()
    }

    #[test]
    fn an_inner_chunk_has_a_shard_and_a_number() {
        let shards = shards("end", "");
        assert_eq!(shards.place(&[3, 6]), (vec![1, 3], 2));
        assert_eq!(shards.place(&[0, 1]), (vec![0, 0], 1));
    }

    #[tokio::test]
    async fn spans_are_read_from_the_index() {
        let entries = index(&[(0, 2), (ABSENT, ABSENT), (2, 3), (2, 999)]);
        let whole = [b"abcde".as_slice(), &entries, b"sum!"].concat();
        let object = Object::of_bytes(whole.into(), BYTES);
        let end = shards("end", ", \"crc32c\"");
        assert_eq!(end.span(&object, 0).await.unwrap(), Some(0..2));
        assert_eq!(end.span(&object, 1).await.unwrap(), None);
        assert_eq!(end.span(&object, 2).await.unwrap(), Some(2..5));
        assert!(end.span(&object, 3).await.is_err(), "beyond the end");
        let short = Object::of_bytes(vec![0; 60].into(), BYTES);
        assert!(shards("end", "").span(&short, 0).await.is_err());
    }
}
