//! The requests of a second process for a repository behind a network.

use std::sync::Arc;

use icefield_core::{
    BranchName, ByteRange, CommitOutcome, NodePath, Repository, Revision, WriteMode,
};
use icefield_format::{SnapshotId, SpecVersion};
use icefield_storage::Storage;
use icefield_storage::wrap::{Cost, Meter};
use icefield_storage_cache::{CachedStorage, DiskCache};
use icefield_storage_memory::MemoryStorage;
use tempfile::TempDir;

use crate::support::{PLACE, cache};

const ARRAY: &str = r#"{
    "zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}]
}"#;

fn path() -> NodePath {
    NodePath::parse("/a").unwrap()
}

async fn commit(storage: &Arc<dyn Storage>, index: u32, fill: u8) -> SnapshotId {
    let repository = Repository::open(Arc::clone(storage)).await.unwrap();
    let session = repository.write_session(BranchName::main()).await.unwrap();
    let mode = WriteMode::Overwrite;
    session
        .set_metadata(&path(), ARRAY.into(), mode)
        .await
        .unwrap();
    session
        .set_chunk(&path(), &[index], vec![fill; 9000].into(), mode)
        .await
        .unwrap();
    match session.commit("a chunk").await.unwrap() {
        CommitOutcome::Committed(id) => id,
        other => panic!("{other:?}"),
    }
}

async fn repository(version: SpecVersion) -> Arc<dyn Storage> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let builder = Repository::builder(Arc::clone(&storage)).spec_version(version);
    builder.create().await.unwrap();
    commit(&storage, 0, 1).await;
    storage
}

/// Reads a chunk as a process does that starts now. Returns it, and what it cost.
async fn first_chunk(storage: &Arc<dyn Storage>, cache: &DiskCache, at: Revision) -> (u8, Cost) {
    let meter = Meter::new(Arc::clone(storage));
    let cached: Arc<dyn Storage> = Arc::new(CachedStorage::new(meter.storage(), cache, PLACE));
    let read = async {
        let builder = Repository::builder(cached);
        let (_, session) = builder.open_session(at).await.unwrap();
        session
            .chunk(&path(), &[0], ByteRange::All)
            .await
            .unwrap()
            .unwrap()
    };
    let (chunk, cost) = meter.measure(read).await;
    assert_eq!(chunk.len(), 9000);
    (chunk[0], cost)
}

fn main() -> Revision {
    BranchName::main().into()
}

#[tokio::test(start_paused = true)]
async fn a_second_process_asks_only_for_what_changes_in_place() {
    let directory = TempDir::new().unwrap();
    let storage = repository(SpecVersion::V2).await;
    let (_, first) = first_chunk(&storage, &cache(&directory), main()).await;
    assert_eq!(
        first.rounds, 4,
        "what is mutable, snapshot, manifest, chunk"
    );
    let (value, second) = first_chunk(&storage, &cache(&directory), main()).await;
    assert_eq!(value, 1);
    assert_eq!(second.rounds, 1, "{second:?}");
    let counts = &second.counts;
    assert_eq!(
        counts.total.requests(),
        3,
        "`repo`, and what spec version 1 would have: {counts:?}"
    );
    assert_eq!((counts.of("repo").get, counts.of("refs").get), (1, 1));
    assert_eq!(counts.of("config.yaml").get, 1);
    assert_eq!(counts.total.bytes_read, counts.of("repo").bytes_read);
}

/// In spec version 1 an expiration may have given the snapshot another parent.
#[tokio::test(start_paused = true)]
async fn in_spec_version_1_the_snapshot_is_compared() {
    let directory = TempDir::new().unwrap();
    let storage = repository(SpecVersion::V1).await;
    first_chunk(&storage, &cache(&directory), main()).await;
    let (value, second) = first_chunk(&storage, &cache(&directory), main()).await;
    assert_eq!(value, 1);
    assert_eq!(
        (second.rounds, second.counts.total.requests()),
        (2, 4),
        "{second:?}"
    );
    let snapshots = second.counts.of("snapshots");
    assert_eq!((snapshots.get, snapshots.bytes_read), (1, 0));
    assert_eq!(
        second.counts.of("chunks").get + second.counts.of("manifests").get,
        0
    );
}

#[tokio::test(start_paused = true)]
async fn what_another_process_commits_is_seen_at_once() {
    for version in [SpecVersion::V1, SpecVersion::V2] {
        let directory = TempDir::new().unwrap();
        let storage = repository(version).await;
        let before = first_chunk(&storage, &cache(&directory), main()).await.0;
        commit(&storage, 0, 2).await;
        let after = first_chunk(&storage, &cache(&directory), main()).await.0;
        assert_eq!((before, after), (1, 2));
    }
}

/// Deleted and made anew at the same place, by programs that know nothing of the cache.
#[tokio::test(start_paused = true)]
async fn a_repository_in_the_place_of_another_is_read_as_it_is() {
    let directory = TempDir::new().unwrap();
    for (version, fill) in [
        (SpecVersion::V1, 1),
        (SpecVersion::V2, 2),
        (SpecVersion::V1, 3),
        (SpecVersion::V2, 4),
    ] {
        let storage = repository(version).await;
        commit(&storage, 0, fill).await;
        for _ in 0..2 {
            let (value, _) = first_chunk(&storage, &cache(&directory), main()).await;
            assert_eq!(value, fill);
        }
    }
}
