//! Exports: a session as a Zarr hierarchy that other tools read, in a directory, a zip file or a bucket.
//!
//! *What* is written is a [`Spelling`]'s to say, of a [`Dialect`]; *where to* is a [`Destination`]'s.

#[cfg(unix)]
mod begun;
mod dialect;
mod format2;
mod format3;
mod measures;
#[cfg(unix)]
mod parts;
mod place;
mod sink;
#[cfg(unix)]
mod target;

#[cfg(unix)]
pub use begun::BegunExport;
pub use dialect::{Dialect, ExportNode, Spelling, export_key};
pub use format2::{NcZarr, OffsetZarrV2, ZarrV2};
pub use format3::ZarrV3;
pub use sink::Destination;

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::FutureExt;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_core::{
    ChunkIndex, ChunkInfo, ChunkRead, Interrupt, NodeKind, NodePath, Session, SessionError,
};

use icefield_zarr_fs::TreeKey;

use crate::document;
use crate::grid_part::{GridPart, place_of};
use crate::limits::Budget;
use crate::progress::most_chunks;
use crate::{ExportError, Limits, Progress};
use measures::{Measured, Measures};
use sink::Sink;

type ListedChunk = Result<(ArrayToWrite, ChunkInfo), SessionError>;
type ChunkToWrite = Result<Chunk, ExportError>;

/// Chunks that are listed before their bytes are read together.
const BATCH: usize = 1024;

/// An array among the nodes.
#[derive(Clone)]
struct ArrayToWrite {
    nodes: Arc<[ExportNode]>,
    at: usize,
    /// The places in its grid whose chunks are written.
    own: Range<u128>,
}

impl ArrayToWrite {
    fn node(&self) -> &ExportNode {
        &self.nodes[self.at]
    }

    fn path(&self) -> &NodePath {
        &self.node().path
    }

    /// As many chunks as there are places for.
    fn most_chunks(&self) -> u64 {
        u64::try_from(self.own.end - self.own.start).unwrap_or(u64::MAX)
    }

    fn owns(&self, index: &[u32]) -> bool {
        let array = self.node().array.as_ref();
        array.is_some_and(|array| self.own.contains(&place_of(index, &array.chunk_counts)))
    }
}

/// A chunk that has been read.
struct Chunk {
    array: ArrayToWrite,
    index: ChunkIndex,
    bytes: Bytes,
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportReport {
    /// The number of groups.
    pub groups: u64,
    /// The number of arrays.
    pub arrays: u64,
    /// The number of chunks.
    pub chunks: u64,
    /// The bytes of these chunks.
    pub bytes: u64,
}

impl ExportReport {
    /// Counts groups and arrays, before any chunk is written.
    fn of(nodes: &[ExportNode]) -> Self {
        let arrays = nodes.iter().filter(|node| node.array.is_some()).count() as u64;
        Self {
            groups: nodes.len() as u64 - arrays,
            arrays,
            ..Self::default()
        }
    }
}

/// An export that is being described: set what it needs, then [`Export::run`] it.
///
/// A [`Dialect`] decides the form of documents and chunks: by default [`ZarrV3`], byte for byte as the session has them. Only the
/// consolidated metadata of groups is left out: a copy of their children that a repository does not keep up to date.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::{BranchName, NodePath, Repository, WriteMode};
/// use icefield_ingest::{Destination, Export, StorageTree};
/// use icefield_storage::Prefix;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let session = repository.write_session(BranchName::main()).await?;
/// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// session.set_metadata(&NodePath::root(), group.into(), WriteMode::Overwrite).await?;
///
/// let bucket = StorageTree::new(Arc::new(MemoryStorage::new()), Prefix::parse("sea.zarr")?);
/// let report = Export::new(session).run_to(&Destination::Tree(bucket)).await?;
/// assert_eq!((report.groups, report.chunks), (1, 0));
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is exported before it is run"]
pub struct Export {
    session: Session,
    dialect: Arc<dyn Dialect>,
    outside: Option<PathBuf>,
    limits: Limits,
    progress: Arc<dyn Progress>,
    interrupt: Interrupt,
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("session", &self.session)
            .field("dialect", &self.dialect)
            .field("outside", &self.outside)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Export {
    /// Returns an export of the hierarchy that a session sees, including its uncommitted edits.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            dialect: Arc::new(ZarrV3),
            outside: None,
            limits: Limits::default(),
            progress: Arc::new(()),
            interrupt: Interrupt::new(),
        }
    }

