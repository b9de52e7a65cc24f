//! Writing snapshots, node by node.

use std::collections::BTreeMap;
use std::fmt;

use bytes::Bytes;
use flatbuffers::{FlatBufferBuilder, WIPOffset};
use serde_json::Value;

use super::{DimensionShape, INITIAL_MESSAGE, ManifestFileInfo, SnapshotRoot, check};
use crate::budget::Budget;
use crate::envelope::{DecodeLimits, FileKind, IDENTIFIER, Writer};
use crate::error::{FormatError, FormatFile, SortedList};
use crate::generated as fb;
use crate::id::{ManifestId, NodeId, SnapshotId};
use crate::index::{Extents, MAX_RANK};
use crate::limits;
use crate::messagepack;
use crate::order;
use crate::path;

/// All of a new snapshot but its nodes.
#[derive(Debug, Clone, Copy)]
pub struct NewSnapshot<'a> {
    /// Its id.
    pub id: SnapshotId,
    /// Its parent; none only for the initial snapshot.
    pub parent_id: Option<SnapshotId>,
    /// Time of the commit in microseconds since the Unix epoch.
    pub flushed_at: u64,
    /// Message of the commit.
    pub message: &'a str,
    /// Metadata of the commit.
    pub metadata: &'a BTreeMap<String, Value>,
    /// Every manifest that a node will use, in any order. Repeated ids are taken once.
    pub manifest_files: &'a [ManifestFileInfo],
}

/// A node to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewNode<'a> {
    /// Its id.
    pub id: NodeId,
    /// Its path.
    pub path: &'a str,
    /// The exact bytes of its `zarr.json`.
    pub user_data: &'a [u8],
    /// What it is.
    pub data: NewNodeData<'a>,
}

/// What a node to be written is.
#[derive(Debug, Clone, Copy)]
pub enum NewNodeData<'a> {
    /// A group.
    Group,
    /// An array.
    Array {
        /// The dimensions, outermost first.
        shape: &'a [DimensionShape],
        /// Names of the dimensions, as many as there are dimensions, if there are any. An empty
        /// name is written as a missing one.
        dimension_names: Option<&'a [Option<String>]>,
        /// Where the chunk refs are.
        manifests: &'a [ManifestRef],
    },
}

/// An array's pointer to one manifest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ManifestRef {
    /// The manifest.
    pub id: ManifestId,
    /// Box around the array's refs in it.
    pub extents: Extents,
}

/// Writes one snapshot. Nodes come in the byte order of their paths.
pub struct SnapshotEncoder<'a> {
    header: NewSnapshot<'a>,
    manifest_files: Vec<ManifestFileInfo>,
    builder: FlatBufferBuilder<'static>,
    nodes: Vec<WIPOffset<fb::NodeSnapshot<'static>>>,
    ids: Vec<NodeId>,
    last_path: String,
}

impl<'a> SnapshotEncoder<'a> {
    /// Begins a snapshot.
    #[must_use]
    pub fn new(header: NewSnapshot<'a>) -> Self {
        let mut manifest_files = header.manifest_files.to_vec();
        manifest_files.sort_unstable();
        manifest_files.dedup_by_key(|info| info.id);
        Self {
            header,
            manifest_files,
            builder: FlatBufferBuilder::with_capacity(1024),
            nodes: Vec::new(),
            ids: Vec::new(),
            last_path: String::new(),
        }
    }

    fn file(&self) -> FormatFile {
        FormatFile::Snapshot(self.header.id)
    }

    #[cfg(test)]
    pub(super) fn body_so_far(&self) -> usize {
        self.builder.unfinished_data().len()
    }

    /// Adds a node.
    ///
    /// # Errors
    /// `Unsorted` or `Duplicate` if its path does not come after the one before; `InvalidPath`; for
    /// arrays what decoding would refuse: `RankMismatch`, `RankTooLarge`, `InvertedExtents`,
    /// `UnlistedManifest`. `TooLarge` if the body would exceed the format's 2 GiB. The encoder is
    /// unchanged then.
    pub fn push(&mut self, node: NewNode<'_>) -> Result<(), FormatError> {
        let (file, position) = (self.file(), self.nodes.len());
        path::check(node.path).map_err(|source| FormatError::InvalidPath {
            file,
            position,
            source,
        })?;
        if position > 0 {
            let list = SortedList::Nodes;
            order::check(
                self.last_path.as_bytes().cmp(node.path.as_bytes()),
                file,
                list,
                position,
            )?;
        }
        self.check_data(&node)?;
        limits::check_room(&self.builder, file, size_of_node(&node))?;
        let (node_data_type, node_data) = match node.data {
            NewNodeData::Group => {
                let group = fb::GroupNodeData::create(&mut self.builder, &fb::GroupNodeDataArgs {});
                (fb::NodeData::Group, group.as_union_value())
            }
            NewNodeData::Array {
                shape,
                dimension_names,
                manifests,
            } => {
                let array = self.array(shape, dimension_names, manifests);
                (fb::NodeData::Array, array.as_union_value())
            }
        };
        let user_data = self.builder.create_vector(node.user_data);
        let path = self.builder.create_string(node.path);
        let id = fb::ObjectId8(*node.id.as_bytes());
        let node_table = fb::NodeSnapshot::create(
            &mut self.builder,
            &fb::NodeSnapshotArgs {
                id: Some(&id),
                path: Some(path),
                user_data: Some(user_data),
                node_data_type,
                node_data: Some(node_data),
                extra: None,
            },
        );
        self.nodes.push(node_table);
        self.ids.push(node.id);
        self.last_path.clear();
        self.last_path.push_str(node.path);
        Ok(())
    }

