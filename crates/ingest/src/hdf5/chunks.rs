//! Where the bytes of an array lie, whichever layout and index it has.

use std::collections::BTreeMap;

use hdf5_reader::btree_v1::{BTreeV1Key, collect_btree_v1_leaves_storage};
use hdf5_reader::chunk_index::{
    ChunkEntry, collect_implicit_chunk_entries, collect_v2_chunk_entries_storage,
    single_chunk_entry,
};
use hdf5_reader::error::Error;
use hdf5_reader::extensible_array::collect_extensible_array_chunk_entries_storage;
use hdf5_reader::fixed_array::collect_fixed_array_chunk_entries_storage;
use hdf5_reader::messages::layout::{ChunkIndexing, DataLayout};
use icefield_core::NodePath;

use super::file::{Hdf5, Parsed, invalid};
use crate::{ChunkExtents, SourceError};

/// Bytes of a contiguous array that are one chunk.
const BLOCK: u64 = 4 << 20;

/// What is known of an array before its layout.
pub(super) struct Space<'a> {
    pub(super) path: &'a NodePath,
    pub(super) shape: &'a [u64],
    /// The lengths that the array may grow to.
    pub(super) most: &'a [u64],
    /// Bytes of an element.
    pub(super) element: u64,
    /// Filters of its pipeline.
    pub(super) filters: usize,
}

/// The bytes of an array.
pub(super) struct Stored {
    pub(super) chunk_shape: Vec<u64>,
    /// Bytes of a chunk, decoded.
    pub(super) chunk_bytes: u64,
    pub(super) place: Place,
    /// The filters that were left out for single chunks, by row of the extents.
    pub(super) left_out: BTreeMap<usize, u32>,
}

/// Where they are.
pub(super) enum Place {
    /// In the header: the only chunk.
    Header(Vec<u8>),
    /// In the file.
    File(ChunkExtents),
}

impl Hdf5 {
    /// Finds the chunks of an array. `body` is the message that `layout` was parsed from.
    pub(super) fn stored(
        &self,
        space: &Space<'_>,
        layout: DataLayout,
        body: &[u8],
    ) -> Result<Stored, SourceError> {
        let failed = |error| self.failed(space.path, "the layout", error);
        match layout {
            DataLayout::Compact { data } => compact(space, data).map_err(failed),
            DataLayout::Contiguous { address, size } => {
                self.contiguous(space, address, size).map_err(failed)
            }
            DataLayout::Chunked {
                address,
                mut dims,
                element_size,
                chunk_indexing,
            } => {
                // The message has the size of an element as one more length. The parser leaves it in some versions.
                let element = match dims.len() == space.shape.len() + 1 && element_size == 0 {
                    true => dims.pop().unwrap_or_default(),
                    false => element_size,
                };
                let fits = dims.len() == space.shape.len() && u64::from(element) == space.element;
                if !fits || dims.contains(&0) {
                    return Err(failed(invalid("its chunks do not fit the array")));
                }
                let unfiltered_edges = edges_unfiltered(body);
                self.chunked(
                    space,
                    address,
                    &dims,
                    chunk_indexing.as_ref(),
                    unfiltered_edges,
                )
            }
        }
    }

    fn chunked(
        &self,
        space: &Space<'_>,
        address: u64,
        dims: &[u32],
        indexing: Option<&ChunkIndexing>,
        unfiltered_edges: bool,
    ) -> Result<Stored, SourceError> {
        let failed = |error| self.failed(space.path, "the layout", error);
        let chunk_shape: Vec<u64> = dims.iter().map(|length| u64::from(*length)).collect();
        let chunk_bytes = bytes_of(&chunk_shape, space.element).map_err(failed)?;
        let mut pairs = space.shape.iter().zip(&chunk_shape);
        if unfiltered_edges && space.filters > 0 && pairs.any(|(all, one)| all % one != 0) {
            let reason = "the chunks at its edges are stored without its filters";
            return Err(self.refused(space.path, reason));
        }
        let mut stored = Stored {
            chunk_shape,
            chunk_bytes,
            place: Place::File(ChunkExtents::new(dims.len())),
            left_out: BTreeMap::new(),
        };
        if !self.is_undefined(address) && !space.shape.contains(&0) {
            let entries = self.entries(space, address, dims, indexing, chunk_bytes);
            let entries =
                entries.map_err(|error| self.failed(space.path, "the chunk index", error))?;
            self.list(space, &mut stored, entries)?;
        }
        Ok(stored)
    }

