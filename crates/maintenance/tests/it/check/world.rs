//! A sound repository with something of everything, and ways to spoil it behind its back.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use icefield_core::{
    BranchName, CommitOutcome, ManualClock, NodePath, Repository, RepositoryBuilder,
    RepositoryConfig, SeededEntropy, SnapshotId, TagName, VirtualAccess, VirtualRefs,
    VirtualSource, WriteMode,
};
use icefield_format::{
    ChunkRef, DecodeLimits, DimensionShape, HEADER_LEN, Manifest, ManifestEncoder,
    ManifestFileInfo, ManifestId, ManifestRef, NewNode, NewNodeData, NewSnapshot, NodeId, Snapshot,
    SnapshotEncoder, SpecVersion, TransactionLog, TransactionLogEncoder, Writer, layout,
};
use icefield_maintenance::{Check, CheckReport};
use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::forge::ForgedChunk;
use icefield_testkit::stores;

/// Bytes of a chunk that is stored in an object of its own.
pub(super) const NATIVE: usize = 600;

const CONFIG: &str = "virtual_chunk_containers:\n  s3://archive/:\n    name: null\n    url_prefix: s3://archive/\n    store: in_memory\n";

/// The repository:
///
/// ```text
/// /          group
/// /g         group
/// /g/a       array of 8 chunks: 0, 1 inline (commit 1), 2, 3 native (commit 2), 4 native (commit 3), 5 native (dev)
/// /g/v       array of 4 chunks: 0, 1 virtual in s3://archive/one, 2 in s3://archive/two
/// /w         scalar: one native chunk
///
/// initial ─ 1 (tag v1, deleted tag old) ─ 2 ─ 3 (main)
///                                         └── 4 (dev)
/// ```
pub(super) struct World {
    pub(super) spec: SpecVersion,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) archive: Arc<dyn Storage>,
    pub(super) clock: Arc<ManualClock>,
    /// The commits 1 to 4.
    pub(super) commits: Vec<SnapshotId>,
}

pub(super) fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("a path")
}

pub(super) fn array(shape: &[u64]) -> String {
    let ones = vec![1; shape.len()];
    serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": ones}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
    })
    .to_string()
}

pub(super) const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group"}"#;

impl World {
    /// The repository in the version that the test runs for.
    pub(super) async fn new() -> Self {
        Self::of(icefield_testkit::versions::spec()).await
    }

