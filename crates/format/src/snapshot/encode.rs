//! Writing snapshots, node by node.

use std::collections::BTreeMap;

use bytes::Bytes;
use flatbuffers::{FlatBufferBuilder, WIPOffset};
use serde_json::Value;

use super::{DimensionShape, INITIAL_MESSAGE, ManifestFileInfo, SnapshotRoot};
use crate::budget::Budget;
use crate::debug::debug_struct;
use crate::envelope::{DecodeLimits, FileKind, IDENTIFIER, SpecVersion, Writer};
use crate::error::{FormatError, FormatFile, SortedList};
use crate::flexbuffers;
use crate::generated as fb;
use crate::id::{ManifestId, NodeId, SnapshotId};
use crate::index::{Extents, MAX_RANK};
use crate::limits;
use crate::messagepack;
use crate::order;
use crate::path;

/// A new snapshot, except its nodes.
#[derive(Debug, Clone, Copy)]
pub struct NewSnapshot<'a> {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The parent; none only for the initial snapshot. Not written in spec 2, where `repo` has it.
    pub parent_id: Option<SnapshotId>,
    /// The time of the commit, in microseconds since the Unix epoch.
    pub flushed_at: u64,
    /// The message of the commit.
    pub message: &'a str,
    /// The metadata of the commit.
    pub metadata: &'a BTreeMap<String, Value>,
    /// The manifests that nodes use, in any order. Repeated ids are taken once.
    pub manifest_files: &'a [ManifestFileInfo],
}

/// A node to be written.
#[derive(Debug, Clone, Copy)]
pub struct NewNode<'a> {
    /// The id of the node.
    pub id: NodeId,
    /// The absolute path of the node.
    pub path: &'a str,
    /// The exact bytes of its `zarr.json`.
    pub user_data: &'a [u8],
    /// The kind of the node, and the data of an array.
    pub data: NewNodeData<'a>,
}

/// The kind of a node to be written, and the data of an array.
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
    /// The id of the manifest.
    pub id: ManifestId,
    /// The box around the array's refs in the manifest.
    pub extents: Extents,
}

type Structs = WIPOffset<flatbuffers::Vector<'static, fb::ManifestFileInfo>>;
type Tables = WIPOffset<
    flatbuffers::Vector<'static, flatbuffers::ForwardsUOffset<fb::ManifestFileInfoV2<'static>>>,
>;

/// Writes one snapshot. Nodes must come in the byte order of their paths; see [`Snapshot`](crate::Snapshot) for an
/// example.
pub struct SnapshotEncoder<'a> {
    version: SpecVersion,
    header: NewSnapshot<'a>,
    manifest_files: Vec<ManifestFileInfo>,
    extra: Option<&'a [u8]>,
    manifest_extras: BTreeMap<ManifestId, &'a [u8]>,
    builder: FlatBufferBuilder<'static>,
    nodes: Vec<WIPOffset<fb::NodeSnapshot<'static>>>,
    ids: Vec<NodeId>,
    last_path: String,
}

impl<'a> SnapshotEncoder<'a> {
    /// Begins a snapshot of spec 1.
    #[must_use]
    pub fn new(header: NewSnapshot<'a>) -> Self {
        Self::for_version(SpecVersion::V1, header)
    }

