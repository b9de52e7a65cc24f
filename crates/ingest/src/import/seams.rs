//! Chunks that are put together of elements: at seams between sources, and where grids or codecs differ.
//!
//! One job makes a few chunks that follow one another along the axis. It holds no more than the chunk it makes and the
//! chunks of sources that reach into it, so that each of these is decoded once, or twice at the border of two jobs.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{ByteRange, ChunkIndex, Session, WriteMode};
use serde_json::Value;
use tokio::task::JoinSet;

use super::layout::{Grown, Part};
use crate::codec::{Codec, Elements};
use crate::limits::Budget;
use crate::plan::document_error;
use crate::regions::{Region, copy_part, each};
use crate::{ChunkEntry, ImportError, Limits, PlanError, Progress, Source, SourceError};

/// Chunks along the axis that one job makes.
const OF_A_JOB: u64 = 16;

/// What was put together.
#[derive(Debug, Default)]
pub(super) struct Assembled {
    pub(super) chunks: u64,
    pub(super) bytes: u64,
    /// Chunks of sources that were decoded for it.
    pub(super) decoded: u64,
}

/// An array whose chunks are put together.
#[derive(Debug)]
pub(super) struct Seams {
    grown: Grown,
    ranges: Vec<Range<u64>>,
    codec: Codec,
    /// What decodes the chunks of each part.
    parts: Vec<Codec>,
    sources: Vec<Arc<dyn Source>>,
    /// The chunks of each part that exist, with their lengths in bytes.
    listed: Vec<HashMap<ChunkIndex, u64>>,
}

impl Seams {
    /// Looks for what decodes the chunks. `sources` are all those of the import.
    ///
    /// # Errors
    /// [`PlanError::PartialChunk`] or [`PlanError::ArrayDiffers`] for codecs that are not understood here.
    pub(super) fn new(
        grown: Grown,
        ranges: Vec<Range<u64>>,
        dimension: &str,
        sources: &[Arc<dyn Source>],
    ) -> Result<Self, ImportError> {
        let path = grown.path.clone();
        let parsed = |document: &[u8]| -> Result<Value, ImportError> {
            serde_json::from_slice(document).map_err(document_error(&path))
        };
        let codec = Codec::of(&parsed(&grown.document)?);
        let codec = codec.map_err(|reason| PlanError::PartialChunk {
            path: path.clone(),
            dimension: dimension.to_owned(),
            length: grown.first_seam(),
            chunk: grown.chunk(),
            reason,
        })?;
        let mut parts = Vec::new();
        for part in &grown.parts {
            let found = Codec::of(&parsed(&part.growth.document)?);
            parts.push(found.map_err(|reason| match &part.growth.recoded {
                Some(difference) => PlanError::ArrayDiffers {
                    path: path.clone(),
                    difference: difference.clone(),
                },
                None => PlanError::PartialChunk {
                    path: path.clone(),
                    dimension: dimension.to_owned(),
                    length: grown.first_seam(),
                    chunk: grown.chunk(),
                    reason,
                },
            })?);
        }
        let of_parts = grown.parts.iter();
        Ok(Self {
            sources: of_parts
                .map(|part| Arc::clone(&sources[part.source]))
                .collect(),
            grown,
            ranges,
            codec,
            parts,
            listed: Vec::new(),
        })
    }

    /// Returns how many chunks are put together.
    pub(super) fn chunks(&self) -> u64 {
        let along: u64 = self.ranges.iter().map(|it| it.end - it.start).sum();
        self.columns()
            .iter()
            .fold(along, |all, one| all.saturating_mul(*one))
    }

    /// Chunks per dimension, one along the axis.
    fn columns(&self) -> Vec<u64> {
        let counts = self.grown.array.chunk_counts.iter();
        let mut counts: Vec<u64> = counts.map(|it| u64::from(*it)).collect();
        counts[self.grown.axis] = 1;
        counts
    }

