//! A snapshot whose ancestors are left behind.

use std::collections::BTreeMap;

use icefield_format::{
    FileKind, FormatError, FormatFile, Header, ManifestRef, NewNode, NewNodeData, NewSnapshot,
    Snapshot, SnapshotEncoder, SnapshotId, Writer,
};
use icefield_storage::Bytes;

/// Returns the file of a snapshot that is the same but for its parent: the initial snapshot, as expiration leaves it
/// (v1.md §7). Everything else of it stays, the name of the program that wrote it included.
pub(crate) fn onto_initial(file: &[u8], snapshot: &Snapshot) -> Result<Bytes, FormatError> {
    let header = Header::decode(file, FormatFile::Snapshot(snapshot.id()))?;
    debug_assert_eq!(header.kind, FileKind::Snapshot);
    let metadata: BTreeMap<_, _> = snapshot.metadata()?;
    let manifest_files: Vec<_> = snapshot.manifest_files().collect();
    let mut encoder = SnapshotEncoder::new(NewSnapshot {
        id: snapshot.id(),
        parent_id: Some(SnapshotId::INITIAL),
        flushed_at: snapshot.flushed_at(),
        message: snapshot.message(),
        metadata: &metadata,
        manifest_files: &manifest_files,
    });
    for node in snapshot.nodes() {
        let Some(array) = node.array() else {
            encoder.push(NewNode {
                id: node.id(),
                path: node.path(),
                user_data: node.user_data(),
                data: NewNodeData::Group,
            })?;
            continue;
        };
        let shape: Vec<_> = array.shape().collect();
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
        encoder.push(NewNode {
            id: node.id(),
            path: node.path(),
            user_data: node.user_data(),
            data: NewNodeData::Array {
                shape: &shape,
                dimension_names: names.as_deref(),
                manifests: &manifests,
            },
        })?;
    }
    encoder.finish(&Writer {
        implementation: header.implementation(),
        ..Writer::default()
    })
}
