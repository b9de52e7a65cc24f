//! The verifier of manifests: structure and meaning in one pass over the chunk refs.
//!
//! It accepts only what the verifier of the `flatbuffers` crate accepts, apart from that one's
//! limits on size, and checks the format's rules on the way: refs strictly ascend, each has a
//! location, no byte range overflows. Tests hold the two verifiers against each other.
//!
//! It is fast because chunk refs share a few vtables. Each is checked once, and a ref then
//! costs a handful of comparisons.
//!
//! Work is linear in the body however hostile: refs are counted against the body's size, ranks are
//! limited, and text is checked up to 2 GiB in all, wherever strings overlap.

use std::cmp::Ordering;

use super::locations::{Collector, Locations};
use super::ref_box::RefBox;
use super::{raw, slot};
use crate::envelope::{MAX_BODY_LEN, SpecVersion};
use crate::error::{FormatError, FormatFile, LocationError, MalformedBody, SortedList};
use crate::id::{ManifestId, NodeId};
use crate::index::MAX_RANK;
use crate::order;

/// The facts that the verifier learns.
#[derive(Debug)]
pub(super) struct ManifestSummary {
    pub(super) id: ManifestId,
    pub(super) total_refs: u64,
    /// By position of the refs.
    pub(super) boxes: Vec<RefBox>,
    pub(super) locations: Locations,
}

/// Bytes and alignment of each slot of a chunk ref.
const REF_LAYOUT: [(usize, usize); slot::REF_SLOTS] = [
    (4, 4),
    (4, 4),
    (8, 8),
    (8, 8),
    (12, 1),
    (4, 4),
    (4, 4),
    (4, 4),
    (4, 4),
    (4, 4),
];

/// The vtable of chunk refs, checked. Offsets of 0 are absent fields.
#[derive(Clone, Copy)]
struct RefVtable {
    at: usize,
    offsets: [u16; slot::REF_SLOTS],
    /// Bytes that a table of this vtable must have.
    end: usize,
}

/// A table whose vtable lies in the body.
struct Table {
    at: usize,
    vtable: usize,
    vtable_len: usize,
}

struct Verifier<'a> {
    body: &'a [u8],
    file: FormatFile,
    /// The vtables met last. Real files have one to three.
    vtables: [Option<RefVtable>; 4],
    next_vtable: usize,
    /// Bytes of text that may still be checked.
    text_budget: u64,
    /// Refs that may still come: each has an item of four bytes in a list.
    ref_budget: usize,
    /// Strings found good last: neighbouring refs often share them.
    good_strings: [usize; 2],
    boxes: Vec<RefBox>,
    version: SpecVersion,
    /// Compression that the manifest states for locations.
    algorithm: u8,
    /// None before the first location that is compressed.
    locations: Option<Collector<'a>>,
    dictionary: Option<&'a [u8]>,
    location_limit: u64,
}

/// zstd with the dictionary of the manifest. It is the default of the field.
const ZSTD: u8 = 1;

/// Verifies a body and returns what it says about itself. Locations that are compressed may take so many bytes in all.
pub(super) fn verify(
    body: &[u8],
    file: FormatFile,
    version: SpecVersion,
    location_limit: u64,
) -> Result<ManifestSummary, FormatError> {
    let mut verifier = Verifier {
        body,
        file,
        vtables: [None; 4],
        next_vtable: 0,
        text_budget: MAX_BODY_LEN,
        ref_budget: body.len() / 4,
        good_strings: [0; 2],
        boxes: Vec::new(),
        version,
        algorithm: ZSTD,
        locations: None,
        dictionary: None,
        location_limit,
    };
    let (id, total_refs) = verifier.manifest()?;
    let locations = verifier.locations.map(Collector::finish);
    let mut boxes = verifier.boxes;
    boxes.sort_unstable_by_key(|corners| corners.start);
    Ok(ManifestSummary {
        id,
        total_refs,
        boxes,
        locations: locations.unwrap_or_default(),
    })
}

impl<'a> Verifier<'a> {
    #[cold]
    fn broken(&self, at: usize, rule: &'static str) -> FormatError {
        FormatError::malformed(self.file, MalformedBody::Structure { at, rule })
    }

