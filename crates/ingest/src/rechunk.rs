//! An array of a repository gets other chunks, shards or codecs; its elements stay.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::{
    ArrayMetadata, BranchName, CommitOutcome, Detector, Interrupt, NodeMetadata, NodePath,
    Repository, Session, SessionError, WriteMode,
};
use serde_json::Value;

use crate::assemble::{self, Assembly, OfSession, Sink};
use crate::chunk_layout::{Described, applied, check_names};
use crate::codec::Codec;
use crate::operation::{self, operation_methods};
use crate::plan::document_error;
use crate::{ChunkLayout, ImportError, LayoutError, Limits, PlanError, Progress};

/// The layout of the chunks of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArrayLayout {
    /// The number of elements of a chunk along each dimension; inside of shards, if there are any.
    pub chunk_shape: Vec<u64>,
    /// The number of elements of a shard along each dimension, if there are shards.
    pub shard_shape: Option<Vec<u64>>,
    /// The names of the codecs, in the order of encoding; that of shards first.
    pub codecs: Vec<String>,
}

/// The plan of a rechunking. Nothing was written to make it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RechunkPlan {
    /// The number of elements of each dimension.
    pub shape: Vec<u64>,
    /// The layout as it is.
    pub before: ArrayLayout,
    /// The layout that was asked for.
    pub after: ArrayLayout,
    /// Whether the layouts differ: in chunks, shards, codecs, or the levels of codecs.
    pub is_needed: bool,
    /// The number of chunks, or shards, that exist.
    pub chunks_before: u64,
    /// The bytes of these chunks.
    pub bytes_before: u64,
    /// The number of chunks, or shards, after the rechunking, if all elements are written.
    pub chunks: u64,
    /// The bytes of their elements before they are encoded.
    pub element_bytes: u64,
    /// The number of chunks that would be decoded if all existed; one counts as often as it is decoded.
    pub decodes: u64,
    /// The least memory, in bytes, that the rechunking takes.
    pub held: u64,
}

/// The report of a rechunking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RechunkReport {
    /// The layout as it was.
    pub before: ArrayLayout,
    /// The layout as it is now.
    pub after: ArrayLayout,
    /// Whether the layouts differed.
    pub was_needed: bool,
    /// The number of chunks, or shards, before.
    pub chunks_before: u64,
    /// The bytes of these chunks.
    pub bytes_before: u64,
    /// The number of chunks, or shards, that were written.
    pub chunks: u64,
    /// The bytes of the written chunks.
    pub bytes: u64,
    /// The number of chunks that were decoded.
    pub decoded: u64,
    /// The most memory, in bytes, that was held at the same time: chunks encoded, decoded, and put together.
    pub held: u64,
}

impl RechunkReport {
    /// Returns the report of a plan of which nothing was done yet.
    fn of(plan: RechunkPlan) -> Self {
        Self {
            before: plan.before,
            after: plan.after,
            was_needed: plan.is_needed,
            ..Self::default()
        }
    }

    /// Adds the counts of another part of the same rechunking; the memory is that of the part which held the most.
    pub fn add(&mut self, part: Self) {
        self.chunks += part.chunks;
        self.bytes += part.bytes;
        self.decoded += part.decoded;
        self.held = self.held.max(part.held);
    }
}

/// A rechunking that is being described: set what it needs, then [`Rechunk::run`] it.
///
/// - Elements, attributes and all else that `zarr.json` says stay. What reads as the fill value because no chunk was written
///   there stays unwritten where no chunk reaches into it that was; a chunk that cannot be read is an error.
/// - Chunks are decoded and encoded as a stream within [`Limits::elements`], on all threads, each once if that is enough.
/// - [`Rechunk::run`] comes after commits of other sessions that landed meanwhile; one that touches the array is a conflict, by
///   the rules of [`Detector::Strict`]. The chunks that the array had belong to
///   earlier snapshots; a collection frees them once these are expired.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, NodePath, Repository, WriteMode};
/// use icefield_ingest::{ChunkLayout, ChunkLength, Rechunk};
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// # let session = repository.write_session(BranchName::main()).await?;
/// # let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "int8",
/// #     "dimension_names": ["x"], "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
/// #     "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
/// let path = NodePath::parse("/depth")?;
/// # session.set_metadata(&path, document.into(), WriteMode::Overwrite).await?;
/// let layout = ChunkLayout::kept().with_chunks(ChunkLength::parse_each("x=4")?);
/// let plan = Rechunk::new(path, layout).plan(&session).await?;
/// assert_eq!((plan.before.chunk_shape, plan.after.chunk_shape), (vec![2], vec![4]));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is rechunked before it is run"]
pub struct Rechunk {
    path: NodePath,
    layout: ChunkLayout,
    limits: Limits,
    progress: Arc<dyn Progress>,
    interrupt: Interrupt,
}

