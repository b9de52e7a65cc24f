//! Copies of manifests whose refs lie elsewhere.
//!
//! A shift of an array changes no ref but its coordinates. The copy is made of the decompressed body: coordinates are
//! changed where they are, everything else stays byte for byte, and no ref is decoded or encoded.
//!
//! Flatbuffers may share what is equal, and hostile ones may have anything overlap anything. So the lists of coordinates must
//! lie apart, as writers lay them out, and the copy is verified and compared with the original before it is sealed. What
//! does not pass is not wrong, only to be written ref by ref.

use std::ops::Range;

use bytes::Bytes;

use super::encode::EncodedManifest;
use super::raw::Table;
use super::refs::{ArrayRefs, RefRecord};
use super::{ChunkRef, Manifest, slot, verify};
use crate::envelope::{FileKind, Writer};
use crate::error::{FormatError, FormatFile};
use crate::id::{ManifestId, NodeId};
use crate::index::Extents;

/// Bytes of text and inline chunks that are compared, as a multiple of the body. Refs of real files share little more than
/// their location, which is compared once as long as it stays the same.
const COMPARED: u64 = 8;

/// A copy of a manifest, with its refs elsewhere.
#[derive(Debug, Clone)]
pub struct TranslatedManifest {
    /// The copy as a file.
    pub encoded: EncodedManifest,
    /// The box around its refs.
    pub extents: Extents,
    /// The same, decoded.
    pub manifest: Manifest,
}

impl Manifest {
    /// Makes a copy under another id in which every index has `by` added to it, one number per dimension.
    ///
    /// Returns none where that cannot be done by changing nothing but coordinates: the manifest has refs of other arrays than
    /// `node`, or none at all; a ref has another rank than `by`; an index lies outside of `within`, or would leave the
    /// coordinates that a manifest can have; or the body is laid out in an unusual way. Takes time and memory in
    /// proportion to the body.
    ///
    /// # Errors
    /// `TooLarge` and `OutOfMemory`, as when any manifest is written.
    pub fn translated(
        &self,
        node: &NodeId,
        within: &[Range<u32>],
        by: &[i64],
        id: ManifestId,
        writer: &Writer,
    ) -> Result<Option<TranslatedManifest>, FormatError> {
        let Some(refs) = self.array(node).filter(|_| self.array_count() == 1) else {
            return Ok(None);
        };
        let Some(places) = places(&refs, within, by) else {
            return Ok(None);
        };
        let mut body = Vec::new();
        let file = FormatFile::Manifest(id);
        if body.try_reserve_exact(self.body.len()).is_err() {
            let bytes = self.body.len();
            return Err(FormatError::OutOfMemory { file, bytes });
        }
        body.extend_from_slice(&self.body);
        let Some(extents) = translate(&mut body, &places, by) else {
            return Ok(None);
        };
        let id_at = Table::root(&self.body).required(slot::MANIFEST_ID);
        body[id_at..id_at + ManifestId::ID_LEN].copy_from_slice(id.as_bytes());
        let Some(manifest) = self.verified_copy(body.into(), node, by, id) else {
            return Ok(None);
        };
        let bytes = writer.seal(file, self.version, FileKind::Manifest, &manifest.body)?;
        let info = crate::ManifestFileInfo {
            id,
            size_bytes: bytes.len() as u64,
            num_chunk_refs: u32::try_from(self.total_refs).unwrap_or(u32::MAX),
        };
        Ok(Some(TranslatedManifest {
            encoded: EncodedManifest { bytes, info },
            extents,
            manifest,
        }))
    }

    /// Decodes the body of a copy; none if it is not the original but for id and coordinates.
    fn verified_copy(
        &self,
        body: Bytes,
        node: &NodeId,
        by: &[i64],
        id: ManifestId,
    ) -> Option<Self> {
        // The locations are those of the original, which were within its limit.
        let (file, limit) = (FormatFile::Manifest(id), u64::from(u32::MAX));
        let summary = verify::verify(&body, file, self.version, limit).ok()?;
        let copy = Self::from_verified(self.version, body, summary);
        let same = copy.id == id
            && copy.total_refs == self.total_refs
            && copy.array_count() == 1
            && same_refs(&self.array(node)?, &copy.array(node)?, by)?;
        same.then_some(copy)
    }
}

