//! Writes again what was read, and tells all that is in it. The fuzz targets use it, too.

use std::fmt::Write as _;

use bytes::Bytes;
use icefield_format::{
    DimensionShape, FormatError, LocationDictionary, Manifest, ManifestEncoder, ManifestRef,
    NewNode, NewNodeData, NewSnapshot, Snapshot, SnapshotEncoder, SpecVersion, TransactionLog,
    TransactionLogEncoder, Writer,
};

pub fn encode_snapshot(snapshot: &Snapshot) -> Result<Bytes, FormatError> {
    let metadata = snapshot.metadata()?;
    let manifest_files: Vec<_> = snapshot.manifest_files().collect();
    let mut encoder = SnapshotEncoder::for_version(
        snapshot.spec_version(),
        NewSnapshot {
            id: snapshot.id(),
            parent_id: snapshot.parent_id(),
            flushed_at: snapshot.flushed_at(),
            message: snapshot.message(),
            metadata: &metadata,
            manifest_files: &manifest_files,
        },
    );
    if let Some(extra) = snapshot.extra() {
        encoder.extra(extra);
    }
    for info in &manifest_files {
        if let Some(extra) = snapshot.manifest_file_extra(&info.id) {
            encoder.manifest_file_extra(info.id, extra);
        }
    }
    for node in snapshot.nodes() {
        let (shape, names, manifests): (Vec<DimensionShape>, Option<Vec<_>>, Vec<_>);
        let data = match node.array() {
            None => NewNodeData::Group,
            Some(array) => {
                shape = array.shape().collect();
                names = array
                    .dimension_names()
                    .map(|names| names.map(|name| name.map(str::to_owned)).collect());
                manifests = array
                    .manifests()
                    .map(|manifest| ManifestRef {
                        id: manifest.id(),
                        extents: manifest.extents(),
                    })
                    .collect();
                NewNodeData::Array {
                    shape: &shape,
                    dimension_names: names.as_deref(),
                    manifests: &manifests,
                }
            }
        };
        let (id, path, user_data) = (node.id(), node.path(), node.user_data());
        let extra = node.extra();
        let node = NewNode {
            id,
            path,
            user_data,
            data,
        };
        encoder.push_with_extra(node, extra)?;
    }
    encoder.finish(&Writer::default())
}

pub fn snapshot_content(snapshot: &Snapshot) -> String {
    // The order of keys says nothing: files have them sorted, and others may write them as they like.
    let mut metadata = snapshot.metadata().ok();
    for value in metadata
        .iter_mut()
        .flat_map(|metadata| metadata.values_mut())
    {
        value.sort_all_objects();
    }
    let mut text = format!(
        "{} {:?} {} {:?} {:?}\n{:?}\n",
        snapshot.id(),
        snapshot.parent_id(),
        snapshot.flushed_at(),
        snapshot.message(),
        metadata,
        snapshot.manifest_files().collect::<Vec<_>>(),
    );
    for node in snapshot.nodes() {
        writeln!(text, "{node:?} {:?}", node.user_data()).unwrap();
    }
    if snapshot.spec_version() == SpecVersion::V2 {
        for node in snapshot.nodes() {
            writeln!(text, "{:?}", node.extra()).unwrap();
        }
        for info in snapshot.manifest_files() {
            writeln!(text, "{:?}", snapshot.manifest_file_extra(&info.id)).unwrap();
        }
        writeln!(text, "{:?}", snapshot.extra()).unwrap();
    }
    text
}

