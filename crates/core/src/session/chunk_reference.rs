//! References to chunks that own what they say, and where the bytes of chunks live.

use std::fmt;

use bytes::Bytes;
use icefield_format::{Checksum, ChunkId, ChunkRef};

/// A chunk reference that owns what it says.
#[derive(Debug)]
pub(crate) enum ChunkReference {
    Inline(Bytes),
    Native {
        id: ChunkId,
        offset: u64,
        length: u64,
    },
    /// Of a pack that is not stored yet.
    Unwritten {
        id: ChunkId,
        offset: u64,
        bytes: Bytes,
    },
    Virtual {
        object: ForeignObject,
        offset: u64,
        length: u64,
    },
}

/// A foreign object as a reference names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ForeignObject {
    pub(super) location: String,
    pub(super) etag: Option<String>,
    pub(super) last_modified: Option<u32>,
}

impl ForeignObject {
    fn of(location: &str, checksum: Option<Checksum<'_>>) -> Self {
        let (etag, last_modified) = match checksum {
            None => (None, None),
            Some(Checksum::ETag(tag)) => (Some(tag.to_owned()), None),
            Some(Checksum::LastModified(seconds)) => (None, Some(seconds)),
        };
        Self {
            location: location.to_owned(),
            etag,
            last_modified,
        }
    }

    fn checksum(&self) -> Option<Checksum<'_>> {
        let etag = self.etag.as_deref().map(Checksum::ETag);
        etag.or(self.last_modified.map(Checksum::LastModified))
    }
}

impl ChunkReference {
    /// Copies out of the buffer that holds the reference: an inline chunk that kept a whole manifest alive
    /// would defeat the bound of the cache.
    pub(crate) fn of(chunk: ChunkRef<'_>) -> Self {
        match chunk {
            ChunkRef::Inline(bytes) => Self::Inline(Bytes::copy_from_slice(bytes)),
            ChunkRef::Native { id, offset, length } => Self::Native { id, offset, length },
            ChunkRef::Virtual {
                location,
                offset,
                length,
                checksum,
            } => Self::Virtual {
                object: ForeignObject::of(location, checksum),
                offset,
                length,
            },
        }
    }

    /// Returns the reference as manifests and change sets take it.
    pub(crate) fn as_ref(&self) -> ChunkRef<'_> {
        match self {
            Self::Inline(bytes) => ChunkRef::Inline(bytes),
            Self::Native { id, offset, length } => ChunkRef::Native {
                id: *id,
                offset: *offset,
                length: *length,
            },
            Self::Unwritten { id, offset, bytes } => ChunkRef::Native {
                id: *id,
                offset: *offset,
                length: bytes.len() as u64,
            },
            Self::Virtual {
                object,
                offset,
                length,
            } => ChunkRef::Virtual {
                location: &object.location,
                offset: *offset,
                length: *length,
                checksum: object.checksum(),
            },
        }
    }

    /// Returns the number of bytes of the chunk.
    pub(super) fn length(&self) -> u64 {
        match self {
            Self::Inline(bytes) | Self::Unwritten { bytes, .. } => bytes.len() as u64,
            Self::Native { length, .. } | Self::Virtual { length, .. } => *length,
        }
    }
}

/// The place where the bytes of a chunk are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkLocation {
    /// In the manifest, with the reference.
    Inline {
        /// Bytes.
        length: u64,
    },
    /// In a chunk object of the repository, which a chunk may share with others.
    Native {
        /// The object.
        id: ChunkId,
        /// First byte of the chunk in the object.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// In a file outside the repository.
    Virtual {
        /// The file's URL.
        location: String,
        /// First byte of the chunk in the file.
        offset: u64,
        /// Bytes.
        length: u64,
        /// The ETag that the file had, if recorded.
        etag: Option<String>,
        /// The time when the file was last written, seconds since 1970, if recorded.
        last_modified: Option<u32>,
    },
}

impl ChunkLocation {
    pub(crate) fn of(chunk: ChunkRef<'_>) -> Self {
        match chunk {
            // Only their number counts.
            ChunkRef::Inline(bytes) => Self::Inline {
                length: bytes.len() as u64,
            },
            chunk => Self::of_owned(ChunkReference::of(chunk)),
        }
    }

    /// As [`ChunkLocation::of`], and copies nothing.
    pub(super) fn of_owned(chunk: ChunkReference) -> Self {
        match chunk {
            ChunkReference::Inline(bytes) => Self::Inline {
                length: bytes.len() as u64,
            },
            ChunkReference::Native { id, offset, length } => Self::Native { id, offset, length },
            ChunkReference::Unwritten { id, offset, bytes } => Self::Native {
                id,
                offset,
                length: bytes.len() as u64,
            },
            ChunkReference::Virtual {
                object,
                offset,
                length,
            } => Self::Virtual {
                location: object.location,
                offset,
                length,
                etag: object.etag,
                last_modified: object.last_modified,
            },
        }
    }

    /// Returns the number of bytes of the chunk.
    pub fn length(&self) -> u64 {
        match self {
            Self::Inline { length }
            | Self::Native { length, .. }
            | Self::Virtual { length, .. } => *length,
        }
    }
}

impl fmt::Display for ChunkLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline { .. } => f.write_str("the manifest"),
            Self::Native { id, .. } => write!(f, "chunk object {id}"),
            // Locations are written by others; escaping keeps them from writing to a terminal.
            Self::Virtual { location, .. } => write!(f, "{}", location.escape_debug()),
        }
    }
}
