//! Elements of arrays that are rewritten: whole small arrays, and single chunks of large ones.

use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use hashbrown::HashSet;
use icefield_core::{ArrayMetadata, ByteRange, ChunkIndex, NodePath, Session, WriteMode};
use icefield_zarr_store::{ChunkCodec, Elements};
use serde_json::Value;

use crate::RollingError;
use crate::dimension::{Member, for_each_chunk};

/// Chunks of one array that are read or written at a time.
const AT_ONCE: usize = 8;

/// Most bytes of a chunk that is rewritten.
const MOST_BYTES: u64 = 1 << 30;

/// A box of elements, the last dimension fastest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Block {
    pub(crate) shape: Vec<u64>,
    pub(crate) elements: Elements,
}

impl Block {
    /// A box of one element, again and again.
    fn filled(shape: &[u64], filled: &Elements) -> Self {
        let count = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
        let elements = match filled {
            Elements::Fixed(one) => Elements::Fixed(one.repeat(count)),
            Elements::Variable(one) => Elements::Variable(
                one.iter()
                    .cloned()
                    .cycle()
                    .take(one.len() * count)
                    .collect(),
            ),
        };
        Self {
            shape: shape.to_vec(),
            elements,
        }
    }

    /// Copies a box of `extent` from another block.
    fn copy(&mut self, at: &[u64], from: &Self, start: &[u64], extent: &[u64], width: usize) {
        if extent.contains(&0) {
            return;
        }
        let Some((run, outer)) = extent.split_last() else {
            // A scalar.
            self.copy_run(0, from, 0, 1, width);
            return;
        };
        let mut index = vec![0; outer.len()];
        loop {
            let place = |shape: &[u64], corner: &[u64]| {
                let axes = index.iter().chain([&0]).zip(shape).zip(corner);
                axes.fold(0, |flat, ((i, length), corner)| flat * length + i + corner)
            };
            let (to, from_at) = (place(&self.shape, at), place(&from.shape, start));
            self.copy_run(to as usize, from, from_at as usize, *run as usize, width);
            let mut axis = outer.len();
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                index[axis] += 1;
                if index[axis] < outer[axis] {
                    break;
                }
                index[axis] = 0;
            }
        }
    }

    fn copy_run(&mut self, to: usize, from: &Self, at: usize, count: usize, width: usize) {
        match (&mut self.elements, &from.elements) {
            (Elements::Fixed(to_bytes), Elements::Fixed(bytes)) => {
                let bytes = &bytes[at * width..(at + count) * width];
                to_bytes[to * width..(to + count) * width].copy_from_slice(bytes);
            }
            (Elements::Variable(to_texts), Elements::Variable(texts)) => {
                to_texts[to..to + count].clone_from_slice(&texts[at..at + count]);
            }
            _ => {}
        }
    }
}

/// All elements of an array, and which of its chunks are there.
pub(crate) struct Written {
    array: ArrayMetadata,
    pub(crate) all: Block,
    there: HashSet<ChunkIndex>,
}

/// How an array that is rewritten becomes another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rewrite {
    pub(crate) axis: usize,
    /// Elements by which the start moves.
    pub(crate) moved: i64,
    /// Whether every chunk is written, and not only those of which there was a part.
    pub(crate) whole: bool,
}

impl Written {
    /// Whether there was a part of what is in a chunk of the array that this one becomes.
    fn has_any(&self, array: &ArrayMetadata, index: &[u32], change: Rewrite) -> bool {
        let axis = change.axis;
        let (corner, extent) = corner_and_extent(array, index);
        let (length, chunk) = (self.array.shape[axis], self.array.chunk_shape[axis].max(1));
        let was = |at: u64| i128::from(at) + i128::from(change.moved);
        let inside = |at: i128| at.clamp(0, i128::from(length)) as u64;
        let start = inside(was(corner[axis]));
        let end = inside(was(corner[axis].saturating_add(extent[axis])));
        if start >= end {
            return false;
        }
        (start / chunk..end.div_ceil(chunk)).any(|slab| {
            let mut index = index.to_vec();
            // The grid of an array that was read has no more.
            index[axis] = slab as u32;
            self.there.contains(&ChunkIndex::from(index))
        })
    }
}

/// The chunks of one array, as elements.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    path: NodePath,
    codec: Arc<ChunkCodec>,
    /// Bytes of an element; 1 where they differ.
    width: usize,
}

