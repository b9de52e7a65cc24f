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

use super::file::Hdf5;
use super::parsed::{Parsed, invalid};
use crate::regions::product;
use crate::{ChunkExtents, SourceError};

/// Bytes of an entry of an index while it is read.
const ENTRY: usize = 96;

/// The description of an array before its layout.
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
    pub(super) place: StoredBytes,
    /// The filters that were left out for single chunks, by row of the extents.
    pub(super) left_out: BTreeMap<usize, u32>,
}

/// Where they are.
pub(super) enum StoredBytes {
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
        let mut stored = Stored {
            chunk_shape,
            chunk_bytes,
            place: StoredBytes::File(ChunkExtents::new(dims.len())),
            left_out: BTreeMap::new(),
        };
        if !self.is_undefined(address) && !space.shape.contains(&0) {
            let entries = self.entries(space, address, dims, indexing, chunk_bytes);
            let entries =
                entries.map_err(|error| self.failed(space.path, "the chunk index", error))?;
            self.list(space, &mut stored, entries, unfiltered_edges)?;
        }
        Ok(stored)
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
        let structure = self.structure();
        let (storage, offset, length) = (&structure, self.offset_size, self.length_size);
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
                let end = self.storage().len();
                // No more chunks than have room: the parser allows one more.
                if chunk_bytes > 0 && address > end {
                    return Err(Error::OffsetOutOfBounds(address));
                }
                // Such chunks have no entries in the file, and may be as short as an element.
                let room = end.saturating_sub(address) / chunk_bytes.max(1);
                let all = grid(
                    space.most,
                    &dims.iter().map(|one| u64::from(*one)).collect::<Vec<_>>(),
                );
                let chunks = usize::try_from(product(&all).min(room)).unwrap_or(usize::MAX);
                self.held.check(chunks.saturating_mul(ENTRY))?;
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
        unfiltered_edges: bool,
    ) -> Result<(), SourceError> {
        let damaged = |problem: String| {
            let error = invalid(problem);
            self.failed(space.path, "the chunk index", error)
        };
        let chunk_shape = stored.chunk_shape.clone();
        let grid = grid(space.shape, &chunk_shape);
        let rows = entries.len().saturating_mul(4 * grid.len() + 20);
        let held = self.held.add(rows);
        held.map_err(|error| self.failed(space.path, "the chunk index", error))?;
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
            let all = !u32::MAX.checked_shl(filters).unwrap_or(0);
            let left_out = match unfiltered_edges && is_at_edge(&index, space.shape, &chunk_shape) {
                true => all,
                false => entry.filter_mask & all,
            };
            rows.push((index, position, length, left_out));
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
        stored.place = StoredBytes::File(extents);
        Ok(())
    }
}

fn compact(space: &Space<'_>, mut data: Vec<u8>) -> Parsed<Stored> {
    let chunk_shape = whole(space.shape);
    let chunk_bytes = bytes_of(&chunk_shape, space.element)?;
    let place = match data.is_empty() || space.shape.contains(&0) {
        true => StoredBytes::File(ChunkExtents::new(space.shape.len())),
        false => {
            let length = usize::try_from(chunk_bytes).unwrap_or(usize::MAX);
            if data.len() < length {
                return Err(invalid("its bytes in the header are cut short"));
            }
            data.truncate(length);
            StoredBytes::Header(data)
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
pub(super) fn whole(shape: &[u64]) -> Vec<u64> {
    shape.iter().map(|length| (*length).max(1)).collect()
}

/// Returns the bytes of so many elements per dimension.
pub(super) fn bytes_of(shape: &[u64], element: u64) -> Parsed<u64> {
    let mut lengths = shape.iter();
    let bytes = lengths.try_fold(element, |bytes, length| bytes.checked_mul(*length));
    bytes.ok_or_else(|| invalid("it has more bytes than can be counted"))
}

/// Returns the chunks per dimension.
pub(super) fn grid(shape: &[u64], chunk_shape: &[u64]) -> Vec<u64> {
    let pairs = shape.iter().zip(chunk_shape);
    pairs
        .map(|(all, one)| all.div_ceil((*one).max(1)))
        .collect()
}

/// Tells whether a chunk reaches beyond the end of the array.
fn is_at_edge(index: &[u32], shape: &[u64], chunk_shape: &[u64]) -> bool {
    let mut axes = index.iter().zip(shape).zip(chunk_shape);
    axes.any(|((at, all), one)| (u64::from(*at) + 1).saturating_mul(*one) > *all)
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
