//! Writing manifests, ref by ref.

use std::fmt;

use bytes::Bytes;
use flatbuffers::{FlatBufferBuilder, WIPOffset};

use super::intern::Interner;
use super::{Checksum, ChunkRef};
use crate::envelope::{FileKind, IDENTIFIER, Writer};
use crate::error::{FormatError, FormatFile, SortedList};
use crate::generated as fb;
use crate::id::{ManifestId, NodeId};
use crate::index::{Extents, MAX_RANK};
use crate::limits;
use crate::order;
use crate::snapshot::ManifestFileInfo;
use crate::verified::Root;

/// Marks the root table of a manifest's body.
pub(crate) enum ManifestRoot {}

impl Root for ManifestRoot {
    type Table<'a> = fb::Manifest<'a>;
}

/// A manifest as a file, with what its snapshot says about it.
#[derive(Debug, Clone)]
pub struct EncodedManifest {
    /// The whole file.
    pub bytes: Bytes,
    /// Id, size and number of refs.
    pub info: ManifestFileInfo,
}

/// Bytes of room that are made at once, at most.
const MOST_ROOM: usize = 4 << 20;

/// The array whose refs are being given.
struct Current {
    node: NodeId,
    extents: Option<Extents>,
}

/// Writes one manifest. Arrays come in the order of node ids, refs in the order of indices.
///
/// Apart from the flatbuffer itself it holds four bytes per ref, and five per distinct location or
/// ETag.
pub struct ManifestEncoder {
    id: ManifestId,
    builder: FlatBufferBuilder<'static>,
    strings: Interner,
    arrays: Vec<WIPOffset<fb::ArrayManifest<'static>>>,
    current: Option<Current>,
    /// Refs of the current array.
    refs: Vec<WIPOffset<fb::ChunkRef<'static>>>,
    /// Index of the last of them.
    last: Vec<u32>,
    total: u64,
}

impl ManifestEncoder {
    /// Begins a manifest.
    #[must_use]
    pub fn new(id: ManifestId) -> Self {
        Self {
            id,
            builder: FlatBufferBuilder::with_capacity(1024),
            strings: Interner::new(),
            arrays: Vec::new(),
            current: None,
            refs: Vec::new(),
            last: Vec::new(),
            total: 0,
        }
    }

    /// Makes room for so many refs of so many dimensions each to native chunks, so that a large manifest is not moved about
    /// while it grows.
    #[must_use]
    pub fn with_room_for(mut self, refs: usize, rank: usize) -> Self {
        // A table with an id and a length, the list of coordinates, and the offset of the table in the list of all.
        let bytes = refs.saturating_mul(40 + 4 * rank);
        if self.total == 0 && self.current.is_none() && bytes > 1024 {
            self.builder = FlatBufferBuilder::with_capacity(bytes.min(MOST_ROOM));
        }
        self
    }

    fn file(&self) -> FormatFile {
        FormatFile::Manifest(self.id)
    }

    /// Begins the refs of an array. An array that gets none is left out of the file.
    ///
    /// # Errors
    /// `Unsorted` or `Duplicate` if its id does not come after the one before; `TooLarge`.
    pub fn begin_array(&mut self, node: NodeId) -> Result<(), FormatError> {
        let (file, list, position) = (self.file(), SortedList::Arrays, self.arrays.len());
        if let Some(current) = &self.current {
            order::check(current.node.cmp(&node), file, list, position)?;
        }
        self.end_array()?;
        self.current = Some(Current {
            node,
            extents: None,
        });
        Ok(())
    }

    fn end_array(&mut self) -> Result<(), FormatError> {
        let Some(current) = &self.current else {
            return Ok(());
        };
        if self.refs.is_empty() {
            return Ok(());
        }
        limits::check_room(&self.builder, self.file(), 64 + 4 * self.refs.len())?;
        let node_id = fb::ObjectId8(*current.node.as_bytes());
        let refs = self.builder.create_vector(&self.refs);
        let args = fb::ArrayManifestArgs {
            node_id: Some(&node_id),
            refs: Some(refs),
            extra: None,
        };
        self.arrays
            .push(fb::ArrayManifest::create(&mut self.builder, &args));
        self.refs.clear();
        Ok(())
    }