    /// Lists the chunks of the sources.
    async fn list(&mut self) -> Result<(), ImportError> {
        for (part, source) in self.grown.parts.iter().zip(&self.sources) {
            let growth = &part.growth;
            let mut found = HashMap::new();
            let mut chunks = source.chunks(&growth.from, &growth.array);
            while let Some(entry) = chunks.try_next().await? {
                let ChunkEntry::Chunk { index, length } = entry else {
                    continue;
                };
                if !growth.array.contains(&index) {
                    return Err(ImportError::OutOfGrid {
                        name: source.chunk_name(&growth.from, &growth.array, &index),
                        path: self.grown.path.clone(),
                        grid: growth.array.chunk_counts.clone(),
                    });
                }
                found.insert(index, length);
            }
            self.listed.push(found);
        }
        Ok(())
    }

    fn jobs(self: &Arc<Self>) -> Vec<Job> {
        let mut jobs = Vec::new();
        let visited = each(&self.columns(), |column| {
            for range in &self.ranges {
                let mut first = range.start;
                while first < range.end {
                    let end = range.end.min(first + OF_A_JOB);
                    jobs.push(Job {
                        seams: Arc::clone(self),
                        column: column.to_vec(),
                        chunks: first..end,
                        kept: BTreeMap::new(),
                        done: Assembled::default(),
                    });
                    first = end;
                }
            }
            Ok::<_, std::convert::Infallible>(true)
        });
        match visited {
            Ok(()) => jobs,
            Err(never) => match never {},
        }
    }

    /// Bytes that a job holds.
    fn held(&self) -> u64 {
        let most = self.parts.iter().map(Codec::chunk_bytes).max();
        let own = self.codec.chunk_bytes();
        own.saturating_add(most.unwrap_or(0).max(own))
            .saturating_mul(2)
    }
}

/// Puts all chunks together and writes them. Jobs run on all threads of the runtime.
pub(super) async fn run(
    session: &Session,
    mut all: Vec<Seams>,
    limits: Limits,
    progress: &dyn Progress,
) -> Result<Assembled, ImportError> {
    let mut done = Assembled::default();
    let expected = all.iter().map(Seams::chunks).fold(0, u64::saturating_add);
    if expected == 0 {
        return Ok(done);
    }
    progress.expected(expected);
    for seams in &mut all {
        seams.list().await?;
    }
    let budget = Budget::new(limits);
    let jobs = all.into_iter().flat_map(|seams| Arc::new(seams).jobs());
    let mut results = stream::iter(jobs)
        .map(|job| {
            let (session, budget) = (session.clone(), budget.clone());
            async move {
                let _held = budget.hold(job.seams.held()).await;
                let chunks = job.chunks.end - job.chunks.start;
                // Of a set, so that it ends when it is dropped.
                let mut running = JoinSet::new();
                running.spawn(job.run(session));
                let result = running.join_next().await;
                let result = result.expect("BUG: one task was spawned");
                let done = match result {
                    Ok(done) => done?,
                    Err(failed) => std::panic::resume_unwind(failed.into_panic()),
                };
                Ok::<_, ImportError>((chunks, done))
            }
        })
        .buffer_unordered(limits.chunks.max(1));
    while let Some((chunks, one)) = results.try_next().await? {
        for _ in 0..one.chunks {
            progress.chunk(one.bytes / one.chunks);
        }
        progress.absent(chunks - one.chunks);
        done.chunks += one.chunks;
        done.bytes += one.bytes;
        done.decoded += one.decoded;
    }
    Ok(done)
}

/// The decoded chunk of a part; `None` if it does not exist.
type Decoded = Option<Arc<Elements>>;

/// A few chunks that follow one another along the axis.
struct Job {
    seams: Arc<Seams>,
    column: Vec<u64>,
    chunks: Range<u64>,
    /// The chunks of parts that were decoded, by part and index.
    kept: BTreeMap<(usize, ChunkIndex), Decoded>,
    done: Assembled,
}

