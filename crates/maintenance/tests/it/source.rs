//! A repository that has something of everything, to be copied and counted.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::{
    BranchName, CommitOutcome, ManualClock, NodePath, Repository, RepositoryConfig, SeededEntropy,
    Session, SnapshotId, WriteMode,
};
use icefield_format::SpecVersion;
use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;

/// Bytes of each chunk, too many for a manifest.
pub(crate) const CHUNK: usize = 600;

/// A repository under construction.
pub(crate) struct Source {
    pub(crate) store: MemoryStorage,
    pub(crate) repository: Repository,
    clock: Arc<ManualClock>,
}

pub(crate) fn store(memory: &MemoryStorage) -> Arc<dyn Storage> {
    Arc::new(memory.clone())
}

impl Source {
    /// A repository without commits.
    pub(crate) async fn new() -> Self {
        Self::seeded(1).await
    }

    pub(crate) async fn seeded(seed: u64) -> Self {
        Self::seeded_in(SpecVersion::V1, seed).await
    }

    /// A repository of a spec version without commits.
    pub(crate) async fn new_in(spec: SpecVersion) -> Self {
        Self::seeded_in(spec, 1).await
    }

    pub(crate) async fn seeded_in(spec: SpecVersion, seed: u64) -> Self {
        let memory = MemoryStorage::new();
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let clock = Arc::new(ManualClock::new(start));
        let config = RepositoryConfig {
            max_concurrent_requests: Some(7),
            ..RepositoryConfig::default()
        };
        let repository = Repository::builder(store(&memory))
            .clock(Arc::<ManualClock>::clone(&clock))
            .entropy(Arc::new(SeededEntropy::new(seed)))
            .config(config)
            .spec_version(spec)
            .create()
            .await
            .unwrap();
        Self {
            store: memory,
            repository,
            clock,
        }
    }

    /// Three commits on main, a branch, a tag, a deleted tag; `/a` has four chunks, of which the commits set two, one
    /// and one, and `/b` has one that is inline.
    pub(crate) async fn with_history() -> Self {
        Self::with_history_in(SpecVersion::V1).await
    }

    /// The same in a repository of a spec version.
    pub(crate) async fn with_history_in(spec: SpecVersion) -> Self {
        let source = Self::new_in(spec).await;
        source.commit("main", &[("/a", 0), ("/a", 1)]).await;
        source.tag("first", "main").await;
        source.tag("gone", "main").await;
        let gone = "gone".parse().unwrap();
        let _ = source.repository.delete_tag(&gone).await.unwrap();
        source.commit("main", &[("/a", 2)]).await;
        source.branch("odd {x} é", "main").await;
        source.commit("odd {x} é", &[("/a", 5)]).await;
        source.commit("main", &[("/a", 3), ("/b", 0)]).await;
        source
    }

    pub(crate) fn storage(&self) -> Arc<dyn Storage> {
        store(&self.store)
    }

    /// A repository that was copied from this one, on its clock.
    pub(crate) async fn elsewhere(&self, to: &Arc<dyn Storage>) -> Self {
        let builder = Repository::builder(Arc::clone(to));
        let clock = Arc::<ManualClock>::clone(&self.clock);
        Self {
            store: self.store.clone(),
            repository: builder.clock(clock).open().await.unwrap(),
            clock: Arc::clone(&self.clock),
        }
    }

    pub(crate) async fn tip(&self, branch: &str) -> SnapshotId {
        let name: BranchName = branch.parse().unwrap();
        let tip = self.repository.ledger().branch(&name).await.unwrap();
        tip.unwrap().snapshot
    }

    pub(crate) async fn branch(&self, name: &str, at: &str) {
        let at = self.tip(at).await;
        let _ = self.repository.create_branch(name, at).await.unwrap();
    }

    pub(crate) async fn tag(&self, name: &str, at: &str) {
        let at = self.tip(at).await;
        let _ = self.repository.create_tag(name, at).await.unwrap();
    }

    /// Commits one chunk each of some arrays, which are made if they are missing. Chunks of `/b…` are short, so that
    /// they are kept in their manifest.
    pub(crate) async fn commit(&self, branch: &str, chunks: &[(&str, u32)]) -> SnapshotId {
        self.clock.advance(Duration::from_secs(1));
        let name: BranchName = branch.parse().unwrap();
        let session = self.repository.write_session(name).await.unwrap();
        for (path, index) in chunks {
            set(&session, path, *index, branch).await;
        }
        match session.commit("a commit").await.unwrap() {
            CommitOutcome::Committed(id) => id,
            other => panic!("{other:?}"),
        }
    }
}

async fn set(session: &Session, path: &str, index: u32, branch: &str) {
    let path = NodePath::parse(path).unwrap();
    if session.array(&path).is_err() {
        let document = r#"{"zarr_format": 3, "node_type": "array", "shape": [80], "data_type": "int8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
            "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]}"#;
        session
            .set_metadata(&path, document.into(), WriteMode::Overwrite)
            .await
            .unwrap();
    }
    let value = index as u8 + branch.len() as u8;
    let length = match path.as_str().starts_with("/b") {
        true => 5,
        false => CHUNK,
    };
    session
        .set_chunk(
            &path,
            &[index],
            vec![value; length].into(),
            WriteMode::Overwrite,
        )
        .await
        .unwrap();
}
