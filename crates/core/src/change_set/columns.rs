//! The pending chunks of one array as bytes: a string of bytes per column.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{Checksum, ChunkId, ChunkIndex, ChunkRef, NodeId, NodePath};
use serde::{Deserialize, Serialize};

use super::blob_error::invalid;
use super::erased::ErasedBoxes;
use super::frame::fixed;
use super::interned::Interned;
use super::{ChunkTable, ForkBlobError, PendingChunk};

/// Coordinates count from the corner of the array.
const ABSOLUTE: u8 = 0;
/// As `ABSOLUTE`, and where others shift the array, its rows move along.
const BY_CONTENT: u8 = 1;

/// The rows of one array that are not in the origin.
#[derive(Serialize, Deserialize)]
pub(super) struct Columns {
    node: Bytes,
    path: String,
    addressing: u8,
    rank: u16,
    /// Whether rows of the origin that are not here are gone.
    whole: bool,
    coords: Bytes,
    kinds: Bytes,
    chunk_ids: Bytes,
    offsets: Bytes,
    lengths: Bytes,
    inline: Bytes,
    /// For each virtual chunk, which of the foreign objects.
    foreign: Bytes,
    objects: Vec<Object>,
    /// All boxes that were erased, those of the origin included: rank firsts and rank ends a box. Not in version 4.
    #[serde(default)]
    boxes: Bytes,
    /// The coordinates of the cells that are spared of that. Not in version 4.
    #[serde(default)]
    spared: Bytes,
}

/// A foreign object: its location, and its ETag or when it was modified last.
type Object = (String, Option<String>, Option<u32>);

impl Columns {
    /// Returns whether they say that the table is that of the origin, at the same place.
    pub(super) fn says_nothing(
        &self,
        origin: &ChunkTable,
        path: Option<&NodePath>,
        follows: bool,
    ) -> bool {
        self.kinds.is_empty()
            && !self.whole
            && (&self.boxes, &self.spared) == (&boxes(origin), &spared(origin))
            && self.addressing == addressing(follows)
            && path.is_some_and(|path| path.as_str() == self.path)
    }

    pub(super) fn node(&self) -> Result<NodeId, ForkBlobError> {
        Ok(NodeId::from_bytes(fixed(&self.node)?))
    }

    pub(super) fn path(&self) -> Result<NodePath, ForkBlobError> {
        Ok(NodePath::parse(&self.path)?)
    }

    /// Returns whether the rows move along where others shift the array.
    pub(super) fn follow(&self) -> bool {
        self.addressing == BY_CONTENT
    }

    pub(super) fn of(
        (node, path): (&NodeId, &NodePath),
        table: &Arc<ChunkTable>,
        follows: bool,
        origin: Option<&Arc<ChunkTable>>,
    ) -> Self {
        let same = origin.is_some_and(|origin| Arc::ptr_eq(origin, table));
        let gone = origin.filter(|_| !same).is_some_and(|origin| {
            origin.rank() != table.rank()
                || (0..origin.len() as u32).any(|row| table.row_of(origin.index(row)).is_none())
        });
        let known = |row: u32| {
            !gone && origin.and_then(|it| it.row_of(table.index(row))) == Some(table.at(row))
        };
        let rows = match same {
            true => Vec::new(),
            false => table.sorted_rows(),
        };
        let mut columns = (Vec::new(), Vec::new(), Vec::new());
        let (mut offsets, mut lengths, mut inline) = (Vec::new(), Vec::new(), Vec::new());
        let (mut foreign, mut objects) = (Vec::new(), Interned::<Object>::default());
        // In the order of the coordinates: equal edits are equal bytes, and compress well.
        for row in rows.into_iter().filter(|row| !known(*row)) {
            let (coords, kinds, ids) = (&mut columns.0, &mut columns.1, &mut columns.2);
            for coordinate in table.index(row) {
                coords.extend_from_slice(&coordinate.to_le_bytes());
            }
            let (kind, offset, length) = match table.at(row) {
                PendingChunk::Deleted => (0, 0, 0),
                PendingChunk::Set(ChunkRef::Inline(bytes)) => {
                    inline.extend_from_slice(bytes);
                    (1, 0, bytes.len() as u64)
                }
                PendingChunk::Set(ChunkRef::Native { id, offset, length }) => {
                    ids.extend_from_slice(id.as_bytes());
                    (2, offset, length)
                }
                PendingChunk::Set(ChunkRef::Virtual {
                    location,
                    offset,
                    length,
                    checksum,
                }) => {
                    let (tag, time) = match checksum {
                        None => (None, None),
                        Some(Checksum::ETag(tag)) => (Some(tag.to_owned()), None),
                        Some(Checksum::LastModified(time)) => (None, Some(time)),
                    };
                    let number = objects.number(&(location.to_owned(), tag, time));
                    foreign.extend_from_slice(&number.to_le_bytes());
                    (3, offset, length)
                }
            };
            kinds.push(kind);
            offsets.extend_from_slice(&u64::to_le_bytes(offset));
            lengths.extend_from_slice(&u64::to_le_bytes(length));
        }
        Self {
            node: Bytes::copy_from_slice(node.as_bytes()),
            path: path.to_string(),
            addressing: addressing(follows),
            rank: table.rank() as u16,
            whole: gone,
            coords: columns.0.into(),
            kinds: columns.1.into(),
            chunk_ids: columns.2.into(),
            offsets: offsets.into(),
            lengths: lengths.into(),
            inline: inline.into(),
            foreign: foreign.into(),
            objects: objects.into_values(),
            boxes: boxes(table),
            spared: spared(table),
        }
    }