    /// Refuses a destination at or below this directory: that of the repository, whose files an export would mix with.
    pub fn outside(mut self, repository: impl Into<PathBuf>) -> Self {
        self.outside = Some(repository.into());
        self
    }

    /// Sets the bounds on the work that is under way at the same time.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the receiver of progress reports.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Ends early, as [`ExportError::Interrupted`], once `interrupt` is raised, unless everything is written already.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    /// Sets the format that is written; [`ZarrV3`] unless set.
    pub fn dialect(mut self, dialect: Arc<dyn Dialect>) -> Self {
        self.dialect = dialect;
        self
    }

    /// Writes the directory `destination`, which must not exist or be empty.
    ///
    /// - A new one is filled under a temporary name beside it and renamed at the end, so that it is there whole
    ///   or not at all.
    /// - One that exists stays the directory it is, which may be a mount point. It is filled in a temporary
    ///   directory inside, whose content moves up at the end, the root's document last.
    ///
    /// A process that is killed leaves the temporary directory, `.icefield-….partial`, behind. Nothing is flushed
    /// to disk: after a loss of power, export again.
    ///
    /// # Errors
    /// The first thing that does not fit, by name. The temporary directory is removed.
    pub async fn run(&self, destination: impl AsRef<Path>) -> Result<ExportReport, ExportError> {
        let destination = Destination::Directory(destination.as_ref().to_owned());
        self.run_to(&destination).await
    }

    /// Writes to any destination.
    ///
    /// # Errors
    /// [`ExportError`] with the name of the node that does not fit. A directory or zip file does not exist then; for a
    /// tree on a storage backend, [`ExportError::Partly`] names what is left.
    #[tracing::instrument(level = "debug", skip_all)]
    pub async fn run_to(&self, destination: &Destination) -> Result<ExportReport, ExportError> {
        let nodes = self.interrupt.unless(self.nodes(None)).await??;
        if nodes.is_empty() {
            return Err(ExportError::Empty);
        }
        let spelling = self.dialect.spell(Arc::clone(&nodes))?;
        let sink = destination.open(self.outside.as_deref()).await?;
        let writing = Writing {
            export: self,
            spelling,
            sink: &*sink,
        };
        // Writes that have begun end before the sink is gone, or their error is returned.
        let written = self.interrupt.unless(writing.run(&nodes)).await;
        let written = written.unwrap_or_else(|interrupted| Err(interrupted.into()));
        match written {
            Ok(report) => {
                sink.finish().await?;
                Ok(report)
            }
            Err(error) => Err(sink.abandon(error).await),
        }
    }

    fn writing<'a>(
        &'a self,
        nodes: &Arc<[ExportNode]>,
        sink: &'a dyn Sink,
    ) -> Result<Writing<'a>, ExportError> {
        Ok(Writing {
            export: self,
            spelling: self.dialect.spell(Arc::clone(nodes))?,
            sink,
        })
    }

    /// Reads all documents. Arrays are measured, unless that is known.
    async fn nodes(&self, known: Option<&Measured>) -> Result<Arc<[ExportNode]>, ExportError> {
        let found = self.session.nodes(&NodePath::root())?;
        let mut nodes = Vec::with_capacity(found.len());
        for node in found {
            let path = node.path;
            let gone = || SessionError::NodeNotFound { path: path.clone() };
            let document = self.session.metadata(&path)?.ok_or_else(gone)?;
            let (document, array) = match node.kind {
                NodeKind::Array => (document, Some(self.session.array(&path)?)),
                NodeKind::Group => {
                    let document = document::without_consolidated(&document);
                    let path = || path.clone();
                    let document = document.map_err(|source| ExportError::Document {
                        path: path(),
                        source,
                    })?;
                    (document, None)
                }
            };
            let mut node = ExportNode {
                path,
                document,
                array,
                longest: None,
                is_whole: None,
            };
            self.measure(&mut node, known).await?;
            nodes.push(node);
        }
        Ok(nodes.into())
    }
}