pub fn encode_manifest(manifest: &Manifest) -> Result<Bytes, FormatError> {
    let mut encoder = ManifestEncoder::for_version(manifest.spec_version(), manifest.id());
    if let Some(dictionary) = manifest.location_dictionary() {
        let dictionary = Bytes::copy_from_slice(dictionary);
        // A dictionary that no ref uses is not looked at when it is read.
        if let Ok(dictionary) = LocationDictionary::from_bytes(dictionary) {
            encoder = encoder.with_location_dictionary(dictionary, 3)?;
        }
    }
    if let Some(extra) = manifest.extra() {
        encoder.extra(extra);
    }
    let mut index = Vec::new();
    for array in manifest.arrays() {
        encoder.begin_array_with_extra(array.node_id(), array.extra())?;
        for record in array.refs() {
            record.index_into(&mut index);
            encoder.push_with_extra(&index, record.chunk_ref()?, record.extra())?;
        }
    }
    let encoded = encoder.finish(&Writer::default())?;
    assert_eq!(encoded.info.size_bytes, encoded.bytes.len() as u64);
    assert_eq!(
        u64::from(encoded.info.num_chunk_refs),
        manifest.total_refs()
    );
    Ok(encoded.bytes)
}

pub fn manifest_content(manifest: &Manifest) -> String {
    let mut text = format!("{} {}\n", manifest.id(), manifest.total_refs());
    // An array without refs is left out when written.
    for array in manifest.arrays().filter(|array| !array.is_empty()) {
        writeln!(text, "{}", array.node_id()).unwrap();
        for record in array.refs() {
            writeln!(text, "{record:?}").unwrap();
        }
    }
    if manifest.spec_version() == SpecVersion::V2 {
        writeln!(text, "{:?}", manifest.extra()).unwrap();
        for array in manifest.arrays().filter(|array| !array.is_empty()) {
            let extras = array.refs().map(|record| record.extra());
            writeln!(text, "{:?} {:?}", array.extra(), extras.collect::<Vec<_>>()).unwrap();
        }
    }
    text
}

/// Looks up every chunk by its index, and its neighbours, as a reader would.
pub fn look_up_everything(manifest: &Manifest) {
    for array in manifest.arrays() {
        for (position, record) in array.refs().enumerate() {
            let mut index = record.index().to_vec();
            assert_eq!(array.position(&index), Ok(position));
            let found = manifest.get(&array.node_id(), &index).unwrap();
            assert_eq!(found, Some(record.chunk_ref().unwrap()));
            for dimension in 0..index.len() {
                index[dimension] = index[dimension].wrapping_add(1);
                let expected = array
                    .refs()
                    .position(|other| other.cmp_index(&index).is_ge());
                let expected = expected.unwrap_or(array.len());
                match array.position(&index) {
                    Ok(at) => assert_eq!(
                        (at, array.record_at(at).index().as_ref()),
                        (expected, &*index)
                    ),
                    Err(at) => assert_eq!(at, expected),
                }
                index[dimension] = index[dimension].wrapping_sub(1);
            }
        }
    }
}

pub fn encode_log(log: &TransactionLog) -> Result<Bytes, FormatError> {
    let mut encoder = TransactionLogEncoder::for_version(log.spec_version(), log.id());
    if let Some(extra) = log.extra() {
        encoder.extra(extra);
    }
    encoder
        .moved_nodes(log.moved_nodes().map(|moved| moved.moved()))
        .new_groups(log.new_groups())
        .new_arrays(log.new_arrays())
        .deleted_groups(log.deleted_groups())
        .deleted_arrays(log.deleted_arrays())
        .updated_arrays(log.updated_arrays())
        .updated_groups(log.updated_groups());
    for array in log.updated_chunks() {
        encoder.begin_chunks(array.node_id())?;
        for chunk in array.chunks() {
            encoder.push_chunk(&chunk)?;
        }
    }
    encoder.finish(&Writer::default())
}

pub fn log_content(log: &TransactionLog) -> String {
    let mut text = format!("{log:?}\n");
    if log.spec_version() == SpecVersion::V2 {
        writeln!(text, "{:?}", log.extra()).unwrap();
    }
    for array in log.updated_chunks() {
        writeln!(
            text,
            "{} {:?}",
            array.node_id(),
            array.chunks().collect::<Vec<_>>()
        )
        .unwrap();
    }
    text
}
