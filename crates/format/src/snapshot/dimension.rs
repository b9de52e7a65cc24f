//! The dimensions of an array, as a snapshot has them.

/// One dimension of an array: its length, and how many chunks there are along it.
///
/// Spec 1 has the length of a chunk, from which the number follows; spec 2 the number alone, so that chunks need not have
/// one length (spec 2, §5). Either is written in either version, and comes back as it was in its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DimensionShape {
    /// Elements along the dimension.
    pub array_length: u64,
    chunks: Chunks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Chunks {
    OfLength(u64),
    Count(u32),
}

impl DimensionShape {
    /// Returns a dimension of chunks that have one length, as spec 1 has it.
    #[must_use]
    pub fn regular(array_length: u64, chunk_length: u64) -> Self {
        let chunks = Chunks::OfLength(chunk_length);
        Self {
            array_length,
            chunks,
        }
    }

    /// Returns a dimension of so many chunks of any lengths, as spec 2 has it. 0 for a dimension of no elements.
    #[must_use]
    pub fn counted(array_length: u64, num_chunks: u32) -> Self {
        let chunks = Chunks::Count(num_chunks);
        Self {
            array_length,
            chunks,
        }
    }

    /// Returns the number of chunks along the dimension.
    #[must_use]
    pub fn num_chunks(&self) -> u64 {
        match self.chunks {
            Chunks::OfLength(length) => self.array_length.div_ceil(length.max(1)),
            Chunks::Count(count) => u64::from(count),
        }
    }

    /// Returns the elements of a chunk along the dimension, of which the last chunk may have fewer.
    ///
    /// Only good for bounding coordinates. Files of spec 2 do not have it, and some writers of spec 1 reconstruct it, as is
    /// done here: it is the least length that gives the number of chunks, or fewer. The true one is in `zarr.json`.
    #[must_use]
    pub fn chunk_length(&self) -> u64 {
        match self.chunks {
            Chunks::OfLength(length) => length,
            Chunks::Count(count) => self.array_length.div_ceil(u64::from(count.max(1))).max(1),
        }
    }
}