impl Export {
    /// Measures a node, if the format asks for it, or takes what is known.
    async fn measure(
        &self,
        node: &mut ExportNode,
        known: Option<&Measured>,
    ) -> Result<(), ExportError> {
        if let Some(known) = known {
            let found = known.get(node.path.as_str()).copied();
            let Measures { longest, is_whole } = found.unwrap_or_default();
            (node.longest, node.is_whole) = (longest, is_whole);
            return Ok(());
        }
        if self.dialect.counts(node) {
            node.is_whole = Some(self.is_whole(node).await?);
        }
        if self.dialect.measures(node) {
            node.longest = Some(self.longest(node).await?);
        }
        Ok(())
    }

    /// Lists all chunks of an array.
    async fn is_whole(&self, node: &ExportNode) -> Result<bool, ExportError> {
        let mut chunks = self.session.chunks(&node.path)?;
        let mut count = 0_u64;
        while chunks.try_next().await?.is_some() {
            count += 1;
        }
        Ok(node
            .array
            .as_ref()
            .is_some_and(|array| count >= most_chunks(array)))
    }

    /// Reads all chunks of an array for its longest text.
    async fn longest(&self, node: &ExportNode) -> Result<usize, ExportError> {
        let chunks = self.session.chunks(&node.path)?;
        let mut longest = 0;
        let mut batches = chunks.try_chunks(BATCH);
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(|error| error.1)?;
            let reads = batch
                .iter()
                .map(|chunk| ChunkRead::whole(node.path.clone(), chunk.index.clone()));
            let limits = self.session.read_settings();
            let each = self.limits.of_each_step().bytes;
            let limits = limits.with_in_flight(self.limits.chunks, each);
            let mut found = self.session.get_many_within(reads.collect(), limits);
            while let Some((_, bytes)) = found.try_next().await? {
                let bytes = bytes.unwrap_or_default();
                longest = longest.max(self.dialect.longest(node, &bytes)?);
            }
        }
        Ok(longest)
    }
}

/// One export under way.
struct Writing<'a> {
    export: &'a Export,
    spelling: Arc<dyn Spelling>,
    sink: &'a dyn Sink,
}

