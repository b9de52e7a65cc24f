//! Reading many chunks by few requests.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_format::{ByteRange, ChunkIndex, ManifestId, NodePath};
use icefield_storage::StorageError;
use tokio::sync::Semaphore;

use super::Session;
use super::fetch::{ChunkName, ObjectName, Source, Span, Step, step};
use super::read::{BaseChunk, Lookup};
use crate::read_plan::{Request, Wanted, plan};
use crate::{ReadSettings, SessionError};

/// Manifests loaded at a time.
const MANIFESTS_AT_ONCE: usize = 8;

/// The read of a chunk or of a range of its bytes, for [`Session::get_many`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkRead {
    /// The path of the array.
    pub path: NodePath,
    /// The coordinates of the chunk in the grid.
    pub index: ChunkIndex,
    /// The range of the encoded chunk.
    pub range: ByteRange,
}

impl ChunkRead {
    /// Returns the read of all bytes of a chunk.
    pub fn whole(path: NodePath, index: impl Into<ChunkIndex>) -> Self {
        Self {
            path,
            index: index.into(),
            range: ByteRange::All,
        }
    }

    fn name(&self) -> ChunkName<'_> {
        ChunkName {
            path: &self.path,
            index: &self.index,
        }
    }
}

/// A read by its position among those that were asked for, and its bytes; `None` if there is no such chunk.
type Found = (usize, Option<Bytes>);

/// The chunks to be fetched.
#[derive(Default)]
struct Plan {
    /// The chunks that need no fetching.
    at_once: Vec<Found>,
    objects: Vec<Arc<Source>>,
    requests: Vec<Request>,
    /// Of each read that is fetched, by its position, where its chunk ends and begins in its object.
    chunks: HashMap<u32, std::ops::Range<u64>>,
}

impl Session {
    /// Reads many chunks. Chunks near each other in one object, be it the repository's or a foreign one, are fetched by
    /// one request, within [`ReadSettings`]. Results come in any order, each with the position of its read in `reads`;
    /// `None` stands for a chunk that the array does not have.
    ///
    /// Bytes that were fetched together share one buffer: a small chunk that is kept keeps the whole buffer in memory.
    ///
    /// # Errors
    /// As [`Session::chunk`], for the first read that fails; nothing follows an error.
    pub fn get_many(
        &self,
        reads: Vec<ChunkRead>,
    ) -> BoxStream<'static, Result<Found, SessionError>> {
        self.get_many_within(reads, self.read_settings())
    }

    /// Returns the bounds of [`Session::get_many`] that the repository was opened with.
    pub fn read_settings(&self) -> ReadSettings {
        self.shared().settings.reads.clone()
    }

    /// As [`Session::get_many`], within these bounds in place of those of the repository's settings.
    ///
    /// # Errors
    /// As [`Session::get_many`].
    pub fn get_many_within(
        &self,
        reads: Vec<ChunkRead>,
        limits: ReadSettings,
    ) -> BoxStream<'static, Result<Found, SessionError>> {
        let session = self.clone();
        stream::once(async move {
            let reads: Arc<[ChunkRead]> = reads.into();
            let plan = session.plan_reads(&reads, &limits).await?;
            Ok::<_, SessionError>(fetch_all(reads, plan, &limits))
        })
        .try_flatten()
        .boxed()
    }

    /// Finds the references of all reads, then puts them together.
    async fn plan_reads(
        &self,
        reads: &[ChunkRead],
        limits: &ReadSettings,
    ) -> Result<Plan, SessionError> {
        let mut planner = Planner {
            session: self,
            reads,
            plan: Plan::default(),
            numbers: HashMap::new(),
            wanted: Vec::new(),
        };
        let mut in_manifests: BTreeMap<ManifestId, Vec<(u32, BaseChunk)>> = BTreeMap::new();
        for (slot, read) in (0..).zip(reads) {
            match self.lookup(&read.path, &read.index)? {
                Lookup::Absent => planner.plan.at_once.push((slot as usize, None)),
                Lookup::Found(located) => {
                    let step = step(read.name(), located, read.range)?;
                    planner.add(slot, step).await?;
                }
                Lookup::InManifest(chunk) => {
                    let slots = in_manifests.entry(chunk.manifest).or_default();
                    slots.push((slot, chunk));
                }
            }
        }
        let objects = &self.shared().objects;
        let version = objects.writer().version();
        let loading = in_manifests
            .into_iter()
            .map(|(id, slots)| async move { Ok((objects.manifest(id).await?, slots)) });
        let loading: Vec<_> = loading.collect();
        let mut loaded = stream::iter(loading).buffer_unordered(MANIFESTS_AT_ONCE);
        while let Some((manifest, slots)) = loaded
            .try_next()
            .await
            .map_err(|error: icefield_refs::FetchError| SessionError::from(error))?
        {
            for (slot, chunk) in slots {
                let read = &reads[slot as usize];
                let step = match chunk.look_up(&manifest, &read.index, version)? {
                    Some(located) => step(read.name(), located, read.range)?,
                    None => {
                        planner.plan.at_once.push((slot as usize, None));
                        continue;
                    }
                };
                planner.add(slot, step).await?;
            }
        }
        Ok(planner.finish(limits))
    }
}

