//! Repositories of spec version 1 written by hand, object by object, sound or not.
//!
//! A [`Forge`] encodes what it is told, with the format crate's own encoders, and does not check whether it
//! makes sense: a snapshot may be its own ancestor, a manifest may lie.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{
    ChunkId, ChunkRef, DimensionShape, Extents, HEADER_LEN, ManifestEncoder, ManifestFileInfo,
    ManifestId, ManifestRef, NewNode, NewNodeData, NewSnapshot, NodeId, SnapshotEncoder,
    SnapshotId, TransactionLogEncoder, Writer, encode_ref, initial_snapshot, layout,
};
use icefield_storage::Storage;

use crate::stores;

/// The index of a chunk and its ref.
pub type ForgedChunk<'a> = (&'a [u32], ChunkRef<'a>);

/// Returns the snapshot id of twelve such bytes.
pub fn snapshot_id(byte: u8) -> SnapshotId {
    SnapshotId::from_bytes([byte; 12])
}

/// Returns the manifest id of twelve such bytes.
pub fn manifest_id(byte: u8) -> ManifestId {
    ManifestId::from_bytes([byte; 12])
}

/// Returns the chunk id of twelve such bytes.
pub fn chunk_id(byte: u8) -> ChunkId {
    ChunkId::from_bytes([byte; 12])
}

/// Returns the node id of eight such bytes.
pub fn node_id(byte: u8) -> NodeId {
    NodeId::from_bytes([byte; 8])
}

/// An array to be written, one chunk of length 1 per element.
#[derive(Clone, Debug)]
pub struct ForgedArray {
    /// Its path.
    pub path: &'static str,
    /// Its id.
    pub id: NodeId,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Its manifests and the extents that it claims.
    pub manifests: Vec<ManifestRef>,
}

impl ForgedArray {
    /// Returns an array with one manifest.
    pub fn new(
        path: &'static str,
        id: NodeId,
        shape: &[u64],
        manifest: ManifestId,
        extents: Extents,
    ) -> Self {
        Self {
            path,
            id,
            shape: shape.to_vec(),
            manifests: vec![ManifestRef {
                id: manifest,
                extents,
            }],
        }
    }

    fn document(&self) -> String {
        let ones = vec![1; self.shape.len()];
        serde_json::json!({
            "zarr_format": 3, "node_type": "array", "shape": self.shape, "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": ones}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0,
            "codecs": [{"name": "bytes"}],
        })
        .to_string()
    }
}

/// A snapshot to be written.
#[derive(Clone, Debug)]
pub struct ForgedSnapshot {
    /// Its id.
    pub id: SnapshotId,
    /// Its parent.
    pub parent: Option<SnapshotId>,
    /// Microseconds since 1970.
    pub flushed_at: u64,
    /// The commit message.
    pub message: &'static str,
    /// Its arrays, sorted by path.
    pub arrays: Vec<ForgedArray>,
    /// The manifests that it lists.
    pub manifest_files: Vec<ManifestFileInfo>,
}

impl ForgedSnapshot {
    /// Returns a snapshot without nodes, so many seconds after 2020.
    pub fn new(id: SnapshotId, parent: Option<SnapshotId>, seconds: u64) -> Self {
        Self {
            id,
            parent,
            flushed_at: (1_577_836_800 + seconds) * 1_000_000,
            message: "forged",
            arrays: Vec::new(),
            manifest_files: Vec::new(),
        }
    }

    /// Returns the snapshot with one more array and the manifest that it uses.
    #[must_use]
    pub fn with(mut self, array: ForgedArray, file: ManifestFileInfo) -> Self {
        self.arrays.push(array);
        self.manifest_files.push(file);
        self
    }
}

/// Writes repositories by hand.
#[derive(Clone, Debug)]
pub struct Forge {
    storage: Arc<dyn Storage>,
    writer: Writer,
}

impl Forge {
    /// Begins at a store.
    pub fn new(storage: &Arc<dyn Storage>) -> Self {
        Self {
            storage: Arc::clone(storage),
            writer: Writer::default(),
        }
    }

    /// Writes the initial snapshot, of 2020, and lets `main` point to it.
    pub async fn create(&self) {
        let file = initial_snapshot(1_577_836_800_000_000, &self.writer);
        stores::put(
            &self.storage,
            &layout::snapshot_key(SnapshotId::INITIAL),
            file,
        )
        .await;
        self.branch("main", SnapshotId::INITIAL).await;
    }