impl Writing<'_> {
    async fn run(&self, nodes: &Arc<[ExportNode]>) -> Result<ExportReport, ExportError> {
        let mut report = ExportReport::of(nodes);
        let last = self.sink.is_seen_at_once();
        if !last {
            self.documents(nodes.iter()).await?;
        }
        self.chunks_of(nodes, GridPart::WHOLE, &mut report).await?;
        self.export.progress.finishing();
        if last {
            self.documents(nodes.iter().rev()).await?;
        }
        Ok(report)
    }

    async fn documents(
        &self,
        nodes: impl Iterator<Item = &ExportNode> + Send,
    ) -> Result<(), ExportError> {
        for node in nodes {
            for (key, document) in self.spelling.documents(node)? {
                self.sink.write(key, document).await?;
            }
        }
        Ok(())
    }

    /// Writes the chunks of a part.
    async fn chunks_of(
        &self,
        nodes: &Arc<[ExportNode]>,
        part: GridPart,
        report: &mut ExportReport,
    ) -> Result<(), ExportError> {
        let grids = nodes.iter().enumerate().filter_map(|(at, node)| {
            let array = node.array.as_ref()?;
            Some((at, &array.chunk_counts[..]))
        });
        let (places, grids): (Vec<usize>, Vec<&[u32]>) = grids.unzip();
        let arrays = places.into_iter().zip(part.in_grids(&grids));
        let arrays = arrays.filter(|(_, own)| !own.is_empty());
        let arrays = arrays.map(|(at, own)| ArrayToWrite {
            nodes: Arc::clone(nodes),
            at,
            own,
        });
        self.chunks(arrays.collect(), report).await
    }

    async fn chunks(
        &self,
        arrays: Vec<ArrayToWrite>,
        report: &mut ExportReport,
    ) -> Result<(), ExportError> {
        let limits = self.export.limits;
        let budget = Budget::new(limits.of_each_step());
        let most = arrays.iter().map(ArrayToWrite::most_chunks);
        self.export
            .progress
            .expected(most.fold(0, u64::saturating_add));
        let mut done = stream::iter(arrays)
            .flat_map(|array| self.listed(array))
            .map_err(ExportError::from)
            .try_chunks(BATCH)
            // Nodes that were listed before an error need not be written: there will be no target.
            .map_err(|error| error.1)
            .map_ok(|batch| self.read(batch))
            .try_flatten()
            // One at a time, so that nothing is read for which there is no room.
            .and_then(|chunk| async {
                let recoding = self.spelling.recoding(chunk.array.node()).unwrap_or(0);
                let bytes = recoding.saturating_add(chunk.bytes.len() as u64);
                let held = budget.hold(bytes).await;
                Ok((chunk, held))
            })
            // Boxed, or the compiler loses sight of the whole being `Send`.
            .map_ok(|(chunk, held)| {
                async move {
                    let _held = held;
                    self.write(chunk).await
                }
                .boxed()
            })
            .try_buffer_unordered(limits.chunks.max(1))
            .boxed();
        while let Some(length) = done.try_next().await? {
            report.chunks += 1;
            report.bytes += length;
            // Of a store that never waits, all would be one step.
            self.export.interrupt.check()?;
        }
        Ok(())
    }

    /// Reads the chunks of a listing, by as few requests as their places allow.
    fn read(&self, batch: Vec<(ArrayToWrite, ChunkInfo)>) -> BoxStream<'static, ChunkToWrite> {
        let reads = batch
            .iter()
            .map(|(array, chunk)| ChunkRead::whole(array.path().clone(), chunk.index.clone()));
        let (session, bounds) = (&self.export.session, self.export.limits);
        let limits = session.read_settings();
        let limits = limits.with_in_flight(bounds.chunks, bounds.of_each_step().bytes);
        let found = session.get_many_within(reads.collect(), limits);
        found
            .map(move |found| {
                let (at, bytes) = found?;
                let (array, chunk) = &batch[at];
                let path = || array.path().clone();
                let bytes = bytes.ok_or_else(|| SessionError::NodeNotFound { path: path() })?;
                Ok(Chunk {
                    array: array.clone(),
                    index: chunk.index.clone(),
                    bytes,
                })
            })
            .boxed()
    }

    /// The chunks of one array, each with the array; at the end, it is known how many do not exist.
    fn listed(&self, array: ArrayToWrite) -> BoxStream<'static, ListedChunk> {
        let progress = Arc::clone(&self.export.progress);
        progress.array(array.path());
        let chunks = match self.export.session.chunks(array.path()) {
            Ok(chunks) => chunks,
            Err(error) => return stream::once(async { Err(error) }).boxed(),
        };
        let most = array.most_chunks();
        let listed = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&listed);
        let end = stream::once(async move {
            progress.absent(most.saturating_sub(counted.load(Ordering::Relaxed)));
            None
        });
        chunks
            .try_filter_map(move |chunk| {
                let own = array.owns(&chunk.index).then(|| {
                    listed.fetch_add(1, Ordering::Relaxed);
                    (array.clone(), chunk)
                });
                std::future::ready(Ok(own))
            })
            .map(Some)
            .chain(end)
            .filter_map(std::future::ready)
            .boxed()
    }

    /// Writes a chunk, and returns how long what was written is.
    async fn write(&self, chunk: Chunk) -> Result<u64, ExportError> {
        let written = match self.spelling.recoding(chunk.array.node()) {
            None => {
                let node = chunk.array.node();
                self.spelling.chunks(node, &chunk.index, chunk.bytes)?
            }
            Some(_) => self.encoded(chunk).await?,
        };
        let mut length = 0;
        for (key, bytes) in written {
            length += bytes.len() as u64;
            self.sink.write(key, bytes).await?;
        }
        self.export.progress.chunk(length);
        Ok(length)
    }

    /// Encodes a chunk anew, where that may take its time.
    async fn encoded(&self, chunk: Chunk) -> Result<Vec<(TreeKey, Bytes)>, ExportError> {
        let spelling = Arc::clone(&self.spelling);
        let encode = move || spelling.chunks(chunk.array.node(), &chunk.index, chunk.bytes);
        match tokio::task::spawn_blocking(encode).await {
            Ok(encoded) => encoded,
            Err(error) => Err(SessionError::Aborted(error.to_string()).into()),
        }
    }
}
