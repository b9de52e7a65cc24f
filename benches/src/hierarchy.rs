//! Many nodes, and the snapshot of them.

use std::collections::BTreeMap;

use icefield_format::{
    DecodeLimits, DimensionShape, Extents, ManifestFileInfo, ManifestId, ManifestRef, NewNode,
    NewNodeData, NewSnapshot, NodeId, NodePath, Snapshot, SnapshotEncoder, SnapshotId, Writer,
};
use icefield_storage::{Bytes, Entropy, SeededEntropy};
use serde_json::json;

/// Arrays in each group.
const ARRAYS: usize = 99;
/// Names of the dimensions of an array, elements along each, and elements of a chunk.
const DIMENSIONS: [(&str, u64, u64); 3] =
    [("time", 8760, 24), ("lat", 721, 103), ("lon", 1440, 144)];

#[derive(Debug)]
struct Node {
    id: NodeId,
    path: NodePath,
    document: String,
    /// Of an array.
    manifest: Option<ManifestRef>,
}

/// Groups of 99 arrays each, in the order of snapshots. Each array has a manifest of its own.
#[derive(Debug)]
pub struct Hierarchy {
    /// The snapshot's id.
    pub id: SnapshotId,
    nodes: Vec<Node>,
    manifest_files: Vec<ManifestFileInfo>,
}

impl Hierarchy {
    /// Makes `count` nodes, the root group among them.
    pub fn new(count: usize) -> Self {
        let entropy = SeededEntropy::new(count as u64);
        let mut hierarchy = Self {
            id: SnapshotId::from_bytes(random(&entropy)),
            nodes: Vec::with_capacity(count),
            manifest_files: Vec::new(),
        };
        hierarchy.group("/".to_owned(), &entropy);
        for place in 0..count.saturating_sub(1) {
            let (group, array) = (place / (ARRAYS + 1), place % (ARRAYS + 1));
            let group = format!("/model-{group:04}");
            match array {
                0 => hierarchy.group(group, &entropy),
                array => hierarchy.array(format!("{group}/variable-{array:02}"), &entropy),
            }
        }
        hierarchy
    }

    fn group(&mut self, path: String, entropy: &SeededEntropy) {
        let document = json!({"zarr_format": 3, "node_type": "group", "attributes": {}});
        self.nodes.push(Node {
            id: NodeId::from_bytes(random(entropy)),
            path: NodePath::parse(&path).expect("the path is valid"),
            document: document.to_string(),
            manifest: None,
        });
    }

    fn array(&mut self, path: String, entropy: &SeededEntropy) {
        let document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": DIMENSIONS.map(|(_, length, _)| length),
            "data_type": "float32",
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": DIMENSIONS.map(|(_, _, chunk)| chunk)},
            },
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": "NaN",
            "codecs": [
                {"name": "bytes", "configuration": {"endian": "little"}},
                {"name": "zstd", "configuration": {"level": 3, "checksum": false}},
            ],
            "attributes": {"units": "K", "long_name": format!("what {path} is"), "cell_methods": "time: mean"},
            "dimension_names": DIMENSIONS.map(|(name, ..)| name),
        });
        let manifest = ManifestFileInfo {
            id: ManifestId::from_bytes(random(entropy)),
            size_bytes: 1 << 16,
            num_chunk_refs: 365 * 7 * 10,
        };
        self.manifest_files.push(manifest);
        self.nodes.push(Node {
            id: NodeId::from_bytes(random(entropy)),
            path: NodePath::parse(&path).expect("the path is valid"),
            document: document.to_string(),
            manifest: Some(ManifestRef {
                id: manifest.id,
                extents: Extents::new(vec![0..365, 0..7, 0..10]),
            }),
        });
    }

    /// Returns the paths of all nodes.
    pub fn paths(&self) -> impl Iterator<Item = &NodePath> {
        self.nodes.iter().map(|node| &node.path)
    }

    /// Encodes the snapshot.
    ///
    /// # Panics
    /// If the encoder refuses it.
    pub fn encode(&self) -> Bytes {
        let metadata = BTreeMap::new();
        let mut encoder = SnapshotEncoder::new(NewSnapshot {
            id: self.id,
            parent_id: Some(SnapshotId::INITIAL),
            flushed_at: 1_700_000_000_000_000,
            message: "all models",
            metadata: &metadata,
            manifest_files: &self.manifest_files,
        });
        let shape = DIMENSIONS.map(|(_, array_length, chunk_length)| {
            DimensionShape::regular(array_length, chunk_length)
        });
        let names = DIMENSIONS.map(|(name, ..)| Some(name.to_owned()));
        for node in &self.nodes {
            let data = match &node.manifest {
                None => NewNodeData::Group,
                Some(manifest) => NewNodeData::Array {
                    shape: &shape,
                    dimension_names: Some(&names),
                    manifests: std::slice::from_ref(manifest),
                },
            };
            let node = NewNode {
                id: node.id,
                path: node.path.as_str(),
                user_data: node.document.as_bytes(),
                data,
            };
            encoder.push(node).expect("the nodes are in order");
        }
        encoder
            .finish(&Writer::default())
            .expect("the nodes are few enough")
    }

    /// Decodes a snapshot of them.
    ///
    /// # Panics
    /// If the decoder refuses it.
    pub fn decode(&self, file: &[u8]) -> Snapshot {
        Snapshot::decode(file, self.id, &DecodeLimits::default()).expect("the encoder made it")
    }
}

fn random<const N: usize>(entropy: &SeededEntropy) -> [u8; N] {
    let mut bytes = [0; N];
    entropy.fill(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_is_found() {
        let hierarchy = Hierarchy::new(250);
        let snapshot = hierarchy.decode(&hierarchy.encode());
        assert_eq!(snapshot.node_count(), 250);
        assert!(hierarchy.paths().all(|path| snapshot.node(path).is_some()));
    }
}
