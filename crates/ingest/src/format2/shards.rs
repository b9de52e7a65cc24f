//! Shards: chunks of format 3 that hold smaller ones and an index. Cut up, their inner chunks are chunks of format 2.

use std::ops::Range;

use bytes::Bytes;
use icefield_core::ChunkIndex;
use serde_json::{Value, json};

use super::shard_index::ShardIndex;
use super::vocabulary::{configured, name_of};

/// How the shards of an array are built.
#[derive(Debug)]
pub(super) struct Shards {
    /// The shape of an inner chunk.
    pub(super) inner: Vec<u64>,
    /// The codecs of an inner chunk.
    pub(super) codecs: Vec<Value>,
    /// Where they lie.
    pub(super) index: ShardIndex,
}

impl Shards {
    /// Reads the codecs of an array; `None` if it has no shards.
    pub(super) fn of(codecs: &[Value], chunk_shape: &[u64]) -> Result<Option<Self>, String> {
        let is_shard = |codec: &Value| name_of(codec) == "sharding_indexed";
        let codec = match codecs {
            [codec] if is_shard(codec) => codec,
            codecs if codecs.iter().any(is_shard) => {
                return Err("its shards are encoded further, which is not cut up here".to_owned());
            }
            _ => return Ok(None),
        };
        let inner = configured(codec, "chunk_shape").and_then(Value::as_array);
        let inner: Option<Vec<u64>> = inner.and_then(|it| it.iter().map(Value::as_u64).collect());
        let inner = inner.filter(|inner| inner.len() == chunk_shape.len() && !inner.contains(&0));
        let inner = inner.ok_or("its shards have no chunk_shape of their rank")?;
        let list = |field: &str| configured(codec, field).and_then(Value::as_array);
        let codecs = list("codecs").ok_or("its shards have no codecs")?.clone();
        if codecs.iter().any(is_shard) {
            return Err("its shards hold shards".to_owned());
        }
        let index = list("index_codecs").map_or(&[][..], Vec::as_slice);
        let plain = json!({ "endian": "little" });
        let has_checksum = match index {
            [bytes] | [bytes, _] if bytes.get("configuration").is_some_and(|it| *it != plain) => {
                return Err("the index of its shards is not little-endian".to_owned());
            }
            [bytes] if name_of(bytes) == "bytes" => false,
            [bytes, sum] if name_of(bytes) == "bytes" && name_of(sum) == "crc32c" => true,
            _ => {
                return Err(
                    "the index of its shards has other codecs than bytes and crc32c".to_owned(),
                );
            }
        };
        let mut pairs = chunk_shape.iter().zip(&inner);
        if pairs.any(|(all, one)| !all.is_multiple_of(*one)) {
            return Err(format!(
                "its shards of {chunk_shape:?} cannot be divided into chunks of {inner:?}"
            ));
        }
        let pairs = chunk_shape.iter().zip(&inner);
        let counts = pairs.map(|(all, one)| all.div_ceil(*one).max(1)).collect();
        let location = configured(codec, "index_location").and_then(Value::as_str);
        let is_at_start = match location {
            None | Some("end") => false,
            Some("start") => true,
            Some(other) => return Err(format!("the index of its shards is at {other:?}")),
        };
        Ok(Some(Self {
            index: ShardIndex::new(counts, is_at_start, has_checksum),
            inner,
            codecs,
        }))
    }

    /// Cuts a shard up: the inner chunks that are there, with their places in the array's grid of inner chunks, and
    /// `absent` in the places of all others.
    pub(super) fn chunks(
        &self,
        shard: &[u32],
        bytes: &Bytes,
        absent: Option<&Bytes>,
    ) -> Result<Vec<(ChunkIndex, Bytes)>, String> {
        let length = bytes.len() as u64;
        let entries = self
            .index
            .entries(&part(bytes, &self.index.range(length)?))?;
        let mut found = Vec::new();
        for number in 0..self.index.count() {
            match (ShardIndex::span(&entries, number, length)?, absent) {
                (Some(span), _) => found.push((self.place(shard, number)?, part(bytes, &span))),
                (None, Some(absent)) => found.push((self.place(shard, number)?, absent.clone())),
                (None, None) => {}
            }
        }
        Ok(found)
    }

