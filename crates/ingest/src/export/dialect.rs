//! How a hierarchy is spelt in a tree of keys and values: which documents, which keys, which bytes.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodePath};
use icefield_zarr_fs::TreeKey;

use crate::ExportError;
use crate::format2::ShardIndex;

/// A node to be exported, as the session has it.
#[derive(Clone, Debug)]
pub struct ExportNode {
    /// The path of the node.
    pub path: NodePath,
    /// Its Zarr v3 document; of a group without the consolidated metadata, which a repository does not keep up to date.
    pub document: Bytes,
    /// The parsed metadata of an array; `None` for a group.
    pub array: Option<ArrayMetadata>,
    /// The length in bytes of the longest text of the array, if [`Dialect::measures`] asked for it.
    pub longest: Option<usize>,
    /// Whether all chunks of the array exist, if [`Dialect::counts`] asked for that.
    pub is_whole: Option<bool>,
}

/// A format of hierarchies, such as Zarr v3. An export asks it once for all nodes, and then for the documents of each
/// node.
pub trait Dialect: fmt::Debug + Send + Sync + 'static {
    /// Returns whether the texts of an array must be measured first; all its chunks are read once more for that.
    fn measures(&self, node: &ExportNode) -> bool {
        let _ = node;
        false
    }

    /// Returns whether the export must know if all chunks of an array exist; its chunks are listed once more for that.
    fn counts(&self, node: &ExportNode) -> bool {
        let _ = node;
        false
    }

    /// Returns the length in bytes of the longest text of a chunk, of an array that is to be measured.
    ///
    /// # Errors
    /// [`ExportError::Unsupported`] for a chunk that is damaged.
    fn longest(&self, node: &ExportNode, bytes: &[u8]) -> Result<usize, ExportError> {
        let _ = (node, bytes);
        Ok(0)
    }

    /// Decides about all nodes together, sorted by path, before anything is written.
    ///
    /// # Errors
    /// [`ExportError::Unsupported`] for a node that the format cannot express; [`ExportError::NodeName`] for a name
    /// that is taken.
    fn spell(&self, nodes: Arc<[ExportNode]>) -> Result<Arc<dyn Spelling>, ExportError>;
}

/// One hierarchy in the terms of a [`Dialect`].
pub trait Spelling: Send + Sync + 'static {
    /// Returns the documents of a node, each with its key. Called once for each node: from the root down, or, where
    /// what is written can be seen at once, from the leaves up and after all chunks.
    ///
    /// # Errors
    /// As [`Dialect::spell`].
    fn documents(&self, node: &ExportNode) -> Result<Vec<(TreeKey, Bytes)>, ExportError>;

    /// Returns the memory in bytes that it takes to encode one chunk of an array anew, in addition to the chunk itself;
    /// `None`, the default, if its chunks stay as they are.
    fn recoding(&self, array: &ExportNode) -> Option<u64> {
        let _ = array;
        None
    }

    /// Returns the layout of the index in the shards of an array that are cut up; `None`, the default, if they are not
    /// cut up.
    fn shard_index(&self, array: &ExportNode) -> Option<ShardIndex> {
        let _ = array;
        None
    }

    /// Returns the values that are written for a chunk of an array, with keys: one value, or several for a shard that
    /// is cut up. Called on a thread that may compute if [`Spelling::recoding`] returns a number.
    ///
    /// # Errors
    /// [`ExportError::NodeName`]; [`ExportError::Unsupported`], with the array and the chunk.
    fn chunks(
        &self,
        array: &ExportNode,
        index: &[u32],
        bytes: Bytes,
    ) -> Result<Vec<(TreeKey, Bytes)>, ExportError>;
}

/// Returns the key of a value directly in the directory of a node.
///
/// # Errors
/// [`ExportError::NodeName`] for a node whose name no key can have, or which is `taken` by a document of the format.
pub fn export_key(node: &NodePath, rest: &str, taken: &[&str]) -> Result<TreeKey, ExportError> {
    let refused = |name: &str| ExportError::NodeName {
        path: node.clone(),
        name: name.to_owned(),
    };
    let directory = node.as_str().trim_matches('/');
    let mut names = directory.split('/');
    if let Some(name) = names.find(|name| taken.contains(name)) {
        return Err(refused(name));
    }
    let text = match directory {
        "" => rest.to_owned(),
        directory => format!("{directory}/{rest}"),
    };
    TreeKey::parse(&text).map_err(|_| refused(directory))
}
