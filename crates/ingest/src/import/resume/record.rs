//! Lists of stored chunks.
//!
//! ```text
//! bytes  8   ICEIMPT2
//!       16   what the chunk was made of   \
//!       12   the id of its object          | for each chunk
//!        8   its first byte in the object  |
//!        8   its bytes, little-endian     /
//! ```
//! `ICEIMPT1` is the same without first bytes, which are 0: no chunk shared its object then.
//! An object that is no such list is passed over: its chunks are imported anew.

use std::collections::HashMap;

use icefield_core::ChunkId;
use icefield_storage::{Storage, StorageExt};

use super::digest::WorkKey;
use super::folder::{begin_key, below, store};
use crate::ImportError;

const MAX_RECORDS: u64 = 1 << 30;

const MAGIC: &[u8; 8] = b"ICEIMPT2";
const RECORD: usize = 16 + 12 + 8 + 8;
const MAGIC_BEFORE: &[u8; 8] = b"ICEIMPT1";
const RECORD_BEFORE: usize = 16 + 12 + 8;

/// A chunk in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) id: ChunkId,
    pub(super) offset: u64,
    pub(super) length: u64,
}

pub(super) fn encode(records: &[(WorkKey, Stored)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + records.len() * RECORD);
    bytes.extend(MAGIC);
    for (key, stored) in records {
        bytes.extend(key);
        bytes.extend(stored.id.as_bytes());
        bytes.extend(stored.offset.to_le_bytes());
        bytes.extend(stored.length.to_le_bytes());
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Vec<(WorkKey, Stored)>> {
    let (records, size) = match bytes.strip_prefix(MAGIC) {
        Some(records) => (records, RECORD),
        None => (bytes.strip_prefix(MAGIC_BEFORE)?, RECORD_BEFORE),
    };
    if records.len() % size != 0 {
        return None;
    }
    let record = |record: &[u8]| {
        let (key, rest) = record.split_first_chunk::<16>()?;
        let (id, rest) = rest.split_first_chunk::<12>()?;
        let (rest, length) = rest.split_last_chunk::<8>()?;
        let stored = Stored {
            id: ChunkId::from_bytes(*id),
            offset: rest.first_chunk().map_or(0, |it| u64::from_le_bytes(*it)),
            length: u64::from_le_bytes(*length),
        };
        let is_range = stored.length > 0 && stored.offset.checked_add(stored.length).is_some();
        is_range.then_some((*key, stored))
    };
    records.chunks_exact(size).map(record).collect()
}

/// Reads all lists in a folder.
pub(super) async fn read_all(
    storage: &dyn Storage,
    folder: &str,
) -> Result<HashMap<WorkKey, Stored>, ImportError> {
    let begin = begin_key(folder)?;
    let mut known = HashMap::new();
    for object in below(storage, folder).await? {
        if object.key == begin {
            continue;
        }
        let read = storage.try_read_at_most(&object.key, MAX_RECORDS);
        let Some((bytes, _)) = read.await.map_err(store)? else {
            continue;
        };
        match decode(&bytes) {
            Some(records) => known.extend(records),
            None => {
                tracing::warn!(key = %object.key, "is no list of chunks: they are imported anew")
            }
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_they_were_written() {
        let stored = |byte: u8| Stored {
            id: ChunkId::from_bytes([byte; 12]),
            offset: u64::from(byte) * 10,
            length: u64::from(byte) * 1000,
        };
        let records = vec![([1; 16], stored(2)), ([3; 16], stored(4))];
        let bytes = encode(&records);
        assert_eq!(decode(&bytes), Some(records));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        for (offset, length) in [(u64::MAX, 1), (0, 0)] {
            let wrong = Stored {
                offset,
                length,
                ..stored(2)
            };
            assert_eq!(decode(&encode(&[([1; 16], wrong)])), None);
        }
        assert_eq!(decode(b"ICEIMPT3"), None);
        assert_eq!(decode(b""), None);
    }

    #[test]
    fn lists_of_before_there_were_packs_are_read() {
        let bytes = [&b"ICEIMPT1"[..], &[1; 16], &[2; 12], &7_u64.to_le_bytes()].concat();
        let stored = Stored {
            id: ChunkId::from_bytes([2; 12]),
            offset: 0,
            length: 7,
        };
        assert_eq!(decode(&bytes), Some(vec![([1; 16], stored)]));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }
}
