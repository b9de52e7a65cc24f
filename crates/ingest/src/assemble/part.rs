//! Where the elements come from.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::TryStreamExt;
use icefield_core::{ArrayMetadata, ByteRange, ChunkIndex, NodePath, Session};
use tokio::sync::OnceCell;

use crate::codec::Codec;
use crate::{ChunkEntry, Ignored, ImportError, Source};

/// Elements that lie behind one another in an array, in a grid of chunks of their own.
#[derive(Debug)]
pub(crate) struct Part {
    /// Elements of a chunk per dimension.
    pub(crate) chunk_shape: Vec<u64>,
    /// Elements of the array along the axis that lie before.
    pub(crate) at: u64,
    /// Its elements along the axis that are taken.
    pub(crate) kept: Range<u64>,
    /// Decodes its chunks.
    pub(crate) codec: Codec,
    pub(crate) chunks: Arc<dyn ChunksOf>,
    /// Others of its chunks are moved as they are, so that what lies beside them is known from there.
    pub(crate) is_moved: bool,
}

impl Part {
    /// Returns the elements along the axis.
    pub(crate) fn length(&self) -> u64 {
        self.kept.end - self.kept.start
    }
}

/// The chunks of an array, encoded.
#[async_trait]
pub(crate) trait ChunksOf: fmt::Debug + Send + Sync {
    /// Reads a chunk; `None` if there is none, so that its elements read as the fill value.
    async fn read(&self, index: &ChunkIndex) -> Result<Option<Bytes>, ImportError>;

    /// Returns what messages call a chunk.
    fn name(&self, index: &ChunkIndex) -> String;

    /// Returns a text that is another one once the chunks may be others; `None` if that is not known.
    fn state(&self) -> Option<String>;

    /// Returns what lies beside the chunks and is none, as far as they were listed.
    fn ignored(&self) -> Ignored {
        Ignored::default()
    }
}

/// The chunks of an array of a source.
#[derive(Debug)]
pub(crate) struct OfSource {
    source: Arc<dyn Source>,
    path: NodePath,
    array: ArrayMetadata,
    /// The array in the repository.
    to: NodePath,
    listed: OnceCell<Listed>,
}

/// The listing of an array by a source.
#[derive(Debug, Default)]
struct Listed {
    /// Chunks that exist, with their lengths in bytes.
    chunks: HashMap<ChunkIndex, u64>,
    ignored: Ignored,
}

impl OfSource {
    /// Returns the chunks of an array of a source, which become chunks of `to`.
    pub(crate) fn new(
        source: Arc<dyn Source>,
        (path, array): (NodePath, ArrayMetadata),
        to: NodePath,
    ) -> Self {
        Self {
            source,
            path,
            array,
            to,
            listed: OnceCell::new(),
        }
    }

    async fn list(&self) -> Result<Listed, ImportError> {
        let mut found = Listed::default();
        let mut chunks = self.source.chunks(&self.path, &self.array);
        while let Some(entry) = chunks.try_next().await? {
            let (index, length) = match entry {
                ChunkEntry::Chunk { index, length } => (index, length),
                ChunkEntry::Ignored { name } => {
                    found.ignored.note(name);
                    continue;
                }
            };
            if !self.array.contains(&index) {
                return Err(ImportError::OutOfGrid {
                    name: self.name(&index),
                    path: self.to.clone(),
                    grid: self.array.chunk_counts.clone(),
                });
            }
            found.chunks.insert(index, length);
        }
        Ok(found)
    }
}

#[async_trait]
impl ChunksOf for OfSource {
    async fn read(&self, index: &ChunkIndex) -> Result<Option<Bytes>, ImportError> {
        let listed = self.listed.get_or_try_init(|| self.list()).await?;
        let Some(length) = listed.chunks.get(index) else {
            return Ok(None);
        };
        let (path, array) = (&self.path, &self.array);
        let bytes = self.source.read_chunk(path, array, index, *length);
        Ok(Some(bytes.await?))
    }

    fn name(&self, index: &ChunkIndex) -> String {
        self.source.chunk_name(&self.path, &self.array, index)
    }

    fn state(&self) -> Option<String> {
        Some(format!("{}{}", self.source.state()?, self.path))
    }

    fn ignored(&self) -> Ignored {
        let listed = self.listed.get();
        listed.map_or_else(Ignored::default, |listed| listed.ignored.clone())
    }
}

/// The chunks of an array of a session.
#[derive(Debug)]
pub(crate) struct OfSession {
    pub(crate) session: Session,
    pub(crate) path: NodePath,
}

#[async_trait]
impl ChunksOf for OfSession {
    async fn read(&self, index: &ChunkIndex) -> Result<Option<Bytes>, ImportError> {
        let found = self.session.chunk(&self.path, index, ByteRange::All);
        Ok(found.await?)
    }

    fn name(&self, index: &ChunkIndex) -> String {
        format!("chunk {index} of {}", self.path)
    }

    fn state(&self) -> Option<String> {
        let snapshot = self.session.snapshot_id().ok()?;
        Some(format!("{snapshot}{}", self.path))
    }
}
