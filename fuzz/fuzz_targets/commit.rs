//! Manifests, and what a snapshot says of them, through a commit that shifts and rewrites them.

#![no_main]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use icefield::format::{
    DimensionShape, Extents, FileKind, FormatError, FormatFile, Manifest, ManifestEncoder,
    ManifestFileInfo, ManifestRef, NewNode, NewNodeData, NewSnapshot, SnapshotEncoder, Writer,
    encode_ref, layout,
};
use icefield::storage::{Key, PutMode, PutOutcome, Storage};
use icefield::{
    BranchName, ByteRange, ChunkIndex, CommitOutcome, ManifestId, ManifestRewrite, MemoryStorage, NodeId, NodePath,
    Repository, RepositoryConfig, SnapshotId, WriteMode,
};
use icefield_fuzz::{Seeds, as_file, limits, number_of, seed};
use libfuzzer_sys::fuzz_target;

const BASE: SnapshotId = SnapshotId::from_bytes([1; 12]);
const OWN: ManifestId = ManifestId::from_bytes([2; 12]);
/// Dimensions of an array, at most.
const MOST_RANK: usize = 8;

/// A manifest with its id, if it can be decoded.
fn decode(file: &[u8]) -> Option<Manifest> {
    match Manifest::decode(file, ManifestId::from_bytes([0; 12]), &limits()) {
        Err(FormatError::WrongObject {
            found: FormatFile::Manifest(id),
            ..
        }) => Manifest::decode(file, id, &limits()).ok(),
        other => other.ok(),
    }
}

/// One of several values, which follows from the input.
fn one_of<T: Clone>(input: &[u8], salt: u64, values: &[T]) -> T {
    values[(number_of(input, salt) % values.len() as u64) as usize].clone()
}

/// A repository in memory with one array.
struct World {
    storage: Arc<dyn Storage>,
    rank: usize,
}

impl World {
    async fn put(&self, key: &str, bytes: impl Into<bytes::Bytes>) {
        let key = Key::parse(key).expect("a key");
        let put = self
            .storage
            .put(&key, bytes.into().into(), PutMode::Overwrite.into());
        assert!(matches!(put.await, Ok(PutOutcome::Written(_))));
    }

    /// Writes the array: a manifest as the input has it, one of our own, and extents that may be anything.
    async fn new(input: &[u8]) -> Option<Self> {
        let file = as_file(input, FileKind::Manifest);
        let manifest = decode(&file)?;
        let (node, rank) = match manifest.arrays().next() {
            Some(refs) => {
                let first = refs.refs().next();
                (refs.node_id(), first.map_or(1, |first| first.rank()))
            }
            None => (NodeId::from_bytes([3; 8]), 1),
        };
        if rank > MOST_RANK || manifest.id() == OWN {
            return None;
        }
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        let repository = Repository::create(Arc::clone(&storage)).await;
        repository.expect("created");
        let world = Self { storage, rank };
        world
            .put(&layout::manifest_key(manifest.id()), file.clone())
            .await;
        let writer = Writer::default();
        let mut encoder = ManifestEncoder::new(OWN);
        encoder.begin_array(node).expect("the first");
        let origin = vec![0; rank];
        let own = icefield::format::ChunkRef::Inline(b"own");
        encoder.push(&origin, own).expect("the first");
        let own = encoder.finish(&writer).expect("small");
        world.put(&layout::manifest_key(OWN), own.bytes).await;
        let shape = world.shape(input);
        let metadata = BTreeMap::new();
        let manifest_files = [
            own.info,
            ManifestFileInfo {
                id: manifest.id(),
                size_bytes: one_of(input, 1, &[file.len() as u64, 1 << 30, u64::MAX]),
                num_chunk_refs: one_of(input, 2, &[1, 1 << 20, u32::MAX]),
            },
        ];
        let mut encoder = SnapshotEncoder::new(NewSnapshot {
            id: BASE,
            parent_id: Some(SnapshotId::INITIAL),
            flushed_at: 1_600_000_000_000_000,
            message: "base",
            metadata: &metadata,
            manifest_files: &manifest_files,
        });
        let dimensions: Vec<DimensionShape> = (shape.iter())
            .map(|length| DimensionShape::regular(*length, 1))
            .collect();
        let reference = |id: ManifestId, salt: u64| ManifestRef {
            id,
            extents: Extents::new(world.extents(input, salt)),
        };
        let user_data = document(&shape);
        let array = NewNode {
            id: node,
            path: "/a",
            user_data: user_data.as_bytes(),
            data: NewNodeData::Array {
                shape: &dimensions,
                dimension_names: None,
                manifests: &[reference(OWN, 100), reference(manifest.id(), 200)],
            },
        };
        encoder.push(array).expect("an array");
        let base = encoder.finish(&writer).expect("small");
        world.put(&layout::snapshot_key(BASE), base).await;
        let main = layout::branch_key("main", layout::KeyForm::ObjectStorePath);
        world.put(&main, encode_ref(BASE)).await;
        Some(world)
    }