impl Blocks {
    pub(crate) fn of(member: &Member) -> Result<Self, RollingError> {
        Self::of_array(&member.path, &member.json, &member.array)
    }

    /// Those of an array with this document.
    pub(crate) fn of_array(
        path: &NodePath,
        json: &Value,
        array: &ArrayMetadata,
    ) -> Result<Self, RollingError> {
        let codec = ChunkCodec::new(json).map_err(|problem| RollingError::Codec {
            path: path.clone(),
            problem,
        })?;
        let width = match codec.filled() {
            Elements::Fixed(one) => one.len(),
            Elements::Variable(_) => 1,
        };
        let blocks = Self {
            path: path.clone(),
            codec: Arc::new(codec),
            width,
        };
        match blocks.bytes(&array.chunk_shape) {
            bytes if bytes > MOST_BYTES => Err(blocks.refused(format!(
                "one of them has {bytes} bytes, where {MOST_BYTES} are the most"
            ))),
            _ => Ok(blocks),
        }
    }

    /// Bytes of an array of a shape, about.
    pub(crate) fn bytes(&self, shape: &[u64]) -> u64 {
        let count = shape
            .iter()
            .fold(1_u64, |all, one| all.saturating_mul(*one));
        let each = match self.codec.filled() {
            Elements::Fixed(_) => self.width as u64,
            Elements::Variable(_) => 64,
        };
        count.saturating_mul(each)
    }

    fn refused(&self, problem: String) -> RollingError {
        RollingError::Codec {
            path: self.path.clone(),
            problem,
        }
    }

    /// Reads a chunk; `None` if it was never written.
    async fn chunk(
        &self,
        session: &Session,
        index: &[u32],
        shape: &[u64],
    ) -> Result<Option<Block>, RollingError> {
        let Some(bytes) = session.chunk(&self.path, index, ByteRange::All).await? else {
            return Ok(None);
        };
        let elements = self
            .codec
            .decode(&bytes)
            .map_err(|problem| self.refused(problem))?;
        let block = Block {
            shape: shape.to_vec(),
            elements,
        };
        let count = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
        let found = match &block.elements {
            Elements::Fixed(bytes) => bytes.len() / self.width.max(1),
            Elements::Variable(texts) => texts.len(),
        };
        match found == count {
            true => Ok(Some(block)),
            false => Err(self.refused(format!(
                "chunk {index:?} has {found} elements, where {count} belong"
            ))),
        }
    }

    async fn write(
        &self,
        session: &Session,
        index: &[u32],
        block: Block,
    ) -> Result<(), RollingError> {
        let bytes = self
            .codec
            .encode(block.elements)
            .map_err(|problem| self.refused(problem))?;
        let bytes = Bytes::from(bytes);
        session
            .set_chunk(&self.path, index, bytes, WriteMode::Overwrite)
            .await?;
        Ok(())
    }

    /// Reads the whole array. Chunks that were never written read as the fill value.
    pub(crate) async fn read_all(
        &self,
        session: &Session,
        array: &ArrayMetadata,
    ) -> Result<Block, RollingError> {
        Ok(self.read_written(session, array).await?.all)
    }

    /// As [`Blocks::read_all`], and says which chunks there are.
    pub(crate) async fn read_written(
        &self,
        session: &Session,
        array: &ArrayMetadata,
    ) -> Result<Written, RollingError> {
        let mut there = HashSet::new();
        let mut all = Block::filled(&array.shape, self.codec.filled());
        let mut reading = stream::iter(indices(array))
            .map(|index| async move {
                let chunk = self.chunk(session, &index, &array.chunk_shape).await?;
                Ok::<_, RollingError>((index, chunk))
            })
            .buffer_unordered(AT_ONCE);
        while let Some((index, chunk)) = reading.try_next().await? {
            if let Some(chunk) = chunk {
                let (corner, extent) = corner_and_extent(array, &index);
                let start = vec![0; corner.len()];
                all.copy(&corner, &chunk, &start, &extent, self.width);
                there.insert(index);
            }
        }
        let array = array.clone();
        Ok(Written { array, all, there })
    }

