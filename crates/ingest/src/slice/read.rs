//! Numbers of an array at chosen elements of each dimension.

use std::ops::Range;

use futures::{StreamExt, TryStreamExt, stream};
use icefield_core::{ArrayMetadata, ByteRange, ChunkIndex, NodePath, Session};
use icefield_zarr_store::{ChunkCodec, Elements};
use serde_json::Value;

use super::SliceError;
use super::spread::Spread;
use crate::Progress;
use crate::netcdf::NetcdfError;
use crate::numbers::NumberDecoder;
use crate::regions::{places, product};

/// Most chunks that are read at a time.
const READS: u64 = 8;
/// Bytes of decoded chunks that are read at a time, unless one chunk has more.
const IN_FLIGHT: u64 = 64 << 20;

/// Reads numbers of an array.
#[derive(Debug)]
pub(super) struct NumberReader<'a> {
    session: &'a Session,
    path: &'a NodePath,
    array: &'a ArrayMetadata,
    document: &'a Value,
    decoder: NumberDecoder,
    /// The codec of chunks of the longest lengths, which are those of all chunks of a regular grid.
    codec: ChunkCodec,
}

/// The chosen elements of one dimension that lie in one chunk.
#[derive(Clone, Debug)]
struct Touched {
    chunk: u32,
    /// The elements of the chunk.
    within: Range<u64>,
    /// The first of the chosen elements, by its number among them.
    first: usize,
    /// The places of the chosen elements in the chunk.
    places: Vec<u64>,
}

impl<'a> NumberReader<'a> {
    /// Prepares to read the array that `document` describes.
    ///
    /// # Errors
    /// [`SliceError::NoNumbers`], and [`NetcdfError::Variable`] for an array whose codecs are not known.
    pub(super) fn new(
        session: &'a Session,
        path: &'a NodePath,
        array: &'a ArrayMetadata,
        document: &'a Value,
    ) -> Result<Self, SliceError> {
        let decoder = NumberDecoder::new(document).map_err(|problem| SliceError::NoNumbers {
            path: path.to_string(),
            problem,
        })?;
        Ok(Self {
            session,
            path,
            array,
            document,
            decoder,
            codec: codec(path, document, &array.chunk_shape)?,
        })
    }

    /// Returns the numbers at each combination of chosen elements, the last dimension fastest, and how many chunks were looked
    /// for.
    ///
    /// # Errors
    /// [`SliceError::Read`] for a chunk that is missing or damaged.
    pub(super) async fn read(
        &self,
        spreads: &[Spread],
        progress: &dyn Progress,
    ) -> Result<(Vec<f64>, u64), SliceError> {
        let touched = self.touched(spreads)?;
        let counts: Vec<u64> = touched.iter().map(|it| it.len() as u64).collect();
        let chunks = product(&counts);
        progress.expected(chunks);
        progress.array(self.path);
        let lengths: Vec<u64> = spreads.iter().map(|spread| spread.count as u64).collect();
        let mut numbers = vec![f64::NAN; product(&lengths) as usize];
        let bytes = product(&self.array.chunk_shape).saturating_mul(self.decoder.width() as u64);
        let at_once = (IN_FLIGHT / bytes.max(1)).clamp(1, READS);
        let reads = places(&counts).map(|place| {
            let parts = place.iter().zip(&touched);
            let parts: Vec<Touched> = parts.map(|(at, all)| all[*at as usize].clone()).collect();
            async move {
                let chunk = self.chunk(&parts).await?;
                Ok::<_, SliceError>((parts, chunk))
            }
        });
        let mut reads = stream::iter(reads).buffer_unordered(at_once as usize);
        while let Some((parts, elements)) = reads.try_next().await? {
            progress.chunk(
                elements
                    .as_ref()
                    .map_or(0, |elements| elements.len() as u64),
            );
            self.put(&parts, elements.as_deref(), &lengths, &mut numbers)?;
        }
        Ok((numbers, chunks))
    }