    /// The rows on top of those of the origin.
    pub(super) fn table(
        &self,
        origin: Option<&Arc<ChunkTable>>,
    ) -> Result<Arc<ChunkTable>, ForkBlobError> {
        if ![ABSOLUTE, BY_CONTENT].contains(&self.addressing) {
            return Err(invalid("chunks are addressed in a way that is not known"));
        }
        let (rank, rows) = (usize::from(self.rank), self.kinds.len());
        // Tables without rows are not sent, so that the sender had no empty one, and its rank says nothing.
        let mut table = match origin.filter(|origin| !origin.is_empty()) {
            Some(origin) if !self.whole && origin.rank() == rank => Arc::clone(origin),
            Some(_) if !self.whole => return Err(invalid("the rank of an array differs")),
            _ => Arc::new(ChunkTable::new(rank)),
        };
        let numbers = [
            (&self.offsets, 8),
            (&self.lengths, 8),
            (&self.coords, 4 * rank),
        ];
        if numbers
            .iter()
            .any(|(column, width)| column.len() != rows * width)
        {
            return Err(invalid("columns of different lengths"));
        }
        let erased = self.erased(rank)?;
        if *table.erased() != erased {
            Arc::make_mut(&mut table).set_erased(erased);
        }
        if rows == 0 {
            return Ok(table);
        }
        let added = Arc::make_mut(&mut table);
        let mut ids = self.chunk_ids.chunks_exact(12);
        let mut inline = &self.inline[..];
        let mut foreign = self.foreign.chunks_exact(4);
        let number = |column: &Bytes, row: usize| u64::from_le_bytes(fixed_at(column, row * 8));
        let mut index = Vec::with_capacity(rank);
        for row in 0..rows {
            index.clear();
            let coords = (0..rank).map(|axis| fixed_at(&self.coords, (row * rank + axis) * 4));
            index.extend(coords.map(u32::from_le_bytes));
            let (offset, length) = (number(&self.offsets, row), number(&self.lengths, row));
            if offset.checked_add(length).is_none() {
                return Err(invalid("a chunk that ends beyond all objects"));
            }
            let chunk = match self.kinds[row] {
                0 => PendingChunk::Deleted,
                1 => {
                    let length = usize::try_from(length).ok();
                    let (bytes, rest) = length
                        .and_then(|length| inline.split_at_checked(length))
                        .ok_or_else(|| invalid("inline bytes are missing"))?;
                    inline = rest;
                    PendingChunk::Set(ChunkRef::Inline(bytes))
                }
                2 => {
                    let id = ids.next().ok_or_else(|| invalid("chunk ids are missing"))?;
                    PendingChunk::Set(ChunkRef::Native {
                        id: ChunkId::from_bytes(fixed(id)?),
                        offset,
                        length,
                    })
                }
                3 => {
                    let number = foreign.next();
                    let number = number.ok_or_else(|| invalid("foreign objects are missing"))?;
                    let number = u32::from_le_bytes(fixed(number)?);
                    let (location, tag, time) = self
                        .objects
                        .get(number as usize)
                        .ok_or_else(|| invalid("a chunk of a foreign object that is not there"))?;
                    let checksum = tag.as_deref().map(Checksum::ETag);
                    PendingChunk::Set(ChunkRef::Virtual {
                        location,
                        offset,
                        length,
                        checksum: checksum.or_else(|| time.map(Checksum::LastModified)),
                    })
                }
                _ => return Err(invalid("a chunk of a kind that is not known")),
            };
            added.set(&index, chunk);
        }
        Ok(table)
    }

    fn erased(&self, rank: usize) -> Result<ErasedBoxes, ForkBlobError> {
        if rank == 0 && !(self.boxes.is_empty() && self.spared.is_empty()) {
            return Err(invalid("a box of an array without dimensions"));
        }
        let numbers = |column: &Bytes, each: usize| -> Result<Vec<Vec<u32>>, ForkBlobError> {
            let parts = column.chunks_exact((4 * each).max(1));
            if !parts.remainder().is_empty() {
                return Err(invalid("boxes that end early"));
            }
            let number = |bytes: &[u8]| Ok(u32::from_le_bytes(fixed(bytes)?));
            parts
                .map(|part| part.chunks_exact(4).map(number).collect())
                .collect()
        };
        let boxes: Vec<Vec<Range<u32>>> = (numbers(&self.boxes, 2 * rank)?.iter())
            .map(|it| {
                let (firsts, ends) = it.split_at(rank);
                firsts.iter().zip(ends).map(|(a, b)| *a..*b).collect()
            })
            .collect();
        if boxes.iter().flatten().any(Range::is_empty) {
            return Err(invalid("an erased box without cells"));
        }
        let spared = numbers(&self.spared, rank)?;
        let spared: BTreeSet<ChunkIndex> = spared.into_iter().map(ChunkIndex::from).collect();
        Ok(ErasedBoxes::of(boxes, spared))
    }
}

/// The boxes of a table: of each, the firsts and then the ends.
fn boxes(table: &ChunkTable) -> Bytes {
    let boxes = table.erased().boxes().iter().flat_map(|it| {
        let firsts = it.iter().map(|range| range.start);
        firsts.chain(it.iter().map(|range| range.end))
    });
    boxes.flat_map(u32::to_le_bytes).collect()
}

/// The cells that boxes of a table spare.
fn spared(table: &ChunkTable) -> Bytes {
    let spared = table.erased().spared().iter();
    spared
        .flat_map(|index| index.iter().flat_map(|at| at.to_le_bytes()))
        .collect()
}

fn addressing(follows: bool) -> u8 {
    match follows {
        true => BY_CONTENT,
        false => ABSOLUTE,
    }
}

/// The bytes at a place that is known to be within a column.
fn fixed_at<const N: usize>(column: &Bytes, at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&column[at..at + N]);
    bytes
}
