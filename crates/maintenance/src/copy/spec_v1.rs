//! Files of snapshots written anew in spec version 1: with another parent, or where they were of spec version 2.

use std::collections::BTreeMap;

use icefield_format::{
    ArrayRecord, ChunkGrid, ChunkGridError, DimensionShape, FileKind, FormatFile, Header,
    ManifestRef, NewNode, NewNodeData, NewSnapshot, NodeRecord, Snapshot, SnapshotEncoder,
    SnapshotId, SpecVersion, Writer,
};
use icefield_storage::Bytes;
use serde_json::Value;

use super::CopyError;

/// The metadata that marks the first snapshot of a repository, in spec version 2 and in version 1.
const ROOT_MARK: (&str, &str) = ("__icechunk", "__root");

/// Returns the file of a snapshot that is the same but for its parent: the initial snapshot, as expiration leaves it
/// (v1.md §7). Everything else of it stays, the name of the program that wrote it included.
///
/// # Errors
/// As [`rewritten`].
pub(crate) fn onto_initial(file: &[u8], snapshot: &Snapshot) -> Result<Bytes, CopyError> {
    rewritten(file, snapshot, Some(SnapshotId::INITIAL), &BTreeMap::new())
}

/// Returns the file of a snapshot in spec version 1. `sizes` has the bytes of manifest files that are not as the snapshot
/// says.
///
/// # Errors
/// [`CopyError::NotInVersion1`] of an array whose chunk lengths are not known; as decoding and encoding. What else version 1 has no
/// place for is left out.
pub(crate) fn rewritten(
    file: &[u8],
    snapshot: &Snapshot,
    parent_id: Option<SnapshotId>,
    sizes: &BTreeMap<[u8; 12], u64>,
) -> Result<Bytes, CopyError> {
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
    let writer = Writer {
        implementation: header.implementation(),
        ..Writer::default()
    };
    Ok(encoder.finish(&writer)?)
}

fn push(
    encoder: &mut SnapshotEncoder<'_>,
    node: NodeRecord<'_>,
    version: SpecVersion,
) -> Result<(), CopyError> {
    let new = |data| NewNode {
        id: node.id(),
        path: node.path(),
        user_data: node.user_data(),
        data,
    };
    let Some(array) = node.array() else {
        return Ok(encoder.push(new(NewNodeData::Group))?);
    };
    let shape = match version {
        SpecVersion::V1 => array.shape().collect(),
        _ => {
            let shape = with_chunk_lengths(array, node.user_data());
            shape.map_err(|problem| CopyError::NotInVersion1 {
                problems: vec![format!("array {}: {problem}", node.path())],
            })?
        }
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
    }))?;
    Ok(())
}

/// Why version 1 cannot have an array: it states the length of the chunks of each dimension.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoChunkLengths {
    #[error("its chunk grid is rectilinear, and readers of version 1 refuse the array")]
    Rectilinear,
    #[error(
        "its document is not JSON, so that the lengths of its chunks, which version 1 states, are not known"
    )]
    Document(#[source] serde_json::Error),
    #[error("{0}, so that the lengths of its chunks, which version 1 states, are not known")]
    Grid(#[from] ChunkGridError),
}

/// Spec version 2 counts chunks where version 1 has their length: the document of the array tells it. An array without
/// dimensions has none.
pub(crate) fn with_chunk_lengths(
    array: ArrayRecord<'_>,
    document: &[u8],
) -> Result<Vec<DimensionShape>, NoChunkLengths> {
    let lengths: Vec<_> = array.shape().map(|it| it.array_length).collect();
    if lengths.is_empty() {
        return Ok(Vec::new());
    }
    let document: Value = serde_json::from_slice(document).map_err(NoChunkLengths::Document)?;
    let grid = document.get("chunk_grid");
    let grid = ChunkGrid::from_json(grid.unwrap_or(&Value::Null))?;
    match grid.is_regular() {
        true => Ok(grid.dimensions(&lengths)?),
        false => Err(NoChunkLengths::Rectilinear),
    }
}