    fn check_data(&self, node: &NewNode<'_>) -> Result<(), FormatError> {
        let (file, id) = (self.file(), node.id);
        let NewNodeData::Array {
            shape,
            dimension_names,
            manifests,
        } = node.data
        else {
            return Ok(());
        };
        let expected = shape.len();
        if expected > MAX_RANK {
            return Err(FormatError::RankTooLarge {
                file,
                node: id,
                found: expected,
            });
        }
        if let Some(found) = dimension_names.map(<[_]>::len)
            && found != expected
        {
            return Err(FormatError::RankMismatch {
                file,
                node: id,
                expected,
                found,
            });
        }
        for ManifestRef {
            id: manifest,
            extents,
        } in manifests
        {
            // Extents of another rank than the array's are carried over as they were found.
            if extents.rank() > MAX_RANK {
                return Err(FormatError::RankTooLarge {
                    file,
                    node: id,
                    found: extents.rank(),
                });
            }
            if extents.ranges().iter().any(|range| range.start > range.end) {
                return Err(FormatError::InvertedExtents { file, node: id });
            }
            if self
                .manifest_files
                .binary_search_by_key(manifest, |info| info.id)
                .is_err()
            {
                return Err(FormatError::UnlistedManifest {
                    file,
                    node: id,
                    manifest: *manifest,
                });
            }
        }
        Ok(())
    }

