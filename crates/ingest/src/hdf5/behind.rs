//! Arrays with fewer records than their dimension: what lies behind their own is fill values.
//!
//! ```text
//! dimension      | 0 1 2 3 | 4 5 6 7 |     eight records
//! array in HDF5  | 0 1 2 . |               three, in chunks of four
//! array in Zarr  | 0 1 2 _ | _ _ _ _ |     eight; the second chunk is not there
//! ```
//!
//! HDF5 fills the rest of a chunk when it makes it, if the array has a fill value and its creator did not turn that off.
//! Otherwise the rest is zeros or anything: such chunks are decoded and encoded anew.

use std::collections::HashSet;

use bytes::Bytes;
use icefield_core::ChunkIndex;
use serde_json::{Value, json};

use super::chunks::grid;
use crate::archive::values::base64_bytes;
use crate::decode::Encoding;
use crate::regions::{chunk_index, places, product};
use crate::{ArchiveArray, ArchiveChunks, ChunkExtents};

/// Why an array is refused.
const UNKNOWN: &str = "it has fewer records than its dimension, HDF5 did not fill the rest of its last chunk, and its type or filters are none that can be encoded here: rewrite it with `nccopy`, or leave it out";

/// The part of an array that the file has, of a longer one.
pub(super) struct PastRecords<'a> {
    /// Elements per dimension in the file.
    pub(super) own: &'a [u64],
    /// Elements per dimension; no fewer.
    pub(super) shape: &'a [u64],
    /// Elements per chunk and dimension.
    pub(super) chunk_shape: &'a [u64],
}

impl PastRecords<'_> {
    /// Tells whether a chunk has elements of the file and others behind them.
    fn is_cut(&self, index: &[u32]) -> bool {
        let mut axes = self.axes(index);
        axes.any(|(start, length, own, shape)| {
            own < shape && start < own && own < start.saturating_add(length)
        })
    }

    /// For each dimension: where a chunk begins, its elements, those of the file, those of the array.
    fn axes<'a>(&'a self, index: &'a [u32]) -> impl Iterator<Item = (u64, u64, u64, u64)> + 'a {
        let lengths = self.own.iter().zip(self.shape);
        let axes = index.iter().zip(self.chunk_shape).zip(lengths);
        axes.map(|((at, length), (own, shape))| {
            let start = u64::from(*at).saturating_mul(*length);
            (start, *length, *own, *shape)
        })
    }

    /// Overwrites the elements of a chunk that lie behind those of the file. Returns whether one was another.
    pub(super) fn fill(&self, index: &[u32], chunk: &mut [u8], fill: &[u8]) -> bool {
        if fill.is_empty() || !self.is_cut(index) {
            return false;
        }
        // Elements of the chunk that are of the file, and all, per dimension.
        let kept: Vec<(u64, u64)> = self
            .axes(index)
            .map(|(start, length, own, shape)| match own < shape {
                true => (own.saturating_sub(start).min(length), length),
                false => (length, length),
            })
            .collect();
        let mut changed = false;
        for (number, element) in (0u64..).zip(chunk.chunks_exact_mut(fill.len())) {
            let mut rest = number;
            let mut lengths = kept.iter().rev();
            let behind = lengths.any(|(own, length)| {
                let at = rest.checked_rem(*length).unwrap_or(0);
                rest = rest.checked_div(*length).unwrap_or(0);
                at >= *own
            });
            if behind && element != fill {
                element.copy_from_slice(fill);
                changed = true;
            }
        }
        changed
    }
}

/// The chunks of an array that HDF5 did not fill.
pub(super) struct Unfilled<'a> {
    pub(super) behind: PastRecords<'a>,
    /// Whether chunks that are not there read as zeros in the file, and not as the fill value of the array.
    pub(super) has_zeros: bool,
    /// Bytes of memory that the chunks that are made may take.
    pub(super) most: u64,
}

/// Returns how many bytes of memory a chunk takes that is made: its entry, its coordinates and its encoded bytes.
fn taken(rank: usize, encoded: usize) -> u64 {
    let index = rank.saturating_mul(size_of::<u32>());
    let entry = size_of::<(ChunkIndex, Bytes)>().saturating_add(index);
    entry.saturating_add(encoded) as u64
}