    fn contiguous(&self, space: &Space<'_>, address: u64, size: u64) -> Parsed<Stored> {
        let chunk_shape = blocks(space.shape, space.element)?;
        let chunk_bytes = bytes_of(&chunk_shape, space.element)?;
        let mut extents = ChunkExtents::new(space.shape.len());
        let total = bytes_of(space.shape, space.element)?;
        if !self.is_undefined(address) && total > 0 {
            if size != 0 && size < total {
                return Err(invalid(format!("it has {size} bytes of {total}")));
            }
            let cut = || {
                invalid(format!(
                    "the file ends before its {total} bytes at {address}"
                ))
            };
            let mut position = self.position(address, total).ok_or_else(cut)?;
            let grid = grid(space.shape, &chunk_shape);
            let mut index = vec![0u32; grid.len()];
            loop {
                extents.push(&index, 0, position, chunk_bytes);
                // Cannot overflow: the end is in the file.
                position = position.saturating_add(chunk_bytes);
                if !advance(&mut index, &grid) {
                    break;
                }
            }
        }
        Ok(Stored {
            chunk_shape,
            chunk_bytes,
            place: Place::File(extents),
            left_out: BTreeMap::new(),
        })
    }

    /// Reads the index.
    fn entries(
        &self,
        space: &Space<'_>,
        address: u64,
        dims: &[u32],
        indexing: Option<&ChunkIndexing>,
        chunk_bytes: u64,
    ) -> Parsed<Vec<ChunkEntry>> {
        let (storage, offset, length) = (self.storage(), self.offset_size, self.length_size);
        let rank = u32::try_from(dims.len()).map_err(|_| invalid("it has too many dimensions"))?;
        match indexing {
            None => {
                let leaves = collect_btree_v1_leaves_storage(
                    storage,
                    address,
                    offset,
                    length,
                    Some(rank),
                    dims,
                    None,
                )?;
                leaves
                    .into_iter()
                    .map(|(key, address)| entry_of(key, address, dims.len()))
                    .collect()
            }
            Some(ChunkIndexing::SingleChunk {
                filtered_size,
                filters,
            }) => Ok(vec![single_chunk_entry(
                address,
                *filtered_size,
                *filters,
                dims.len(),
            )]),
            // These two are numbered as if the array had grown as far as it may.
            Some(ChunkIndexing::Implicit) => {
                let element = usize::try_from(space.element).unwrap_or(usize::MAX);
                let end = storage.len();
                // No more chunks than have room: the parser allows one more.
                if chunk_bytes > 0 && address > end {
                    return Err(Error::OffsetOutOfBounds(address));
                }
                collect_implicit_chunk_entries(address, space.most, dims, element, None, end)
            }
            Some(ChunkIndexing::FixedArray { .. }) => collect_fixed_array_chunk_entries_storage(
                storage, address, offset, length, space.most, dims, None,
            ),
            Some(ChunkIndexing::ExtensibleArray { .. }) => {
                collect_extensible_array_chunk_entries_storage(
                    storage,
                    address,
                    offset,
                    length,
                    space.shape,
                    Some(space.most),
                    dims,
                    None,
                )
            }
            Some(ChunkIndexing::BTreeV2) => {
                collect_v2_chunk_entries_storage(storage, address, offset, length, rank, dims, None)
            }
        }
    }

