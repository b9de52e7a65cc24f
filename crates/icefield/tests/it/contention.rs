//! Many writers on one branch, each with a handle of its own: all their commits land, and none waits for ever.

use std::sync::Arc;

use futures::TryStreamExt;
use icefield::storage::Storage;
use icefield::storage::wrap::FaultyStorage;
use icefield::storage::wrap::fault::Plan;
use icefield::{
    BranchName, ByteRange, CommitOutcome, Detector, Fsync, LocalStorage, MemoryStorage, NodePath,
    Repository, Session, WriteMode,
};

const COMMITS: u32 = 25;

fn x() -> NodePath {
    NodePath::parse("/x").expect("valid")
}

async fn writer(repository: &Repository) -> Session {
    let session = repository.write_session(BranchName::main()).await;
    session.expect("main exists")
}

fn value(index: u32) -> Vec<u8> {
    index.to_le_bytes().repeat(150)
}

/// Commits as one of many. Returns how many attempts each commit took.
async fn commit_all(storage: Arc<dyn Storage>, first: u32) -> Vec<u32> {
    let repository = Repository::open(storage).await.expect("exists");
    let mut attempts = Vec::new();
    for index in first..first + COMMITS {
        let session = writer(&repository).await;
        let bytes = value(index).into();
        let wrote = session
            .set_chunk(&x(), &[index], bytes, WriteMode::Overwrite)
            .await;
        assert!(wrote.expect("valid"));
        let outcome = session
            .commit(format!("{index}"))
            .rebase_with(Detector::Strict)
            .await;
        assert!(
            matches!(outcome, Ok(CommitOutcome::Committed(_))),
            "{outcome:?}"
        );
        attempts.push(session.commit_attempts().expect("sound"));
    }
    attempts
}

/// Runs so many writers, each on a handle that `open` gives.
async fn contend(what: &str, writers: u32, open: impl Fn() -> Arc<dyn Storage>) {
    let repository = Repository::create(open()).await.expect("new");
    let session = writer(&repository).await;
    let chunks = writers * COMMITS;
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{chunks}],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]}}"#
    );
    let wrote = session
        .set_metadata(&x(), document.into(), WriteMode::Overwrite)
        .await;
    assert!(wrote.expect("valid"));
    assert!(matches!(
        session.commit("x").await,
        Ok(CommitOutcome::Committed(_))
    ));
    let tasks = (0..writers).map(|number| tokio::spawn(commit_all(open(), number * COMMITS)));
    let mut attempts = Vec::new();
    for task in futures::future::join_all(tasks).await {
        attempts.extend(task.expect("no panic"));
    }
    attempts.sort_unstable();
    let p99 = attempts[attempts.len() * 99 / 100];
    let most = attempts[attempts.len() - 1];
    println!("{what}, {writers} writers: attempts p99 {p99}, at most {most}");
    assert!(most <= (4 * writers).max(16), "{most}");

    let reopened = Repository::open(open()).await.expect("exists");
    let tip = reopened
        .resolve(&BranchName::main().into())
        .await
        .expect("main exists");
    let history: Vec<_> = reopened.ancestry(tip).try_collect().await.expect("sound");
    assert_eq!(
        history.len() as u32,
        chunks + 2,
        "each commit once, and nothing else"
    );
    let session = reopened.read_session(tip).await.expect("exists");
    for index in 0..chunks {
        let chunk = session
            .chunk(&x(), &[index], ByteRange::All)
            .await
            .expect("readable");
        assert_eq!(chunk.as_deref(), Some(&value(index)[..]), "{index}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b18_writers_of_disjoint_chunks_all_land_in_memory() {
    for writers in [2, 8, 32] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        contend("memory", writers, || Arc::clone(&storage)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b18_writers_of_disjoint_chunks_all_land_on_a_local_disk() {
    for writers in [2, 8, 32] {
        let folder = tempfile::tempdir().expect("writable");
        contend("local disk", writers, || {
            let storage = LocalStorage::builder(folder.path())
                .fsync(Fsync::None)
                .open();
            Arc::new(storage.expect("a directory"))
        })
        .await;
    }
}

/// Handles that do not know of each other, as in other processes: faulty ones, without faults.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b18_writers_without_a_common_queue_all_land() {
    for writers in [2, 8] {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        contend("memory, no queue", writers, || {
            Arc::new(FaultyStorage::new(Arc::clone(&storage), Plan::none()))
        })
        .await;
    }
}
