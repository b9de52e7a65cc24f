//! Files of snapshots written anew in spec version 1: with another parent, or where they were of spec version 2.

use std::collections::BTreeMap;

use icefield_format::{
    ArrayRecord, ChunkGrid, DimensionShape, FileKind, FormatError, FormatFile, Header, ManifestRef,
    NewNode, NewNodeData, NewSnapshot, NodeRecord, Snapshot, SnapshotEncoder, SnapshotId,
    SpecVersion, Writer,
};
use icefield_storage::Bytes;
use serde_json::Value;

/// What marks the first snapshot of a repository in its metadata, in spec version 2 and in version 1.
const ROOT_MARK: (&str, &str) = ("__icechunk", "__root");

/// Returns the file of a snapshot that is the same but for its parent: the initial snapshot, as expiration leaves it
/// (v1.md §7). Everything else of it stays, the name of the program that wrote it included.
pub(crate) fn onto_initial(file: &[u8], snapshot: &Snapshot) -> Result<Bytes, FormatError> {
    rewritten(file, snapshot, Some(SnapshotId::INITIAL), &BTreeMap::new())
}

/// Returns the file of a snapshot in spec version 1. `sizes` has the bytes of manifest files that are not as the snapshot
/// says.
///
/// # Errors
/// As decoding and encoding; what version 1 has no place for is left out.
pub(crate) fn rewritten(
    file: &[u8],
    snapshot: &Snapshot,
    parent_id: Option<SnapshotId>,
    sizes: &BTreeMap<[u8; 12], u64>,
) -> Result<Bytes, FormatError> {
    let header = Header::decode(file, FormatFile::Snapshot(snapshot.id()))?;
    debug_assert_eq!(header.kind, FileKind::Snapshot);
    let mut metadata: BTreeMap<_, _> = snapshot.metadata()?;
    if snapshot.id() == SnapshotId::INITIAL && metadata.remove(ROOT_MARK.0).is_some() {
        metadata.insert(ROOT_MARK.1.to_owned(), Value::Bool(true));
    }
    let mut manifest_files: Vec<_> = snapshot.manifest_files().collect();
    for info in &mut manifest_files {
        if let Some(size) = sizes.get(info.id.as_bytes()) {
            info.size_bytes = *size;
        }
    }
    let mut encoder = SnapshotEncoder::new(NewSnapshot {
        id: snapshot.id(),
        parent_id,
        flushed_at: snapshot.flushed_at(),
        message: snapshot.message(),
        metadata: &metadata,
        manifest_files: &manifest_files,
    });
    for node in snapshot.nodes() {
        push(&mut encoder, node, snapshot.spec_version())?;
    }
    encoder.finish(&Writer {
        implementation: header.implementation(),
        ..Writer::default()
    })
}

fn push(
    encoder: &mut SnapshotEncoder<'_>,
    node: NodeRecord<'_>,
    version: SpecVersion,
) -> Result<(), FormatError> {
    let new = |data| NewNode {
        id: node.id(),
        path: node.path(),
        user_data: node.user_data(),
        data,
    };
    let Some(array) = node.array() else {
        return encoder.push(new(NewNodeData::Group));
    };
    let shape = match version {
        SpecVersion::V1 => array.shape().collect(),
        _ => with_chunk_lengths(array, node.user_data()),
    };
    let names: Option<Vec<_>> = array
        .dimension_names()
        .map(|names| names.map(|name| name.map(str::to_owned)).collect());
    let manifests: Vec<_> = array
        .manifests()
        .map(|manifest| ManifestRef {
            id: manifest.id(),
            extents: manifest.extents(),
        })
        .collect();
    encoder.push(new(NewNodeData::Array {
        shape: &shape,
        dimension_names: names.as_deref(),
        manifests: &manifests,
    }))
}

/// Returns the grid of chunks that a document of an array says; none if it says none that can be read.
pub(crate) fn chunk_grid(document: &[u8]) -> Option<ChunkGrid> {
    let document: Value = serde_json::from_slice(document).ok()?;
    ChunkGrid::from_json(document.get("chunk_grid")?).ok()
}

/// Spec version 2 counts chunks where version 1 has their length: the document of the array tells it.
fn with_chunk_lengths(array: ArrayRecord<'_>, document: &[u8]) -> Vec<DimensionShape> {
    let counted: Vec<_> = array.shape().collect();
    let lengths: Vec<_> = counted.iter().map(|it| it.array_length).collect();
    let told = chunk_grid(document).filter(ChunkGrid::is_regular);
    let told = told.and_then(|grid| grid.dimensions(&lengths).ok());
    told.unwrap_or(counted)
}