    /// Turns what an index lists into extents, in order of the coordinates.
    fn list(
        &self,
        space: &Space<'_>,
        stored: &mut Stored,
        entries: Vec<ChunkEntry>,
    ) -> Result<(), SourceError> {
        let damaged = |problem: String| {
            let error = invalid(problem);
            self.failed(space.path, "the chunk index", error)
        };
        let grid = grid(space.shape, &stored.chunk_shape);
        let mut rows = Vec::with_capacity(entries.len());
        for entry in entries {
            if self.is_undefined(entry.address) {
                continue;
            }
            let Some(index) = coordinates(&entry.offsets, &stored.chunk_shape) else {
                let at = &entry.offsets;
                return Err(damaged(format!("a chunk begins at {at:?}, within another")));
            };
            // An array that became shorter may keep the chunks behind its end.
            if index.iter().zip(&grid).any(|(at, end)| at >= end) {
                continue;
            }
            let Some(index) = numbers(&index) else {
                return Err(damaged("it has too many chunks for Zarr".to_owned()));
            };
            let length = match (space.filters, entry.size) {
                (0, 0) => stored.chunk_bytes,
                (0, size) if size != stored.chunk_bytes => {
                    let wanted = stored.chunk_bytes;
                    return Err(damaged(format!("a chunk of {wanted} bytes has {size}")));
                }
                (_, 0) => return Err(damaged("a chunk with filters has no bytes".to_owned())),
                (_, size) => size,
            };
            let Some(position) = self.position(entry.address, length) else {
                let at = entry.address;
                return Err(damaged(format!(
                    "the file ends before the {length} bytes of the chunk at {at}"
                )));
            };
            let filters = u32::try_from(space.filters).unwrap_or(u32::MAX);
            let unused = u32::MAX.checked_shl(filters).unwrap_or(0);
            rows.push((index, position, length, entry.filter_mask & !unused));
        }
        rows.sort_unstable();
        if let Some([(index, ..), _]) = rows.array_windows().find(|[a, b]| a.0 == b.0) {
            return Err(damaged(format!("it lists the chunk {index:?} twice")));
        }
        let mut extents = ChunkExtents::new(grid.len());
        for (row, (index, position, length, left_out)) in rows.into_iter().enumerate() {
            extents.push(&index, 0, position, length);
            if left_out != 0 {
                stored.left_out.insert(row, left_out);
            }
        }
        stored.place = Place::File(extents);
        Ok(())
    }
}

fn compact(space: &Space<'_>, mut data: Vec<u8>) -> Parsed<Stored> {
    let chunk_shape = whole(space.shape);
    let chunk_bytes = bytes_of(&chunk_shape, space.element)?;
    let place = match data.is_empty() || space.shape.contains(&0) {
        true => Place::File(ChunkExtents::new(space.shape.len())),
        false => {
            let length = usize::try_from(chunk_bytes).unwrap_or(usize::MAX);
            if data.len() < length {
                return Err(invalid("its bytes in the header are cut short"));
            }
            data.truncate(length);
            Place::Header(data)
        }
    };
    Ok(Stored {
        chunk_shape,
        chunk_bytes,
        place,
        left_out: BTreeMap::new(),
    })
}

fn entry_of(key: BTreeV1Key, address: u64, rank: usize) -> Parsed<ChunkEntry> {
    match key {
        BTreeV1Key::RawData {
            chunk_size,
            filter_mask,
            mut offsets,
        } if offsets.len() >= rank => {
            // The last one is within an element, and zero.
            offsets.truncate(rank);
            Ok(ChunkEntry {
                address,
                size: u64::from(chunk_size),
                filter_mask,
                offsets,
            })
        }
        _ => Err(invalid("it lists something else than chunks")),
    }
}

/// Tells by the flags of the layout whether partial chunks go around the filters. The parser drops the flag.
fn edges_unfiltered(body: &[u8]) -> bool {
    matches!(body, [4 | 5, 2, flags, ..] if flags & 1 != 0)
}

/// Returns the shape of the only chunk: no length is zero.
fn whole(shape: &[u64]) -> Vec<u64> {
    shape.iter().map(|length| (*length).max(1)).collect()
}

