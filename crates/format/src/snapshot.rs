//! `snapshots/ID`: the hierarchy of nodes at one point in history.
//!
//! Rules checked when a file is decoded, beyond a valid flatbuffer: the id is the one asked for, and
//! not its own parent's; nodes strictly ascend by the bytes of their paths, paths are valid, node
//! ids unique; each node is a group or an array; dimension names have the rank of their array;
//! metadata ascends by name, manifest files by id; every manifest that a node uses is listed.

mod check;
mod encode;
mod record;
mod reparent;

use std::collections::BTreeMap;
use std::fmt;

use crate::budget::Budget;
use crate::envelope::{self, DecodeLimits, FileKind};
use crate::error::{FormatError, FormatFile};
use crate::generated as fb;
use crate::id::{ManifestId, SnapshotId};
use crate::messagepack;
use crate::order::search;
use crate::path::NodePath;
use crate::verified::{Root, Verified};

pub use encode::{
    ManifestRef, NewNode, NewNodeData, NewSnapshot, SnapshotEncoder, initial_snapshot,
};
pub use record::{ArrayRecord, ManifestRefRecord, NodeKind, NodeRecord};

/// Message of every repository's first snapshot.
pub const INITIAL_MESSAGE: &str = "Repository initialized";

/// Marks the root table of a snapshot's body.
pub(crate) enum SnapshotRoot {}

impl Root for SnapshotRoot {
    type Table<'a> = fb::Snapshot<'a>;
}

/// A decoded snapshot. Holds the decompressed body and reads it in place; cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    body: Verified<SnapshotRoot>,
    max_metadata: u64,
}

/// Facts about one manifest file that a snapshot uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestFileInfo {
    /// Its id.
    pub id: ManifestId,
    /// Length of the whole file in bytes, header included.
    pub size_bytes: u64,
    /// Chunk refs in it, of all arrays.
    pub num_chunk_refs: u32,
}

/// One dimension of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DimensionShape {
    /// Elements along the dimension.
    pub array_length: u64,
    /// Elements of a chunk along it. Only good for bounding coordinates: some writers reconstruct
    /// it, and then it differs from the chunk grid in `zarr.json`.
    pub chunk_length: u64,
}

impl ManifestFileInfo {
    fn from_generated(info: &fb::ManifestFileInfo) -> Self {
        Self {
            id: ManifestId::from_bytes(info.id().0),
            size_bytes: info.size_bytes(),
            num_chunk_refs: info.num_chunk_refs(),
        }
    }
}

impl Snapshot {
    /// Decodes and checks a file that was stored under `id`.
    ///
    /// # Errors
    /// Names the first rule that the file breaks. [`FormatError::WrongObject`] if it states another
    /// id.
    pub fn decode(file: &[u8], id: SnapshotId, limits: &DecodeLimits) -> Result<Self, FormatError> {
        let name = FormatFile::Snapshot(id);
        let body = envelope::open(file, name, FileKind::Snapshot, limits)?;
        let body = Verified::new(body).map_err(|error| FormatError::malformed(name, error))?;
        let snapshot = Self {
            body,
            max_metadata: limits.max_metadata,
        };
        if snapshot.id() != id {
            let found = FormatFile::Snapshot(snapshot.id());
            return Err(FormatError::WrongObject {
                expected: name,
                found,
            });
        }
        check::check(&snapshot)?;
        Ok(snapshot)
    }

    fn root(&self) -> fb::Snapshot<'_> {
        self.body.root()
    }

    fn file(&self) -> FormatFile {
        FormatFile::Snapshot(self.id())
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> SnapshotId {
        SnapshotId::from_bytes(self.root().id().0)
    }

    /// Returns the parent; none in the initial snapshot.
    #[must_use]
    pub fn parent_id(&self) -> Option<SnapshotId> {
        self.root()
            .parent_id()
            .map(|id| SnapshotId::from_bytes(id.0))
    }

    /// Returns the time of the commit in microseconds since the Unix epoch.
    #[must_use]
    pub fn flushed_at(&self) -> u64 {
        self.root().flushed_at()
    }

    /// Returns the message of the commit.
    #[must_use]
    pub fn message(&self) -> &str {
        self.root().message()
    }

    /// Decodes the metadata of the commit.
    ///
    /// # Errors
    /// [`FormatError::MessagePack`] with the key, if a value is no JSON value in MessagePack;
    /// [`FormatError::MetadataTooLarge`].
    pub fn metadata(&self) -> Result<BTreeMap<String, serde_json::Value>, FormatError> {
        let (file, limit) = (self.file(), self.max_metadata);
        let budget = Budget::new(limit);
        let decode = |item: fb::MetadataItem<'_>| {
            let name = item.name().to_owned();
            budget.spend(name.len());
            match messagepack::decode(item.value().bytes(), &budget) {
                Ok(value) => Ok((name, value)),
                Err(_) if budget.is_exceeded() => {
                    Err(FormatError::MetadataTooLarge { file, limit })
                }
                Err(reason) => Err(FormatError::MessagePack { file, name, reason }),
            }
        };
        self.root().metadata().iter().map(decode).collect()
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn node_count(&self) -> usize {
        self.root().nodes().len()
    }

    /// Returns the node at a position in path order.
    ///
    /// # Panics
    /// If the position is not below [`node_count`](Self::node_count).
    #[must_use]
    pub fn node_at(&self, position: usize) -> NodeRecord<'_> {
        NodeRecord::new(self.root().nodes().get(position))
    }

    /// Returns all nodes in the byte order of their paths.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeRecord<'_>> + DoubleEndedIterator {
        let nodes = self.root().nodes();
        (0..nodes.len()).map(move |position| NodeRecord::new(nodes.get(position)))
    }

    /// Finds the node at a path, by binary search.
    #[must_use]
    pub fn node(&self, path: &NodePath) -> Option<NodeRecord<'_>> {
        self.node_position(path)
            .ok()
            .map(|position| self.node_at(position))
    }

    /// Finds the position of the node at a path, by binary search.
    ///
    /// # Errors
    /// The position where such a node would be.
    pub fn node_position(&self, path: &NodePath) -> Result<usize, usize> {
        let nodes = self.root().nodes();
        search(0..nodes.len(), |at| {
            nodes
                .get(at)
                .path()
                .as_bytes()
                .cmp(path.as_str().as_bytes())
        })
    }

    /// Returns the manifest files in use, by id.
    pub fn manifest_files(
        &self,
    ) -> impl ExactSizeIterator<Item = ManifestFileInfo> + DoubleEndedIterator {
        let files = self.root().manifest_files();
        (0..files.len()).map(move |at| ManifestFileInfo::from_generated(files.get(at)))
    }

    /// Finds the facts about one manifest, by binary search.
    #[must_use]
    pub fn manifest_file(&self, id: &ManifestId) -> Option<ManifestFileInfo> {
        let files = self.root().manifest_files();
        let at = search(0..files.len(), |at| files.get(at).id().0.cmp(id.as_bytes())).ok()?;
        Some(ManifestFileInfo::from_generated(files.get(at)))
    }

    /// Returns the bytes held, for the weight in a cache.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.body.len()
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("id", &self.id())
            .field("parent_id", &self.parent_id())
            .field("nodes", &self.node_count())
            .field("body_len", &self.body_len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
