//! `manifests/ID`: where the bytes of chunks are.
//!
//! Rules checked when a file is decoded: the id is the one asked for; arrays strictly ascend by
//! node id, refs by index; each ref is inline, native or virtual; offset plus length stays within
//! 64 bits. Indices of an array should have one rank, but files exist in which they do not.
//!
//! A manifest of spec 2 may have locations that are compressed (spec 2, §6). Each of them can be read then, too.

mod compress;
pub(crate) mod encode;
mod intern;
mod location_dictionary;
mod locations;
mod raw;
mod ref_box;
pub(crate) mod refs;
mod search;
mod slot;
pub(crate) mod translate;
mod verify;

use std::sync::Arc;

use bytes::Bytes;

use crate::debug::debug_struct;
use crate::envelope::{self, DecodeLimits, FileKind, SpecVersion};
use crate::error::{FormatError, FormatFile};
use crate::id::{ChunkId, ManifestId};
use locations::Locations;
use raw::Table;
use ref_box::RefBox;

pub use location_dictionary::{
    LocationCompression, LocationDictionary, LocationReader, LocationWriter,
};

/// The location of the bytes of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChunkRef<'a> {
    /// In the manifest.
    Inline(&'a [u8]),
    /// In a chunk object of the repository.
    Native {
        /// The object.
        id: ChunkId,
        /// First byte in it.
        offset: u64,
        /// Number of bytes.
        length: u64,
    },
    /// In a foreign object.
    Virtual {
        /// Its absolute URL.
        location: &'a str,
        /// First byte in it.
        offset: u64,
        /// Number of bytes.
        length: u64,
        /// The checksum that shows that the object is still the same.
        checksum: Option<Checksum<'a>>,
    },
}

/// The evidence that the object of a virtual chunk has not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Checksum<'a> {
    /// Its ETag, verbatim.
    ETag(&'a str),
    /// The time in Unix seconds after which it must not have changed. 0 is the same as no checksum.
    LastModified(u32),
}

impl ChunkRef<'_> {
    /// Returns the number of bytes of the chunk.
    #[must_use]
    pub fn length(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            Self::Native { length, .. } | Self::Virtual { length, .. } => *length,
        }
    }
}

/// A decoded manifest. It holds the decompressed body and reads it in place; cheap to clone.
///
/// ```
/// use icefield_format::{ChunkId, ChunkRef, DecodeLimits, Manifest, ManifestEncoder, ManifestId, NodeId, Writer};
///
/// # fn main() -> Result<(), icefield_format::FormatError> {
/// let (id, node) = (ManifestId::from_bytes([1; 12]), NodeId::from_bytes([2; 8]));
/// let chunk = ChunkRef::Native { id: ChunkId::from_bytes([3; 12]), offset: 0, length: 100 };
///
/// let mut encoder = ManifestEncoder::new(id);
/// encoder.begin_array(node)?;
/// encoder.push(&[0, 4], chunk)?;
/// let file = encoder.finish(&Writer::default())?;
///
/// let manifest = Manifest::decode(&file.bytes, id, &DecodeLimits::default())?;
/// assert_eq!(manifest.get(&node, &[0, 4])?, Some(chunk));
/// assert_eq!(manifest.get(&node, &[0, 5])?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Manifest {
    version: SpecVersion,
    body: Bytes,
    id: ManifestId,
    total_refs: u64,
    /// Of the larger arrays, by position of their refs.
    boxes: Arc<[RefBox]>,
    /// Those that are compressed in the body.
    locations: Arc<Locations>,
}

impl Manifest {
    /// Decodes and verifies a file that was stored under `id`.
    ///
    /// # Errors
    /// The first rule that the file breaks; [`FormatError::WrongObject`] if it states another id;
    /// [`FormatError::TooLarge`] beyond `limits`.
    pub fn decode(file: &[u8], id: ManifestId, limits: &DecodeLimits) -> Result<Self, FormatError> {
        let name = FormatFile::Manifest(id);
        let (version, body) = envelope::open(file, name, FileKind::Manifest, limits)?;
        // Locations are decompressed twice over, and count as the body does.
        let limit = limits
            .for_compressed(file.len())
            .saturating_sub(body.len() as u64);
        let summary = verify::verify(&body, name, version, limit)?;
        if summary.id != id {
            let found = FormatFile::Manifest(summary.id);
            return Err(FormatError::WrongObject {
                expected: name,
                found,
            });
        }
        Ok(Self::from_verified(version, body, summary))
    }

    fn from_verified(version: SpecVersion, body: Bytes, summary: verify::ManifestSummary) -> Self {
        Self {
            version,
            body,
            id: summary.id,
            total_refs: summary.total_refs,
            boxes: summary.boxes.into(),
            locations: Arc::new(summary.locations),
        }
    }

    /// Returns the version of the format that the file is written in.
    #[must_use]
    pub fn spec_version(&self) -> SpecVersion {
        self.version
    }

    /// Returns the dictionary with which locations are compressed, if there is one.
    #[must_use]
    pub fn location_dictionary(&self) -> Option<&[u8]> {
        let table = Table::root(&self.body);
        let dictionary = table.bytes(slot::MANIFEST_DICTIONARY);
        dictionary.filter(|_| self.version == SpecVersion::V2)
    }

    /// Returns the reserved field `extra`, in which a later version of the format may have put something.
    #[must_use]
    pub fn extra(&self) -> Option<&[u8]> {
        Table::root(&self.body).bytes(slot::MANIFEST_EXTRA)
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> ManifestId {
        self.id
    }

    /// Returns the number of bytes that the manifest holds, for the weight in a cache.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.body.len() + self.locations.bytes()
    }

    /// Returns the number of refs of all arrays.
    #[must_use]
    pub fn total_refs(&self) -> u64 {
        self.total_refs
    }
}

debug_struct!(Manifest, it => {
    id: it.id,
    arrays: it.array_count(),
    total_refs: it.total_refs,
    body_len: it.body_len(),
});

#[cfg(test)]
mod tests;