    /// Lets a branch point to a snapshot, which need not exist.
    pub async fn branch(&self, name: &str, target: SnapshotId) {
        let key = layout::branch_key(name, layout::KeyForm::ObjectStorePath);
        stores::put(&self.storage, &key, encode_ref(target)).await;
    }

    /// Lets a tag point to a snapshot, which need not exist.
    pub async fn tag(&self, name: &str, target: SnapshotId) {
        let key = layout::tag_key(name, layout::KeyForm::ObjectStorePath);
        stores::put(&self.storage, &key, encode_ref(target)).await;
    }

    /// Writes a chunk object.
    pub async fn chunk(&self, id: ChunkId, bytes: impl Into<Bytes>) {
        stores::put(&self.storage, &layout::chunk_key(id), bytes).await;
    }

    /// Writes a manifest of some arrays, sorted by id, each with its chunks, sorted by index.
    ///
    /// # Panics
    /// If the encoder refuses it.
    pub async fn manifest(
        &self,
        id: ManifestId,
        arrays: &[(NodeId, &[ForgedChunk<'_>])],
    ) -> ManifestFileInfo {
        let mut encoder = ManifestEncoder::new(id);
        for (node, chunks) in arrays {
            encoder.begin_array(*node).expect("arrays are sorted");
            for (index, chunk) in *chunks {
                encoder.push(index, *chunk).expect("chunks are sorted");
            }
        }
        let encoded = encoder.finish(&self.writer).expect("a small manifest");
        stores::put(&self.storage, &layout::manifest_key(id), encoded.bytes).await;
        encoded.info
    }

    /// Writes a snapshot and an empty transaction log.
    ///
    /// # Panics
    /// If the encoder refuses it.
    pub async fn snapshot(&self, snapshot: &ForgedSnapshot) {
        let file = self.encode(snapshot);
        stores::put(&self.storage, &layout::snapshot_key(snapshot.id), file).await;
        let log = TransactionLogEncoder::new(snapshot.id).finish(&self.writer);
        let log = log.expect("an empty log");
        stores::put(
            &self.storage,
            &layout::transaction_log_key(snapshot.id),
            log,
        )
        .await;
    }

    /// Writes a snapshot that is its own parent, which the encoder refuses to write.
    ///
    /// # Panics
    /// If the encoder refuses the rest of it.
    pub async fn own_parent(&self, id: SnapshotId) {
        let other = SnapshotId::from_bytes([0xE7; 12]);
        let file = self.encode(&ForgedSnapshot::new(id, Some(other), 1));
        let (header, body) = file.split_at(HEADER_LEN);
        let mut body = zstd::decode_all(body).expect("it was just compressed");
        let parent = body.windows(12).position(|it| it == other.as_bytes());
        let parent = parent.expect("the parent is in the body");
        body[parent..parent + 12].copy_from_slice(id.as_bytes());
        let body = zstd::encode_all(&body[..], 3).expect("memory can be compressed");
        let file = [header, &body].concat();
        stores::put(&self.storage, &layout::snapshot_key(id), file).await;
    }

    /// Returns the file of a snapshot.
    ///
    /// # Panics
    /// If the encoder refuses it.
    pub fn encode(&self, snapshot: &ForgedSnapshot) -> Bytes {
        let metadata = BTreeMap::new();
        let mut encoder = SnapshotEncoder::new(NewSnapshot {
            id: snapshot.id,
            parent_id: snapshot.parent,
            flushed_at: snapshot.flushed_at,
            message: snapshot.message,
            metadata: &metadata,
            manifest_files: &snapshot.manifest_files,
        });
        for array in &snapshot.arrays {
            let lengths = array.shape.iter();
            let shape: Vec<_> = lengths
                .map(|length| DimensionShape::regular(*length, 1))
                .collect();
            let pushed = encoder.push(NewNode {
                id: array.id,
                path: array.path,
                user_data: array.document().as_bytes(),
                data: NewNodeData::Array {
                    shape: &shape,
                    dimension_names: None,
                    manifests: &array.manifests,
                },
            });
            pushed.expect("the node can be encoded");
        }
        encoder.finish(&self.writer).expect("a small snapshot")
    }
}