/// Returns the shape of the chunks that a contiguous array is cut into: whole rows, and close to [`BLOCK`] bytes. Every
/// length divides that of the array, so that no chunk is shorter than the others.
fn blocks(shape: &[u64], element: u64) -> Parsed<Vec<u64>> {
    let mut chunk = whole(shape);
    if shape.contains(&0) {
        return Ok(chunk);
    }
    for axis in 0..chunk.len() {
        let rest = chunk.get(axis + 1..).unwrap_or_default();
        let row = bytes_of(rest, element)?;
        let Some(length) = chunk.get_mut(axis) else {
            break;
        };
        if length.checked_mul(row).is_some_and(|bytes| bytes <= BLOCK) {
            break;
        }
        let rows = BLOCK / row.max(1);
        if rows == 0 && axis + 1 < shape.len() {
            *length = 1;
            continue;
        }
        *length = divisor(*length, rows.max(1));
        break;
    }
    Ok(chunk)
}

/// Returns the largest divisor of `length` up to `most`. If there is none above an eighth of that, the smallest above it:
/// a few large chunks are better than many tiny ones.
fn divisor(length: u64, most: u64) -> u64 {
    // Searched by the number of parts, which is small for any array that fits in a file.
    const TRIES: usize = 1 << 16;
    let parts = length.div_ceil(most);
    let more = (parts..=parts.saturating_mul(8)).take(TRIES);
    let fewer = (1..parts).rev().take(TRIES);
    let found = more
        .chain(fewer)
        .find(|parts| length.is_multiple_of(*parts));
    found.map_or(length, |parts| length / parts)
}

fn bytes_of(shape: &[u64], element: u64) -> Parsed<u64> {
    let mut lengths = shape.iter();
    let bytes = lengths.try_fold(element, |bytes, length| bytes.checked_mul(*length));
    bytes.ok_or_else(|| invalid("it has more bytes than can be counted"))
}

fn grid(shape: &[u64], chunk_shape: &[u64]) -> Vec<u64> {
    let pairs = shape.iter().zip(chunk_shape);
    pairs
        .map(|(all, one)| all.div_ceil((*one).max(1)))
        .collect()
}

/// Returns the coordinates of the chunk that begins at an element.
fn coordinates(offsets: &[u64], chunk_shape: &[u64]) -> Option<Vec<u64>> {
    let pairs = offsets.iter().zip(chunk_shape);
    let index = pairs.map(|(at, length)| (at % length == 0).then(|| at / length));
    index
        .collect::<Option<Vec<u64>>>()
        .filter(|index| index.len() == chunk_shape.len())
}

fn numbers(index: &[u64]) -> Option<Vec<u32>> {
    index.iter().map(|at| u32::try_from(*at).ok()).collect()
}

/// Goes to the next chunk, the last dimension first; `false` behind the last one.
fn advance(index: &mut [u32], grid: &[u64]) -> bool {
    for (at, end) in index.iter_mut().zip(grid).rev() {
        if u64::from(*at) + 1 < *end {
            *at += 1;
            return true;
        }
        *at = 0;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contiguous_arrays_are_cut_into_equal_chunks_of_whole_rows() {
        for (shape, element, expected) in [
            (&[][..], 8, &[][..]),
            (&[0, 5], 8, &[1, 5]),
            (&[1024, 1024], 4, &[1024, 1024]),
            (&[4096, 1024], 4, &[1024, 1024]),
            (&[3000, 1024], 4, &[1000, 1024]),
            (&[100, 3000, 1024], 4, &[1, 1000, 1024]),
            (&[12, 3000, 2000], 1, &[1, 1500, 2000]),
            (&[10_000_000], 8, &[500_000]),
            (&[10, 10_000_000], 8, &[1, 500_000]),
        ] {
            assert_eq!(
                blocks(shape, element).expect("counts"),
                expected,
                "{shape:?}"
            );
        }
        // A prime number of rows is not cut into single ones.
        assert_eq!(blocks(&[1_000_003], 8).expect("counts"), [1_000_003]);
        assert!(blocks(&[u64::MAX, u64::MAX], 8).is_err());
    }

    #[test]
    fn a_huge_length_takes_no_time() {
        for length in [u64::MAX, (1 << 61) - 1] {
            assert!(divisor(length, BLOCK) >= 1);
        }
    }
}
