//! The snapshot of a commit and its log, as files.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{
    ArrayRecord, DimensionShape, FormatError, ManifestRef, MovedNode, NewNode, NewNodeData,
    NewSnapshot, NodeId, NodeKind, NodePath, NodeRecord, SnapshotEncoder, SnapshotId, SpecVersion,
};
use icefield_storage::{Bytes, PlantedBug, planted};

use super::plan::{ArrayManifests, NodeSource, PlannedManifests, PlannedNode};
use super::shifted::MovedChunks;
use crate::CommitError;
use crate::change_set::{ChangeSet, ChunkTable, WrittenNode};
use crate::diff::is_updated;
use crate::file_writer::FileWriter;
use crate::metadata::{ArrayMetadata, NodeMetadata};
use crate::session::{Base, Session};

pub(super) fn encode_snapshot(
    session: &Session,
    base: &Base,
    changes: &ChangeSet,
    nodes: &[PlannedNode],
    arrays: &[ArrayManifests],
    header: NewSnapshot<'_>,
) -> Result<Bytes, CommitError> {
    let writer = session.shared().objects.writer();
    let mut encoder = writer.snapshot(header);
    for node in nodes {
        let manifests: Vec<ManifestRef> = match node.manifests {
            PlannedManifests::None => Vec::new(),
            PlannedManifests::Keep { position } => base
                .array(position)
                .map(|array| manifest_refs(&array))
                .unwrap_or_default(),
            PlannedManifests::Change { array } => arrays[array].references(),
        };
        match &node.source {
            NodeSource::Base { position } => {
                let record = base.record(*position);
                push_node(&mut encoder, record, record.path(), &manifests)?;
            }
            NodeSource::Written { path } => {
                let written = changes
                    .created()
                    .get(path)
                    .or_else(|| changes.updated().get(path));
                let Some(written) = written else { continue };
                let shape = written.metadata.array().map(ArrayMetadata::dimensions);
                encoder.push(NewNode {
                    id: written.id,
                    path: path.as_str(),
                    user_data: &written.document,
                    data: match (&*written.metadata, &shape) {
                        (NodeMetadata::Array(array), Some(shape)) => NewNodeData::Array {
                            shape,
                            dimension_names: array.dimension_names.as_deref(),
                            manifests: &manifests,
                        },
                        _ => NewNodeData::Group,
                    },
                })?;
            }
        }
    }
    Ok(encoder.finish(writer.writer())?)
}

/// An array's pointers to its manifests, as its snapshot has them.
pub(crate) fn manifest_refs(array: &ArrayRecord<'_>) -> Vec<ManifestRef> {
    let manifests = array.manifests();
    manifests
        .map(|it| ManifestRef {
            id: it.id(),
            extents: it.extents(),
        })
        .collect()
}

/// Adds a node of another snapshot, under a path.
pub(crate) fn push_node(
    encoder: &mut SnapshotEncoder<'_>,
    record: NodeRecord<'_>,
    path: &str,
    manifests: &[ManifestRef],
) -> Result<(), FormatError> {
    let array = record.array();
    let shape: Vec<DimensionShape> = array.iter().flat_map(|array| array.shape()).collect();
    let names: Option<Vec<Option<String>>> = array.and_then(|array| {
        Some(
            array
                .dimension_names()?
                .map(|name| name.map(str::to_owned))
                .collect(),
        )
    });
    let node = NewNode {
        id: record.id(),
        path,
        user_data: record.user_data(),
        data: match array {
            None => NewNodeData::Group,
            Some(_) => NewNodeData::Array {
                shape: &shape,
                dimension_names: names.as_deref(),
                manifests,
            },
        },
    };
    encoder.push_with_extra(node, record.extra())
}

fn moved_node((from, to, node): (&NodePath, &NodePath, &WrittenNode)) -> (NodeId, MovedNode) {
    let (from, to) = (from.clone(), to.clone());
    let (id, kind) = (node.id, node.kind());
    (id, MovedNode { from, to, id, kind })
}

pub(super) fn encode_log(
    writer: &FileWriter,
    id: SnapshotId,
    (base, changes): (&Base, &ChangeSet),
    mut updated_arrays: BTreeSet<NodeId>,
    moved: &BTreeMap<NodeId, MovedChunks>,
) -> Result<Bytes, FormatError> {
    let mut log = writer.log(id);
    let own = changes.chunks().values().map(|it| (it.len(), it.rank()));
    log.reserve(moved.values().map(|it| (it.most(), it.rank())).chain(own));
    // In version 1, a node that moved is one that went and came.
    let moves: BTreeMap<NodeId, MovedNode> = match writer.version() {
        SpecVersion::V1 => BTreeMap::new(),
        _ => changes.moves().map(moved_node).collect(),
    };
    let of_kind = |nodes: &BTreeMap<_, WrittenNode>, kind| -> Vec<NodeId> {
        nodes
            .values()
            .filter(|node| node.kind() == kind && !moves.contains_key(&node.id))
            .map(|node| node.id)
            .collect()
    };
    let deleted = |wanted| -> Vec<NodeId> {
        changes
            .deleted()
            .values()
            .filter(|(id, kind)| *kind == wanted && !moves.contains_key(id))
            .map(|(id, _)| *id)
            .collect()
    };
    let updated =
        (changes.moves()).filter(|it| !moves.is_empty() && is_updated(base, changes, *it));
    for (_, _, node) in updated {
        match node.kind() {
            NodeKind::Group => drop(log.updated_groups([node.id])),
            NodeKind::Array => drop(updated_arrays.insert(node.id)),
        }
    }
    log.new_groups(of_kind(changes.created(), NodeKind::Group));
    log.new_arrays(of_kind(changes.created(), NodeKind::Array));
    log.deleted_groups(deleted(NodeKind::Group));
    log.deleted_arrays(deleted(NodeKind::Array));
    log.updated_groups(of_kind(changes.updated(), NodeKind::Group));
    updated_arrays.extend(of_kind(changes.updated(), NodeKind::Array));
    log.moved_nodes(moves.into_values());
    // A session that knows no shifts must not write into an array that was shifted meanwhile.
    updated_arrays.extend(moved.keys());
    log.updated_arrays(updated_arrays);
    let nodes: BTreeSet<&NodeId> = changes.chunks().keys().chain(moved.keys()).collect();
    for node in nodes
        .into_iter()
        .skip(usize::from(planted(PlantedBug::LogLacksArray)))
    {
        let table = changes.chunks_of(node);
        // Cells that were erased as part of a box are merged with the rows; of most arrays there are only rows, maybe millions.
        let named = table.filter(|it| it.has_boxes()).map(ChunkTable::named);
        let rows = table.filter(|_| named.is_none());
        let rows = rows.map(ChunkTable::sorted_rows).unwrap_or_default();
        let rows = rows.iter().filter_map(|row| Some(table?.index(*row)));
        let named = named.iter().flatten().map(|index| &**index);
        let mut rows = named.chain(rows).peekable();
        let mut is_begun = false;
        let mut push = |index: &[u32]| {
            if !is_begun {
                log.begin_chunks(*node)?;
                is_begun = true;
            }
            log.push_chunk(index)
        };
        // Both ascend; what is in both is one chunk.
        if let Some(moved) = moved.get(node) {
            moved.for_each(|index| {
                while let Some(row) = rows.next_if(|row| *row <= index) {
                    if row < index {
                        push(row)?;
                    }
                }
                push(index)
            })?;
        }
        rows.try_for_each(push)?;
    }
    log.finish(writer.writer())
}