/// Why chunks cannot be made.
pub(super) enum NotMade {
    /// Reading one failed.
    Read(hdf5_reader::error::Error),
    /// Too many bytes.
    TooLong,
    /// There is no way to write them.
    Refused(&'static str),
}

impl Unfilled<'_> {
    /// Makes the chunks whose bytes in the file are not those of the array, and takes them from the extents. `read` reads
    /// the bytes of the file. Returns how many bytes of memory the chunks take.
    pub(super) fn made(
        &self,
        array: &mut ArchiveArray,
        read: impl Fn(u64, u64) -> Result<Vec<u8>, hdf5_reader::error::Error>,
    ) -> Result<u64, NotMade> {
        let extents = match &array.chunks {
            ArchiveChunks::InFiles(extents) => extents,
            ArchiveChunks::Recoded { extents, .. } => {
                let mut rows = extents.rows();
                let is_whole = !self.has_zeros && !rows.any(|row| self.behind.is_cut(row.index));
                return is_whole.then_some(0).ok_or(NotMade::Refused(UNKNOWN));
            }
            ArchiveChunks::Mixed { .. } | ArchiveChunks::Made { .. } => return Ok(0),
        };
        let encoding = encoding(array, product(self.behind.chunk_shape));
        let encoding = || encoding.as_ref().ok_or(NotMade::Refused(UNKNOWN));
        let mut left = self.most;
        let mut add = |made: &mut Vec<(ChunkIndex, Bytes)>, index: &[u32], plain: Vec<u8>| {
            let encoded = encoding()?.encoded(plain);
            let encoded = encoded.ok_or(NotMade::Refused(UNKNOWN))?;
            let rest = left.checked_sub(taken(index.len(), encoded.len()));
            left = rest.ok_or(NotMade::TooLong)?;
            made.push((ChunkIndex::from(index.to_vec()), encoded.into()));
            Ok::<_, NotMade>(())
        };
        let (mut kept, mut made) = (ChunkExtents::new(array.shape.len()), Vec::new());
        for row in extents.rows() {
            if self.behind.is_cut(row.index) {
                let encoding = encoding()?;
                let chunk = read(row.offset, row.length).map_err(NotMade::Read)?;
                let undecoded = || {
                    let index = ChunkIndex::from(row.index.to_vec());
                    let text = format!("its chunk {index} cannot be decoded");
                    NotMade::Read(super::parsed::invalid(text))
                };
                let mut plain = encoding.plain(&chunk).ok_or_else(undecoded)?;
                if self.behind.fill(row.index, &mut plain, encoding.fill()) {
                    add(&mut made, row.index, plain)?;
                    continue;
                }
            }
            kept.push(row.index, row.file, row.offset, row.length);
        }
        if self.has_zeros {
            let present: HashSet<&[u32]> = extents.rows().map(|row| row.index).collect();
            let counts = grid(self.behind.own, self.behind.chunk_shape);
            for index in places(&counts).map(|place| chunk_index(&place)) {
                if present.contains(index.as_slice()) {
                    continue;
                }
                let encoding = encoding()?;
                let mut plain = encoding.filled();
                plain.fill(0);
                self.behind.fill(&index, &mut plain, encoding.fill());
                add(&mut made, &index, plain)?;
            }
        }
        if !made.is_empty() {
            kept.shrink();
            array.chunks = ArchiveChunks::Mixed {
                extents: kept,
                made,
            };
        }
        Ok(self.most.saturating_sub(left))
    }
}

/// Returns how the chunks of an array are encoded, if that is known. Chars and truth values are bytes.
fn encoding(array: &ArchiveArray, elements: u64) -> Option<Encoding> {
    let byte = match (array.element_bytes(), &array.fill_value) {
        (Some(1), Value::Bool(fill)) => Some(u8::from(*fill)),
        (Some(1), Value::String(fill)) => {
            let bytes = base64_bytes(fill)?;
            Some(bytes.first().copied().unwrap_or(0))
        }
        _ => None,
    };
    let (data_type, fill_value) = match byte {
        Some(byte) => ("uint8".into(), byte.into()),
        None => (array.data_type.clone(), array.fill_value.clone()),
    };
    let document =
        json!({ "data_type": data_type, "fill_value": fill_value, "codecs": array.codecs });
    Encoding::of(document.to_string().as_bytes(), elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_behind_the_records_is_filled() {
        // Two rows of three in a chunk; the file has one row and two columns, the array two rows and three.
        let behind = PastRecords {
            own: &[1, 2],
            shape: &[2, 3],
            chunk_shape: &[2, 3],
        };
        let mut chunk = [1, 2, 3, 4, 5, 6];
        assert!(behind.fill(&[0, 0], &mut chunk, &[9]));
        assert_eq!(chunk, [1, 2, 9, 9, 9, 9]);
        assert!(!behind.fill(&[0, 0], &mut chunk, &[9]));
        // Along a dimension that has no more records, the rest of the chunk is outside of the array.
        let behind = PastRecords {
            own: &[1, 2],
            shape: &[2, 2],
            chunk_shape: &[2, 3],
        };
        let mut chunk = [1, 2, 3, 4, 5, 6];
        assert!(behind.fill(&[0, 0], &mut chunk, &[9]));
        assert_eq!(chunk, [1, 2, 3, 9, 9, 9]);
    }

    #[test]
    fn a_chunk_of_one_byte_counts_with_its_entry_and_coordinates() {
        let unfilled = |most| Unfilled {
            behind: PastRecords {
                own: &[4],
                shape: &[5],
                chunk_shape: &[1],
            },
            has_zeros: true,
            most,
        };
        let mut array = ArchiveArray {
            shape: vec![5],
            chunk_shape: vec![1],
            data_type: "uint8".into(),
            fill_value: 9.into(),
            codecs: vec![json!({ "name": "bytes" })],
            dimension_names: Vec::new(),
            attributes: serde_json::Map::new(),
            chunks: ArchiveChunks::InFiles(ChunkExtents::new(1)),
        };
        // Four chunks; their encoded bytes alone are four.
        let all = 4 * taken(1, 1);
        let refused = unfilled(all - 1).made(&mut array, |_, _| Ok(Vec::new()));
        assert!(matches!(refused, Err(NotMade::TooLong)));
        let made = unfilled(all).made(&mut array, |_, _| Ok(Vec::new()));
        assert!(made.is_ok_and(|bytes| bytes == all && bytes > 4 * 16));
        let ArchiveChunks::Mixed { made, .. } = &array.chunks else {
            panic!("chunks are made")
        };
        assert_eq!(made.len(), 4);
    }
}