impl fmt::Debug for Rechunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rechunk")
            .field("path", &self.path)
            .field("layout", &self.layout)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The work to be done on an array.
struct Prepared {
    plan: RechunkPlan,
    array: ArrayMetadata,
    /// The new document, and the work; nothing if the layout stays.
    work: Option<(Bytes, Assembly)>,
}

impl Rechunk {
    /// Returns a rechunking of an array to a layout.
    pub fn new(path: NodePath, layout: ChunkLayout) -> Self {
        Self {
            path,
            layout,
            limits: Limits::default(),
            progress: Arc::new(()),
            interrupt: Interrupt::new(),
        }
    }

    operation_methods!("ImportError", "the branch is not being moved");

    /// Rechunks on a branch, in one commit. The commit is `None` if the array has the layout already. On any error, and
    /// if it is stopped, the branch is where it was.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], [`PlanError::Layout`], [`PlanError::NotRecoded`];
    /// the first chunk that cannot be read, by name.
    pub async fn run(
        &self,
        repository: &Repository,
        branch: BranchName,
        message: &str,
    ) -> Result<(RechunkReport, Option<CommitOutcome>), ImportError> {
        let session = repository.write_session(branch).await?;
        let report = self.stage(&session).await?;
        if !report.was_needed {
            return Ok((report, None));
        }
        let commit = session.commit(message).rebase_with(Detector::Strict);
        let commit = operation::commit(commit, &*self.progress, &self.interrupt).await?;
        Ok((report, commit))
    }

    /// Returns what [`Rechunk::run`] would do. No chunk is read.
    ///
    /// # Errors
    /// As [`Rechunk::run`], for faults that can be found without reading chunks.
    pub async fn plan(&self, session: &Session) -> Result<RechunkPlan, ImportError> {
        let planned = async {
            let mut plan = self.prepare(session, session).await?.plan;
            (plan.chunks_before, plan.bytes_before) = self.chunks_of(session).await?;
            Ok(plan)
        };
        self.interrupt.unless(planned).await?
    }

    /// Rechunks in a writable session without committing; the session's edits count. After an error the session holds a
    /// part of the work: discard it.
    ///
    /// # Errors
    /// As [`Rechunk::run`].
    pub async fn stage(&self, session: &Session) -> Result<RechunkReport, ImportError> {
        // Whatever is dropped leaves uncommitted edits and garbage.
        self.interrupt.unless(self.stage_all(session)).await?
    }

    async fn stage_all(&self, session: &Session) -> Result<RechunkReport, ImportError> {
        // A fork made before keeps the old chunks readable, which the edits replace.
        let before = session.fork()?;
        let mut report = self.begin(session).await?;
        if report.was_needed {
            report.add(self.move_part(&before, session, (0, 1)).await?);
        }
        Ok(report)
    }

    /// Gives the array its new document in a writable session, and removes its chunks: the first step of a rechunking
    /// in parts. [`Rechunk::run_part`] reads the chunks in a fork that was made before.
    ///
    /// # Errors
    /// As [`Rechunk::run`], for faults that can be found without reading chunks.
    pub async fn begin(&self, session: &Session) -> Result<RechunkReport, ImportError> {
        let Prepared { plan, array, work } = self.prepare(session, session).await?;
        let mut report = RechunkReport::of(plan);
        (report.chunks_before, report.bytes_before) = self.chunks_of(session).await?;
        if let Some((document, _)) = work {
            let all: Vec<Range<u32>> = array.chunk_counts.iter().map(|count| 0..*count).collect();
            session.delete_chunks(&self.path, &all).await?;
            session
                .set_metadata(&self.path, document, WriteMode::Overwrite)
                .await?;
        }
        Ok(report)
    }

