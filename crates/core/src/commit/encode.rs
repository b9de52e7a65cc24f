//! The snapshot of a commit and its log, as files.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{
    DimensionShape, FormatError, ManifestRef, NewNode, NewNodeData, NewSnapshot, NodeId, NodeKind,
    SnapshotEncoder, SnapshotId,
};
use icefield_storage::Bytes;

use super::plan::{ArrayManifests, NodeSource, PlannedManifests, PlannedNode};
use super::shifted::MovedChunks;
use crate::CommitError;
use crate::change_set::{ChangeSet, ChunkTable};
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
                .iter()
                .flat_map(|array| array.manifests())
                .map(|it| ManifestRef {
                    id: it.id(),
                    extents: it.extents(),
                })
                .collect(),
            PlannedManifests::Change { array } => arrays[array].references(),
        };
        match &node.source {
            NodeSource::Base { position } => {
                push_base_node(&mut encoder, base, *position, &manifests)?;
            }
            NodeSource::Written { path } => {
                let written = changes
                    .created()
                    .get(path)
                    .or_else(|| changes.updated().get(path));
                let Some(written) = written else { continue };
                let shape = written.metadata.array().map(dimension_shapes);
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

fn dimension_shapes(array: &ArrayMetadata) -> Vec<DimensionShape> {
    array
        .shape
        .iter()
        .zip(&array.chunk_shape)
        .map(|(length, chunk)| DimensionShape::regular(*length, *chunk))
        .collect()
}

fn push_base_node(
    encoder: &mut SnapshotEncoder<'_>,
    base: &Base,
    position: usize,
    manifests: &[ManifestRef],
) -> Result<(), CommitError> {
    let record = base.record(position);
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
        path: record.path(),
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
    encoder.push_with_extra(node, record.extra())?;
    Ok(())
}

pub(super) fn encode_log(
    writer: &FileWriter,
    id: SnapshotId,
    changes: &ChangeSet,
    mut updated_arrays: BTreeSet<NodeId>,
    moved: &BTreeMap<NodeId, MovedChunks>,
) -> Result<Bytes, FormatError> {
    let mut log = writer.log(id);
    let own = changes.chunks().values().map(|it| (it.len(), it.rank()));
    log.reserve(moved.values().map(|it| (it.most(), it.rank())).chain(own));
    let of_kind = |nodes: &BTreeMap<_, crate::change_set::WrittenNode>, kind| -> Vec<NodeId> {
        nodes
            .values()
            .filter(|node| node.kind() == kind)
            .map(|node| node.id)
            .collect()
    };
    let deleted = |wanted| -> Vec<NodeId> {
        changes
            .deleted()
            .values()
            .filter(|(_, kind)| *kind == wanted)
            .map(|(id, _)| *id)
            .collect()
    };
    log.new_groups(of_kind(changes.created(), NodeKind::Group));
    log.new_arrays(of_kind(changes.created(), NodeKind::Array));
    log.deleted_groups(deleted(NodeKind::Group));
    log.deleted_arrays(deleted(NodeKind::Array));
    log.updated_groups(of_kind(changes.updated(), NodeKind::Group));
    updated_arrays.extend(of_kind(changes.updated(), NodeKind::Array));
    // Whoever knows no shifts must not write into an array that was shifted meanwhile.
    updated_arrays.extend(moved.keys());
    log.updated_arrays(updated_arrays);
    let nodes: BTreeSet<&NodeId> = changes.chunks().keys().chain(moved.keys()).collect();
    for node in nodes {
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