    fn array(
        &mut self,
        shape: &[DimensionShape],
        dimension_names: Option<&[Option<String>]>,
        manifests: &[ManifestRef],
    ) -> WIPOffset<fb::ArrayNodeData<'static>> {
        let builder = &mut self.builder;
        let manifests: Vec<_> = manifests
            .iter()
            .map(|manifest| {
                let ranges = manifest.extents.ranges().iter();
                let ranges: Vec<_> = ranges
                    .map(|range| fb::ChunkIndexRange::new(range.start, range.end))
                    .collect();
                let extents = Some(builder.create_vector(&ranges));
                let object_id = fb::ObjectId12(*manifest.id.as_bytes());
                let args = fb::ManifestRefArgs {
                    object_id: Some(&object_id),
                    extents,
                };
                fb::ManifestRef::create(builder, &args)
            })
            .collect();
        let manifests = builder.create_vector(&manifests);
        let dimension_names = dimension_names.map(|names| {
            let names: Vec<_> = names
                .iter()
                .map(|name| {
                    let name = name.as_deref().filter(|name| !name.is_empty());
                    let name = name.map(|name| builder.create_string(name));
                    fb::DimensionName::create(builder, &fb::DimensionNameArgs { name })
                })
                .collect();
            builder.create_vector(&names)
        });
        let shape: Vec<_> = shape
            .iter()
            .map(|dimension| {
                fb::DimensionShape::new(dimension.array_length, dimension.chunk_length)
            })
            .collect();
        let shape = builder.create_vector(&shape);
        let args = fb::ArrayNodeDataArgs {
            shape: Some(shape),
            dimension_names,
            manifests: Some(manifests),
            shape_v2: None,
        };
        fb::ArrayNodeData::create(builder, &args)
    }

    /// Ends the snapshot and returns the whole file.
    ///
    /// # Errors
    /// `DuplicateNodeId`; `OwnParent`; `MessagePack` if a metadata value is nested too deeply;
    /// `MetadataTooLarge` and `TooLarge` if a reader with the default limits would refuse it.
    pub fn finish(mut self, writer: &Writer) -> Result<Bytes, FormatError> {
        let file = self.file();
        if self.header.parent_id == Some(self.header.id) {
            return Err(FormatError::OwnParent { file });
        }
        check::unique(std::mem::take(&mut self.ids), file)?;
        let text: usize = self.header.metadata.keys().map(String::len).sum();
        let fixed = self.header.message.len() + text + 64 * self.header.metadata.len();
        let lists = 32 * self.manifest_files.len() + 4 * self.nodes.len();
        let metadata = self.metadata(fixed + lists)?;
        let builder = &mut self.builder;
        let metadata = builder.create_vector(&metadata);
        let manifest_files: Vec<_> = self
            .manifest_files
            .iter()
            .map(|info| {
                let id = fb::ObjectId12(*info.id.as_bytes());
                fb::ManifestFileInfo::new(&id, info.size_bytes, info.num_chunk_refs)
            })
            .collect();
        let manifest_files = builder.create_vector(&manifest_files);
        let nodes = builder.create_vector(&self.nodes);
        let message = builder.create_string(self.header.message);
        let id = fb::ObjectId12(*self.header.id.as_bytes());
        let parent_id = self
            .header
            .parent_id
            .map(|id| fb::ObjectId12(*id.as_bytes()));
        let root = fb::Snapshot::create(
            builder,
            &fb::SnapshotArgs {
                id: Some(&id),
                parent_id: parent_id.as_ref(),
                nodes: Some(nodes),
                flushed_at: self.header.flushed_at,
                message: Some(message),
                metadata: Some(metadata),
                manifest_files: Some(manifest_files),
                manifest_files_v2: None,
                extra: None,
            },
        );
        builder.finish(root, Some(IDENTIFIER));
        limits::check_readable::<SnapshotRoot>(builder.finished_data(), 0, file)?;
        writer.seal(file, FileKind::Snapshot, builder.finished_data())
    }

    /// Writes the metadata, leaving room for `rest` bytes; the names and tables of the metadata
    /// are among them.
    fn metadata(
        &mut self,
        rest: usize,
    ) -> Result<Vec<WIPOffset<fb::MetadataItem<'static>>>, FormatError> {
        let file = self.file();
        limits::check_room(&self.builder, file, rest)?;
        let limit = DecodeLimits::default().max_metadata;
        let budget = Budget::new(limit);
        let mut items = Vec::with_capacity(self.header.metadata.len());
        for (name, value) in self.header.metadata {
            let fail = |reason| FormatError::MessagePack {
                file,
                name: name.clone(),
                reason,
            };
            let encoded = messagepack::encode(value).map_err(fail)?;
            // A reader would refuse it.
            budget.spend(name.len());
            if budget.spend_on(value).is_err() && budget.is_exceeded() {
                return Err(FormatError::MetadataTooLarge { file, limit });
            }
            let value = encoded;
            limits::check_room(&self.builder, file, rest + value.len())?;
            let value = Some(self.builder.create_vector(&value));
            let name = Some(self.builder.create_string(name));
            let args = fb::MetadataItemArgs { name, value };
            items.push(fb::MetadataItem::create(&mut self.builder, &args));
        }
        Ok(items)
    }
}

/// Returns at least the bytes that a node takes in the body.
pub(super) fn size_of_node(node: &NewNode<'_>) -> usize {
    let data = match node.data {
        NewNodeData::Group => 0,
        NewNodeData::Array {
            shape,
            dimension_names,
            manifests,
        } => {
            let names = dimension_names.unwrap_or_default().iter();
            let names: usize = names
                .map(|name| 32 + name.as_ref().map_or(0, String::len))
                .sum();
            // Extents of another rank than the array's are carried over as they were found.
            let extents = manifests.iter();
            let extents: usize = extents
                .map(|manifest| 64 + 8 * manifest.extents.rank())
                .sum();
            16 * shape.len() + names + extents
        }
    };
    256 + node.path.len() + node.user_data.len() + data
}

/// Returns the file of a repository's first snapshot: no parent, no nodes, the fixed id and
/// message.
///
/// # Panics
/// Never: nothing in it depends on input that could be refused.
#[must_use]
pub fn initial_snapshot(flushed_at: u64, writer: &Writer) -> Bytes {
    let metadata = BTreeMap::from([("__root".to_owned(), Value::Bool(true))]);
    let header = NewSnapshot {
        id: SnapshotId::INITIAL,
        parent_id: None,
        flushed_at,
        message: INITIAL_MESSAGE,
        metadata: &metadata,
        manifest_files: &[],
    };
    SnapshotEncoder::new(header)
        .finish(writer)
        .expect("BUG: the initial snapshot is always valid")
}

impl fmt::Debug for SnapshotEncoder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotEncoder")
            .field("header", &self.header)
            .field("nodes", &self.nodes.len())
            .finish_non_exhaustive()
    }
}
