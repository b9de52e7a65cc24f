//! Writing manifests, ref by ref.

use bytes::Bytes;
use flatbuffers::{FlatBufferBuilder, Vector, WIPOffset};

use super::intern::Interner;
use super::location_dictionary::{LocationDictionary, LocationWriter};
use super::{Checksum, ChunkRef};
use crate::debug::debug_struct;
use crate::envelope::{FileKind, IDENTIFIER, MAX_BODY_LEN, SpecVersion, Writer};
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

/// A manifest as a file, and the record of it that its snapshot contains.
#[derive(Debug, Clone)]
pub struct EncodedManifest {
    /// The whole file.
    pub bytes: Bytes,
    /// The id, the size and the number of refs.
    pub info: ManifestFileInfo,
}

/// Bytes of room that are made at once, at most.
const MOST_ROOM: usize = 4 << 20;

/// The array whose refs are being given.
struct Current {
    node: NodeId,
    extents: Option<Extents>,
    extra: Option<Vec<u8>>,
}

/// Writes one manifest. Arrays must come in the order of node ids, refs in the order of indices; see
/// [`Manifest`](crate::Manifest) for an example.
///
/// Apart from the flatbuffer itself it holds four bytes per ref, and five per distinct location or ETag.
pub struct ManifestEncoder {
    version: SpecVersion,
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
    /// Refs to virtual chunks, of all arrays.
    virtuals: u64,
    extra: Option<Vec<u8>>,
    compression: Option<Compression>,
    /// The body has fewer bytes.
    limit: u64,
}

/// How locations are compressed.
struct Compression {
    dictionary: LocationDictionary,
    writer: LocationWriter,
    frames: Interner,
    /// The location compressed last, and what became of it.
    last: Option<(String, Option<Vec<u8>>)>,
}

impl Compression {
    /// Returns the frame of a location, which neighbouring refs often share; none if it is written as it is.
    fn frame(
        &mut self,
        builder: &mut FlatBufferBuilder<'static>,
        location: &str,
    ) -> Option<WIPOffset<Vector<'static, u8>>> {
        let known = self.last.take().filter(|(last, _)| last == location);
        let known = known.unwrap_or_else(|| (location.to_owned(), self.writer.write(location)));
        let (_, frame) = self.last.insert(known);
        let frame = frame.as_ref()?;
        Some(self.frames.bytes(builder, frame))
    }
}

impl ManifestEncoder {
    /// Begins a manifest of spec 1.
    #[must_use]
    pub fn new(id: ManifestId) -> Self {
        Self::for_version(SpecVersion::V1, id)
    }

    /// Begins a manifest of a spec version.
    #[must_use]
    pub fn for_version(version: SpecVersion, id: ManifestId) -> Self {
        Self {
            version,
            id,
            builder: FlatBufferBuilder::with_capacity(1024),
            strings: Interner::new(),
            arrays: Vec::new(),
            current: None,
            refs: Vec::new(),
            last: Vec::new(),
            total: 0,
            virtuals: 0,
            extra: None,
            compression: None,
            limit: MAX_BODY_LEN,
        }
    }

    /// Lowers the limit of the body.
    pub(super) fn below(self, limit: u64) -> Self {
        Self { limit, ..self }
    }

    /// Compresses locations with a dictionary, in spec 2; spec 1 has none.
    ///
    /// # Errors
    /// `NotInVersion` in spec 1; `LocationDictionary` if the dictionary cannot be used.
    pub fn with_location_dictionary(
        mut self,
        dictionary: LocationDictionary,
        level: i32,
    ) -> Result<Self, FormatError> {
        let file = self.file();
        if self.version == SpecVersion::V1 {
            return Err(FormatError::NotInVersion {
                file,
                what: "a dictionary for locations",
                version: self.version,
            });
        }
        let writer = dictionary.writer(level);
        let writer = writer.map_err(|reason| FormatError::LocationDictionary { file, reason })?;
        self.compression = Some(Compression {
            dictionary,
            writer,
            frames: Interner::new(),
            last: None,
        });
        Ok(self)
    }

    /// Sets what [`Manifest::extra`](crate::Manifest::extra) returns. Spec 1 has no such field.
    pub fn extra(&mut self, extra: &[u8]) -> &mut Self {
        self.extra = Some(extra.to_vec());
        self
    }