    /// Begins a snapshot of a spec version.
    #[must_use]
    pub fn for_version(version: SpecVersion, header: NewSnapshot<'a>) -> Self {
        let mut manifest_files = header.manifest_files.to_vec();
        manifest_files.sort_unstable();
        manifest_files.dedup_by_key(|info| info.id);
        Self {
            version,
            header,
            manifest_files,
            extra: None,
            manifest_extras: BTreeMap::new(),
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
    /// `UnlistedManifest`, in spec 2 `TooManyChunks`. `TooLarge` if the body would exceed the format's 2 GiB. The
    /// encoder is unchanged then.
    pub fn push(&mut self, node: NewNode<'_>) -> Result<(), FormatError> {
        self.push_with_extra(node, None)
    }

    /// Adds a node with what [`NodeRecord::extra`](crate::NodeRecord::extra) says of it. Spec 1 has no such field, and a
    /// snapshot of it is written without.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub fn push_with_extra(
        &mut self,
        node: NewNode<'_>,
        extra: Option<&[u8]>,
    ) -> Result<(), FormatError> {
        let extra = extra.filter(|_| self.version == SpecVersion::V2);
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
        let room = size_of_node(&node) + extra.map_or(0, <[u8]>::len);
        limits::check_room(&self.builder, file, room)?;
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
        let extra = extra.map(|extra| self.builder.create_vector(extra));
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
                extra,
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
        let counts = shape.iter().map(DimensionShape::num_chunks);
        let most = counts.max().filter(|_| self.version == SpecVersion::V2);
        if let Some(found) = most.filter(|found| *found > u64::from(u32::MAX)) {
            return Err(FormatError::TooManyChunks {
                file,
                node: id,
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
        let mut structs = Vec::new();
        let mut tables = Vec::new();
        for dimension in shape {
            let array_length = dimension.array_length;
            match self.version {
                SpecVersion::V1 => {
                    let chunk_length = dimension.chunk_length();
                    structs.push(fb::DimensionShape::new(array_length, chunk_length));
                }
                SpecVersion::V2 => {
                    let args = fb::DimensionShapeV2Args {
                        array_length,
                        num_chunks: u32::try_from(dimension.num_chunks()).unwrap_or(u32::MAX),
                    };
                    tables.push(fb::DimensionShapeV2::create(builder, &args));
                }
            }
        }
        let shape_v2 = match self.version {
            SpecVersion::V1 => None,
            SpecVersion::V2 => Some(builder.create_vector(&tables)),
        };
        let args = fb::ArrayNodeDataArgs {
            shape: Some(builder.create_vector(&structs)),
            dimension_names,
            manifests: Some(manifests),
            shape_v2,
        };
        fb::ArrayNodeData::create(builder, &args)
    }

    /// Sets what [`Snapshot::extra`](crate::Snapshot::extra) returns. Spec 1 has no such field.
    pub fn extra(&mut self, extra: &'a [u8]) -> &mut Self {
        self.extra = Some(extra);
        self
    }

    /// Sets what [`Snapshot::manifest_file_extra`](crate::Snapshot::manifest_file_extra) returns. Spec 1 has no such
    /// field.
    pub fn manifest_file_extra(&mut self, id: ManifestId, extra: &'a [u8]) -> &mut Self {
        self.manifest_extras.insert(id, extra);
        self
    }

    /// Writes the lists of manifest files: that of spec 1, empty in spec 2, and that of spec 2.
    fn files(&mut self) -> (Structs, Option<Tables>) {
        let builder = &mut self.builder;
        let mut structs = Vec::new();
        let mut tables = Vec::new();
        for info in &self.manifest_files {
            let id = fb::ObjectId12(*info.id.as_bytes());
            let (size_bytes, num_chunk_refs) = (info.size_bytes, info.num_chunk_refs);
            if self.version == SpecVersion::V1 {
                structs.push(fb::ManifestFileInfo::new(&id, size_bytes, num_chunk_refs));
                continue;
            }
            let extra = self.manifest_extras.get(&info.id);
            let args = fb::ManifestFileInfoV2Args {
                id: Some(&id),
                size_bytes,
                num_chunk_refs,
                extra: extra.map(|extra| builder.create_vector(extra)),
            };
            tables.push(fb::ManifestFileInfoV2::create(builder, &args));
        }
        let second = match self.version {
            SpecVersion::V1 => None,
            SpecVersion::V2 => Some(builder.create_vector(&tables)),
        };
        (builder.create_vector(&structs), second)
    }

    /// Ends the snapshot and returns the whole file.
    ///
    /// # Errors
    /// `DuplicateNodeId`; `OwnParent`; `MessagePack` or `FlexBuffers` if a metadata value cannot be written;
    /// `MetadataTooLarge` and `TooLarge` if a reader with the default limits would refuse it.
    pub fn finish(mut self, writer: &Writer) -> Result<Bytes, FormatError> {
        let file = self.file();
        if self.header.parent_id == Some(self.header.id) {
            return Err(FormatError::OwnParent { file });
        }
        order::unique_ids(std::mem::take(&mut self.ids), file)?;
        let text: usize = self.header.metadata.keys().map(String::len).sum();
        let fixed = self.header.message.len() + text + 64 * self.header.metadata.len();
        let extras = self.manifest_extras.values().copied().chain(self.extra);
        let extras: usize = extras.map(|extra| 16 + extra.len()).sum();
        let lists = 48 * self.manifest_files.len() + 4 * self.nodes.len() + extras;
        let metadata = self.metadata(fixed + lists)?;
        let metadata = self.builder.create_vector(&metadata);
        let (manifest_files, manifest_files_v2) = self.files();
        let builder = &mut self.builder;
        let extra = self.extra.filter(|_| self.version == SpecVersion::V2);
        let extra = extra.map(|extra| builder.create_vector(extra));
        let nodes = builder.create_vector(&self.nodes);
        let message = builder.create_string(self.header.message);
        let id = fb::ObjectId12(*self.header.id.as_bytes());
        let parent_id = self.header.parent_id;
        let parent_id = parent_id.filter(|_| self.version == SpecVersion::V1);
        let parent_id = parent_id.map(|id| fb::ObjectId12(*id.as_bytes()));
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
                manifest_files_v2,
                extra,
            },
        );
        builder.finish(root, Some(IDENTIFIER));
        limits::check_readable::<SnapshotRoot>(builder.finished_data(), 0, file)?;
        let body = builder.finished_data();
        writer.seal(file, self.version, FileKind::Snapshot, body)
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
            let encoded = match self.version {
                SpecVersion::V1 => messagepack::encode(value).map_err(|reason| {
                    let name = name.clone();
                    FormatError::MessagePack { file, name, reason }
                })?,
                SpecVersion::V2 => flexbuffers::encode_flexbuffers(value).map_err(|reason| {
                    let name = name.clone();
                    FormatError::FlexBuffers { file, name, reason }
                })?,
            };
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
            // A table and its place in a list, in spec 2.
            32 * shape.len() + names + extents
        }
    };
    256 + node.path.len() + node.user_data.len() + data
}

/// Returns the file of the first snapshot of a repository of spec 1: no parent, no nodes, the fixed id and
/// message.
///
/// # Panics
/// Never: nothing in it depends on input that could be refused.
#[must_use]
pub fn initial_snapshot(flushed_at: u64, writer: &Writer) -> Bytes {
    initial_snapshot_in(SpecVersion::V1, flushed_at, writer)
}

/// Returns the same of a spec version. What marks it as the first is in its metadata: `__root` in spec 1, `__icechunk` in
/// spec 2 (spec 1, §6; spec 2, §5).
///
/// # Panics
/// Never, as [`initial_snapshot`].
#[must_use]
pub fn initial_snapshot_in(version: SpecVersion, flushed_at: u64, writer: &Writer) -> Bytes {
    let (name, value) = match version {
        SpecVersion::V1 => ("__root", Value::Bool(true)),
        SpecVersion::V2 => ("__icechunk", serde_json::json!({"is_root": true})),
    };
    let metadata = BTreeMap::from([(name.to_owned(), value)]);
    let header = NewSnapshot {
        id: SnapshotId::INITIAL,
        parent_id: None,
        flushed_at,
        message: INITIAL_MESSAGE,
        metadata: &metadata,
        manifest_files: &[],
    };
    SnapshotEncoder::for_version(version, header)
        .finish(writer)
        .expect("BUG: the initial snapshot is always valid")
}

debug_struct!(SnapshotEncoder<'_>, it => {
    header: it.header,
    nodes: it.nodes.len(),
});
