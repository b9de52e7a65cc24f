//! A value that can be sent: its tag and its length are known before a byte of it is read.

use std::ops::Range;

use bytes::Bytes;
use icefield::{ByteRange, ChunkIndex, ChunkLocation, NodePath, Session};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use crate::failure::Failure;

/// A value that can be sent.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// The strong entity tag, quotes included; `None` where the bytes may change in their place.
    pub(crate) tag: Option<String>,
    pub(crate) length: u64,
    pub(crate) content_type: &'static str,
    pub(crate) source: Source,
    /// The value compressed with gzip, if it can be sent so.
    pub(crate) packed: Option<Packed>,
}

/// A value compressed with gzip.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    pub(crate) tag: String,
    pub(crate) bytes: Bytes,
}

/// The place that the bytes of a value come from.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Memory.
    Bytes(Bytes),
    /// A chunk of a session.
    Chunk {
        session: Session,
        path: NodePath,
        index: ChunkIndex,
        /// Whether the bytes are outside the repository.
        is_virtual: bool,
        /// Where the value begins in the chunk.
        offset: u64,
    },
}

impl Object {
    /// A value in memory, with the hash of its bytes as its tag.
    pub(crate) fn of_bytes(bytes: Bytes, content_type: &'static str) -> Self {
        Self {
            tag: Some(tag_of_bytes(&bytes)),
            length: bytes.len() as u64,
            content_type,
            source: Source::Bytes(bytes),
            packed: None,
        }
    }

    /// Returns a part of it as a value of its own.
    pub(crate) fn part(self, span: Range<u64>) -> Self {
        let tag = self.tag.map(|tag| {
            let (start, end) = (span.start, span.end);
            format!("{}-{start:x}-{end:x}\"", tag.trim_end_matches('"'))
        });
        let length = span.end - span.start;
        let source = match self.source {
            Source::Bytes(bytes) => {
                let at = |offset: u64| {
                    usize::try_from(offset).map_or(bytes.len(), |it| it.min(bytes.len()))
                };
                Source::Bytes(bytes.slice(at(span.start)..at(span.end)))
            }
            Source::Chunk {
                session,
                path,
                index,
                is_virtual,
                offset,
            } => {
                let offset = offset + span.start;
                Source::Chunk {
                    session,
                    path,
                    index,
                    is_virtual,
                    offset,
                }
            }
        };
        Self {
            tag,
            length,
            content_type: self.content_type,
            source,
            packed: None,
        }
    }
}

impl Source {
    /// Reads a part of the value.
    pub(crate) async fn read(&self, range: Range<u64>) -> Result<Bytes, Failure> {
        match self {
            Self::Bytes(bytes) => {
                let at = |offset: u64| {
                    usize::try_from(offset).map_or(bytes.len(), |it| it.min(bytes.len()))
                };
                Ok(bytes.slice(at(range.start)..at(range.end)))
            }
            Self::Chunk {
                session,
                path,
                index,
                is_virtual: _,
                offset,
            } => {
                let range = ByteRange::Range {
                    start: offset + range.start,
                    end: offset + range.end,
                };
                let bytes = session.chunk(path, index, range).await;
                let bytes = bytes.map_err(Failure::of_read)?;
                bytes.ok_or_else(|| {
                    Failure::damage(format!("chunk {index} of {path} is not there any more"))
                })
            }
        }
    }
}

/// Returns the tag of bytes: their hash.
pub(crate) fn tag_of_bytes(bytes: &[u8]) -> String {
    format!("\"{:032x}\"", xxh3_128(bytes))
}

/// Returns the tag of a chunk by the place of its bytes; `None` where they may change there: in an object outside the
/// repository of which neither a tag nor a time was recorded, with which each read would be compared.
pub(crate) fn tag_of_location(location: &ChunkLocation) -> Option<String> {
    match location {
        ChunkLocation::Inline { .. } => None,
        ChunkLocation::Native { id, offset, length } => {
            Some(format!("\"{id}-{offset:x}-{length:x}\""))
        }
        ChunkLocation::Virtual {
            location,
            offset,
            length,
            etag,
            last_modified,
        } => {
            if etag.is_none() && last_modified.is_none() {
                return None;
            }
            let mut hash = Xxh3::new();
            // Each part with its length, so that no two lists of parts are one text.
            for part in [location.as_str(), etag.as_deref().unwrap_or_default()] {
                hash.update(&(part.len() as u64).to_le_bytes());
                hash.update(part.as_bytes());
            }
            let numbers = format!("{offset} {length} {last_modified:?} {}", etag.is_some());
            hash.update(numbers.as_bytes());
            Some(format!("\"v{:032x}\"", hash.digest128()))
        }
    }
}
