//! Exports: a session as a plain Zarr v3 directory.

mod target;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{
    ArrayMetadata, ByteRange, ChunkInfo, ChunkLocation, NodeInfo, NodeKind, NodePath, Session,
    SessionError,
};

use crate::chunk_key;
use crate::limits::Budget;
use crate::{ExportError, Limits, Progress};
use target::Target;

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
pub struct Export<'a> {
    session: Session,
    limits: Limits,
    progress: &'a dyn Progress,
}

impl fmt::Debug for Export<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("session", &self.session)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl<'a> Export<'a> {
    /// Begins an export of what a session sees, its uncommitted edits included.
    pub fn new(session: Session) -> Self {
        Self {
            session,
            limits: Limits::default(),
            progress: &(),
        }
    }

    /// Sets how much is under way at once.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Tells `progress` how far the export is.
    pub fn progress(mut self, progress: &'a dyn Progress) -> Self {
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
        for node in &nodes {
            self.document(&target, node).await?;
            match node.kind {
                NodeKind::Group => report.groups += 1,
                NodeKind::Array => {
                    report.arrays += 1;
                    arrays.push((node.path.clone(), self.session.array(&node.path)?));
                }
            }
        }
        self.chunks(&target, &arrays, &mut report).await?;
        self.progress.finishing();
        Target::finish(target).await?;
        Ok(report)
    }

    async fn document(&self, target: &Arc<Target>, node: &NodeInfo) -> Result<(), ExportError> {
        let gone = || SessionError::NodeNotFound {
            path: node.path.clone(),
        };
        let document = self.session.metadata(&node.path)?.ok_or_else(gone)?;
        let file = target.document(&node.path)?;
        Target::write(target, file, document).await
    }

    async fn chunks(
        &self,
        target: &Arc<Target>,
        arrays: &[(NodePath, ArrayMetadata)],
        report: &mut ExportReport,
    ) -> Result<(), ExportError> {
        let budget = Budget::new(self.limits);
        let chunks = stream::iter(arrays).flat_map(|(path, array)| {
            self.progress.array(path);
            let listed = match self.session.chunks(path) {
                Ok(chunks) => chunks,
                Err(error) => stream::once(async { Err(error) }).boxed(),
            };
            listed.map_ok(move |chunk| (path, array, chunk))
        });
        let mut done = chunks
            .map(|chunk| async {
                let (path, array, chunk) = chunk?;
                let length = chunk.location.length();
                let _held = budget.hold(length).await;
                self.chunk(target, path, array, chunk).await?;
                self.progress.chunk(length);
                Ok::<u64, ExportError>(length)
            })
            .buffer_unordered(self.limits.chunks.max(1));
        while let Some(length) = done.try_next().await? {
            report.chunks += 1;
            report.bytes += length;
        }
        Ok(())
    }

    async fn chunk(
        &self,
        target: &Arc<Target>,
        path: &NodePath,
        array: &ArrayMetadata,
        chunk: ChunkInfo,
    ) -> Result<(), ExportError> {
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
        Target::write(target, file, bytes).await
    }
}