    #[inline]
    fn u16_at(&self, at: usize) -> Result<usize, FormatError> {
        match raw::get(self.body, at) {
            Some(bytes) => Ok(usize::from(u16::from_le_bytes(*bytes))),
            None => Err(self.broken(at, "an offset points outside of the body")),
        }
    }

    #[inline]
    fn u32_at(&self, at: usize) -> Result<usize, FormatError> {
        match raw::get(self.body, at) {
            Some(bytes) => Ok(u32::from_le_bytes(*bytes) as usize),
            None => Err(self.broken(at, "an offset points outside of the body")),
        }
    }

    /// Follows the offset at a position to something aligned to 4 bytes.
    #[inline]
    fn follow(&self, at: usize) -> Result<usize, FormatError> {
        let target = at.saturating_add(self.u32_at(at)?);
        if target % 4 == 0 {
            Ok(target)
        } else {
            Err(self.broken(at, "an offset points to an unaligned position"))
        }
    }

    /// Checks the vector that the offset at a position points to; returns the start of its items
    /// and their number.
    #[inline]
    fn vector(&self, at: usize, width: usize) -> Result<(usize, usize), FormatError> {
        let vector = self.follow(at)?;
        let len = self.u32_at(vector)?;
        let start = vector + 4;
        if len.saturating_mul(width) > self.body.len() - start {
            return Err(self.broken(vector, "a list is longer than the body"));
        }
        Ok((start, len))
    }

    fn vtable_of(&self, table: usize) -> Result<usize, FormatError> {
        let back = self.u32_at(table)? as u32;
        let vtable = table.checked_add_signed((back.cast_signed() as isize).wrapping_neg());
        match vtable {
            Some(vtable) if vtable % 2 == 0 => Ok(vtable),
            _ => Err(self.broken(table, "a table has no vtable in the body")),
        }
    }

    fn vtable_len(&self, vtable: usize) -> Result<usize, FormatError> {
        let len = self.u16_at(vtable)?;
        if len % 2 != 0 || len > self.body.len() - vtable {
            return Err(self.broken(vtable, "a vtable has an impossible length"));
        }
        Ok(len)
    }

    fn table(&self, at: usize) -> Result<Table, FormatError> {
        let at = self.follow(at)?;
        let vtable = self.vtable_of(at)?;
        Ok(Table {
            at,
            vtable,
            vtable_len: self.vtable_len(vtable)?,
        })
    }

    /// Returns the position of a field after checking its place.
    fn field(
        &self,
        table: &Table,
        slot: usize,
        width: usize,
        align: usize,
    ) -> Result<Option<usize>, FormatError> {
        let entry = 4 + 2 * slot;
        if entry >= table.vtable_len {
            return Ok(None);
        }
        let offset = self.u16_at(table.vtable + entry)?;
        if offset == 0 {
            return Ok(None);
        }
        let at = table.at + offset;
        if !at.is_multiple_of(align) || at + width > self.body.len() {
            return Err(self.broken(table.at, "a field lies outside of the body or is unaligned"));
        }
        Ok(Some(at))
    }

    fn required(
        &self,
        table: &Table,
        slot: usize,
        width: usize,
        align: usize,
    ) -> Result<usize, FormatError> {
        match self.field(table, slot, width, align)? {
            Some(at) => Ok(at),
            None => Err(self.broken(table.at, "a required field is missing")),
        }
    }

