//! `snapshots/ID`: the hierarchy of nodes at one point in history.
//!
//! Rules checked when a file is decoded, beyond a valid flatbuffer: the id is the one asked for, and
//! not its own parent's; nodes strictly ascend by the bytes of their paths, paths are valid, node
//! ids unique; each node is a group or an array; dimension names have the rank of their array;
//! metadata ascends by name, manifest files by id; every manifest that a node uses is listed.
//!
//! The versions differ in where a fact is stored: a file of spec 2 has its parent in `repo` (spec 2, §3), its
//! metadata in FlexBuffers, and its manifest files and dimensions in tables, which must be there (spec 2, §5). A file is
//! read by its own header: a repository that was upgraded has files of both versions.

mod check;
mod dimension;
pub(crate) mod encode;
mod record;
mod reparent;

use std::collections::BTreeMap;

use crate::budget::Budget;
use crate::debug::debug_struct;
use crate::envelope::{self, DecodeLimits, FileKind, SpecVersion};
use crate::error::{FormatError, FormatFile};
use crate::flexbuffers;
use crate::generated as fb;
use crate::id::{ManifestId, SnapshotId};
use crate::messagepack;
use crate::order::search;
use crate::path::NodePath;
use crate::verified::{Root, Verified};

pub use dimension::DimensionShape;
pub use record::{ArrayRecord, ManifestRefRecord, NodeKind, NodeRecord};

/// The message of every repository's first snapshot.
pub const INITIAL_MESSAGE: &str = "Repository initialized";

/// Marks the root table of a snapshot's body.
pub(crate) enum SnapshotRoot {}

impl Root for SnapshotRoot {
    type Table<'a> = fb::Snapshot<'a>;
}

/// A decoded snapshot. It holds the decompressed body and reads it in place; cheap to clone.
///
/// ```
/// use std::collections::BTreeMap;
/// use icefield_format::{
///     DecodeLimits, NewNode, NewNodeData, NewSnapshot, NodeId, NodePath, Snapshot, SnapshotEncoder,
///     SnapshotId, Writer,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let id = SnapshotId::from_bytes([1; 12]);
/// let metadata = BTreeMap::new();
/// let mut encoder = SnapshotEncoder::new(NewSnapshot {
///     id,
///     parent_id: Some(SnapshotId::INITIAL),
///     flushed_at: 1_726_660_801_000_000,
///     message: "the root group",
///     metadata: &metadata,
///     manifest_files: &[],
/// });
/// encoder.push(NewNode {
///     id: NodeId::from_bytes([2; 8]),
///     path: "/",
///     user_data: br#"{"zarr_format": 3, "node_type": "group"}"#,
///     data: NewNodeData::Group,
/// })?;
/// let file = encoder.finish(&Writer::default())?;
///
/// let snapshot = Snapshot::decode(&file, id, &DecodeLimits::default())?;
/// assert_eq!(snapshot.parent_id(), Some(SnapshotId::INITIAL));
/// assert!(snapshot.node(&NodePath::root()).is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Snapshot {
    version: SpecVersion,
    body: Verified<SnapshotRoot>,
    max_metadata: u64,
}

/// The record of one manifest file in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManifestFileInfo {
    /// The id of the manifest.
    pub id: ManifestId,
    /// The length of the whole file in bytes, header included.
    pub size_bytes: u64,
    /// The number of chunk refs in it, of all arrays.
    pub num_chunk_refs: u32,
}

/// The list of manifest files, as the version of the file has it.
#[derive(Clone, Copy)]
enum ManifestFiles<'a> {
    V1(flatbuffers::Vector<'a, fb::ManifestFileInfo>),
    V2(flatbuffers::Vector<'a, flatbuffers::ForwardsUOffset<fb::ManifestFileInfoV2<'a>>>),
}

impl<'a> ManifestFiles<'a> {
    fn len(self) -> usize {
        match self {
            Self::V1(files) => files.len(),
            Self::V2(files) => files.len(),
        }
    }

    fn id(self, at: usize) -> &'a [u8] {
        match self {
            Self::V1(files) => &files.get(at).id().0,
            // Checked to be there when the file was decoded.
            Self::V2(files) => files.get(at).id().map_or(&[], |id| &id.0),
        }
    }

    fn get(self, at: usize) -> ManifestFileInfo {
        let (id, size_bytes, num_chunk_refs) = match self {
            Self::V1(files) => {
                let info = files.get(at);
                (Some(info.id().0), info.size_bytes(), info.num_chunk_refs())
            }
            Self::V2(files) => {
                let info = files.get(at);
                let id = info.id().map(|id| id.0);
                (id, info.size_bytes(), info.num_chunk_refs())
            }
        };
        ManifestFileInfo {
            id: ManifestId::from_bytes(id.unwrap_or_default()),
            size_bytes,
            num_chunk_refs,
        }
    }

    fn position(self, id: &ManifestId) -> Option<usize> {
        search(0..self.len(), |at| self.id(at).cmp(&id.as_bytes()[..])).ok()
    }
}

