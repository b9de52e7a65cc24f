//! Where chunks lie in files, in columns.

/// Chunks of one array and the bytes of files that hold them: columns of one length, in no order.
///
/// ```text
/// row          0        1        2
/// coordinates  0 0      0 1      1 0      rank numbers a row
/// file         0        0        1        position in the list of files
/// offset       4016     8120     4016     first byte
/// length       4104     4099     4104     bytes, at least one
/// ```
///
/// ```
/// use icefield_ingest::ChunkExtents;
///
/// let mut extents = ChunkExtents::new(2);
/// extents.push(&[0, 1], 0, 4016, 4104);
/// assert_eq!(extents.row(0).index, [0, 1]);
/// assert_eq!(extents.bytes(), 4104);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChunkExtents {
    rank: usize,
    coordinates: Vec<u32>,
    files: Vec<u32>,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
}

/// One row of [`ChunkExtents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent<'a> {
    /// The coordinates of the chunk in the grid.
    pub index: &'a [u32],
    /// The position of the file in [`Archive::files`](crate::Archive::files).
    pub file: u32,
    /// The first byte of the chunk in the file.
    pub offset: u64,
    /// The number of bytes of the chunk.
    pub length: u64,
}

/// Goes to the next chunk of a grid, the last dimension first; `false` behind the last one.
pub(crate) fn advance(index: &mut [u32], grid: &[u64]) -> bool {
    for (at, end) in index.iter_mut().zip(grid).rev() {
        if u64::from(*at) + 1 < *end {
            *at += 1;
            return true;
        }
        *at = 0;
    }
    false
}

impl ChunkExtents {
    /// Returns no rows, for an array with this many dimensions.
    pub fn new(rank: usize) -> Self {
        Self {
            rank,
            ..Self::default()
        }
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Adds a chunk. `index` must have one coordinate per dimension.
    pub fn push(&mut self, index: &[u32], file: u32, offset: u64, length: u64) {
        debug_assert_eq!(index.len(), self.rank, "BUG: the reader knows the rank");
        self.coordinates.extend_from_slice(index);
        self.files.push(file);
        self.offsets.push(offset);
        self.lengths.push(length);
    }

    /// Frees the memory reserved for chunks that did not come.
    pub fn shrink(&mut self) {
        self.coordinates.shrink_to_fit();
        self.files.shrink_to_fit();
        self.offsets.shrink_to_fit();
        self.lengths.shrink_to_fit();
    }

    /// Returns the number of chunks.
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Returns whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Returns the sum of the lengths of all chunks, in bytes.
    pub fn bytes(&self) -> u64 {
        self.lengths
            .iter()
            .fold(0, |all, one| all.saturating_add(*one))
    }

    /// Returns the coordinates of all rows, one after the other, rank numbers for each row.
    pub fn coordinates(&self) -> &[u32] {
        &self.coordinates
    }

    /// Returns the position of the file of each row.
    pub fn files(&self) -> &[u32] {
        &self.files
    }

    /// Returns the first byte of each row in its file.
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// Returns the number of bytes of each row.
    pub fn lengths(&self) -> &[u64] {
        &self.lengths
    }

    /// Returns a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Extent<'_> {
        Extent {
            index: &self.coordinates[row * self.rank..][..self.rank],
            file: self.files[row],
            offset: self.offsets[row],
            length: self.lengths[row],
        }
    }

    /// Iterates over the rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Extent<'_>> {
        (0..self.len()).map(|row| self.row(row))
    }
}
