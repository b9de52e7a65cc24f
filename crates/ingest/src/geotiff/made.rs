//! Arrays that are made of the fields of a file.

use icefield_core::ChunkIndex;
use serde_json::{Map, Value, json};

use crate::{ArchiveArray, ArchiveChunks};

/// Returns the numbers of bands, from 1.
pub(super) fn bands(count: u64) -> ArchiveArray {
    let bytes = (1..=count).flat_map(u64::to_le_bytes).collect();
    let codecs = vec![json!({ "name": "bytes", "configuration": { "endian": "little" } })];
    let made = (vec![count], vec![Some("band".to_owned())], bytes);
    made_array("int64", json!(0), codecs, made, Map::new())
}

/// Returns an array of one chunk.
pub(super) fn made_array(
    data_type: &str,
    fill_value: Value,
    codecs: Vec<Value>,
    (shape, dimension_names, bytes): (Vec<u64>, Vec<Option<String>>, Vec<u8>),
    attributes: Map<String, Value>,
) -> ArchiveArray {
    let index = ChunkIndex::from(vec![0; shape.len()]);
    ArchiveArray {
        chunk_shape: shape.clone(),
        shape,
        data_type: data_type.into(),
        fill_value,
        codecs,
        dimension_names,
        attributes,
        chunks: ArchiveChunks::Made {
            chunks: vec![(index, bytes.into())],
            reason: "it is made of the fields of the file".to_owned(),
        },
    }
}