    /// The chunks of each dimension that have chosen elements.
    fn touched(&self, spreads: &[Spread]) -> Result<Vec<Vec<Touched>>, SliceError> {
        let mut all = Vec::with_capacity(spreads.len());
        for (dimension, spread) in spreads.iter().enumerate() {
            let mut touched: Vec<Touched> = Vec::new();
            for (number, element) in spread.elements().enumerate() {
                if let Some(last) = touched.last_mut()
                    && last.within.contains(&element)
                {
                    last.places.push(element - last.within.start);
                    continue;
                }
                let found = self.array.grid.chunk_of(dimension, element);
                let found = found.and_then(|chunk| {
                    let within = self.array.grid.elements(dimension, chunk)?;
                    Some((chunk, within))
                });
                let (chunk, within) = found.ok_or_else(|| {
                    self.damaged(format!(
                        "no chunk has its element {element}, dimension {dimension}"
                    ))
                })?;
                touched.push(Touched {
                    chunk,
                    first: number,
                    places: vec![element - within.start],
                    within,
                });
            }
            all.push(touched);
        }
        Ok(all)
    }

    /// The decoded bytes of a chunk; `None` if it is not written.
    async fn chunk(&self, parts: &[Touched]) -> Result<Option<Vec<u8>>, SliceError> {
        let index: Vec<u32> = parts.iter().map(|part| part.chunk).collect();
        let index = ChunkIndex::from(index);
        let found = self.session.chunk(self.path, &index, ByteRange::All).await;
        let Some(encoded) = found.map_err(NetcdfError::from)? else {
            return Ok(None);
        };
        let refuse = |problem: String| self.damaged(format!("its chunk {index}: {problem}"));
        let shape: Vec<u64> = parts.iter().map(Touched::length).collect();
        let decoded = match shape == self.array.chunk_shape {
            true => self.codec.decode(&encoded),
            false => codec(self.path, self.document, &shape)?.decode(&encoded),
        };
        match decoded.map_err(refuse)? {
            Elements::Fixed(bytes) => Ok(Some(bytes)),
            Elements::Variable(_) => Err(refuse("its elements are texts".to_owned())),
        }
    }

    /// Puts the numbers of a chunk into their places.
    fn put(
        &self,
        parts: &[Touched],
        elements: Option<&[u8]>,
        lengths: &[u64],
        numbers: &mut [f64],
    ) -> Result<(), SliceError> {
        let width = self.decoder.width();
        let fill = match (elements, self.codec.filled()) {
            (None, Elements::Fixed(fill)) => self.decoder.number(fill).map(|it| it.to_f64()),
            _ => None,
        };
        let counts: Vec<u64> = parts.iter().map(|part| part.places.len() as u64).collect();
        for place in places(&counts) {
            let (mut from, mut to) = (Some(0_u64), 0_u64);
            for (at, (part, length)) in place.iter().zip(parts.iter().zip(lengths)) {
                let before = from.and_then(|from| from.checked_mul(part.length()));
                from = before.and_then(|before| before.checked_add(part.places[*at as usize]));
                to = to * length + part.first as u64 + at;
            }
            let number = match elements {
                None => fill,
                Some(bytes) => {
                    // A shape may say more elements than there are numbers.
                    let start =
                        from.and_then(|from| usize::try_from(from).ok()?.checked_mul(width));
                    let element =
                        start.and_then(|start| bytes.get(start..start.checked_add(width)?));
                    let element = element.ok_or_else(|| {
                        self.damaged("a chunk has fewer elements than its shape says".to_owned())
                    })?;
                    self.decoder.number(element).map(|it| it.to_f64())
                }
            };
            numbers[to as usize] = number.unwrap_or(f64::NAN);
        }
        Ok(())
    }

    fn damaged(&self, problem: String) -> SliceError {
        NetcdfError::variable(self.path, problem).into()
    }
}

impl Touched {
    fn length(&self) -> u64 {
        self.within.end - self.within.start
    }
}

/// The codec of chunks of a shape.
fn codec(path: &NodePath, document: &Value, shape: &[u64]) -> Result<ChunkCodec, NetcdfError> {
    let part = |name: &str| &document[name];
    let codec = ChunkCodec::of(part("codecs"), part("data_type"), part("fill_value"), shape);
    codec.map_err(|problem| NetcdfError::variable(path, problem))
}