impl Job {
    async fn run(mut self, session: Session) -> Result<Assembled, ImportError> {
        for at in self.chunks.clone() {
            let Some(elements) = self.chunk(&session, at).await? else {
                continue;
            };
            let index = self.index(at);
            let path = &self.seams.grown.path;
            let encoded = self.seams.codec.encode(elements);
            let encoded = encoded.map_err(|problem| {
                let name = format!("chunk {} of {path}", ChunkIndex::from(index.clone()));
                SourceError::damaged(&name, format!("it cannot be encoded: {problem}"))
            })?;
            self.done.chunks += 1;
            self.done.bytes += encoded.len() as u64;
            session
                .set_chunk(path, &index, encoded.into(), WriteMode::Overwrite)
                .await?;
        }
        Ok(self.done)
    }

    fn index(&self, at: u64) -> Vec<u32> {
        let mut index: Vec<u32> = self.column.iter().map(|it| *it as u32).collect();
        index[self.seams.grown.axis] = at as u32;
        index
    }

    /// The elements of a chunk; `None` if no part has a chunk for it.
    async fn chunk(&mut self, session: &Session, at: u64) -> Result<Option<Elements>, ImportError> {
        let seams = Arc::clone(&self.seams);
        let (grown, axis) = (&seams.grown, seams.grown.axis);
        let index = self.index(at);
        let shape = &grown.array.chunk_shape;
        let start = index
            .iter()
            .zip(shape)
            .map(|(at, chunk)| u64::from(*at) * chunk);
        let whole = Region::new(start.collect(), shape.clone());
        // What of it lies in the array.
        let ends = whole.start.iter().zip(&grown.array.shape);
        let lengths = ends
            .zip(shape)
            .map(|((start, end), chunk)| (end - start).min(*chunk));
        let inside = Region::new(whole.start.clone(), lengths.collect());
        let mut elements = seams.codec.filled_chunk();
        let mut is_there = false;
        let (first, end) = (whole.start[axis], whole.start[axis] + inside.shape[axis]);
        if first < grown.existing {
            let found = session.chunk(&grown.path, &index, ByteRange::All).await?;
            if let Some(bytes) = found {
                let mut part = inside.clone();
                part.shape[axis] = grown.existing.min(end) - first;
                let decoded = seams.codec.decode(&bytes);
                let decoded = decoded.and_then(|from| {
                    copied(
                        &part,
                        (&from, &whole),
                        (&mut elements, &whole),
                        seams.codec.width(),
                    )
                });
                decoded.map_err(|problem| {
                    let name = format!("chunk {} of {}", ChunkIndex::from(index), grown.path);
                    SourceError::damaged(&name, problem)
                })?;
                self.done.decoded += 1;
                is_there = true;
            }
        }
        for (number, part) in grown.parts.iter().enumerate() {
            let growth = &part.growth;
            let (from, to) = (growth.at.max(first), (growth.at + growth.length()).min(end));
            if from >= to {
                continue;
            }
            let mut wanted = inside.clone();
            wanted.start[axis] = from;
            wanted.shape[axis] = to - from;
            is_there |= self.add(number, &wanted, &whole, &mut elements).await?;
        }
        // Those that end here are needed no more.
        self.kept.retain(|(number, index), _| {
            let growth = &grown.parts[*number].growth;
            let chunk = growth.array.chunk_shape[axis];
            (u64::from(index[axis]) + 1) * chunk + growth.at > end + growth.kept.start
        });
        Ok(is_there.then_some(elements))
    }

