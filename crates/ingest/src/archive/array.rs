//! Arrays and groups as a reader of archive files found them.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{ChunkIndex, NodePath};
use serde_json::{Map, Value};

use super::extents::ChunkExtents;
use super::file::ArchiveFile;
use crate::ignored::Ignored;
use crate::source::Unsupported;

/// Arrays and groups of one or more files.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    /// The files that hold the chunks. [`ChunkExtents`] name them by position.
    pub files: Vec<ArchiveFile>,
    /// The nodes by path. Groups that only their children imply may be missing.
    pub nodes: BTreeMap<NodePath, ArchiveNode>,
    /// The files or objects between the nodes that belong to none.
    pub ignored: Ignored,
    /// Warnings of an import.
    pub warnings: Vec<String>,
    /// Nodes that Zarr has no words for, if the reader was told to list them; otherwise the first one is an error.
    pub unsupported: Vec<Unsupported>,
    /// Whether the file may have several chunks for one place, of which [`ArchiveOptions::duplicates`](crate::ArchiveOptions)
    /// says the one that is kept.
    pub may_repeat: bool,
}

/// A group or an array.
#[derive(Clone, Debug)]
pub enum ArchiveNode {
    /// A group and its attributes.
    Group(Map<String, Value>),
    /// An array.
    Array(Box<ArchiveArray>),
}

/// An array of a file, in the terms of Zarr v3.
#[derive(Clone, Debug)]
pub struct ArchiveArray {
    /// The number of elements of each dimension.
    pub shape: Vec<u64>,
    /// The number of elements of a chunk along each dimension, each at least one.
    pub chunk_shape: Vec<u64>,
    /// The `data_type` of the document: a name, or an object with a name and a configuration.
    pub data_type: Value,
    /// The `fill_value` of the document.
    pub fill_value: Value,
    /// The `codecs` of the document, in the order of encoding.
    pub codecs: Vec<Value>,
    /// The names of the dimensions; empty if none has one.
    pub dimension_names: Vec<Option<String>>,
    /// The attributes.
    pub attributes: Map<String, Value>,
    /// The chunks that exist.
    pub chunks: ArchiveChunks,
}

/// The chunks of an array.
#[derive(Clone, Debug)]
pub enum ArchiveChunks {
    /// Chunks in the files, encoded as the codecs say.
    InFiles(ChunkExtents),
    /// In the files, save some that the reader has already, as a file of references may: those are copied even where
    /// the others are referred to. No chunk is in both.
    Mixed {
        /// Where the others lie.
        extents: ChunkExtents,
        /// The chunks at hand.
        made: Vec<(ChunkIndex, Bytes)>,
    },
    /// Encoded by the reader, because the files have no such bytes: they can be copied and not referred to.
    Made {
        /// The chunks.
        chunks: Vec<(ChunkIndex, Bytes)>,
        /// Why they cannot be referred to.
        reason: String,
    },
    /// In the files, and encoded anew when they are copied: they cannot be referred to.
    Recoded {
        /// Where they lie.
        extents: ChunkExtents,
        /// The function that makes chunks of the codecs of their bytes.
        recode: Recode,
        /// Why they cannot be referred to.
        reason: String,
    },
}

/// A function that turns the bytes of a chunk in a file into a chunk encoded by the array's codecs.
#[derive(Clone)]
pub struct Recode(Arc<RecodeChunk>);

/// Takes the coordinates of a chunk, the bytes that the file has for it, and what it is when it is decoded.
type RecodeChunk = dyn Fn(&[u32], &[u8], &Expected) -> Result<Bytes, RecodeError> + Send + Sync;

/// The reason why a chunk cannot be made: a [`SourceError`](crate::SourceError), or a fault of the bytes.
pub type RecodeError = Box<dyn std::error::Error + Send + Sync>;

impl Recode {
    /// Wraps a function of the coordinates of a chunk, its bytes in the file, and the layout of its decoded bytes.
    pub fn new(
        recode: impl Fn(&[u32], &[u8], &Expected) -> Result<Bytes, RecodeError> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(recode))
    }

    /// Makes a chunk.
    ///
    /// # Errors
    /// The fault of its bytes.
    pub fn chunk(
        &self,
        index: &[u32],
        bytes: &[u8],
        expected: &Expected,
    ) -> Result<Bytes, RecodeError> {
        (self.0)(index, bytes, expected)
    }
}

impl std::fmt::Debug for Recode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recode")
    }
}

/// The layout of the decoded bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The number of bytes of an element.
    pub element_bytes: usize,
    /// The number of bytes of a decoded chunk.
    pub chunk_bytes: usize,
}

impl ArchiveArray {
    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Returns the number of chunks along each dimension.
    pub fn grid(&self) -> Vec<u64> {
        let pairs = self.shape.iter().zip(&self.chunk_shape);
        pairs.map(|(all, one)| all.div_ceil(*one)).collect()
    }

    /// Returns the number of bytes of an element; `None` if elements differ in length.
    pub fn element_bytes(&self) -> Option<usize> {
        icefield_zarr_store::element_bytes(&self.data_type)
    }

    /// Returns the reason why chunks cannot be referred to; `None` if they can.
    pub fn not_virtual(&self) -> Option<&str> {
        match &self.chunks {
            ArchiveChunks::InFiles(_) | ArchiveChunks::Mixed { .. } => None,
            ArchiveChunks::Made { reason, .. } | ArchiveChunks::Recoded { reason, .. } => {
                Some(reason)
            }
        }
    }
}