/// Returns where the coordinates of each ref begin in the body; none unless the lists lie apart, in either order, and name
/// chunks of the box.
fn places(refs: &ArrayRefs<'_>, within: &[Range<u32>], by: &[i64]) -> Option<Vec<u32>> {
    if refs.is_empty() || within.len() != by.len() {
        return None;
    }
    // Each list has its length before it.
    let apart = 4 * by.len() + 4;
    let mut places = Vec::with_capacity(refs.len());
    let (mut ascend, mut descend) = (true, true);
    let mut last: Option<usize> = None;
    for record in refs.refs() {
        let (at, rank) = record.index_place();
        let inside = |(at, range): (u32, &Range<u32>)| range.contains(&at);
        if rank != by.len() || !record.coordinates().zip(within).all(inside) {
            return None;
        }
        if let Some(last) = last {
            ascend &= last + apart <= at;
            descend &= at + apart <= last;
        }
        if !ascend && !descend {
            return None;
        }
        last = Some(at);
        places.push(u32::try_from(at).ok()?);
    }
    Some(places)
}

/// Adds to the coordinates at these places. Returns the box around them; none if one is none any more.
fn translate(body: &mut [u8], places: &[u32], by: &[i64]) -> Option<Extents> {
    // The least coordinate of each axis, and the end behind the largest.
    let mut corners = vec![(u32::MAX, 0); by.len()];
    for place in places {
        let place = *place as usize;
        let coordinates = body.get_mut(place..place + 4 * by.len())?;
        let axes = coordinates.as_chunks_mut().0.iter_mut().zip(by);
        for ((at, by), (first, end)) in axes.zip(&mut corners) {
            let moved = i64::from(u32::from_le_bytes(*at)).checked_add(*by)?;
            let moved = u32::try_from(moved).ok()?;
            // No half-open range holds the largest number.
            *end = moved.checked_add(1)?.max(*end);
            *first = moved.min(*first);
            *at = moved.to_le_bytes();
        }
    }
    let ranges = corners.into_iter().map(|(first, end)| first..end);
    Some(ranges.collect())
}

/// Tells whether refs are the same ones, translated; none if a ref cannot be read, or to find out takes too long.
fn same_refs(old: &ArrayRefs<'_>, new: &ArrayRefs<'_>, by: &[i64]) -> Option<bool> {
    if old.node_id() != new.node_id() || old.len() != new.len() {
        return Some(false);
    }
    let mut budget = COMPARED * old.body_len() as u64;
    // The location found equal last, by where it is in either body.
    let mut known: Option<(*const u8, *const u8, usize)> = None;
    for (old, new) in old.refs().zip(new.refs()) {
        let mut axes = old.coordinates().zip(new.coordinates()).zip(by);
        let moved = |((old, new), by): ((u32, u32), &i64)| {
            i64::from(old).checked_add(*by) == Some(i64::from(new))
        };
        if old.rank() != by.len() || new.rank() != by.len() || !axes.all(moved) {
            return Some(false);
        }
        let (old, new) = (old.chunk_ref().ok()?, new.chunk_ref().ok()?);
        let same = match (old, new) {
            (ChunkRef::Native { .. }, _) => old == new,
            (ChunkRef::Inline(bytes), _) => {
                budget = budget.checked_sub(bytes.len() as u64)?;
                old == new
            }
            (
                ChunkRef::Virtual {
                    location,
                    offset,
                    length,
                    checksum,
                },
                ChunkRef::Virtual {
                    location: copy,
                    offset: copied_offset,
                    length: copied_length,
                    checksum: copied_checksum,
                },
            ) => {
                let place = (location.as_ptr(), copy.as_ptr(), location.len());
                let text_is_known = known == Some(place) && copy.len() == location.len();
                if !text_is_known {
                    budget = budget.checked_sub(location.len() as u64)?;
                }
                if let Some(super::Checksum::ETag(etag)) = checksum {
                    budget = budget.checked_sub(etag.len() as u64)?;
                }
                let same_text = text_is_known || location == copy;
                known = Some(place);
                same_text
                    && (offset, length, checksum) == (copied_offset, copied_length, copied_checksum)
            }
            (ChunkRef::Virtual { .. }, _) => false,
        };
        if !same {
            return Some(false);
        }
    }
    Some(true)
}

impl RefRecord<'_> {
    /// Returns where the coordinates begin in the body, and how many there are.
    fn index_place(&self) -> (usize, usize) {
        self.table().vector(slot::REF_INDEX).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