    /// Puts a box of the array into a chunk, from one part. Returns whether it counts as there: the part has a chunk, or
    /// reads as something else than the array where it has none.
    async fn add(
        &mut self,
        number: usize,
        wanted: &Region,
        whole: &Region,
        into: &mut Elements,
    ) -> Result<bool, ImportError> {
        let seams = Arc::clone(&self.seams);
        let axis = seams.grown.axis;
        let part = &seams.grown.parts[number];
        let growth = &part.growth;
        let codec = &seams.parts[number];
        // One count for both sides: an element is at `target + kept.start` and at `source + at`.
        let moved = |region: &Region, by: u64| {
            let mut region = region.clone();
            region.start[axis] += by;
            region
        };
        let (to, wanted) = (
            moved(whole, growth.kept.start),
            moved(wanted, growth.kept.start),
        );
        let chunk_shape = &growth.array.chunk_shape;
        let mut first = wanted.start.clone();
        first[axis] -= growth.at;
        let spans = first.iter().zip(&wanted.shape).zip(chunk_shape);
        let spans: Vec<(u64, u64)> = spans
            .map(|((first, length), chunk)| (first / chunk, (first + length - 1) / chunk + 1))
            .collect();
        let counts: Vec<u64> = spans.iter().map(|(first, end)| end - first).collect();
        let mut indices: Vec<Vec<u64>> = Vec::new();
        let visited = each(&counts, |place| {
            let index = place.iter().zip(&spans).map(|(at, (first, _))| at + first);
            indices.push(index.collect());
            Ok::<_, std::convert::Infallible>(true)
        });
        match visited {
            Ok(()) => {}
            Err(never) => match never {},
        }
        let mut is_there = false;
        for place in indices {
            let start = place.iter().zip(chunk_shape).map(|(at, chunk)| at * chunk);
            let of = Region::new(start.collect(), chunk_shape.clone());
            let of = moved(&of, growth.at);
            let Some(common) = of.common(&wanted) else {
                continue;
            };
            let index: Vec<u32> = place.iter().map(|at| *at as u32).collect();
            let index = ChunkIndex::from(index);
            let decoded = self.decoded(number, &index).await?;
            let from = match decoded {
                Some(elements) => elements,
                // The chunk that is put together begins with fill values.
                None if codec.filled() == seams.codec.filled() => continue,
                None => Arc::new(codec.filled_chunk()),
            };
            is_there = true;
            copied(&common, (&*from, &of), (&mut *into, &to), codec.width())
                .map_err(|problem| self.damaged(number, &index, problem))?;
        }
        Ok(is_there)
    }

    async fn decoded(&mut self, number: usize, index: &ChunkIndex) -> Result<Decoded, ImportError> {
        let key = (number, index.clone());
        if let Some(decoded) = self.kept.get(&key) {
            return Ok(decoded.clone());
        }
        let seams = Arc::clone(&self.seams);
        let growth = &seams.grown.parts[number].growth;
        let decoded = match seams.listed[number].get(index) {
            None => None,
            Some(length) => {
                let source = &seams.sources[number];
                let bytes = source.read_chunk(&growth.from, &growth.array, index, *length);
                let elements = seams.parts[number].decode(&bytes.await?);
                let elements = elements.map_err(|problem| self.damaged(number, index, problem))?;
                self.done.decoded += 1;
                Some(Arc::new(elements))
            }
        };
        self.kept.insert(key, decoded.clone());
        Ok(decoded)
    }

    fn damaged(&self, number: usize, index: &ChunkIndex, problem: String) -> SourceError {
        let growth = &self.seams.grown.parts[number].growth;
        let source = &self.seams.sources[number];
        let name = source.chunk_name(&growth.from, &growth.array, index);
        SourceError::damaged(&name, problem)
    }
}

fn copied(
    part: &Region,
    (from, of): (&Elements, &Region),
    (into, to): (&mut Elements, &Region),
    width: usize,
) -> Result<(), String> {
    match (from, into) {
        (Elements::Fixed(from), Elements::Fixed(into)) => {
            copy_part(part, (from, of), (into, to), width)
        }
        #[cfg(feature = "codecs")]
        (Elements::Variable(from), Elements::Variable(into)) => {
            copy_part(part, (from, of), (into, to), 1)
        }
        #[cfg(feature = "codecs")]
        _ => Err("its elements are not of its type".to_owned()),
    }
}

impl Grown {
    /// The first length along the axis that is no multiple of the chunk length, of those behind which something is put.
    fn first_seam(&self) -> u64 {
        let parts = self.parts.iter().map(|part: &Part| part.growth.at);
        let mut lengths = std::iter::once(self.existing).chain(parts);
        lengths
            .find(|length| length % self.chunk() != 0)
            .unwrap_or(self.existing)
    }
}
