//! Lists of stored chunks.
//!
//! ```text
//! bytes  8   ICEIMPT1
//!       16   what the chunk was made of  \
//!       12   the id of its object         | for each chunk
//!        8   its bytes, little-endian    /
//! ```
//! An object that is no such list is passed over: its chunks are imported anew.

use std::collections::HashMap;

use icefield_core::ChunkId;
use icefield_storage::{Storage, StorageExt};

use super::digest::WorkKey;
use super::folder::{begin_key, below, store};
use crate::ImportError;

const MAX_RECORDS: u64 = 1 << 30;

const MAGIC: &[u8; 8] = b"ICEIMPT1";
const RECORD: usize = 16 + 12 + 8;

/// A chunk in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) id: ChunkId,
    pub(super) length: u64,
}

pub(super) fn encode(records: &[(WorkKey, Stored)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + records.len() * RECORD);
    bytes.extend(MAGIC);
    for (key, stored) in records {
        bytes.extend(key);
        bytes.extend(stored.id.as_bytes());
        bytes.extend(stored.length.to_le_bytes());
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Vec<(WorkKey, Stored)>> {
    let records = bytes.strip_prefix(MAGIC)?;
    if records.len() % RECORD != 0 {
        return None;
    }
    let record = |record: &[u8]| {
        let (key, rest) = record.split_first_chunk::<16>()?;
        let (id, rest) = rest.split_first_chunk::<12>()?;
        let (length, _) = rest.split_first_chunk::<8>()?;
        let stored = Stored {
            id: ChunkId::from_bytes(*id),
            length: u64::from_le_bytes(*length),
        };
        Some((*key, stored))
    };
    records.chunks_exact(RECORD).map(record).collect()
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
            length: u64::from(byte) * 1000,
        };
        let records = vec![([1; 16], stored(2)), ([3; 16], stored(4))];
        let bytes = encode(&records);
        assert_eq!(decode(&bytes), Some(records));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        assert_eq!(decode(b"ICEIMPT2"), None);
        assert_eq!(decode(b""), None);
    }
}
