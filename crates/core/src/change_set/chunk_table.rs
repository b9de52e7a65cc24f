//! Pending chunk references of one array, in columns.
//!
//! ```text
//! row        0            1            2
//! coords     0 0          0 1          7 3        rank numbers a row, one flat vector
//! kind       Native       Deleted      Inline
//! object     chunk id     -            -          12 bytes: chunk id, or location and checksum numbers
//! offset     0            -            0          in the object, or in the arena of inline bytes
//! length     4096         -            17
//! ```
//! A hash table of row numbers finds the row of an index; no reference owns a heap allocation. Writing an
//! index again replaces its row. Beside the rows there are boxes that were erased as such ([`ErasedBoxes`]); a row within one of
//! them takes precedence.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::Range;

use hashbrown::{DefaultHashBuilder, HashTable};
use icefield_format::{Checksum, ChunkId, ChunkIndex, ChunkRef, SpecVersion};
use std::hash::BuildHasher;

use super::erased::ErasedBoxes;
use super::interned::Interned;
use crate::grid::within;
use crate::virtual_chunks::{VirtualChecksum, VirtualRefs};

/// Bytes of overwritten inline chunks that are kept before the arena is rebuilt.
const SPARE_BYTES: usize = 1 << 20;

/// The edit of one chunk by the session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PendingChunk<'a> {
    /// It was deleted.
    Deleted,
    /// It was set.
    Set(ChunkRef<'a>),
}

