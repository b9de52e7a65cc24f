//! The Zarr v3 document of an array or a group of an archive.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{ArchiveArray, ArchiveNode};

impl ArchiveNode {
    /// Returns the `zarr.json` that describes the node.
    pub fn document(&self) -> Bytes {
        let document = match self {
            Self::Group(attributes) => group(attributes),
            Self::Array(array) => array.document(),
        };
        // A `Value` has no other keys than texts, and no numbers that JSON lacks.
        serde_json::to_vec_pretty(&document)
            .expect("BUG: a JSON value can be written")
            .into()
    }
}

fn group(attributes: &Map<String, Value>) -> Value {
    json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes })
}

impl ArchiveArray {
    fn document(&self) -> Value {
        let mut document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": self.shape,
            "data_type": self.data_type,
            "chunk_grid": {
                "name": "regular",
                "configuration": { "chunk_shape": self.chunk_shape },
            },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": self.fill_value,
            "codecs": self.codecs,
            "attributes": self.attributes,
        });
        if self.dimension_names.iter().any(Option::is_some) {
            document["dimension_names"] = json!(self.dimension_names);
        }
        document
    }
}
