//! A repository in memory, on a clock that goes on when it is told to.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::TryStreamExt;
use icefield_core::{
    BranchName, ByteRange, CommitOutcome, ManualClock, NodePath, Repository, SeededEntropy,
    Session, Settings, SnapshotId, WriteMode,
};
use icefield_format::SpecVersion;
use icefield_storage::{Entropy, Storage, StorageExt};
use icefield_storage_memory::{MemoryStorage, MemoryStorageBuilder};
use icefield_testkit::stores;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3600);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 3600);

pub(crate) struct World {
    pub(crate) storage: Arc<dyn Storage>,
    /// The same store.
    pub(crate) memory: MemoryStorage,
    pub(crate) clock: ManualClock,
    pub(crate) seed: u64,
    pub(crate) repository: Repository,
}

fn document(length: u64) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{length}],"data_type":"int8",
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},
        "chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
    )
}

pub(crate) fn array() -> NodePath {
    NodePath::parse("/a").expect("a path")
}

/// Chunks that are too long to be kept in a manifest.
pub(crate) fn bytes(seed: u64) -> Vec<u8> {
    let mut bytes = vec![0; 600];
    SeededEntropy::new(seed).fill(&mut bytes);
    bytes
}

impl World {
    /// A repository with an array of 100 chunks, none of which is written.
    pub(crate) async fn new(seed: u64) -> Self {
        Self::of_version(seed, icefield_testkit::versions::spec()).await
    }

    /// The same in a repository of a version of the format.
    pub(crate) async fn of_version(seed: u64, spec: SpecVersion) -> Self {
        Self::on(seed, spec, |store| store).await
    }

    /// The same on a store that says that the machine's clock dates its objects, as a local disk does.
    pub(crate) async fn with_host_dates(seed: u64) -> Self {
        Self::on(seed, SpecVersion::V1, MemoryStorageBuilder::host_dates).await
    }

    async fn on(
        seed: u64,
        spec: SpecVersion,
        set_up: fn(MemoryStorageBuilder) -> MemoryStorageBuilder,
    ) -> Self {
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let clock = ManualClock::new(start);
        let storage = MemoryStorage::builder().clock(Arc::new(clock.clone()));
        let memory = set_up(storage).build();
        let storage: Arc<dyn Storage> = Arc::new(memory.clone());
        let repository = Repository::builder(Arc::clone(&storage))
            .spec_version(spec)
            .clock(Arc::new(clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(seed)))
            .create()
            .await
            .expect("made");
        let world = Self {
            storage,
            memory,
            clock,
            seed,
            repository,
        };
        let session = world.session("main").await;
        let path = array();
        let set = session.set_metadata(&path, document(100).into(), WriteMode::Overwrite);
        set.await.expect("set");
        world.commit(&session).await;
        world
    }

    /// The same repository through another store, with ids of its own and a small cache.
    pub(crate) async fn open_on(&self, storage: &Arc<dyn Storage>, seed: u64) -> Repository {
        Repository::builder(Arc::clone(storage))
            .clock(Arc::new(self.clock.clone()))
            .entropy(Arc::new(SeededEntropy::new(self.seed ^ (seed << 32))))
            .settings(Settings::default().with_cache_bytes(1 << 20))
            .open()
            .await
            .expect("opened")
    }

    pub(crate) async fn session(&self, branch: &str) -> Session {
        let branch = BranchName::parse(branch).expect("a name");
        let session = self.repository.write_session(branch).await;
        session.expect("a session")
    }

    pub(crate) async fn commit(&self, session: &Session) -> SnapshotId {
        self.clock.advance(Duration::from_secs(1));
        match session.commit("a commit").allow_empty().await {
            Ok(CommitOutcome::Committed(id)) => id,
            other => panic!("not committed: {other:?}"),
        }
    }

    /// Commits chunks, each of the bytes of its seed.
    pub(crate) async fn commit_chunks(&self, branch: &str, chunks: &[(u32, u64)]) -> SnapshotId {
        let session = self.session(branch).await;
        for (index, seed) in chunks {
            write(&session, *index, *seed).await;
        }
        self.commit(&session).await
    }

    pub(crate) async fn tip(&self, branch: &str) -> SnapshotId {
        let branch = BranchName::parse(branch).expect("a name");
        let tip = self.repository.ledger().resolve_branch(&branch).await;
        tip.expect("a branch").snapshot
    }

    /// Reads everything that every ref reaches, from the store.
    pub(crate) async fn everything_is_there(&self, when: &str) {
        let repository = self.open_on(&self.storage, 99).await;
        let refs = repository.refs().await.expect("refs");
        let tips = refs.branches.into_values().chain(refs.tags.into_values());
        for tip in tips {
            let tip = tip.expect("a good ref");
            let history = repository.ancestry(tip).try_collect::<Vec<_>>().await;
            for info in history.unwrap_or_else(|error| panic!("{when}: {error:?}")) {
                let log = repository.transaction_log(info.id).await;
                assert!(
                    log.is_ok() || info.id == SnapshotId::INITIAL,
                    "{when}: {log:?}"
                );
                let session = repository.read_session(info.id).await.expect("a snapshot");
                readable(&session, when).await;
            }
        }
    }

    pub(crate) async fn count(&self, prefix: &str) -> usize {
        stores::keys_below(&self.storage, &format!("{prefix}/"))
            .await
            .len()
    }

    pub(crate) async fn exists(&self, key: &str) -> bool {
        self.storage
            .exists(&stores::key(key))
            .await
            .expect("an answer")
    }
}

pub(crate) async fn write(session: &Session, index: u32, seed: u64) {
    let chunk = bytes(seed).into();
    let (path, index) = (array(), [index]);
    let written = session.set_chunk(&path, &index, chunk, WriteMode::Overwrite);
    written.await.expect("written");
}

/// Reads all chunks of a session.
pub(crate) async fn readable(session: &Session, when: &str) {
    if session
        .nodes(&NodePath::root())
        .expect("nodes")
        .iter()
        .all(|it| it.path != array())
    {
        return;
    }
    let chunks = session.chunks(&array()).expect("an array");
    let chunks: Vec<_> = chunks.try_collect().await.expect("chunks");
    for chunk in chunks {
        let read = session.chunk(&array(), &chunk.index, ByteRange::All).await;
        let read = read.unwrap_or_else(|error| panic!("{when}: {:?}: {error}", chunk.index));
        assert_eq!(read.expect("it is listed").len(), 600);
    }
}
