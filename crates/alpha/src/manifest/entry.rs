//! A chunk of a manifest, and where its bytes are.

use std::sync::Arc;

use bytes::Bytes;
use icefield_core::ChunkIndex;

use crate::AlphaId;

/// The place of the bytes of one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Here.
    Inline(Bytes),
    /// In a chunk object.
    Native {
        /// The object.
        id: AlphaId,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// In a file outside the repository.
    Virtual {
        /// Its URL, as it is stored.
        location: Arc<str>,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
}

/// One chunk and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkEntry {
    /// The number of the array's node.
    pub node: u32,
    /// The coordinates.
    pub index: ChunkIndex,
    /// The place of the bytes.
    pub payload: Payload,
}