impl Snapshot {
    /// Decodes and verifies a file that was stored under `id`.
    ///
    /// # Errors
    /// The first rule that the file breaks; [`FormatError::WrongObject`] if it states another id;
    /// [`FormatError::TooLarge`] beyond `limits`.
    pub fn decode(file: &[u8], id: SnapshotId, limits: &DecodeLimits) -> Result<Self, FormatError> {
        let name = FormatFile::Snapshot(id);
        let (version, body) = envelope::open(file, name, FileKind::Snapshot, limits)?;
        let body = Verified::new(body).map_err(|error| FormatError::malformed(name, error))?;
        let snapshot = Self {
            version,
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

    /// Returns the version of the format that the file is written in.
    #[must_use]
    pub fn spec_version(&self) -> SpecVersion {
        self.version
    }

    /// Returns the parent; none in the initial snapshot, and in no file of spec 2: there
    /// [`RepoInfo`](crate::RepoInfo) has it.
    #[must_use]
    pub fn parent_id(&self) -> Option<SnapshotId> {
        let parent = match self.version {
            SpecVersion::V1 => self.root().parent_id(),
            SpecVersion::V2 => None,
        };
        parent.map(|id| SnapshotId::from_bytes(id.0))
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
    /// [`FormatError::MessagePack`], or in spec 2 [`FormatError::FlexBuffers`], with the key, if a value is no JSON
    /// value in that form; [`FormatError::MetadataTooLarge`].
    pub fn metadata(&self) -> Result<BTreeMap<String, serde_json::Value>, FormatError> {
        let (file, limit) = (self.file(), self.max_metadata);
        let budget = Budget::new(limit);
        let decode = |item: fb::MetadataItem<'_>| {
            let name = item.name().to_owned();
            budget.spend(name.len());
            let value = item.value().bytes();
            let decoded = match self.version {
                SpecVersion::V1 => messagepack::decode(value, &budget).map_err(|reason| {
                    let name = name.clone();
                    FormatError::MessagePack { file, name, reason }
                }),
                SpecVersion::V2 => flexbuffers::decode(value, &budget).map_err(|reason| {
                    let name = name.clone();
                    FormatError::FlexBuffers { file, name, reason }
                }),
            };
            match decoded {
                Err(_) if budget.is_exceeded() => {
                    Err(FormatError::MetadataTooLarge { file, limit })
                }
                decoded => Ok((name, decoded?)),
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
        NodeRecord::new(self.root().nodes().get(position), self.version)
    }

    /// Returns all nodes in the byte order of their paths.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeRecord<'_>> + DoubleEndedIterator {
        let nodes = self.root().nodes();
        let version = self.version;
        (0..nodes.len()).map(move |position| NodeRecord::new(nodes.get(position), version))
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
        let files = self.files();
        (0..files.len()).map(move |at| files.get(at))
    }

    fn files(&self) -> ManifestFiles<'_> {
        match self.root().manifest_files_v2() {
            Some(files) if self.version == SpecVersion::V2 => ManifestFiles::V2(files),
            _ => ManifestFiles::V1(self.root().manifest_files()),
        }
    }

    /// Finds the record of one manifest, by binary search.
    #[must_use]
    pub fn manifest_file(&self, id: &ManifestId) -> Option<ManifestFileInfo> {
        let files = self.files();
        files.position(id).map(|at| files.get(at))
    }

    /// Returns the reserved field `extra` of the snapshot, in which a later version of the format may have put
    /// something.
    #[must_use]
    pub fn extra(&self) -> Option<&[u8]> {
        self.root().extra().map(|extra| extra.bytes())
    }

    /// Returns the reserved field `extra` of one manifest file.
    #[must_use]
    pub fn manifest_file_extra(&self, id: &ManifestId) -> Option<&[u8]> {
        let files = self.files();
        let ManifestFiles::V2(tables) = files else {
            return None;
        };
        let extra = tables.get(files.position(id)?).extra();
        extra.map(|extra| extra.bytes())
    }

    /// Returns the number of bytes that the snapshot holds, for the weight in a cache.
    #[must_use]
    pub fn body_len(&self) -> usize {
        self.body.len()
    }
}

debug_struct!(Snapshot, it => {
    id: it.id(),
    parent_id: it.parent_id(),
    nodes: it.node_count(),
    body_len: it.body_len(),
});

#[cfg(test)]
mod tests;