    /// Adds a ref to the array begun last.
    ///
    /// # Errors
    /// `NoArrayBegun`; `Unsorted` or `Duplicate` if the index does not come after the one before;
    /// `RankMismatch`, `RankTooLarge`, `CoordinateTooLarge`, `ChunkRangeOverflow`; `TooLarge` if
    /// the body would exceed the format's 2 GiB. The encoder is unchanged then.
    pub fn push(&mut self, index: &[u32], chunk: ChunkRef<'_>) -> Result<(), FormatError> {
        self.check(index, &chunk)?;
        let Some(current) = &mut self.current else {
            return Err(FormatError::NoArrayBegun {
                file: FormatFile::Manifest(self.id),
            });
        };
        match &mut current.extents {
            // Cannot fail: the rank is the same, and no coordinate is the largest number.
            Some(extents) => drop(extents.include(index)),
            none => *none = Extents::bounding([index]),
        }
        self.last.clear();
        self.last.extend_from_slice(index);
        let builder = &mut self.builder;
        let mut args = fb::ChunkRefArgs {
            index: Some(builder.create_vector(index)),
            ..Default::default()
        };
        let chunk_id;
        match chunk {
            ChunkRef::Inline(bytes) => args.inline = Some(builder.create_vector(bytes)),
            ChunkRef::Native { id, offset, length } => {
                chunk_id = fb::ObjectId12(*id.as_bytes());
                (args.chunk_id, args.offset, args.length) = (Some(&chunk_id), offset, length);
            }
            ChunkRef::Virtual {
                location,
                offset,
                length,
                checksum,
            } => {
                args.location = Some(self.strings.string(builder, location));
                (args.offset, args.length) = (offset, length);
                match checksum {
                    Some(Checksum::ETag(etag)) => {
                        args.checksum_etag = Some(self.strings.string(builder, etag));
                    }
                    Some(Checksum::LastModified(seconds)) => args.checksum_last_modified = seconds,
                    None => {}
                }
            }
        }
        self.refs.push(fb::ChunkRef::create(builder, &args));
        self.total += 1;
        Ok(())
    }

    fn check(&self, index: &[u32], chunk: &ChunkRef<'_>) -> Result<(), FormatError> {
        let (file, position) = (self.file(), self.refs.len());
        let Some(Current { node, .. }) = self.current else {
            return Err(FormatError::NoArrayBegun { file });
        };
        if position == 0 {
            if index.len() > MAX_RANK {
                return Err(FormatError::RankTooLarge {
                    file,
                    node,
                    found: index.len(),
                });
            }
        } else if index.len() != self.last.len() {
            let (expected, found) = (self.last.len(), index.len());
            return Err(FormatError::RankMismatch {
                file,
                node,
                expected,
                found,
            });
        } else {
            let list = SortedList::ChunkRefs;
            order::check(self.last.as_slice().cmp(index), file, list, position)?;
        }
        if index.contains(&u32::MAX) {
            return Err(FormatError::CoordinateTooLarge { file, node });
        }
        let text = match *chunk {
            ChunkRef::Inline(bytes) => bytes.len(),
            ChunkRef::Native { offset, length, .. } | ChunkRef::Virtual { offset, length, .. }
                if offset.checked_add(length).is_none() =>
            {
                return Err(FormatError::ChunkRangeOverflow {
                    file,
                    node,
                    position,
                });
            }
            ChunkRef::Native { .. } => 0,
            ChunkRef::Virtual {
                location,
                checksum: Some(Checksum::ETag(etag)),
                ..
            } => location.len() + etag.len(),
            ChunkRef::Virtual { location, .. } => location.len(),
        };
        if self.total >= u64::from(u32::MAX) {
            return Err(FormatError::TooLarge {
                file,
                limit: u64::from(u32::MAX),
            });
        }
        let list = 4 * self.refs.len();
        limits::check_room(&self.builder, file, list + 4 * index.len() + text + 128)
    }

    /// Returns the number of refs so far, of all arrays.
    #[must_use]
    pub fn ref_count(&self) -> u64 {
        self.total
    }

    /// Returns the box around the refs pushed since the array was begun; none without any.
    #[must_use]
    pub fn extents_of_current(&self) -> Option<Extents> {
        self.current.as_ref()?.extents.clone()
    }

    /// Ends the manifest and returns it as a file. The format has no manifests without refs, so
    /// callers write none.
    ///
    /// # Errors
    /// `TooLarge`, also if the body would be more than a reader with the reference's limits takes.
    pub fn finish(mut self, writer: &Writer) -> Result<EncodedManifest, FormatError> {
        self.end_array()?;
        let file = self.file();
        limits::check_room(&self.builder, file, 64 + 4 * self.arrays.len())?;
        let id = fb::ObjectId12(*self.id.as_bytes());
        let arrays = self.builder.create_vector(&self.arrays);
        let args = fb::ManifestArgs {
            id: Some(&id),
            arrays: Some(arrays),
            ..Default::default()
        };
        let root = fb::Manifest::create(&mut self.builder, &args);
        self.builder.finish(root, Some(IDENTIFIER));
        let body = self.builder.finished_data();
        limits::check_readable::<ManifestRoot>(body, self.strings.shared, file)?;
        let bytes = writer.seal(file, FileKind::Manifest, body)?;
        let info = ManifestFileInfo {
            id: self.id,
            size_bytes: bytes.len() as u64,
            num_chunk_refs: u32::try_from(self.total).unwrap_or(u32::MAX),
        };
        Ok(EncodedManifest { bytes, info })
    }
}

impl fmt::Debug for ManifestEncoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManifestEncoder")
            .field("id", &self.id)
            .field("refs", &self.total)
            .finish_non_exhaustive()
    }
}