    /// The repository in a version of the format.
    pub(super) async fn of(spec: SpecVersion) -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000);
        let clock = Arc::new(ManualClock::new(start));
        let dates: Arc<ManualClock> = Arc::clone(&clock);
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::builder().clock(dates).build());
        let archive: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        stores::put(&archive, "one", vec![1; 100]).await;
        stores::put(&archive, "two", vec![2; 100]).await;
        let mut world = Self {
            spec,
            storage,
            archive,
            clock,
            commits: Vec::new(),
        };
        let config = RepositoryConfig::decode(CONFIG.as_bytes()).expect("a configuration");
        let builder = world.builder().spec_version(spec).config(config);
        let repository = builder.create().await;
        let repository = repository.expect("created");
        world.fill(&repository).await;
        world
    }

    async fn fill(&mut self, repository: &Repository) {
        let main = BranchName::main();
        let one = repository.write_session(main.clone()).await.expect("opens");
        for (at, document) in [
            ("/", GROUP.to_owned()),
            ("/g", GROUP.to_owned()),
            ("/g/a", array(&[8])),
            ("/g/v", array(&[4])),
            ("/w", array(&[])),
        ] {
            let mode = WriteMode::Overwrite;
            one.set_metadata(&path(at), document.into(), mode)
                .await
                .expect("written");
        }
        for at in [0, 1] {
            set(&one, "/g/a", &[at], vec![at as u8; 10]).await;
        }
        set(&one, "/w", &[], vec![9; NATIVE]).await;
        self.commit(&one, "one").await;
        let v1 = self.commits[0];
        let _ = repository.create_tag("v1", v1).await.expect("tagged");
        let _ = repository.create_tag("old", v1).await.expect("tagged");
        let old = TagName::parse("old").expect("a name");
        let _ = repository.delete_tag(&old).await.expect("deleted");
        let two = repository.write_session(main.clone()).await.expect("opens");
        for at in [2, 3] {
            set(&two, "/g/a", &[at], vec![at as u8; NATIVE]).await;
        }
        let sources = ["one", "two"]
            .map(|it| VirtualSource::new(&format!("s3://archive/{it}")).expect("a location"));
        let refs = VirtualRefs {
            coordinates: &[0, 1, 2],
            sources: &sources,
            source: &[0, 0, 1],
            offsets: &[0, 50, 10],
            lengths: &[50, 50, 20],
        };
        two.set_virtual_refs(&path("/g/v"), refs)
            .await
            .expect("set");
        self.commit(&two, "two").await;
        let _ = repository
            .create_branch("dev", self.commits[1])
            .await
            .expect("made");
        let three = repository.write_session(main).await.expect("opens");
        set(&three, "/g/a", &[4], vec![4; NATIVE]).await;
        self.commit(&three, "three").await;
        let dev = BranchName::parse("dev").expect("a name");
        let four = repository.write_session(dev).await.expect("opens");
        set(&four, "/g/a", &[5], vec![5; NATIVE]).await;
        self.commit(&four, "four").await;
    }

    async fn commit(&mut self, session: &icefield_core::Session, message: &str) {
        self.clock.advance(Duration::from_secs(60));
        match session.commit(message).await {
            Ok(CommitOutcome::Committed(id)) => self.commits.push(id),
            other => panic!("{message} was not committed: {other:?}"),
        }
    }

    pub(super) fn builder(&self) -> RepositoryBuilder {
        let access = VirtualAccess::none();
        let archive = Arc::clone(&self.archive);
        let access = access
            .grant_storage("s3://archive/", archive)
            .expect("a prefix");
        let clock: Arc<ManualClock> = Arc::clone(&self.clock);
        Repository::builder(Arc::clone(&self.storage))
            .clock(clock)
            .entropy(Arc::new(SeededEntropy::new(7 + self.commits.len() as u64)))
            .virtual_access(access)
    }

    pub(super) async fn open(&self) -> Repository {
        self.builder().open().await.expect("it opens")
    }

    pub(super) fn check(&self) -> Check {
        Check::new(Arc::clone(&self.storage))
    }

    pub(super) async fn report(&self) -> CheckReport {
        self.check()
            .run(&())
            .await
            .expect("the store does not fail")
    }

    pub(super) fn limits(&self) -> DecodeLimits {
        DecodeLimits::up_to(self.spec)
    }

    /// The key of a commit's snapshot.
    pub(super) fn snapshot_key(&self, commit: usize) -> String {
        layout::snapshot_key(self.commits[commit - 1])
    }

    pub(super) fn log_key(&self, commit: usize) -> String {
        layout::transaction_log_key(self.commits[commit - 1])
    }

    pub(super) async fn snapshot(&self, commit: usize) -> Snapshot {
        let file = stores::read(&self.storage, &self.snapshot_key(commit)).await;
        let id = self.commits[commit - 1];
        Snapshot::decode(&file, id, &self.limits()).expect("a snapshot")
    }

    /// The only manifest of an array at a commit.
    pub(super) async fn manifest_of(&self, commit: usize, at: &str) -> ManifestId {
        let snapshot = self.snapshot(commit).await;
        let node = snapshot.node(&path(at)).expect("a node");
        let mut manifests = node.array().expect("an array").manifests();
        manifests.next().expect("a manifest").id()
    }

    pub(super) async fn node_of(&self, commit: usize, at: &str) -> NodeId {
        self.snapshot(commit)
            .await
            .node(&path(at))
            .expect("a node")
            .id()
    }

    /// The key of the object of a native chunk.
    pub(super) async fn chunk_key(&self, commit: usize, at: &str, index: &[u32]) -> String {
        let manifest = self.manifest(self.manifest_of(commit, at).await).await;
        let node = self.node_of(commit, at).await;
        match manifest.get(&node, index).expect("readable") {
            Some(ChunkRef::Native { id, .. }) => layout::chunk_key(id),
            other => panic!("{at} {index:?} is {other:?}"),
        }
    }

    pub(super) async fn manifest(&self, id: ManifestId) -> Manifest {
        let file = stores::read(&self.storage, &layout::manifest_key(id)).await;
        Manifest::decode(&file, id, &self.limits()).expect("a manifest")
    }

    pub(super) async fn put(&self, key: &str, bytes: impl Into<Bytes>) {
        stores::put(&self.storage, key, bytes).await;
    }

    pub(super) async fn delete(&self, key: &str) {
        stores::delete(&self.storage, key).await;
    }

    pub(super) async fn truncate(&self, key: &str) {
        let whole = stores::read(&self.storage, key).await;
        self.put(key, whole.slice(..whole.len() / 2)).await;
    }

    /// Replaces bytes of the decompressed body of a file, everywhere in it.
    pub(super) async fn patch(&self, key: &str, from: &[u8], to: &[u8]) {
        assert_eq!(from.len(), to.len());
        let file = stores::read(&self.storage, key).await;
        let (header, body) = file.split_at(HEADER_LEN);
        let mut body = zstd::decode_all(body).expect("it is compressed");
        let mut found = 0;
        for at in 0..=body.len() - from.len() {
            if &body[at..at + from.len()] == from {
                body[at..at + to.len()].copy_from_slice(to);
                found += 1;
            }
        }
        assert!(found > 0, "{key} has no such bytes");
        let body = zstd::encode_all(&body[..], 3).expect("memory can be compressed");
        self.put(key, [header, &body].concat()).await;
    }

    /// Writes a commit's snapshot again, changed.
    pub(super) async fn edit_snapshot(&self, commit: usize, edit: impl FnOnce(&mut Parts)) {
        let mut parts = Parts::of(&self.snapshot(commit).await);
        edit(&mut parts);
        self.put(
            &self.snapshot_key(commit),
            parts.encode(self.spec, self.commits[commit - 1]),
        )
        .await;
    }

    /// Writes a manifest again with other refs of one array, and returns what a snapshot should say of it.
    pub(super) async fn write_manifest(
        &self,
        id: ManifestId,
        arrays: &[(NodeId, &[ForgedChunk<'_>])],
    ) -> ManifestFileInfo {
        let mut arrays = arrays.to_vec();
        arrays.sort_by_key(|(node, _)| *node);
        let mut encoder = ManifestEncoder::for_version(self.spec, id);
        for (node, chunks) in arrays {
            encoder.begin_array(node).expect("sorted");
            for (index, chunk) in chunks {
                encoder.push(index, *chunk).expect("sorted");
            }
        }
        let encoded = encoder.finish(&Writer::default()).expect("small");
        self.put(&layout::manifest_key(id), encoded.bytes).await;
        encoded.info
    }

    /// Writes a commit's log again.
    pub(super) async fn write_log(
        &self,
        commit: usize,
        write: impl FnOnce(&mut TransactionLogEncoder),
    ) {
        let mut log = TransactionLogEncoder::for_version(self.spec, self.commits[commit - 1]);
        write(&mut log);
        let file = log.finish(&Writer::default()).expect("a log");
        self.put(&self.log_key(commit), file).await;
    }

    pub(super) async fn log(&self, commit: usize) -> TransactionLog {
        let file = stores::read(&self.storage, &self.log_key(commit)).await;
        let id = self.commits[commit - 1];
        TransactionLog::decode(&file, id, &self.limits()).expect("a log")
    }
}

pub(super) async fn set(session: &icefield_core::Session, at: &str, index: &[u32], bytes: Vec<u8>) {
    let (at, mode) = (path(at), WriteMode::Overwrite);
    let done = session.set_chunk(&at, index, bytes.into(), mode).await;
    assert!(done.expect("written"));
}

/// The shape, the names and the manifests of an array.
type ArrayParts = (Vec<u64>, Option<Vec<Option<String>>>, Vec<ManifestRef>);

/// A node of a snapshot, to be changed.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) id: NodeId,
    pub(super) path: String,
    pub(super) document: String,
    pub(super) array: Option<ArrayParts>,
}

/// A snapshot, to be changed.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) parent: Option<SnapshotId>,
    pub(super) flushed_at: u64,
    pub(super) message: String,
    pub(super) metadata: std::collections::BTreeMap<String, serde_json::Value>,
    pub(super) files: Vec<ManifestFileInfo>,
    pub(super) nodes: Vec<Node>,
}