impl PendingChunk<'_> {
    /// Returns the object that a chunk lies in, and its first byte there; none if it lies in no object of the repository.
    pub(crate) fn place(self) -> Option<(ChunkId, u64)> {
        match self {
            Self::Set(ChunkRef::Native { id, offset, .. }) => Some((id, offset)),
            Self::Set(_) | Self::Deleted => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CellKind {
    Deleted,
    Inline,
    Native,
    Virtual,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum StoredChecksum {
    ETag(String),
    LastModified(u32),
}

/// The pending references of one array.
#[derive(Clone, Debug)]
pub(crate) struct ChunkTable {
    rank: usize,
    coords: Vec<u32>,
    kind: Vec<CellKind>,
    object: Vec<[u8; 12]>,
    offset: Vec<u64>,
    length: Vec<u64>,
    inline: Vec<u8>,
    /// Bytes of the arena that no row refers to any more.
    dead: usize,
    locations: Interned<String>,
    checksums: Interned<StoredChecksum>,
    rows: HashTable<u32>,
    erased: ErasedBoxes,
    /// Counts the changes: two states of one table with one number are equal.
    revision: u64,
    hasher: DefaultHashBuilder,
}

impl ChunkTable {
    /// Returns an empty table whose revisions go on after those of an earlier one.
    pub(crate) fn after_revision(rank: usize, revision: u64) -> Self {
        Self {
            revision,
            ..Self::new(rank)
        }
    }

    pub(crate) fn new(rank: usize) -> Self {
        Self {
            rank,
            coords: Vec::new(),
            kind: Vec::new(),
            object: Vec::new(),
            offset: Vec::new(),
            length: Vec::new(),
            inline: Vec::new(),
            dead: 0,
            locations: Interned::default(),
            checksums: Interned::default(),
            rows: HashTable::new(),
            erased: ErasedBoxes::default(),
            revision: 0,
            hasher: DefaultHashBuilder::default(),
        }
    }

    /// Returns the number of rows.
    pub(crate) fn len(&self) -> usize {
        self.kind.len()
    }

    /// Returns whether nothing was done to any chunk.
    pub(crate) fn is_empty(&self) -> bool {
        self.kind.is_empty() && self.erased.is_empty()
    }

    /// Returns whether no chunk was set.
    pub(crate) fn sets_nothing(&self) -> bool {
        self.kind.iter().all(|kind| *kind == CellKind::Deleted)
    }

    /// Returns whether a chunk of the store was set.
    pub(crate) fn has_native(&self) -> bool {
        self.kind.contains(&CellKind::Native)
    }

    pub(crate) fn erased(&self) -> &ErasedBoxes {
        &self.erased
    }

    pub(super) fn set_erased(&mut self, erased: ErasedBoxes) {
        self.revision += 1;
        self.erased = erased;
    }

    /// Erases the boxes of another table, too. Rows stay as they are.
    pub(super) fn add_erased(&mut self, other: &Self) {
        self.revision += 1;
        self.erased.add_all(&other.erased);
    }

    /// Returns whether boxes were erased.
    pub(crate) fn has_boxes(&self) -> bool {
        !self.erased.is_empty()
    }

    /// Returns whether a chunk lies within a box that was erased, whatever its row says.
    pub(crate) fn is_boxed(&self, index: &[u32]) -> bool {
        self.erased.contains(index)
    }

    /// Returns whether a box of chunks has one in common with the boxes that were erased.
    pub(crate) fn erases_some_of(&self, within: &[Range<u32>]) -> bool {
        self.erased.meet(within)
    }

    /// The chunks that a log names: the rows, and of boxes that were erased, the cells, if there are not too many. Ascending.
    pub(crate) fn named(&self) -> BTreeSet<ChunkIndex> {
        let mut named = self.erased.cells().unwrap_or_default();
        named.extend(self.indices());
        named
    }

    /// The chunks to show in a conflict with all edits: those that a log names; of larger boxes, the first cell.
    pub(crate) fn shown(&self) -> BTreeSet<ChunkIndex> {
        let cells = self.erased.cells();
        let mut shown = cells.unwrap_or_else(|| self.erased.corners());
        shown.extend(self.indices());
        shown
    }

    fn indices(&self) -> impl Iterator<Item = ChunkIndex> {
        (0..self.len() as u32).map(|row| self.index(row).into())
    }

    /// Returns whether all rows and boxes lie within a grid and have its rank.
    pub(crate) fn lies_within(&self, grid: &[u32]) -> bool {
        let mut rows = 0..self.len() as u32;
        rows.all(|row| within(self.index(row), grid)) && self.erased.lie_within(grid)
    }

    /// Returns whether nothing of the boxes that were erased would leave a grid if it moved.
    pub(crate) fn boxes_stay_within(&self, by: &[i64], grid: &[u32]) -> bool {
        self.erased.stay_within(by, grid)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.coords.capacity() * 4
            + self.kind.capacity()
            + self.object.capacity() * 12
            + (self.offset.capacity() + self.length.capacity()) * 8
            + self.inline.capacity()
            + self.rows.capacity() * 5
            + self.erased.memory_bytes()
            + self.locations.memory_bytes(String::capacity)
            + self.checksums.memory_bytes(|it| match it {
                StoredChecksum::ETag(tag) => tag.capacity(),
                StoredChecksum::LastModified(_) => 0,
            })
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// Returns the number of changes made so far.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn advance_to(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    /// Returns the index of a row.
    pub(crate) fn index(&self, row: u32) -> &[u32] {
        index_of(&self.coords, self.rank, row)
    }

    /// Returns what the session did to the chunk of a row.
    pub(crate) fn at(&self, row: u32) -> PendingChunk<'_> {
        let row = row as usize;
        let (offset, length) = (self.offset[row], self.length[row]);
        PendingChunk::Set(match self.kind[row] {
            CellKind::Deleted => return PendingChunk::Deleted,
            CellKind::Inline => {
                let start = offset as usize;
                ChunkRef::Inline(&self.inline[start..start + length as usize])
            }
            CellKind::Native => ChunkRef::Native {
                id: ChunkId::from_bytes(self.object[row]),
                offset,
                length,
            },
            CellKind::Virtual => {
                let (location, checksum) = unpack(&self.object[row]);
                ChunkRef::Virtual {
                    location: self.locations.get(location),
                    offset,
                    length,
                    checksum: self.checksum(checksum),
                }
            }
        })
    }

    /// Returns what the session did to a chunk.
    pub(crate) fn get(&self, index: &[u32]) -> Option<PendingChunk<'_>> {
        let boxed = || self.is_boxed(index).then_some(PendingChunk::Deleted);
        self.row_of(index).or_else(boxed)
    }

    /// Returns what the row of a chunk says, if it has one.
    pub(crate) fn row_of(&self, index: &[u32]) -> Option<PendingChunk<'_>> {
        self.find(index).map(|row| self.at(row))
    }

    pub(crate) fn set(&mut self, index: &[u32], chunk: PendingChunk<'_>) {
        self.revision += 1;
        debug_assert_eq!(index.len(), self.rank, "BUG: the caller checks the rank");
        let (kind, object, offset, length) = match chunk {
            PendingChunk::Deleted => (CellKind::Deleted, [0; 12], 0, 0),
            PendingChunk::Set(ChunkRef::Inline(bytes)) => {
                let start = self.inline.len() as u64;
                self.inline.extend_from_slice(bytes);
                (CellKind::Inline, [0; 12], start, bytes.len() as u64)
            }
            PendingChunk::Set(ChunkRef::Native { id, offset, length }) => {
                (CellKind::Native, *id.as_bytes(), offset, length)
            }
            PendingChunk::Set(ChunkRef::Virtual {
                location,
                offset,
                length,
                checksum,
            }) => {
                let location = self.locations.number(location);
                let checksum = self.number_of(checksum);
                (CellKind::Virtual, pack(location, checksum), offset, length)
            }
        };
        let row = match self.find(index) {
            Some(row) => row as usize,
            None => self.append(index),
        };
        if self.kind[row] == CellKind::Inline {
            self.dead += self.length[row] as usize;
        }
        self.kind[row] = kind;
        self.object[row] = object;
        self.offset[row] = offset;
        self.length[row] = length;
        self.compact_if_worth_it();
    }

    fn compact_if_worth_it(&mut self) {
        if self.dead > SPARE_BYTES && self.dead > self.inline.len() / 2 {
            self.compact();
        }
    }

    /// Sets many virtual references, as one change. Their columns have been checked.
    pub(crate) fn set_virtual(&mut self, refs: &VirtualRefs<'_>, version: SpecVersion) {
        self.revision += 1;
        self.locations.reserve(refs.sources.len());
        let packed: Vec<[u8; 12]> = refs
            .sources
            .iter()
            .map(|source| {
                let location = self.locations.number(&*source.spelt(version));
                let checksum = source.checksum().map(VirtualChecksum::as_format);
                pack(location, self.number_of(checksum))
            })
            .collect();
        self.reserve(refs.len());
        for row in 0..refs.len() {
            let index = refs.index(row, self.rank);
            let at = match self.find(index) {
                Some(at) => at as usize,
                None => self.append(index),
            };
            if self.kind[at] == CellKind::Inline {
                self.dead += self.length[at] as usize;
            }
            self.kind[at] = CellKind::Virtual;
            self.object[at] = packed[refs.source[row] as usize];
            self.offset[at] = refs.offsets[row];
            self.length[at] = refs.lengths[row];
        }
    }

    /// Erases a box, which is not empty: the chunks that are set here; others, by their coordinates one behind the other, of
    /// which nothing was known; and what a concurrent commit puts there. Returns how many chunks there were.
    pub(crate) fn delete_box(&mut self, within: &[Range<u32>], others: &[u32]) -> u64 {
        let mut deleted = 0;
        for row in 0..self.len() {
            let mut axes = self.index(row as u32).iter().zip(within);
            if self.kind[row] != CellKind::Deleted && axes.all(|(at, range)| range.contains(at)) {
                if self.kind[row] == CellKind::Inline {
                    self.dead += self.length[row] as usize;
                }
                self.kind[row] = CellKind::Deleted;
                (self.object[row], self.offset[row], self.length[row]) = ([0; 12], 0, 0);
                deleted += 1;
            }
        }
        let others = others.chunks_exact(self.rank.max(1));
        self.reserve(others.len());
        for index in others {
            if self.find(index).is_none() {
                // One within an erased box was not seen any more.
                deleted += u64::from(!self.is_boxed(index));
                self.append(index);
            }
        }
        self.revision += 1;
        if within.iter().all(|range| range.len() == 1) {
            let index: Vec<u32> = within.iter().map(|range| range.start).collect();
            if self.find(&index).is_none() {
                self.append(&index);
            }
        } else {
            self.erased.add(within.to_vec());
        }
        self.compact_if_worth_it();
        deleted
    }

    fn reserve(&mut self, rows: usize) {
        self.coords.reserve(rows * self.rank);
        self.kind.reserve(rows);
        self.object.reserve(rows);
        self.offset.reserve(rows);
        self.length.reserve(rows);
        let (coords, rank, hasher) = (&self.coords, self.rank, &self.hasher);
        self.rows
            .reserve(rows, |row| hasher.hash_one(index_of(coords, rank, *row)));
    }

    /// Rebuilds the arena from the bytes that are still referred to.
    fn compact(&mut self) {
        let mut live = Vec::with_capacity(self.inline.len() - self.dead);
        for row in 0..self.len() {
            if self.kind[row] == CellKind::Inline {
                let start = self.offset[row] as usize;
                self.offset[row] = live.len() as u64;
                live.extend_from_slice(&self.inline[start..start + self.length[row] as usize]);
            }
        }
        self.inline = live;
        self.dead = 0;
    }

    /// Returns the rows in lexicographic order of their indices.
    pub(crate) fn sorted_rows(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = (0..self.len() as u32).collect();
        // Mostly they were written in order.
        if !rows.is_sorted_by(|a, b| self.compare(*a, *b).is_lt()) {
            rows.sort_unstable_by(|a, b| self.compare(*a, *b));
        }
        rows
    }

    /// Forgets what was done outside a grid.
    pub(crate) fn retain_within(&mut self, grid: &[u32]) {
        self.retain(|index| within(index, grid));
        self.rank = grid.len();
        if !self.erased.lie_within(grid) {
            self.revision += 1;
            self.erased.clip(grid);
        }
    }

    /// Forgets what was done to some chunks.
    pub(crate) fn forget(&mut self, indices: &BTreeSet<ChunkIndex>) {
        self.retain(|index| !indices.contains(index));
        if indices.iter().any(|index| self.is_boxed(index)) {
            self.revision += 1;
            self.erased.spare(indices);
        }
    }

    /// Forgets that boxes were erased.
    pub(crate) fn forget_boxes(&mut self) {
        if !self.erased.is_empty() {
            self.set_erased(ErasedBoxes::default());
        }
    }

    /// Keeps only the rows whose index is wanted.
    fn retain(&mut self, wanted: impl Fn(&[u32]) -> bool) {
        if (0..self.len() as u32).all(|row| wanted(self.index(row))) {
            return;
        }
        let mut kept = Self::new(self.rank);
        kept.erased = std::mem::take(&mut self.erased);
        // Every row is set once, so that the number ends higher than it was.
        kept.revision = self.revision + 1;
        for row in 0..self.len() as u32 {
            if wanted(self.index(row)) {
                kept.set(self.index(row), self.at(row));
            }
        }
        *self = kept;
    }

    /// Moves all rows and boxes by so many chunks per dimension, and forgets what leaves a grid.
    pub(crate) fn shift(&mut self, by: &[i64], grid: &[u32]) {
        let mut moved = Self::new(self.rank);
        moved.erased = std::mem::take(&mut self.erased);
        moved.erased.shift(by, grid);
        let mut index = Vec::with_capacity(self.rank);
        for row in 0..self.len() as u32 {
            index.clear();
            let axes = self.index(row).iter().zip(by).zip(grid);
            index.extend(axes.map_while(|((at, by), count)| {
                let at = i64::from(*at).checked_add(*by)?;
                u32::try_from(at).ok().filter(|at| at < count)
            }));
            if index.len() == self.rank {
                moved.set(&index, self.at(row));
            }
        }
        // Higher than it was, also if all rows are gone.
        moved.revision += self.revision + 1;
        *self = moved;
    }

    fn compare(&self, a: u32, b: u32) -> Ordering {
        self.index(a).cmp(self.index(b))
    }

    fn find(&self, index: &[u32]) -> Option<u32> {
        let hash = self.hasher.hash_one(index);
        self.rows
            .find(hash, |row| self.index(*row) == index)
            .copied()
    }

    fn append(&mut self, index: &[u32]) -> usize {
        let row = u32::try_from(self.len()).expect("BUG: more than 4294967295 pending chunks");
        self.coords.extend_from_slice(index);
        self.kind.push(CellKind::Deleted);
        self.object.push([0; 12]);
        self.offset.push(0);
        self.length.push(0);
        let (coords, rank, hasher) = (&self.coords, self.rank, &self.hasher);
        self.rows.insert_unique(hasher.hash_one(index), row, |row| {
            hasher.hash_one(index_of(coords, rank, *row))
        });
        row as usize
    }

    /// Zero is none.
    fn number_of(&mut self, checksum: Option<Checksum<'_>>) -> u32 {
        let stored = match checksum {
            None => return 0,
            Some(Checksum::ETag(tag)) => StoredChecksum::ETag(tag.to_owned()),
            Some(Checksum::LastModified(seconds)) => StoredChecksum::LastModified(seconds),
        };
        self.checksums.number(&stored) + 1
    }

    fn checksum(&self, number: u32) -> Option<Checksum<'_>> {
        Some(match self.checksums.get(number.checked_sub(1)?) {
            StoredChecksum::ETag(tag) => Checksum::ETag(tag),
            StoredChecksum::LastModified(seconds) => Checksum::LastModified(*seconds),
        })
    }
}

fn index_of(coords: &[u32], rank: usize, row: u32) -> &[u32] {
    let start = row as usize * rank;
    &coords[start..start + rank]
}

fn pack(location: u32, checksum: u32) -> [u8; 12] {
    let mut packed = [0; 12];
    packed[..4].copy_from_slice(&location.to_le_bytes());
    packed[4..8].copy_from_slice(&checksum.to_le_bytes());
    packed
}

fn unpack(packed: &[u8; 12]) -> (u32, u32) {
    let [a, b, c, d, e, f, g, h, ..] = *packed;
    (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    )
}
