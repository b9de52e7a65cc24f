//! One block: chunks of parts in the order of the sweep, and the chunks that are open meanwhile.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::stream::{self, Stream, StreamExt, TryStreamExt};
use icefield_core::{ByteRange, Session, WriteMode};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::assembly::{Assembly, Sink};
use super::gauge::{Gauge, Held};
use super::part::Part;
use crate::codec::{Elements, copy_elements};
use crate::regions::{Region, place};
use crate::{ImportError, SourceError};

/// One thing that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockEvent {
    /// A chunk of a part was decoded.
    Decoded,
    /// A chunk was written, of so many bytes.
    Written(u64),
    /// A chunk was found equal.
    Compared,
    /// No part has a chunk for it, and it reads as the fill value.
    Absent,
}

/// A chunk that waits for elements.
#[derive(Debug)]
struct OpenChunk {
    /// Chunks of parts that reach into it and were not looked at yet.
    left: u64,
    /// `None` as long as none of them exists.
    elements: Option<FilledChunk>,
}

/// Elements, counted.
#[derive(Debug)]
struct FilledChunk {
    elements: Elements,
    _held: Held,
}

#[derive(Debug)]
pub(super) struct Block {
    assembly: Arc<Assembly>,
    region: Region,
    /// Steps that are under way at a time.
    window: usize,
    /// By place in the grid.
    open: Mutex<HashMap<Vec<u64>, Arc<Mutex<OpenChunk>>>>,
    /// Of chunks that are encoded and written at a time.
    encoders: Semaphore,
    gauge: Arc<Gauge>,
}

/// A chunk of a part, and what of it lies in the block.
#[derive(Debug)]
struct Step {
    part: usize,
    place: Vec<u64>,
    region: Region,
}

impl Block {
    /// Describes a block that works on `window` chunks of parts, and on as many that are whole, at a time.
    pub(super) fn new(
        assembly: Arc<Assembly>,
        region: Region,
        window: usize,
        gauge: Arc<Gauge>,
    ) -> Self {
        Self {
            assembly,
            region,
            window,
            open: Mutex::default(),
            encoders: Semaphore::new(window),
            gauge,
        }
    }

    /// Does the work. A step begins once the ones before the window have ended, so that no more chunks are open than were
    /// counted.
    pub(super) fn run(
        self: Arc<Self>,
        session: Session,
    ) -> impl Stream<Item = Result<BlockEvent, ImportError>> + Send {
        let (number_of_parts, window) = (self.assembly.parts.len(), self.window);
        let block = Arc::clone(&self);
        let steps = (0..number_of_parts).flat_map(move |part| block.steps(part));
        stream::iter(steps)
            .map(move |step| {
                let (block, session) = (Arc::clone(&self), session.clone());
                async move {
                    // Of a set, so that it ends when it is dropped.
                    let mut running = JoinSet::new();
                    running.spawn(async move { block.step(&session, &step).await });
                    match running.join_next().await {
                        Some(Ok(done)) => done,
                        Some(Err(failed)) => std::panic::resume_unwind(failed.into_panic()),
                        None => Ok(Vec::new()),
                    }
                }
            })
            .buffered(window)
            .map_ok(|done| stream::iter(done.into_iter().map(Ok::<_, ImportError>)))
            .try_flatten()
    }

    /// The chunks of a part in the block, in the order of the sweep.
    fn steps(self: &Arc<Self>, number: usize) -> impl Iterator<Item = Step> + use<> {
        let (assembly, axis) = (Arc::clone(&self.assembly), self.assembly.axis);
        let part = &assembly.parts[number];
        let wanted = assembly.of_part(part, &self.region);
        let (chunks, count) = match &wanted {
            Some(wanted) => {
                let chunks = assembly.chunks_of_part(part, wanted);
                let count: u64 = chunks.shape.iter().product();
                (chunks, count)
            }
            None => (Region::new(Vec::new(), Vec::new()), 0),
        };
        // The sweep is the slowest.
        let mut order: Vec<usize> = (0..chunks.shape.len()).collect();
        order.sort_by_key(|it| *it != axis);
        let counts: Vec<u64> = order.iter().map(|it| chunks.shape[*it]).collect();
        (0..count).filter_map(move |at| {
            let mut found = chunks.start.clone();
            for (axis, at) in order.iter().zip(place(at, &counts)) {
                found[*axis] += at;
            }
            let part = &assembly.parts[number];
            let wanted = wanted.as_ref()?.moved(axis, part.kept.start, 0);
            let region = moved_box(part, axis, &found).common(&wanted)?;
            let region = region.moved(axis, 0, part.kept.start);
            if assembly
                .memory
                .has_all(&region.chunks(&assembly.chunk_shape))
            {
                return None;
            }
            Some(Step {
                part: number,
                place: found,
                region,
            })
        })
    }

