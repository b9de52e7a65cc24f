//! The change set as bytes, so that another process can go on with it: versioned, compact, checked when read.
//!
//! The encoding is MessagePack of the columns as they are. It holds no credentials and no location.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use icefield_format::{Checksum, ChunkId, ChunkRef, NodeId, NodeKind, NodePath};

use super::{ChangeSet, ChunkTable, PendingChunk, WrittenNode};
use crate::metadata::NodeMetadata;

/// Why bytes are not an encoded change set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BlobError {
    /// Not what this library writes, or cut off.
    #[error("the bytes are damaged, cut off, or no serialised session at all")]
    Malformed(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Written by a newer program.
    #[error("the serialised session has version {found}, this program reads version {known}: update it")]
    Newer {
        /// The version found.
        found: u32,
        /// The version that this program reads.
        known: u32,
    },
    /// Well formed, but contradicting itself.
    #[error("the serialised session contradicts itself: {0}")]
    Inconsistent(&'static str),
}

/// The plain form of a change set. Refs are those of a [`ChunkTable`], column by column.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ChangeSetBlob {
    created: Vec<NodeBlob>,
    updated: Vec<NodeBlob>,
    deleted: Vec<(String, [u8; 8], bool)>,
    tables: Vec<TableBlob>,
    visible: Vec<([u8; 8], Vec<u32>)>,
}

#[derive(Debug, Serialize, Deserialize)]
struct NodeBlob {
    path: String,
    id: [u8; 8],
    document: Bin,
}

/// Bytes that MessagePack writes as bytes, not as a list of numbers.
#[derive(Debug, Default)]
struct Bin(Vec<u8>);

impl Serialize for Bin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bin {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bin;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bin, E> {
                Ok(Bin(bytes.to_vec()))
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bin, E> {
                Ok(Bin(bytes))
            }
        }

