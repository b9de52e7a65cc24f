//! References to many virtual chunks, in columns.

use icefield_format::SpecVersion;

use super::{Containers, VirtualSource};
use crate::grid::within;

/// References to chunks of one array: columns of one length, one row per chunk.
///
/// ```text
/// row          0        1        2
/// coordinates  0 0      0 1      1 0      rank numbers a row
/// source       0        0        1        position among the sources
/// offset       4016     8120     4016     first byte in the object
/// length       4104     4099     4104     bytes, at least one
/// ```
///
/// ```
/// use icefield_core::{VirtualRefs, VirtualSource};
///
/// # fn main() -> Result<(), icefield_core::LocationRule> {
/// let files = [VirtualSource::new("s3://archive/2015/sst.nc")?];
/// let refs = VirtualRefs {
///     coordinates: &[0, 0, 0, 1],
///     sources: &files,
///     source: &[0, 0],
///     offsets: &[4016, 8120],
///     lengths: &[4104, 4099],
/// };
/// assert_eq!(refs.len(), 2, "two chunks of an array of two dimensions");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualRefs<'a> {
    /// The coordinates of the chunks in the grid, row by row.
    pub coordinates: &'a [u32],
    /// The objects that the rows refer to.
    pub sources: &'a [VirtualSource],
    /// For each row, the position of its object among the sources.
    pub source: &'a [u32],
    /// For each row, the first byte in the object.
    pub offsets: &'a [u64],
    /// For each row, the number of bytes.
    pub lengths: &'a [u64],
}

/// The reason why references to foreign objects cannot be set. None of the rows was set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum VirtualRefsError {
    /// The columns do not belong together.
    #[error(
        "the columns differ in length: {rows} offsets, {lengths} lengths, {sources} sources, and {coordinates} coordinates for {rank} dimensions"
    )]
    Columns {
        /// Offsets.
        rows: usize,
        /// Lengths.
        lengths: usize,
        /// Sources.
        sources: usize,
        /// Coordinates.
        coordinates: usize,
        /// Dimensions of the array.
        rank: usize,
    },
    /// A row refers to a source that is not there.
    #[error("row {row} refers to source {source_number}, and there are {count}")]
    NoSource {
        /// The row.
        row: usize,
        /// The number that it gives.
        source_number: u32,
        /// The number of sources.
        count: usize,
    },
    /// A chunk outside the grid.
    #[error("row {row} is chunk {index:?}, which is outside the grid of {grid:?} chunks")]
    OutOfGrid {
        /// The row.
        row: usize,
        /// The coordinates.
        index: Vec<u32>,
        /// Chunks per dimension.
        grid: Vec<u32>,
    },
    /// No bytes, or bytes beyond what can be counted.
    #[error(
        "row {row} refers to {length} bytes from {offset}: a chunk has at least one byte, and an end below 2^64"
    )]
    Range {
        /// The row.
        row: usize,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A source is spelt as in a repository of version 2.
    #[error(
        "{location} was read for a repository of spec version 2, and this one is of version 1: give the whole URL"
    )]
    NeedsSpecVersion2 {
        /// The location.
        location: String,
    },
    /// No container covers a source, so that no reader could open it.
    #[error(
        "no container in the repository's configuration covers {location}: add one with its prefix first"
    )]
    NoContainer {
        /// The location.
        location: String,
    },
}

impl VirtualRefs<'_> {
    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Checks that the columns belong together and fit a grid.
    pub(crate) fn check(&self, grid: &[u32]) -> Result<(), VirtualRefsError> {
        let (rows, rank) = (self.len(), grid.len());
        if self.lengths.len() != rows
            || self.source.len() != rows
            || rows.checked_mul(rank) != Some(self.coordinates.len())
        {
            return Err(VirtualRefsError::Columns {
                rows,
                lengths: self.lengths.len(),
                sources: self.source.len(),
                coordinates: self.coordinates.len(),
                rank,
            });
        }
        for row in 0..rows {
            let (offset, length) = (self.offsets[row], self.lengths[row]);
            if length == 0 || offset.checked_add(length).is_none() {
                return Err(VirtualRefsError::Range {
                    row,
                    offset,
                    length,
                });
            }
            if self.source[row] as usize >= self.sources.len() {
                return Err(VirtualRefsError::NoSource {
                    row,
                    source_number: self.source[row],
                    count: self.sources.len(),
                });
            }
            let index = self.index(row, rank);
            if !within(index, grid) {
                return Err(VirtualRefsError::OutOfGrid {
                    row,
                    index: index.to_vec(),
                    grid: grid.to_vec(),
                });
            }
        }
        Ok(())
    }

    /// Checks that the places of all sources are known to the repository.
    pub(crate) fn check_containers(&self, containers: &Containers) -> Result<(), VirtualRefsError> {
        let uncovered = |it: &&VirtualSource| containers.find(&it.location).is_none();
        let of_version_2 =
            |it: &&VirtualSource| containers.version() == SpecVersion::V1 && it.verbatim.is_some();
        if let Some(source) = self.sources.iter().find(of_version_2) {
            return Err(VirtualRefsError::NeedsSpecVersion2 {
                location: source.spelt(SpecVersion::V2).into_owned(),
            });
        }
        match self.sources.iter().find(uncovered) {
            None => Ok(()),
            Some(source) => Err(VirtualRefsError::NoContainer {
                location: source.location.to_string(),
            }),
        }
    }

    pub(crate) fn index(&self, row: usize, rank: usize) -> &[u32] {
        &self.coordinates[row * rank..][..rank]
    }
}
