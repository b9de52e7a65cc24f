//! Exports: a session as a plain Zarr v3 directory.

mod target;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_core::{
    ArrayMetadata, ChunkIndex, ChunkInfo, ChunkRead, NodeInfo, NodeKind, NodePath, Session,
    SessionError,
};
use icefield_zarr_store::ChunkKeys;

use crate::document;
use crate::limits::Budget;
use crate::progress::most_chunks;
use crate::{ExportError, Limits, Progress};
use target::Target;

type ArrayToWrite = (NodePath, ArrayMetadata);
type ListedChunk = Result<(Arc<ArrayToWrite>, ChunkInfo), SessionError>;
type ChunkToWrite = Result<Chunk, ExportError>;

/// Chunks that are listed before their bytes are read together.
const BATCH: usize = 1024;

/// A chunk that has been read.
struct Chunk {
    array: Arc<ArrayToWrite>,
    index: ChunkIndex,
    bytes: Bytes,
}

/// What an export wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportReport {
    /// Groups.
    pub groups: u64,
    /// Arrays.
    pub arrays: u64,
    /// Chunks.
    pub chunks: u64,
    /// Bytes of those chunks.
    pub bytes: u64,
}

/// An export that is being described: set what it needs, then [`Export::run`] it.
///
/// Documents and chunks are written byte for byte as the session has them, under the keys that each
/// array's own metadata asks for. Only the consolidated metadata of groups is left out: a copy of their children
/// that nobody keeps up to date in a repository.
#[must_use = "nothing is exported before it is run"]
pub struct Export {
    session: Session,
    outside: Option<PathBuf>,
    limits: Limits,
    progress: Arc<dyn Progress>,
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("session", &self.session)
            .field("outside", &self.outside)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Export {
    /// Begins an export of what a session sees, its uncommitted edits included.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            outside: None,
            limits: Limits::default(),
            progress: Arc::new(()),
        }
    }

    /// Refuses a destination at or below this directory: that of the repository, whose files it would mix with.
    pub fn outside(mut self, repository: impl Into<PathBuf>) -> Self {
        self.outside = Some(repository.into());
        self
    }

    /// Sets how much is under way at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Tells `progress` how far the export is.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Writes the directory `destination`, which must not exist or be empty.
    ///
    /// - A new one is filled under a temporary name beside it and renamed at the end, so that it is there whole
    ///   or not at all.
    /// - One that exists stays the directory it is, which may be a mount point. It is filled in a temporary
    ///   directory inside, whose content moves up at the end, the root's `zarr.json` last.
    ///
    /// A process that is killed leaves the temporary directory, `.icefield-….partial`, behind. Nothing is flushed
    /// to disk: after a loss of power, export again.
    ///
    /// # Errors
    /// The first thing that does not fit, by name. The temporary directory is removed.
    #[tracing::instrument(level = "debug", skip_all)]
    pub async fn run(&self, destination: impl AsRef<Path>) -> Result<ExportReport, ExportError> {
        let nodes = self.session.nodes(&NodePath::root())?;
        if nodes.is_empty() {
            return Err(ExportError::Empty);
        }
        let target = Target::create(destination.as_ref(), self.outside.as_deref()).await?;
        let target = Arc::new(target);
        let mut report = ExportReport::default();
        let mut arrays = Vec::new();
        for node in nodes {
            self.document(&target, &node).await?;
            match node.kind {
                NodeKind::Group => report.groups += 1,
                NodeKind::Array => {
                    report.arrays += 1;
                    let array = self.session.array(&node.path)?;
                    arrays.push(Arc::new((node.path, array)));
                }
            }
        }
        self.chunks(&target, arrays, &mut report).await?;
        self.progress.finishing();
        Target::finish(target).await?;
        Ok(report)
    }

    async fn document(&self, target: &Arc<Target>, node: &NodeInfo) -> Result<(), ExportError> {
        let path = &node.path;
        let gone = || SessionError::NodeNotFound { path: path.clone() };
        let mut document = self.session.metadata(path)?.ok_or_else(gone)?;
        if node.kind == NodeKind::Group {
            document = document::without_consolidated(&document).map_err(|source| {
                ExportError::Document {
                    path: path.clone(),
                    source,
                }
            })?;
        }
        let file = target.document(path)?;
        Target::write(target, file, document).await
    }

    async fn chunks(
        &self,
        target: &Arc<Target>,
        arrays: Vec<Arc<ArrayToWrite>>,
        report: &mut ExportReport,
    ) -> Result<(), ExportError> {
        let budget = Budget::new(self.limits.of_each_step());
        let most = arrays.iter().map(|array| most_chunks(&array.1));
        self.progress.expected(most.fold(0, u64::saturating_add));
        let mut done = stream::iter(arrays)
            .flat_map(|array| self.listed(array))
            .map_err(ExportError::from)
            .try_chunks(BATCH)
            // What was listed before an error need not be written: there will be no target.
            .map_err(|error| error.1)
            .map_ok(|batch| self.read(batch))
            .try_flatten()
            // One at a time, so that nothing is read for which there is no room.
            .and_then(|chunk| async {
                let held = budget.hold(chunk.bytes.len() as u64).await;
                Ok((chunk, held))
            })
            // Boxed, or the compiler loses sight of the whole being `Send`.
            .map_ok(|(chunk, held)| {
                async move {
                    let _held = held;
                    self.write(target, chunk).await
                }
                .boxed()
            })
            .try_buffer_unordered(self.limits.chunks.max(1))
            .boxed();
        while let Some(length) = done.try_next().await? {
            report.chunks += 1;
            report.bytes += length;
        }
        Ok(())
    }

    /// Reads the chunks of a listing, by as few requests as their places allow.
    fn read(&self, batch: Vec<(Arc<ArrayToWrite>, ChunkInfo)>) -> BoxStream<'static, ChunkToWrite> {
        let reads = batch
            .iter()
            .map(|(array, chunk)| ChunkRead::whole(array.0.clone(), chunk.index.clone()));
        let limits = self.session.read_settings();
        let limits = limits.with_in_flight(self.limits.chunks, self.limits.of_each_step().bytes);
        let found = self.session.get_many_within(reads.collect(), limits);
        found
            .map(move |found| {
                let (at, bytes) = found?;
                let (array, chunk) = &batch[at];
                let path = || array.0.clone();
                let bytes = bytes.ok_or_else(|| SessionError::NodeNotFound { path: path() })?;
                Ok(Chunk {
                    array: Arc::clone(array),
                    index: chunk.index.clone(),
                    bytes,
                })
            })
            .boxed()
    }

    /// The chunks of one array, each with the array; at the end, it is known how many do not exist.
    fn listed(&self, array: Arc<ArrayToWrite>) -> BoxStream<'static, ListedChunk> {
        self.progress.array(&array.0);
        let chunks = match self.session.chunks(&array.0) {
            Ok(chunks) => chunks,
            Err(error) => return stream::once(async { Err(error) }).boxed(),
        };
        let (progress, most) = (Arc::clone(&self.progress), most_chunks(&array.1));
        let listed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&listed);
        let end = stream::once(async move {
            progress.absent(most.saturating_sub(counted.load(Ordering::Relaxed)));
            None
        });
        chunks
            .map_ok(move |chunk| {
                listed.fetch_add(1, Ordering::Relaxed);
                (Arc::clone(&array), chunk)
            })
            .map(Some)
            .chain(end)
            .filter_map(std::future::ready)
            .boxed()
    }

    /// Writes a chunk, and returns how long it was.
    async fn write(&self, target: &Arc<Target>, chunk: Chunk) -> Result<u64, ExportError> {
        let (path, array) = &*chunk.array;
        let length = chunk.bytes.len() as u64;
        let key = ChunkKeys::of(array).key(&chunk.index);
        let file = target.chunk(path, &key)?;
        Target::write(target, file, chunk.bytes).await?;
        self.progress.chunk(length);
        Ok(length)
    }
}