        deserializer.deserialize_byte_buf(Visitor)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TableBlob {
    node: [u8; 8],
    path: String,
    rank: u32,
    coords: Vec<u32>,
    /// 0 deleted, 1 inline, 2 native, 3 virtual.
    kind: Bin,
    /// Twelve bytes for each native row.
    ids: Bin,
    /// For each native and virtual row.
    offset: Vec<u64>,
    /// For each row that is not deleted.
    length: Vec<u64>,
    inline: Bin,
    /// Each location, and how many virtual rows in turn it stands for.
    locations: Vec<(String, u32)>,
    /// For each virtual row: nothing, an ETag, or a time.
    checksums: Vec<Option<ChecksumBlob>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum ChecksumBlob {
    ETag(String),
    LastModified(u32),
}

impl ChangeSetBlob {
    pub(crate) fn of(changes: &ChangeSet) -> Self {
        let nodes = |nodes: &BTreeMap<NodePath, WrittenNode>| {
            let blob = |(path, node): (&NodePath, &WrittenNode)| NodeBlob {
                path: path.to_string(),
                id: *node.id.as_bytes(),
                document: Bin(node.document.to_vec()),
            };
            nodes.iter().map(blob).collect()
        };
        Self {
            created: nodes(&changes.created),
            updated: nodes(&changes.updated),
            deleted: changes
                .deleted
                .iter()
                .map(|(path, (id, kind))| {
                    (path.to_string(), *id.as_bytes(), *kind == NodeKind::Array)
                })
                .collect(),
            tables: changes
                .chunks
                .iter()
                .filter(|(_, table)| !table.is_empty())
                .filter_map(|(node, table)| {
                    Some(TableBlob::of(*node, changes.array_path(node)?, table))
                })
                .collect(),
            visible: changes
                .visible
                .iter()
                .map(|(node, grid)| (*node.as_bytes(), grid.clone()))
                .collect(),
        }
    }

    /// Rebuilds the change set, checking what its methods take for granted.
    pub(crate) fn change_set(self) -> Result<ChangeSet, BlobError> {
        let mut changes = ChangeSet {
            created: nodes(self.created)?,
            updated: nodes(self.updated)?,
            ..ChangeSet::default()
        };
        for (path, id, is_array) in self.deleted {
            let kind = match is_array {
                true => NodeKind::Array,
                false => NodeKind::Group,
            };
            let deleted = (NodeId::from_bytes(id), kind);
            changes.deleted.insert(parse_path(&path)?, deleted);
        }
        for (node, grid) in self.visible {
            changes.visible.insert(NodeId::from_bytes(node), grid);
        }
        for table in self.tables {
            table.fill(&mut changes)?;
        }
        Ok(changes)
    }
}

fn parse_path(path: &str) -> Result<NodePath, BlobError> {
    NodePath::parse(path).map_err(|error| BlobError::Malformed(error.into()))
}

fn nodes(blobs: Vec<NodeBlob>) -> Result<BTreeMap<NodePath, WrittenNode>, BlobError> {
    blobs
        .into_iter()
        .map(|blob| {
            let metadata = NodeMetadata::parse_new(&blob.document.0, usize::MAX)
                .map_err(|error| BlobError::Malformed(error.into()))?;
            let node = WrittenNode {
                id: NodeId::from_bytes(blob.id),
                document: blob.document.0.into(),
                metadata: Arc::new(metadata),
            };
            Ok((parse_path(&blob.path)?, node))
        })
        .collect()
}

impl TableBlob {
    fn of(node: NodeId, path: &NodePath, table: &ChunkTable) -> Self {
        let mut blob = Self {
            node: *node.as_bytes(),
            path: path.to_string(),
            ..Self::default()
        };
        for row in table.sorted_rows() {
            let index = table.index(row);
            blob.rank = index.len() as u32;
            blob.coords.extend_from_slice(index);
            match table.at(row) {
                PendingChunk::Deleted => blob.kind.0.push(0),
                PendingChunk::Set(ChunkRef::Inline(bytes)) => {
                    blob.kind.0.push(1);
                    blob.length.push(bytes.len() as u64);
                    blob.inline.0.extend_from_slice(bytes);
                }
                PendingChunk::Set(ChunkRef::Native { id, offset, length }) => {
                    blob.kind.0.push(2);
                    blob.ids.0.extend_from_slice(id.as_bytes());
                    blob.offset.push(offset);
                    blob.length.push(length);
                }
                PendingChunk::Set(ChunkRef::Virtual {
                    location,
                    offset,
                    length,
                    checksum,
                }) => {
                    blob.kind.0.push(3);
                    blob.offset.push(offset);
                    blob.length.push(length);
                    match blob.locations.last_mut() {
                        Some((last, rows)) if last == location => *rows += 1,
                        _ => blob.locations.push((location.to_owned(), 1)),
                    }
                    blob.checksums.push(checksum.map(|checksum| match checksum {
                        Checksum::ETag(tag) => ChecksumBlob::ETag(tag.to_owned()),
                        Checksum::LastModified(seconds) => ChecksumBlob::LastModified(seconds),
                    }));
                }
            }
        }
        blob
    }

    fn fill(self, changes: &mut ChangeSet) -> Result<(), BlobError> {
        let short = || BlobError::Inconsistent("a column is shorter than the others");
        let (node, path) = (NodeId::from_bytes(self.node), parse_path(&self.path)?);
        let rank = self.rank as usize;
        if self.coords.len() != rank * self.kind.0.len() {
            return Err(short());
        }
        let (mut ids, mut inline) = (self.ids.0.chunks_exact(12), &self.inline.0[..]);
        let (mut offsets, mut lengths) = (self.offset.iter(), self.length.iter());
        let mut locations = self.locations.iter();
        let mut location: Option<(&str, u32)> = None;
        let mut checksums = self.checksums.iter();
        for (row, kind) in self.kind.0.iter().enumerate() {
            let index = &self.coords[row * rank..(row + 1) * rank];
            let chunk = match kind {
                0 => PendingChunk::Deleted,
                1 => {
                    let length = usize::try_from(*lengths.next().ok_or_else(short)?)
                        .map_err(|_| short())?;
                    let (bytes, rest) = inline.split_at_checked(length).ok_or_else(short)?;
                    inline = rest;
                    PendingChunk::Set(ChunkRef::Inline(bytes))
                }
                2 => {
                    let id = ids.next().and_then(|id| id.try_into().ok()).ok_or_else(short)?;
                    PendingChunk::Set(ChunkRef::Native {
                        id: ChunkId::from_bytes(id),
                        offset: *offsets.next().ok_or_else(short)?,
                        length: *lengths.next().ok_or_else(short)?,
                    })
                }
                3 => {
                    let (text, left) = match location {
                        Some((text, left)) if left > 0 => (text, left),
                        _ => {
                            let (text, rows) = locations.next().ok_or_else(short)?;
                            (text.as_str(), *rows)
                        }
                    };
                    location = Some((text, left.checked_sub(1).ok_or_else(short)?));
                    let checksum = checksums.next().ok_or_else(short)?;
                    PendingChunk::Set(ChunkRef::Virtual {
                        location: text,
                        offset: *offsets.next().ok_or_else(short)?,
                        length: *lengths.next().ok_or_else(short)?,
                        checksum: checksum.as_ref().map(|checksum| match checksum {
                            ChecksumBlob::ETag(tag) => Checksum::ETag(tag),
                            ChecksumBlob::LastModified(seconds) => Checksum::LastModified(*seconds),
                        }),
                    })
                }
                _ => return Err(BlobError::Inconsistent("a chunk of an unknown kind")),
            };
            changes.set_chunk(&path, node, index, chunk);
        }
        Ok(())
    }
}