    /// Reserves room for this many refs of this many dimensions each to native chunks, so that a large manifest is not
    /// moved while it grows.
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
        self.begin_array_with_extra(node, None)
    }

    /// Begins the refs of an array of which [`ArrayRefs::extra`](crate::ArrayRefs::extra) says this. Spec 1 has no such
    /// field, and a manifest of it is written without.
    ///
    /// # Errors
    /// As [`begin_array`](Self::begin_array).
    pub fn begin_array_with_extra(
        &mut self,
        node: NodeId,
        extra: Option<&[u8]>,
    ) -> Result<(), FormatError> {
        let (file, list, position) = (self.file(), SortedList::Arrays, self.arrays.len());
        if let Some(current) = &self.current {
            order::check(current.node.cmp(&node), file, list, position)?;
        }
        self.end_array()?;
        self.current = Some(Current {
            node,
            extents: None,
            extra: self.known(extra).map(<[u8]>::to_vec),
        });
        Ok(())
    }

    /// Returns what is written of a field `extra`.
    fn known<'b>(&self, extra: Option<&'b [u8]>) -> Option<&'b [u8]> {
        extra.filter(|_| self.version == SpecVersion::V2)
    }

    fn end_array(&mut self) -> Result<(), FormatError> {
        let Some(current) = &self.current else {
            return Ok(());
        };
        if self.refs.is_empty() {
            return Ok(());
        }
        let extra = current.extra.as_deref();
        let room = 64 + 4 * self.refs.len() + extra.map_or(0, <[u8]>::len);
        self.check_room(room)?;
        let extra = extra.map(|extra| self.builder.create_vector(extra));
        let node_id = fb::ObjectId8(*current.node.as_bytes());
        let refs = self.builder.create_vector(&self.refs);
        let args = fb::ArrayManifestArgs {
            node_id: Some(&node_id),
            refs: Some(refs),
            extra,
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
        self.push_with_extra(index, chunk, None)
    }

    /// Adds a ref of which [`RefRecord::extra`](crate::RefRecord::extra) says this. Spec 1 has no such field, and a
    /// manifest of it is written without.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_with_extra(
        &mut self,
        index: &[u32],
        chunk: ChunkRef<'_>,
        extra: Option<&[u8]>,
    ) -> Result<(), FormatError> {
        let extra = self.known(extra);
        self.check(index, &chunk, extra.map_or(0, <[u8]>::len))?;
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
            extra: extra.map(|extra| builder.create_vector(extra)),
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
                if let Some(compression) = &mut self.compression {
                    args.compressed_location = compression.frame(builder, location);
                }
                if args.compressed_location.is_none() {
                    args.location = Some(self.strings.string(builder, location));
                }
                (args.offset, args.length) = (offset, length);
                self.virtuals += 1;
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

    fn check(&self, index: &[u32], chunk: &ChunkRef<'_>, extra: usize) -> Result<(), FormatError> {
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
        let room = list + 4 * index.len() + text + extra + 128;
        self.check_room(room)
    }

    fn check_room(&self, more: usize) -> Result<(), FormatError> {
        limits::check_room_below(self.limit, &self.builder, self.file(), more)
    }

    /// Returns the number of refs so far, of all arrays.
    #[must_use]
    pub fn ref_count(&self) -> u64 {
        self.total
    }

    /// Returns the number of refs to virtual chunks so far, of all arrays.
    #[must_use]
    pub fn virtual_ref_count(&self) -> u64 {
        self.virtuals
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
    pub fn finish(self, writer: &Writer) -> Result<EncodedManifest, FormatError> {
        self.finish_measured(writer).map(|(encoded, _)| encoded)
    }

    /// As [`finish`](Self::finish); also returns the bytes of the body, which readers hold in memory.
    pub(super) fn finish_measured(
        mut self,
        writer: &Writer,
    ) -> Result<(EncodedManifest, usize), FormatError> {
        self.end_array()?;
        let file = self.file();
        let dictionary = self.compression.as_ref().map(|it| it.dictionary.as_bytes());
        let extra = self.known(self.extra.as_deref());
        let texts = [dictionary, extra].into_iter().flatten().map(<[u8]>::len);
        let room = 128 + 4 * self.arrays.len() + texts.sum::<usize>();
        self.check_room(room)?;
        let builder = &mut self.builder;
        let location_dictionary = dictionary.map(|it| builder.create_vector(it));
        let extra = self
            .extra
            .as_deref()
            .filter(|_| self.version == SpecVersion::V2);
        let extra = extra.map(|it| builder.create_vector(it));
        let id = fb::ObjectId12(*self.id.as_bytes());
        let arrays = self.builder.create_vector(&self.arrays);
        let args = fb::ManifestArgs {
            id: Some(&id),
            arrays: Some(arrays),
            location_dictionary,
            // Zstd is the default, also in spec 1, where it means nothing.
            compression_algorithm: match self.version {
                SpecVersion::V2 if location_dictionary.is_none() => 0,
                _ => 1,
            },
            extra,
        };
        let root = fb::Manifest::create(&mut self.builder, &args);
        self.builder.finish(root, Some(IDENTIFIER));
        let body = self.builder.finished_data();
        limits::check_readable::<ManifestRoot>(body, self.strings.shared, file)?;
        let bytes = writer.seal(file, self.version, FileKind::Manifest, body)?;
        let body = body.len();
        let info = ManifestFileInfo {
            id: self.id,
            size_bytes: bytes.len() as u64,
            num_chunk_refs: u32::try_from(self.total).unwrap_or(u32::MAX),
        };
        Ok((EncodedManifest { bytes, info }, body))
    }
}

debug_struct!(ManifestEncoder, it => {
    id: it.id,
    refs: it.total,
});