    fn shape(&self, input: &[u8]) -> Vec<u64> {
        let axes = 0..self.rank as u64;
        axes.map(|axis| one_of(input, 10 + axis, &[1, 3, 1000, u64::from(u32::MAX)]))
            .collect()
    }

    fn extents(&self, input: &[u8], salt: u64) -> Vec<Range<u32>> {
        let (all, last) = (u32::MAX, u32::MAX - 1);
        let axes = 0..self.rank as u64;
        axes.map(|axis| {
            one_of(
                input,
                salt + axis,
                &[0..1, 0..all, 1..7, last..all, all..all, 2..2],
            )
        })
        .collect()
    }
}

fn document(shape: &[u64]) -> String {
    let list = |lengths: Vec<String>| lengths.join(",");
    let lengths = list(shape.iter().map(u64::to_string).collect());
    let ones = list(vec!["1".to_owned(); shape.len()]);
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{lengths}], "data_type": "uint8", "fill_value": 0,
        "codecs": [{{"name": "bytes"}}], "chunk_key_encoding": {{"name": "default"}},
        "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{ones}]}}}}}}"#
    )
}

async fn commit(input: &[u8]) {
    let Some(world) = World::new(input).await else {
        return;
    };
    let length = one_of(input, 3, &[0, 1, 5]);
    let rules = format!(
        "manifest:\n  splitting:\n    split_sizes:\n    - [any_array, [{{condition: Any, num_chunks: {length}}}]]\n"
    );
    let config = match length {
        0 => RepositoryConfig::default(),
        _ => RepositoryConfig::decode(rules.as_bytes()).expect("a configuration"),
    };
    let repository = Repository::builder(Arc::clone(&world.storage)).config(config);
    let repository = repository.open().await.expect("opened");
    let session = repository.write_session(BranchName::main()).await;
    let session = session.expect("opened");
    let at = NodePath::parse("/a").expect("a path");
    let by: Vec<i64> = (0..world.rank as u64)
        .map(|axis| one_of(input, 20 + axis, &[0, 1, -1, 1 << 31, i64::MIN, i64::MAX]))
        .collect();
    if number_of(input, 4) % 4 != 0 && world.rank > 0 {
        session.shift(&at, &by).await.expect("of its rank");
    }
    let origin = ChunkIndex::from(vec![0; world.rank]);
    let chunk = || bytes::Bytes::from_static(b"new");
    let written = session
        .set_chunk(&at, &origin, chunk(), WriteMode::Overwrite)
        .await;
    assert!(written.expect("in the grid"));
    let which = match number_of(input, 5) % 2 == 0 {
        true => ManifestRewrite::All,
        false => ManifestRewrite::Misplaced,
    };
    let outcome = session.commit("one").rewrite_manifests(which).await;
    // Manifests may be refused. What is accepted holds what was written.
    let Ok(outcome) = outcome else { return };
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
    let repository = Repository::builder(world.storage)
        .open()
        .await
        .expect("opened");
    let session = repository
        .read_session(BranchName::main())
        .await
        .expect("opened");
    let read = session.chunk(&at, &origin, ByteRange::All).await;
    assert_eq!(read.expect("readable"), Some(chunk()));
}

fuzz_target!(
    init: seed(&Seeds::Binary("manifests")),
    |input: &[u8]| {
        icefield::runtime().expect("started").block_on(commit(input));
    }
);