    /// The coordinates of an inner chunk by its number in the shard.
    fn place(&self, shard: &[u32], mut number: u64) -> Result<ChunkIndex, String> {
        let counts = self.index.counts();
        let mut index = vec![0_u32; counts.len()];
        for (at, count) in counts.iter().enumerate().rev() {
            let first = shard.get(at).map_or(0, |shard| u64::from(*shard) * count);
            let place = first
                .checked_add(number % count)
                .and_then(|it| u32::try_from(it).ok());
            index[at] = place.ok_or("it has more than 4294967295 inner chunks in a dimension")?;
            number /= count;
        }
        Ok(index.into())
    }
}

/// A part of bytes that is known to lie within them.
fn part(bytes: &Bytes, span: &Range<u64>) -> Bytes {
    let at = |place: u64| usize::try_from(place).map_or(bytes.len(), |at| at.min(bytes.len()));
    bytes.slice(at(span.start)..at(span.end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both numbers of an inner chunk that is not there.
    const ABSENT: u64 = u64::MAX;

    fn shards(location: &str, index_codecs: Value) -> Result<Option<Shards>, String> {
        let codec = json!({ "name": "sharding_indexed", "configuration": {
            "chunk_shape": [1, 2],
            "codecs": [{ "name": "bytes" }],
            "index_codecs": index_codecs,
            "index_location": location,
        }});
        Shards::of(&[codec], &[2, 4])
    }

    fn index(entries: &[(u64, u64)]) -> Vec<u8> {
        let words = entries
            .iter()
            .flat_map(|(offset, length)| [*offset, *length]);
        words.flat_map(u64::to_le_bytes).collect()
    }

    #[test]
    fn inner_chunks_are_cut_out() {
        let entries = index(&[(0, 2), (ABSENT, ABSENT), (ABSENT, ABSENT), (2, 3)]);
        let sum = crc32c::crc32c(&entries).to_le_bytes();
        let whole: Bytes = [b"abcde".as_slice(), &entries, &sum].concat().into();
        let shards = shards("end", json!([{ "name": "bytes" }, { "name": "crc32c" }]));
        let shards = shards.expect("known").expect("shards");
        let found = shards.chunks(&[1, 3], &whole, None).expect("whole");
        let expected: [(ChunkIndex, Bytes); 2] = [
            (vec![2, 6].into(), "ab".into()),
            (vec![3, 7].into(), "cde".into()),
        ];
        assert_eq!(found, expected);
        let filled = shards
            .chunks(&[1, 3], &whole, Some(&"f".into()))
            .expect("whole");
        let bytes: Vec<&[u8]> = filled.iter().map(|(_, bytes)| &bytes[..]).collect();
        assert_eq!(bytes, [&b"ab"[..], b"f", b"f", b"cde"]);
        let mut torn = whole.to_vec();
        torn[6] ^= 1;
        assert!(shards.chunks(&[0, 0], &torn.into(), None).is_err());
        assert!(shards.chunks(&[0, 0], &whole.slice(..20), None).is_err());
        assert!(shards.chunks(&[u32::MAX, 0], &whole, None).is_err());
    }

    #[test]
    fn an_index_at_the_start_without_a_checksum() {
        let entries = index(&[(64, 1), (ABSENT, ABSENT), (ABSENT, ABSENT), (65, 9)]);
        let shards = shards("start", json!([{ "name": "bytes" }]));
        let shards = shards.expect("known").expect("shards");
        let whole: Bytes = [entries.as_slice(), b"x"].concat().into();
        assert!(
            shards.chunks(&[0, 0], &whole, None).is_err(),
            "beyond the end"
        );
    }

    #[test]
    fn others_are_refused() {
        let odd = json!({ "name": "sharding_indexed", "configuration": {
            "chunk_shape": [2], "codecs": ["bytes"],
        }});
        assert!(Shards::of(&[odd], &[5]).is_err(), "two do not divide five");
        assert!(shards("end", json!([{ "name": "gzip" }])).is_err());
        let big = json!([{ "name": "bytes", "configuration": { "endian": "big" } }]);
        assert!(shards("end", big).is_err());
        assert!(matches!(Shards::of(&[json!("bytes")], &[1]), Ok(None)));
        let twice = [json!({ "name": "sharding_indexed" }), json!("gzip")];
        assert!(Shards::of(&twice, &[1]).is_err());
    }
}
