//! The elements of an array, in parts that memory holds.

use std::collections::{HashMap, HashSet};

use icefield_core::{ArrayMetadata, ChunkIndex, NodePath, Session};
use icefield_zarr_store::{ChunkCodec, Elements};
use serde_json::Value;

use super::NetcdfError;
use crate::regions::{Region, chunk_index, copy};

/// Bytes of a part, unless one row of chunks has more.
const PART: u64 = 16 << 20;
/// Bytes of decoded chunks that are kept for the next parts.
const KEPT: usize = 64 << 20;
/// Chunks of a part, at most.
const MOST_CHUNKS: u64 = 4096;
/// Bytes that a text of unknown length is taken to have.
const TEXT: u64 = 64;

/// Reads the elements of an array from first to last, the last dimension fastest.
#[derive(Debug)]
pub(crate) struct ElementReader {
    session: Session,
    path: NodePath,
    array: ArrayMetadata,
    decoder: ChunkCodec,
    /// An element of a chunk that is not written.
    fill: Elements,
    /// The dimension along which parts are cut at chunks; those before it are walked one by one.
    cut: usize,
    /// The first element of the next part; `None` at the end.
    next: Option<Vec<u64>>,
    kept: HashMap<ChunkIndex, Option<Elements>>,
    /// Chunks that were looked for.
    looked_for: u64,
}

impl ElementReader {
    /// Begins at the first element of an array, which `document` describes.
    ///
    /// # Errors
    /// [`NetcdfError::Variable`] for an array whose codecs are not known.
    pub(crate) fn new(
        session: &Session,
        path: &NodePath,
        document: &Value,
    ) -> Result<Self, NetcdfError> {
        let array = session.array(path)?;
        let decoder =
            ChunkCodec::new(document).map_err(|problem| NetcdfError::variable(path, problem))?;
        let fill = decoder.filled().clone();
        let width = match &fill {
            Elements::Fixed(bytes) => bytes.len() as u64,
            Elements::Variable(_) => TEXT,
        };
        let is_empty = array.shape.contains(&0);
        Ok(Self {
            session: session.clone(),
            path: path.clone(),
            cut: cut(&array, width),
            next: (!is_empty).then(|| vec![0; array.rank()]),
            array,
            decoder,
            fill,
            kept: HashMap::new(),
            looked_for: 0,
        })
    }

    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    /// Returns how many chunks were looked for so far; one that was not kept between two parts counts twice.
    pub(crate) fn looked_for(&self) -> u64 {
        self.looked_for
    }

    /// Reads the next part and the box that it fills; `None` after the last.
    ///
    /// # Errors
    /// [`NetcdfError::Variable`] for a chunk that is damaged.
    pub(crate) async fn next(&mut self) -> Result<Option<(Region, Elements)>, NetcdfError> {
        let Some(start) = self.next.take() else {
            return Ok(None);
        };
        let region = self.region(start);
        let elements = self.read(&region).await?;
        self.next = self.after(&region);
        Ok(Some((region, elements)))
    }

    /// Bytes of an element, if all have as many.
    pub(crate) fn width(&self) -> Option<usize> {
        match &self.fill {
            Elements::Fixed(bytes) => Some(bytes.len()),
            Elements::Variable(_) => None,
        }
    }

    /// The part that begins at an element.
    fn region(&self, start: Vec<u64>) -> Region {
        let mut shape = self.array.shape.clone();
        let last = shape.len().saturating_sub(1);
        for (at, length) in shape.iter_mut().enumerate() {
            let rest = *length - start[at];
            if at < self.cut {
                *length = 1;
            } else if at == self.cut && at < last {
                let chunk = self.array.chunk_shape[at];
                *length = rest.min(chunk - start[at] % chunk);
            } else if at == self.cut {
                // Whole chunks of the last dimension, as many as a part holds, or a part of one.
                let chunk = self.array.chunk_shape[at];
                let most = (PART / self.element_bytes()).max(1);
                let chunks = (most / chunk).clamp(1, MOST_CHUNKS);
                let whole = chunk.saturating_mul(chunks) - start[at] % chunk;
                *length = rest.min(whole).min(most);
            }
        }
        Region::new(start, shape)
    }