impl Parts {
    fn of(snapshot: &Snapshot) -> Self {
        let node = |record: icefield_format::NodeRecord<'_>| Node {
            id: record.id(),
            path: record.path().to_owned(),
            document: String::from_utf8(record.user_data().to_vec()).expect("text"),
            array: record.array().map(|array| {
                let names = array.dimension_names();
                (
                    array.shape().map(|it| it.array_length).collect(),
                    names.map(|names| names.map(|it| it.map(str::to_owned)).collect()),
                    (array.manifests())
                        .map(|it| ManifestRef {
                            id: it.id(),
                            extents: it.extents(),
                        })
                        .collect(),
                )
            }),
        };
        Self {
            parent: snapshot.parent_id(),
            flushed_at: snapshot.flushed_at(),
            message: snapshot.message().to_owned(),
            metadata: snapshot.metadata().expect("readable"),
            files: snapshot.manifest_files().collect(),
            nodes: snapshot.nodes().map(node).collect(),
        }
    }

    pub(super) fn node(&mut self, at: &str) -> &mut Node {
        let node = self.nodes.iter_mut().find(|node| node.path == at);
        node.unwrap_or_else(|| panic!("no {at}"))
    }

    /// The manifests of an array.
    pub(super) fn manifests(&mut self, at: &str) -> &mut Vec<ManifestRef> {
        &mut self.node(at).array.as_mut().expect("an array").2
    }

    /// Replaces or adds what is said of a manifest file.
    pub(super) fn list(&mut self, info: ManifestFileInfo) {
        self.files.retain(|it| it.id != info.id);
        self.files.push(info);
    }

    fn encode(&self, spec: SpecVersion, id: SnapshotId) -> Bytes {
        let header = NewSnapshot {
            id,
            parent_id: self.parent,
            flushed_at: self.flushed_at,
            message: &self.message,
            metadata: &self.metadata,
            manifest_files: &self.files,
        };
        let mut encoder = SnapshotEncoder::for_version(spec, header);
        let mut nodes = self.nodes.clone();
        nodes.sort_by(|a, b| a.path.cmp(&b.path));
        for node in &nodes {
            let shape: Vec<DimensionShape> = (node.array.iter())
                .flat_map(|(shape, ..)| shape)
                .map(|length| DimensionShape::regular(*length, 1))
                .collect();
            let data = match &node.array {
                None => NewNodeData::Group,
                Some((_, names, manifests)) => NewNodeData::Array {
                    shape: &shape,
                    dimension_names: names.as_deref(),
                    manifests,
                },
            };
            let pushed = encoder.push(NewNode {
                id: node.id,
                path: &node.path,
                user_data: node.document.as_bytes(),
                data,
            });
            pushed.expect("it can be encoded");
        }
        encoder.finish(&Writer::default()).expect("small")
    }
}