    /// Writes the whole array as it is after `change`; of `before`, what is already as it will be stays.
    pub(crate) async fn write_all(
        &self,
        session: &Session,
        array: &ArrayMetadata,
        all: &Block,
        before: &Written,
        change: Rewrite,
    ) -> Result<(), RollingError> {
        let writing = stream::iter(indices(array)).map(|index| async move {
            let was_there = before.there.contains(&index);
            if !change.whole && !before.has_any(array, &index, change) {
                // The elements that are here now were never written, and a chunk would claim that they had been.
                if was_there {
                    session.delete_chunk(&self.path, &index).await?;
                }
                return Ok(());
            }
            let chunk = self.cut(array, all, &index);
            if was_there && chunk == self.cut(&before.array, &before.all, &index) {
                return Ok(());
            }
            self.write(session, &index, chunk).await
        });
        writing.buffer_unordered(AT_ONCE).try_collect::<()>().await
    }

    /// One chunk of an array.
    fn cut(&self, array: &ArrayMetadata, all: &Block, index: &[u32]) -> Block {
        let mut chunk = Block::filled(&array.chunk_shape, self.codec.filled());
        let (corner, extent) = corner_and_extent(array, index);
        let start = vec![0; corner.len()];
        chunk.copy(&start, all, &corner, &extent, self.width);
        chunk
    }

    /// Returns the block with another extent along an axis: what is from `first` on comes to the start, and what is not
    /// there reads as the fill value, as does what comes before `masked`.
    pub(crate) fn moved(
        &self,
        all: &Block,
        axis: usize,
        first: i64,
        length: u64,
        masked: u64,
    ) -> Block {
        let mut shape = all.shape.clone();
        shape[axis] = length;
        let mut moved = Block::filled(&shape, self.codec.filled());
        let (mut at, mut start) = (vec![0; shape.len()], vec![0; shape.len()]);
        start[axis] = u64::try_from(first).unwrap_or(0);
        at[axis] = first.min(0).unsigned_abs();
        if at[axis] < masked {
            start[axis] += masked - at[axis];
            at[axis] = masked;
        }
        let mut extent = shape.clone();
        let there = all.shape[axis].saturating_sub(start[axis]);
        extent[axis] = there.min(length.saturating_sub(at[axis]));
        moved.copy(&at, all, &start, &extent, self.width);
        moved
    }

    /// Rewrites the chunks of one slab so that elements outside of `kept`, counted within the slab, read as the fill value.
    /// Unwritten chunks stay unwritten.
    pub(crate) async fn keep_within(
        &self,
        session: &Session,
        array: &ArrayMetadata,
        axis: usize,
        slab: u32,
        kept: std::ops::Range<u64>,
    ) -> Result<u64, RollingError> {
        let indices = for_each_chunk(&array.chunk_counts, axis, slab..slab + 1);
        let kept = &kept;
        let rewriting = stream::iter(indices).map(|index| async move {
            let Some(chunk) = self.chunk(session, &index, &array.chunk_shape).await? else {
                return Ok::<_, RollingError>(0);
            };
            let mut left = Block::filled(&array.chunk_shape, self.codec.filled());
            let mut corner = vec![0; chunk.shape.len()];
            corner[axis] = kept.start;
            let mut extent = chunk.shape.clone();
            extent[axis] = kept.end.saturating_sub(kept.start);
            left.copy(&corner, &chunk, &corner, &extent, self.width);
            self.write(session, &index, left).await?;
            Ok(1)
        });
        let rewriting = rewriting.buffer_unordered(AT_ONCE);
        rewriting
            .try_fold(0, |all, one| async move { Ok(all + one) })
            .await
    }
}

fn indices(array: &ArrayMetadata) -> Box<dyn Iterator<Item = ChunkIndex> + Send> {
    match array.chunk_counts.first() {
        Some(first) => Box::new(for_each_chunk(&array.chunk_counts, 0, 0..*first)),
        None => Box::new(std::iter::once(ChunkIndex::from(Vec::new()))),
    }
}

/// Where a chunk lies in its array, and how much of it.
fn corner_and_extent(array: &ArrayMetadata, index: &[u32]) -> (Vec<u64>, Vec<u64>) {
    let axes = index.iter().zip(&array.chunk_shape).zip(&array.shape);
    axes.map(|((at, chunk), length)| {
        let corner = u64::from(*at) * chunk;
        (corner, (*chunk).min(length.saturating_sub(corner)))
    })
    .unzip()
}
