//! Sources, from which an import reads.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use icefield_core::{ArrayMetadata, ChunkIndex, NodeMetadata, NodePath, VirtualSource};
use serde_json::Value;

use crate::names::MAX_DOCUMENT;
use crate::{ChunkExtents, Ignored, SourceError};

/// A node of a source: an array or a group with its Zarr v3 document.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceNode {
    document: Bytes,
    metadata: Arc<NodeMetadata>,
}

impl SourceNode {
    /// Checks a document by the rules for new nodes. `limit` is its largest length in bytes.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn parse(document: Bytes, limit: usize) -> Result<Self, icefield_core::MetadataError> {
        let metadata = Arc::new(NodeMetadata::parse_new(&document, limit)?);
        Ok(Self { document, metadata })
    }

    /// Checks a document that icefield made, of any length that is read back.
    pub(crate) fn parse_made(document: Bytes) -> Result<Self, icefield_core::MetadataError> {
        Self::parse(document, MAX_DOCUMENT as usize)
    }

    /// Checks a document that icefield made, as JSON.
    pub(crate) fn of_value(document: &Value) -> Result<Self, String> {
        let bytes = serde_json::to_vec(document).map_err(|error| error.to_string())?;
        Self::parse_made(bytes.into()).map_err(|error| error.to_string())
    }

    /// Returns the document, byte for byte as the source has it.
    pub fn document(&self) -> &Bytes {
        &self.document
    }

    /// Returns the parsed metadata of the node.
    pub fn metadata(&self) -> &NodeMetadata {
        &self.metadata
    }

    /// Returns the parsed metadata of an array; `None` for a group.
    pub fn array(&self) -> Option<&ArrayMetadata> {
        self.metadata.array()
    }
}

/// Nodes that many sources have alike, each held once.
#[derive(Debug, Default)]
pub(crate) struct SharedNodes(HashMap<Bytes, SourceNode>);

impl SharedNodes {
    /// Puts the nodes of other sources in the place of equal ones.
    pub(crate) fn share(&mut self, hierarchy: &mut Hierarchy) {
        for node in hierarchy.nodes.values_mut() {
            match self.0.get(&node.document) {
                Some(same) => *node = same.clone(),
                None => {
                    self.0.insert(node.document.clone(), node.clone());
                }
            }
        }
    }
}

/// All nodes of a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hierarchy {
    /// The nodes by path, from the root of the source. A group that only its children imply may be missing.
    pub nodes: BTreeMap<NodePath, SourceNode>,
    /// The files or objects between the nodes that belong to none.
    pub ignored: Ignored,
    /// Warnings of an import.
    pub warnings: Vec<String>,
    /// The nodes that are missing here because Zarr cannot express them. An import that does not leave them out fails.
    pub unsupported: Vec<Unsupported>,
}

/// A node of a source that cannot be imported; nodes below it cannot either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The path of the node in the source.
    pub path: NodePath,
    /// The name of the file that has it.
    pub name: String,
    /// The reason, as a sentence.
    pub reason: String,
}

impl Unsupported {
    /// Takes the node that an error is about, if it is about one below the root and no damage.
    pub(crate) fn of(error: SourceError) -> Result<Self, SourceError> {
        match error {
            SourceError::Variable { name, path, reason } if !path.is_root() => {
                Ok(Self { path, name, reason })
            }
            error => Err(error),
        }
    }

    /// Returns the error of an import that does not leave it out.
    pub fn error(&self) -> SourceError {
        SourceError::variable(&self.name, &self.path, &*self.reason)
    }
}

/// An entry that was found where the chunks of an array are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkEntry {
    /// A chunk.
    Chunk {
        /// Its coordinates, as many as the array has dimensions; not checked against the grid.
        index: ChunkIndex,
        /// Its bytes, encoded.
        length: u64,
    },
    /// Something that is no chunk and that may be left out.
    Ignored {
        /// Its name in messages.
        name: String,
    },
}

/// The places of the chunks of an array in files.
#[derive(Debug)]
pub struct References<'a> {
    /// The files, by the locations that references have.
    pub sources: Vec<VirtualSource>,
    /// The position of the file in that list, for each row of the extents.
    pub source: Vec<u32>,
    /// The ranges of bytes that are chunks.
    pub extents: Cow<'a, ChunkExtents>,
    /// The chunks that lie in no file, with their bytes.
    pub made: Cow<'a, [(ChunkIndex, Bytes)]>,
}

/// A hierarchy to import: nodes with Zarr v3 documents, and the encoded bytes of their chunks. Implement it to import
/// from a format of your own.
///
/// `Display` gives the name of the source in messages. A source that is not Zarr v3 itself makes the documents that
/// describe its arrays.
#[async_trait]
pub trait Source: fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Reads all nodes.
    ///
    /// # Errors
    /// [`SourceError`] for any part that is damaged: nothing is left out silently.
    async fn hierarchy(&self) -> Result<Hierarchy, SourceError>;

    /// Lists the chunks of an array that exist, in any order, each once.
    fn chunks(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> BoxStream<'static, Result<ChunkEntry, SourceError>>;

    /// Reads a chunk that [`Source::chunks`] listed.
    ///
    /// # Errors
    /// Also if it does not have the length that was listed: then another program is writing the source.
    async fn read_chunk(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError>;

    /// Returns the places of the chunks of an array in files, so that an import can refer to them.
    ///
    /// # Errors
    /// The reason why they cannot be referred to. By default, no source knows places.
    fn references(&self, path: &NodePath) -> Result<References<'_>, String> {
        let _ = path;
        Err("this kind of source holds no bytes that could be referred to".to_owned())
    }

    /// Returns the URLs of the files that references name.
    fn urls(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns whether the chunks of an array are in memory, so that copying them reads nothing.
    fn is_at_hand(&self, path: &NodePath) -> bool {
        let _ = path;
        false
    }

    /// Returns a text that changes when a file of the source changes, by its size and its version; `None` if the source
    /// cannot tell. A resumed import skips chunks of a source in the same state.
    fn state(&self) -> Option<String> {
        None
    }

    /// Returns whether the source has only the part that a plan needs, as those of a [`Survey`](crate::Survey) have.
    fn is_survey(&self) -> bool {
        false
    }

    /// Returns whether the source may have had several chunks for one place, as GRIB files may.
    fn may_repeat(&self) -> bool {
        false
    }

    /// Returns the name of a chunk in messages: that of its file, for instance.
    fn chunk_name(&self, path: &NodePath, array: &ArrayMetadata, index: &[u32]) -> String;
}