    /// Makes one of so many parts of the chunks, by its number from 0 on: reads them in `before`, a fork made before
    /// [`Rechunk::begin`], and writes them in `session`, a fork made behind it. All parts, merged, come to the whole; done again, in
    /// another fork, a part comes to the same. Some may have nothing to do.
    ///
    /// # Errors
    /// As [`Rechunk::run`]. The fork then holds a piece of the part: do not merge it.
    pub async fn run_part(
        &self,
        before: &Session,
        session: &Session,
        part: (u32, u32),
    ) -> Result<RechunkReport, ImportError> {
        let moved = self.move_part(before, session, part);
        self.interrupt.unless(moved).await?
    }

    async fn move_part(
        &self,
        before: &Session,
        session: &Session,
        (number, of): (u32, u32),
    ) -> Result<RechunkReport, ImportError> {
        let Prepared { plan, work, .. } = self.prepare(before, before).await?;
        let mut report = RechunkReport::of(plan);
        if let Some((_, assembly)) = work {
            self.progress.array(&self.path);
            let part = assembly.share((number.into(), of.into()), self.limits);
            let done = assemble::run(session, vec![part], self.limits, &*self.progress).await?;
            report.chunks = done.chunks;
            report.bytes = done.bytes;
            (report.decoded, report.held) = (done.decoded, done.held);
        }
        Ok(report)
    }

    /// The chunks that the array has, and their bytes.
    async fn chunks_of(&self, session: &Session) -> Result<(u64, u64), ImportError> {
        let mut found = (0, 0);
        let mut chunks = session.chunks(&self.path)?;
        while let Some(chunk) = chunks.try_next().await? {
            found.0 += 1;
            found.1 += chunk.location.length();
        }
        Ok(found)
    }

    /// Reads the array of one session, as another one has it.
    async fn prepare(&self, session: &Session, from: &Session) -> Result<Prepared, ImportError> {
        let path = &self.path;
        let array = session.array(path)?;
        let not_found = || SessionError::NodeNotFound { path: path.clone() };
        let document = session.metadata(path)?.ok_or_else(not_found)?;
        check_names(&self.layout, path, std::iter::once(&array)).map_err(PlanError::from)?;
        let changed = applied(&self.layout, (path, &array), &document).map_err(PlanError::from)?;
        let parsed = |document: &[u8]| -> Result<Value, ImportError> {
            serde_json::from_slice(document).map_err(document_error(path))
        };
        let before = parsed(&document)?;
        let after = parsed(changed.as_deref().unwrap_or(&document))?;
        let mut plan = RechunkPlan {
            shape: array.shape.clone(),
            before: self.described(&before)?,
            after: self.described(&after)?,
            is_needed: changed.is_some(),
            ..RechunkPlan::default()
        };
        let Some(changed) = changed else {
            return Ok(Prepared {
                plan,
                array,
                work: None,
            });
        };
        let codec = |document: &Value| Codec::of(document).map_err(|it| self.unsupported(it));
        let metadata =
            NodeMetadata::parse(&changed).map_err(|it| self.unsupported(it.to_string()))?;
        let target = metadata.array();
        let target = target.ok_or_else(|| self.unsupported("it is no array".to_owned()))?;
        let chunks = OfSession {
            session: from.clone(),
            path: path.clone(),
        };
        let assembly = Assembly::of_one_part(
            (path.clone(), target),
            codec(&after)?,
            (codec(&before)?, array.chunk_shape.clone()),
            Arc::new(chunks),
            Sink::Write,
            self.limits,
        );
        let blocks = assembly.blocks(self.limits);
        plan.chunks = assembly.chunks();
        plan.element_bytes = plan.chunks.saturating_mul(assembly.chunk_bytes());
        (plan.decodes, plan.held) = (blocks.decodes, blocks.held);
        Ok(Prepared {
            plan,
            array,
            work: Some((changed, assembly)),
        })
    }

    fn described(&self, document: &Value) -> Result<ArrayLayout, ImportError> {
        let described = Described::of(document).map_err(|reason| self.unsupported(reason))?;
        Ok(ArrayLayout {
            codecs: described.codec_names(),
            chunk_shape: described.chunks,
            shard_shape: described.shards,
        })
    }

    fn unsupported(&self, reason: String) -> PlanError {
        let path = self.path.clone();
        LayoutError::Unsupported { path, reason }.into()
    }
}