    async fn step(
        self: &Arc<Self>,
        session: &Session,
        step: &Step,
    ) -> Result<Vec<BlockEvent>, ImportError> {
        let (assembly, mut done, mut whole) = (&*self.assembly, Vec::new(), Vec::new());
        let part = &assembly.parts[step.part];
        let index = assembly.index(&step.place);
        let damaged = |problem: String| SourceError::damaged(&part.chunks.name(&index), problem);
        let read = part.chunks.read(&index).await?;
        let _encoded = read.as_ref().map(|it| self.gauge.hold(it.len() as u64));
        let decoded = match &read {
            Some(bytes) => {
                done.push(BlockEvent::Decoded);
                Some(part.codec.decode(bytes).map_err(damaged)?)
            }
            // An assembled chunk begins with fill values.
            None if part.codec.filled() == assembly.codec.filled() => None,
            None => Some(part.codec.filled_chunk()),
        };
        drop(read);
        let part_bytes = || self.gauge.hold(part.codec.chunk_bytes());
        let held = decoded.as_ref().map(|_| part_bytes());
        let chunks = step.region.chunks(&assembly.chunk_shape);
        for at in 0..chunks.shape.iter().product::<u64>() {
            let mut to = place(at, &chunks.shape);
            to.iter_mut()
                .zip(&chunks.start)
                .for_each(|(at, start)| *at += start);
            if assembly.memory.has(&to) {
                continue;
            }
            let elements = self.add(step, decoded.as_ref(), &to).map_err(damaged)?;
            whole.extend(elements.map(|elements| (to, elements)));
        }
        drop((decoded, held));
        // Each on a thread of its own: one chunk of a part may be the last of many, and nothing else may be left to do.
        let mut running = JoinSet::new();
        for (to, elements) in whole {
            let (block, session) = (Arc::clone(self), session.clone());
            running.spawn(async move {
                let _one_of_few = block.encoders.acquire().await;
                block.finish(&session, &to, elements).await
            });
        }
        while let Some(one) = running.join_next().await {
            done.push(one.unwrap_or_else(|it| std::panic::resume_unwind(it.into_panic()))?);
        }
        Ok(done)
    }

    /// Adds the elements of a chunk of a part to a chunk. Returns the latter's once they are all there.
    fn add(
        &self,
        step: &Step,
        decoded: Option<&Elements>,
        to: &[u64],
    ) -> Result<Option<Option<FilledChunk>>, String> {
        let (assembly, axis) = (&*self.assembly, self.assembly.axis);
        let part = &assembly.parts[step.part];
        let whole = assembly.chunk_box(to);
        let open = {
            let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(all.entry(to.to_vec()).or_insert_with(|| {
                Arc::new(Mutex::new(OpenChunk {
                    left: self.reach_into(&whole),
                    elements: None,
                }))
            }))
        };
        let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some(from), Some(common)) = (decoded, step.region.common(&whole)) {
            let codec = &assembly.codec;
            let into = open.elements.get_or_insert_with(|| FilledChunk {
                elements: codec.filled_chunk(),
                _held: self.gauge.hold(codec.chunk_bytes()),
            });
            // One count for both sides.
            let by = part.kept.start;
            let common = common.moved(axis, by, 0);
            let of = moved_box(part, axis, &step.place);
            copy_elements(
                &common,
                (from, &of),
                (&mut into.elements, &whole.moved(axis, by, 0)),
                codec.width(),
            )?;
        }
        open.left = open.left.saturating_sub(1);
        if open.left > 0 {
            return Ok(None);
        }
        let mut all = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(to);
        Ok(Some(open.elements.take()))
    }

    /// How many chunks of parts reach into a chunk.
    fn reach_into(&self, whole: &Region) -> u64 {
        let assembly = &*self.assembly;
        let of_part = |part: &Part| {
            let wanted = assembly.of_part(part, whole)?;
            let chunks = assembly.chunks_of_part(part, &wanted);
            Some(chunks.shape.iter().product::<u64>())
        };
        assembly.parts.iter().filter_map(of_part).sum()
    }

    async fn finish(
        &self,
        session: &Session,
        place: &[u64],
        filled: Option<FilledChunk>,
    ) -> Result<BlockEvent, ImportError> {
        let (path, codec) = (&self.assembly.path, &self.assembly.codec);
        let index = self.assembly.index(place);
        let damaged =
            |problem: String| SourceError::damaged(&format!("chunk {index} of {path}"), problem);
        match (self.assembly.sink, filled) {
            (Sink::Write, None) => Ok(BlockEvent::Absent),
            (Sink::Write, Some(filled)) => {
                let encoded = codec.encode(filled.elements);
                let encoded =
                    encoded.map_err(|it| damaged(format!("it cannot be encoded: {it}")))?;
                let length = encoded.len() as u64;
                let _held = self.gauge.hold(length);
                session
                    .set_chunk(path, &index, encoded.into(), WriteMode::Overwrite)
                    .await?;
                self.assembly.note(session, place, &index).await?;
                Ok(BlockEvent::Written(length))
            }
            (Sink::Compare, there) => {
                let here = session.chunk(path, &index, ByteRange::All).await?;
                let here = here.map(|bytes| codec.decode(&bytes));
                let here = here.transpose().map_err(damaged)?;
                let there = there.map(|filled| filled.elements);
                match self.is_same(place, here, there) {
                    true => Ok(BlockEvent::Compared),
                    false => Err(ImportError::ChunkDiffers {
                        path: path.clone(),
                        index: index.clone(),
                    }),
                }
            }
        }
    }

    /// Whether two chunks are equal as far as they lie in the array.
    fn is_same(&self, place: &[u64], one: Option<Elements>, other: Option<Elements>) -> bool {
        let (assembly, codec) = (&self.assembly, &self.assembly.codec);
        if one.is_none() && other.is_none() {
            return true;
        }
        let whole = assembly.chunk_box(place);
        let all = Region::new(vec![0; assembly.shape.len()], assembly.shape.clone());
        let Some(inside) = whole.common(&all) else {
            return true;
        };
        let of_array = |elements: Option<Elements>| {
            let from = elements.unwrap_or_else(|| codec.filled_chunk());
            let mut into = codec.filled_chunk();
            let of = (&from, &whole);
            copy_elements(&inside, of, (&mut into, &whole), codec.width()).ok()?;
            Some(into)
        };
        match (of_array(one), of_array(other)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        }
    }
}

/// The box of a chunk of a part; an element that is at `at` of the array along the axis is at `at + kept.start` here.
fn moved_box(part: &Part, axis: usize, place: &[u64]) -> Region {
    Region::of_chunk(place, &part.chunk_shape).moved(axis, part.at, 0)
}
