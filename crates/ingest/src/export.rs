//! Exports: a session as a plain Zarr v3 directory.

mod target;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::FutureExt;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_core::{
    ArrayMetadata, ByteRange, ChunkInfo, ChunkLocation, NodeKind, NodePath, Session, SessionError,
};

use crate::chunk_key;
use crate::limits::Budget;
use crate::{ExportError, Limits, Progress};
use target::Target;

type ArrayToWrite = (NodePath, ArrayMetadata);
type ListedChunk = Result<(Arc<ArrayToWrite>, ChunkInfo), SessionError>;

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
/// array's own metadata asks for.
#[must_use = "nothing is exported before it is run"]
pub struct Export {
    session: Session,
    limits: Limits,
    progress: Arc<dyn Progress>,
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("session", &self.session)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Export {
    /// Begins an export of what a session sees, its uncommitted edits included.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            limits: Limits::default(),
            progress: Arc::new(()),
        }
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

    /// Writes the directory `destination`, which must not exist or be empty. It is filled under a temporary
    /// name beside it and renamed at the end, so that it is there whole or not at all.
    ///
    /// A process that is killed leaves the temporary directory, `.NAME.….partial`, behind. Nothing is flushed
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
        let target = Arc::new(Target::create(destination.as_ref()).await?);
        let mut report = ExportReport::default();
        let mut arrays = Vec::new();
        for node in nodes {
            self.document(&target, &node.path).await?;
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

    async fn document(&self, target: &Arc<Target>, path: &NodePath) -> Result<(), ExportError> {
        let gone = || SessionError::NodeNotFound { path: path.clone() };
        let document = self.session.metadata(path)?.ok_or_else(gone)?;
        let file = target.document(path)?;
        Target::write(target, file, document).await
    }

    async fn chunks(
        &self,
        target: &Arc<Target>,
        arrays: Vec<Arc<ArrayToWrite>>,
        report: &mut ExportReport,
    ) -> Result<(), ExportError> {
        let budget = Budget::new(self.limits);
        let mut done = stream::iter(arrays)
            .flat_map(|array| self.listed(array))
            // Boxed, or the compiler loses sight of the whole being `Send`.
            .map(|chunk| self.copy(target, &budget, chunk).boxed())
            .buffer_unordered(self.limits.chunks.max(1))
            .boxed();
        while let Some(length) = done.try_next().await? {
            report.chunks += 1;
            report.bytes += length;
        }
        Ok(())
    }

    /// The chunks of one array, each with the array.
    fn listed(&self, array: Arc<ArrayToWrite>) -> BoxStream<'static, ListedChunk> {
        self.progress.array(&array.0);
        match self.session.chunks(&array.0) {
            Ok(chunks) => chunks
                .map_ok(move |chunk| (Arc::clone(&array), chunk))
                .boxed(),
            Err(error) => stream::once(async { Err(error) }).boxed(),
        }
    }

    /// Copies a chunk, and returns how long it was.
    async fn copy(
        &self,
        target: &Arc<Target>,
        budget: &Budget,
        chunk: ListedChunk,
    ) -> Result<u64, ExportError> {
        let (array, chunk) = chunk?;
        let (path, array) = &*array;
        let length = chunk.location.length();
        let _held = budget.hold(length).await;
        if let ChunkLocation::Virtual { location, .. } = chunk.location {
            return Err(ExportError::VirtualChunk {
                path: path.clone(),
                index: chunk.index,
                location,
            });
        }
        let bytes = self
            .session
            .chunk(path, &chunk.index, ByteRange::All)
            .await?
            .ok_or_else(|| SessionError::NodeNotFound { path: path.clone() })?;
        let key = chunk_key::encode(array.chunk_key_encoding, &chunk.index);
        let file = target.chunk(path, &key)?;
        Target::write(target, file, bytes).await?;
        self.progress.chunk(length);
        Ok(length)
    }
}