struct Planner<'a> {
    session: &'a Session,
    reads: &'a [ChunkRead],
    plan: Plan,
    numbers: HashMap<ObjectName, u32>,
    wanted: Vec<Wanted>,
}

impl Planner<'_> {
    async fn add(&mut self, slot: u32, step: Step) -> Result<(), SessionError> {
        let Span {
            object,
            chunk,
            wanted,
        } = match step {
            Step::Done(bytes) => {
                self.plan.at_once.push((slot as usize, Some(bytes)));
                return Ok(());
            }
            Step::Fetch(span) => span,
        };
        let number = match self.numbers.get(&object) {
            Some(number) => *number,
            None => {
                let name = self.reads[slot as usize].name();
                let source = self.session.source(name, object.clone()).await?;
                let number = self.plan.objects.len() as u32;
                self.plan.objects.push(Arc::new(source));
                self.numbers.insert(object, number);
                number
            }
        };
        if wanted != chunk {
            self.plan.chunks.insert(slot, chunk);
        }
        self.wanted.push(Wanted {
            object: number,
            range: wanted,
            slot,
        });
        Ok(())
    }

    fn finish(mut self, limits: &ReadSettings) -> Plan {
        self.plan.requests = plan(self.wanted, limits);
        self.plan
    }
}

/// Sends the requests of a plan.
fn fetch_all(
    reads: Arc<[ChunkRead]>,
    plan: Plan,
    limits: &ReadSettings,
) -> BoxStream<'static, Result<Found, SessionError>> {
    let most = limits.buffered_bytes.clamp(1, u64::from(u32::MAX) >> 1) as u32;
    let (budget, in_flight) = (Arc::new(Semaphore::new(most as usize)), limits.requests);
    let chunks = Arc::new(plan.chunks);
    let objects = plan.objects;
    let fetched = stream::iter(plan.requests)
        .map(move |request| {
            let (budget, reads, chunks) =
                (Arc::clone(&budget), Arc::clone(&reads), Arc::clone(&chunks));
            let source = Arc::clone(&objects[request.object as usize]);
            async move {
                let length = request.range.end - request.range.start;
                let held = u32::try_from(length).unwrap_or(u32::MAX).clamp(1, most);
                let held = budget.acquire_many_owned(held).await;
                let found = fetch(&source, &request, &reads, &chunks).await?;
                // Held until the last of them has been handed out.
                let parts = stream::iter(found).map(move |part| {
                    let _held = &held;
                    Ok(part)
                });
                Ok::<_, SessionError>(parts)
            }
        })
        .buffer_unordered(in_flight.max(1))
        .try_flatten();
    stream::iter(plan.at_once).map(Ok).chain(fetched).boxed()
}

async fn fetch(
    source: &Source,
    request: &Request,
    reads: &[ChunkRead],
    chunks: &HashMap<u32, std::ops::Range<u64>>,
) -> Result<Vec<Found>, SessionError> {
    let explain = |part: &Wanted, error| {
        let chunk = chunks.get(&part.slot).unwrap_or(&part.range);
        source.explain(reads[part.slot as usize].name(), chunk, error)
    };
    let start = request.range.start;
    match source.read(request.range.clone()).await {
        Ok(bytes) => Ok(request
            .parts
            .iter()
            .map(|part| {
                let within = (part.range.start - start) as usize..(part.range.end - start) as usize;
                (part.slot as usize, Some(bytes.slice(within)))
            })
            .collect()),
        // Only some of the chunks may lie beyond the end: which, their own reads say.
        Err(StorageError::RangeNotSatisfiable { .. } | StorageError::WrongLength { .. })
            if request.parts.len() > 1 =>
        {
            let mut found = Vec::with_capacity(request.parts.len());
            for part in &request.parts {
                let bytes = source.read(part.range.clone()).await;
                let bytes = bytes.map_err(|error| explain(part, error))?;
                found.push((part.slot as usize, Some(bytes)));
            }
            Ok(found)
        }
        Err(error) => Err(explain(&request.parts[0], error)),
    }
}