    /// Bytes of an element; of texts, those of a short one.
    fn element_bytes(&self) -> u64 {
        self.width().map_or(TEXT, |width| width as u64).max(1)
    }

    /// The first element after a part.
    fn after(&self, region: &Region) -> Option<Vec<u64>> {
        let mut next = region.start.clone();
        for at in (0..next.len().min(self.cut + 1)).rev() {
            next[at] += region.shape[at];
            if next[at] < self.array.shape[at] {
                return Some(next);
            }
            next[at] = 0;
        }
        None
    }

    async fn read(&mut self, region: &Region) -> Result<Elements, NetcdfError> {
        let refuse = |problem: String| NetcdfError::variable(&self.path, problem);
        let count = region
            .elements()
            .ok_or_else(|| refuse("it has more elements than memory holds".to_owned()))?;
        let mut into = match &self.fill {
            Elements::Fixed(fill) => Elements::Fixed(fill.repeat(count)),
            Elements::Variable(fill) => {
                let fill = fill.first().cloned().unwrap_or_default();
                Elements::Variable(vec![fill; count])
            }
        };
        let chunks = self.chunks(region);
        let kept: usize = self.kept.values().flatten().map(bytes).sum();
        if kept > KEPT {
            let wanted: HashSet<&ChunkIndex> = chunks.iter().map(|(index, _)| index).collect();
            self.kept.retain(|index, _| wanted.contains(index));
        }
        for (index, of) in chunks {
            if !self.kept.contains_key(&index) {
                let decoded = self.chunk(&index).await?;
                self.looked_for += 1;
                self.kept.insert(index.clone(), decoded);
            }
            let Some(Some(elements)) = self.kept.get(&index) else {
                continue;
            };
            let copied = match (elements, &mut into) {
                (Elements::Fixed(from), Elements::Fixed(into)) => {
                    copy(from, &of, into, region, self.width().unwrap_or(1))
                }
                (Elements::Variable(from), Elements::Variable(into)) => {
                    copy(from, &of, into, region, 1)
                }
                _ => Err("its elements are not of its type".to_owned()),
            };
            copied.map_err(|problem| {
                NetcdfError::variable(&self.path, format!("its chunk {index}: {problem}"))
            })?;
        }
        Ok(into)
    }

    async fn chunk(&self, index: &ChunkIndex) -> Result<Option<Elements>, NetcdfError> {
        let found = self
            .session
            .chunk(&self.path, index, icefield_core::ByteRange::All)
            .await?;
        let Some(encoded) = found else {
            return Ok(None);
        };
        let decoded = self.decoder.decode(&encoded).map_err(|problem| {
            NetcdfError::variable(&self.path, format!("its chunk {index}: {problem}"))
        })?;
        Ok(Some(decoded))
    }

    /// The chunks that a part touches, with the boxes that they fill.
    fn chunks(&self, region: &Region) -> Vec<(ChunkIndex, Region)> {
        let chunk_shape = &self.array.chunk_shape;
        let chunks = region.chunks(chunk_shape);
        let chunks = chunks.places().map(|place| {
            let index = ChunkIndex::from(chunk_index(&place));
            (index, Region::of_chunk(&place, chunk_shape))
        });
        chunks.collect()
    }
}

/// The first dimension at which a row of chunks fits into a part.
fn cut(array: &ArrayMetadata, width: u64) -> usize {
    let last = array.rank().saturating_sub(1);
    let fits = |at: &usize| {
        let rest = array.shape[at + 1..].iter();
        let row = rest.fold(array.chunk_shape[*at].min(array.shape[*at]), |all, one| {
            all.saturating_mul(*one)
        });
        let chunks = array.shape[at + 1..]
            .iter()
            .zip(&array.chunk_shape[at + 1..]);
        let chunks = chunks.fold(1_u64, |all, (length, chunk)| {
            all.saturating_mul(length.div_ceil((*chunk).max(1)))
        });
        row.saturating_mul(width) <= PART && chunks <= MOST_CHUNKS
    };
    (0..last).find(fits).unwrap_or(last)
}

fn bytes(elements: &Elements) -> usize {
    match elements {
        Elements::Fixed(bytes) => bytes.len(),
        Elements::Variable(texts) => texts.iter().map(|text| text.len() + 24).sum(),
    }
}