    fn optional_bytes(&self, table: &Table, slot: usize) -> Result<Option<&'a [u8]>, FormatError> {
        let Some(at) = self.field(table, slot, 4, 4)? else {
            return Ok(None);
        };
        let (start, len) = self.vector(at, 1)?;
        Ok(Some(&self.body[start..start + len]))
    }

    /// Checks everything; returns the id and the number of refs.
    fn manifest(&mut self) -> Result<(ManifestId, u64), FormatError> {
        let root = self.table(0)?;
        let id = self.required(&root, slot::MANIFEST_ID, ManifestId::ID_LEN, 1)?;
        let id = ManifestId::from_bytes(*raw::array(self.body, id));
        let arrays = self.required(&root, slot::MANIFEST_ARRAYS, 4, 4)?;
        self.dictionary = self.optional_bytes(&root, slot::MANIFEST_DICTIONARY)?;
        if let Some(at) = self.field(&root, slot::MANIFEST_COMPRESSION, 1, 1)? {
            self.algorithm = self.body[at];
        }
        self.optional_bytes(&root, slot::MANIFEST_EXTRA)?;
        let (start, len) = self.vector(arrays, 4)?;
        let mut total_refs = 0;
        let mut previous: Option<NodeId> = None;
        for position in 0..len {
            let array = self.table(start + 4 * position)?;
            let node = self.required(&array, slot::ARRAY_NODE_ID, NodeId::ID_LEN, 1)?;
            let node = NodeId::from_bytes(*raw::array(self.body, node));
            self.optional_bytes(&array, slot::ARRAY_EXTRA)?;
            if let Some(order) = previous.map(|previous| previous.cmp(&node)) {
                order::check(order, self.file, SortedList::Arrays, position)?;
            }
            previous = Some(node);
            let refs = self.required(&array, slot::ARRAY_REFS, 4, 4)?;
            total_refs += self.refs(refs, node)?;
        }
        Ok((id, total_refs))
    }

    /// Checks the refs of one array and returns their number.
    fn refs(&mut self, at: usize, node: NodeId) -> Result<u64, FormatError> {
        let (start, len) = self.vector(at, 4)?;
        if len > self.ref_budget {
            return Err(self.broken(at, "the refs of several arrays overlap"));
        }
        self.ref_budget -= len;
        let mut corners = RefBox::new(start, len);
        let mut previous: Option<&[u8]> = None;
        for position in 0..len {
            let table = self.follow(start + 4 * position)?;
            let vtable = self.ref_vtable(table)?;
            let index = self.ref_index(table, &vtable)?;
            if let Some(previous) = previous {
                if previous.len() != index.len() {
                    // The reference accepts coordinates of a wrong rank; they name no chunk of the
                    // array, and must not make its other chunks unreadable. The search needs one rank
                    // only where it interpolates.
                    corners = None;
                }
                let order = compare(previous, index);
                order::check(order, self.file, SortedList::ChunkRefs, position)?;
            }
            if index.len() / 4 > MAX_RANK {
                let found = index.len() / 4;
                return Err(FormatError::RankTooLarge {
                    file: self.file,
                    node,
                    found,
                });
            }
            previous = Some(index);
            if let Some(corners) = &mut corners {
                corners.include(numbers(index));
            }
            self.ref_location(table, &vtable, node, position)?;
        }
        self.boxes.extend(corners);
        Ok(len as u64)
    }

    /// Returns the vtable of a chunk ref after checking that the table has the room that it
    /// demands.
    #[inline]
    fn ref_vtable(&mut self, table: usize) -> Result<RefVtable, FormatError> {
        let at = self.vtable_of(table)?;
        let known = self.vtables.iter().flatten().find(|known| known.at == at);
        let vtable = match known {
            Some(known) => *known,
            None => self.new_ref_vtable(at)?,
        };
        let [_, _, offset, length, ..] = vtable.offsets;
        let aligned = |field: u16| field == 0 || (table + usize::from(field)).is_multiple_of(8);
        if !aligned(offset) || !aligned(length) || vtable.end > self.body.len() - table {
            return Err(self.broken(table, "a field lies outside of the body or is unaligned"));
        }
        Ok(vtable)
    }

    #[cold]
    fn new_ref_vtable(&mut self, at: usize) -> Result<RefVtable, FormatError> {
        let len = self.vtable_len(at)?;
        let mut vtable = RefVtable {
            at,
            offsets: [0; slot::REF_SLOTS],
            end: 4,
        };
        for (slot, (width, align)) in REF_LAYOUT.into_iter().enumerate() {
            let entry = 4 + 2 * slot;
            if entry >= len {
                break;
            }
            let offset = self.u16_at(at + entry)?;
            // Tables are aligned to 4 bytes; what needs 8 is checked for each.
            if offset % align.min(4) != 0 {
                return Err(self.broken(at, "a field is unaligned"));
            }
            if offset != 0 {
                vtable.offsets[slot] = offset as u16;
                vtable.end = vtable.end.max(offset + width);
            }
        }
        if vtable.offsets[slot::REF_INDEX] == 0 {
            return Err(self.broken(at, "a chunk ref has no index"));
        }
        self.vtables[self.next_vtable] = Some(vtable);
        self.next_vtable = (self.next_vtable + 1) % self.vtables.len();
        Ok(vtable)
    }

    /// Returns the bytes of a ref's coordinates.
    #[inline]
    fn ref_index(&self, table: usize, vtable: &RefVtable) -> Result<&'a [u8], FormatError> {
        let at = table + usize::from(vtable.offsets[slot::REF_INDEX]);
        let (start, len) = self.vector(at, 4)?;
        Ok(&self.body[start..start + 4 * len])
    }

    #[inline]
    fn ref_location(
        &mut self,
        table: usize,
        vtable: &RefVtable,
        node: NodeId,
        position: usize,
    ) -> Result<(), FormatError> {
        let field = |slot: usize| match vtable.offsets[slot] {
            0 => None,
            offset => Some(table + usize::from(offset)),
        };
        let number = |slot: usize| field(slot).map_or(0, |at| raw::u64_at(self.body, at));
        if number(slot::REF_OFFSET)
            .checked_add(number(slot::REF_LENGTH))
            .is_none()
        {
            return Err(FormatError::ChunkRangeOverflow {
                file: self.file,
                node,
                position,
            });
        }
        for slot in [slot::REF_INLINE, slot::REF_EXTRA] {
            if let Some(at) = field(slot) {
                self.vector(at, 1)?;
            }
        }
        let compressed = match field(slot::REF_COMPRESSED_LOCATION) {
            Some(at) => Some(self.vector(at, 1)?),
            None => None,
        };
        let location = field(slot::REF_LOCATION);
        if let Some(at) = location {
            self.string(at, 0)?;
        }
        if let Some(at) = field(slot::REF_ETAG) {
            self.string(at, 1)?;
        }
        let known = field(slot::REF_CHUNK_ID).or(location);
        if let Some((start, len)) = compressed
            && known.is_none()
            && self.version == SpecVersion::V2
        {
            let frame = &self.body[start..start + len];
            return self.compressed_location(table, frame, (node, position));
        }
        if known.or(field(slot::REF_INLINE)).is_none() {
            return Err(FormatError::NoChunkLocation {
                file: self.file,
                node,
                position,
            });
        }
        Ok(())
    }

    /// Reads a location that is compressed.
    fn compressed_location(
        &mut self,
        table: usize,
        frame: &'a [u8],
        (node, position): (NodeId, usize),
    ) -> Result<(), FormatError> {
        let file = self.file;
        if self.algorithm != ZSTD {
            let reason = LocationError::Algorithm {
                found: self.algorithm,
            };
            return Err(FormatError::CompressedLocation {
                file,
                node,
                position,
                reason,
            });
        }
        let collector = match &mut self.locations {
            Some(collector) => collector,
            none => none.insert(Collector::new(self.dictionary, self.location_limit, file)?),
        };
        collector.read(table, frame, (node, position))
    }

    /// Checks a string. A missing terminator is tolerated.
    fn string(&mut self, at: usize, which: usize) -> Result<(), FormatError> {
        let (start, len) = self.vector(at, 1)?;
        if self.good_strings[which] == start {
            return Ok(());
        }
        match self.text_budget.checked_sub(len as u64) {
            Some(rest) => self.text_budget = rest,
            None => return Err(self.broken(start, "strings overlap too much")),
        }
        if std::str::from_utf8(&self.body[start..start + len]).is_err() {
            return Err(self.broken(start, "a string is not UTF-8"));
        }
        self.good_strings[which] = start;
        Ok(())
    }
}

/// Compares two indices.
#[inline]
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    numbers(a).cmp(numbers(b))
}

#[inline]
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u32> {
    bytes.as_chunks().0.iter().map(|at| u32::from_le_bytes(*at))
}
