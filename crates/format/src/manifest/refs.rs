//! Chunk refs as they are read in place from a manifest's body, and the search among them.

use std::cmp::Ordering;

use super::raw::{self, Table};
use super::ref_box::RefBox;
use super::{Checksum, ChunkRef, Manifest, slot};
use crate::debug::debug_struct;
use crate::error::{FormatError, FormatFile, MalformedBody};
use crate::id::{ChunkId, NodeId};
use crate::index::ChunkIndex;
use crate::order;

impl Manifest {
    fn arrays_vector(&self) -> (usize, usize) {
        Table::root(&self.body)
            .vector(slot::MANIFEST_ARRAYS)
            .unwrap_or_default()
    }

    /// Returns the number of arrays.
    #[must_use]
    pub fn array_count(&self) -> usize {
        self.arrays_vector().1
    }

    fn array_at(&self, start: usize, position: usize) -> ArrayRefs<'_> {
        ArrayRefs::new(self, raw::follow(&self.body, start + 4 * position))
    }

    /// Returns the arrays, by node id.
    pub fn arrays(&self) -> impl ExactSizeIterator<Item = ArrayRefs<'_>> + DoubleEndedIterator {
        let (start, len) = self.arrays_vector();
        (0..len).map(move |position| self.array_at(start, position))
    }

    /// Finds the refs of an array, by binary search.
    #[must_use]
    pub fn array(&self, node: &NodeId) -> Option<ArrayRefs<'_>> {
        let (start, len) = self.arrays_vector();
        let compare = |at| self.array_at(start, at).node_id().cmp(node);
        let position = order::search(0..len, compare).ok()?;
        Some(self.array_at(start, position))
    }

    /// Finds the ref of one chunk.
    ///
    /// # Errors
    /// As [`RefRecord::chunk_ref`].
    pub fn get(&self, node: &NodeId, index: &[u32]) -> Result<Option<ChunkRef<'_>>, FormatError> {
        match self.array(node) {
            Some(array) => array.get(index),
            None => Ok(None),
        }
    }
}

/// The refs of one array in a manifest, by index.
#[derive(Clone, Copy)]
pub struct ArrayRefs<'a> {
    manifest: &'a Manifest,
    node: NodeId,
    /// Position of the first item of the list of refs.
    start: usize,
    len: usize,
    extra: Option<&'a [u8]>,
}

impl<'a> ArrayRefs<'a> {
    /// Returns the box that the refs span, if there are many.
    pub(super) fn corners(&self) -> Option<&'a RefBox> {
        let boxes = &self.manifest.boxes;
        let at = boxes
            .binary_search_by_key(&self.start, |corners| corners.start)
            .ok()?;
        Some(&boxes[at])
    }

    pub(super) fn new(manifest: &'a Manifest, at: usize) -> Self {
        let table = Table {
            body: &manifest.body,
            at,
        };
        let extra = table.bytes(slot::ARRAY_EXTRA);
        let node = NodeId::from_bytes(*raw::array(
            &manifest.body,
            table.required(slot::ARRAY_NODE_ID),
        ));
        let (start, len) = table.vector(slot::ARRAY_REFS).unwrap_or_default();
        Self {
            manifest,
            node,
            start,
            len,
            extra,
        }
    }

    /// Returns what a later version of the format may have put into the reserved field `extra`.
    #[must_use]
    pub fn extra(&self) -> Option<&'a [u8]> {
        self.extra
    }

    /// Returns the array's node id.
    #[must_use]
    pub fn node_id(&self) -> NodeId {
        self.node
    }

    /// Returns the number of refs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the bytes of the body that the refs are in.
    pub(super) fn body_len(&self) -> usize {
        self.manifest.body_len()
    }

    /// Tells whether there are no refs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the ref at a position in the order of indices.
    ///
    /// # Panics
    /// If the position is not below [`len`](Self::len).
    #[must_use]
    pub fn record_at(&self, position: usize) -> RefRecord<'a> {
        assert!(
            position < self.len,
            "position {position} of {} chunk refs",
            self.len
        );
        self.record(position)
    }

    #[inline]
    pub(super) fn record(&self, position: usize) -> RefRecord<'a> {
        let at = raw::follow(&self.manifest.body, self.start + 4 * position);
        RefRecord {
            manifest: self.manifest,
            at,
        }
    }

    /// Returns all refs, by index.
    pub fn refs(
        &self,
    ) -> impl ExactSizeIterator<Item = RefRecord<'a>> + DoubleEndedIterator + use<'a> {
        let array = *self;
        (0..self.len).map(move |position| array.record(position))
    }
}

debug_struct!(ArrayRefs<'_>, it => {
    node_id: it.node,
    len: it.len,
});

/// One chunk ref, borrowed from its manifest.
#[derive(Clone, Copy)]
pub struct RefRecord<'a> {
    manifest: &'a Manifest,
    /// Position of the table.
    at: usize,
}

impl<'a> RefRecord<'a> {
    #[inline]
    pub(super) fn table(&self) -> Table<'a> {
        Table {
            body: &self.manifest.body,
            at: self.at,
        }
    }

    /// Returns the bytes of the coordinates, four for each.
    #[inline]
    fn index_chunks(&self) -> &'a [[u8; 4]] {
        let (start, len) = self.table().vector(slot::REF_INDEX).unwrap_or_default();
        self.manifest.body[start..start + 4 * len].as_chunks().0
    }

    /// Returns the coordinates without allocating.
    #[inline]
    pub fn coordinates(
        &self,
    ) -> impl ExactSizeIterator<Item = u32> + DoubleEndedIterator + use<'a> {
        self.index_chunks().iter().map(|at| u32::from_le_bytes(*at))
    }

    /// Returns the number of coordinates.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.index_chunks().len()
    }

    /// Returns one coordinate.
    ///
    /// # Panics
    /// If the dimension is not below [`rank`](Self::rank).
    #[must_use]
    pub fn coordinate(&self, dimension: usize) -> u32 {
        u32::from_le_bytes(self.index_chunks()[dimension])
    }

    /// Replaces the contents of `into` by the coordinates.
    pub fn index_into(&self, into: &mut Vec<u32>) {
        into.clear();
        into.extend(self.coordinates());
    }

    /// Returns the coordinates.
    #[must_use]
    pub fn index(&self) -> ChunkIndex {
        self.coordinates().collect()
    }

    /// Tells how this ref's index compares with another, in the order of manifests.
    #[inline]
    #[must_use]
    pub fn cmp_index(&self, index: &[u32]) -> Ordering {
        self.coordinates().cmp(index.iter().copied())
    }

    /// Returns where the chunk is.
    ///
    /// # Errors
    /// None for the files that can be decoded today: their text has been checked, and locations that are compressed
    /// have been read.
    pub fn chunk_ref(&self) -> Result<ChunkRef<'a>, FormatError> {
        let (table, body) = (self.table(), &self.manifest.body);
        let number = |slot| table.field(slot).map_or(0, |at| raw::u64_at(body, at));
        if let Some(at) = table.field(slot::REF_CHUNK_ID) {
            return Ok(ChunkRef::Native {
                id: ChunkId::from_bytes(*raw::array(body, at)),
                offset: number(slot::REF_OFFSET),
                length: number(slot::REF_LENGTH),
            });
        }
        let location = match table.bytes(slot::REF_LOCATION) {
            Some(location) => Some(self.text(location)?),
            None => self.manifest.locations.get(self.at),
        };
        if let Some(location) = location {
            let etag = table
                .bytes(slot::REF_ETAG)
                .map(|etag| self.text(etag))
                .transpose()?;
            let seconds = table
                .field(slot::REF_LAST_MODIFIED)
                .map_or(0, |at| raw::u32_at(body, at));
            let checksum = match (etag, seconds) {
                (Some(etag), _) => Some(Checksum::ETag(etag)),
                (None, 0) => None,
                (None, seconds) => Some(Checksum::LastModified(seconds)),
            };
            return Ok(ChunkRef::Virtual {
                location,
                offset: number(slot::REF_OFFSET),
                length: number(slot::REF_LENGTH),
                checksum,
            });
        }
        Ok(ChunkRef::Inline(
            table.bytes(slot::REF_INLINE).unwrap_or_default(),
        ))
    }

    /// Returns what a later version of the format may have put into the reserved field `extra`.
    #[must_use]
    pub fn extra(&self) -> Option<&'a [u8]> {
        self.table().bytes(slot::REF_EXTRA)
    }

    /// Tells whether the location of a virtual chunk is compressed in the file.
    #[must_use]
    pub fn is_location_compressed(&self) -> bool {
        self.manifest.locations.get(self.at).is_some()
    }

    fn text(&self, bytes: &'a [u8]) -> Result<&'a str, FormatError> {
        std::str::from_utf8(bytes).map_err(|_| {
            let rule = "a string is not UTF-8";
            let file = FormatFile::Manifest(self.manifest.id);
            FormatError::malformed(file, MalformedBody::Structure { at: self.at, rule })
        })
    }
}

debug_struct!(RefRecord<'_>, it => {
    index: it.index(),
    chunk_ref: it.chunk_ref(),
});
