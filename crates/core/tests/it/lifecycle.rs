//! Create, write, commit, branch, tag, travel in time.

use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{
    BranchName, ByteRange, CommitError, CommitOutcome, EditOutcome, NodePath, Repository,
    RepositoryError, Session, SessionError, SnapshotId, TagName, WriteMode,
};
use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;

fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("valid")
}

fn array(shape: &[u64], chunk: &[u64]) -> String {
    serde_json::json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
    })
    .to_string()
}

async fn set(session: &Session, at: &str, document: String) {
    session
        .set_metadata(&path(at), document.into(), WriteMode::Overwrite)
        .await
        .expect("metadata is valid");
}

async fn write(session: &Session, at: &str, index: &[u32], bytes: Vec<u8>) {
    session
        .set_chunk(&path(at), index, bytes.into(), WriteMode::Overwrite)
        .await
        .expect("the chunk is in the grid");
}

async fn read(session: &Session, at: &str, index: &[u32]) -> Option<Vec<u8>> {
    session
        .chunk(&path(at), index, ByteRange::All)
        .await
        .expect("readable")
        .map(Into::into)
}

async fn committed(session: &Session, message: &str) -> SnapshotId {
    match session.commit(message).await.expect("valid") {
        CommitOutcome::Committed(id) => id,
        other => panic!("{other:?}"),
    }
}

async fn new_repository() -> (Arc<dyn Storage>, Repository) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let repository = Repository::create(Arc::clone(&storage)).await.expect("new");
    (storage, repository)
}

#[tokio::test]
async fn what_is_committed_is_read_back() {
    let (storage, repository) = new_repository().await;
    let session = repository.write_session(BranchName::main()).await.expect("main");
    set(&session, "/a", array(&[4, 4], &[2, 2])).await;
    write(&session, "/a", &[0, 1], vec![1; 10]).await;
    write(&session, "/a", &[1, 1], vec![2; 1000]).await;
    assert_eq!(read(&session, "/a", &[1, 1]).await, Some(vec![2; 1000]));
    let first = committed(&session, "first").await;
    assert_eq!(session.snapshot_id().expect("sound"), first);
    assert!(matches!(
        session.commit("again").await,
        Err(CommitError::Session(SessionError::Committed(id))) if id == first
    ));
    assert_eq!(read(&session, "/a", &[0, 1]).await, Some(vec![1; 10]));

    let again = Repository::open(storage).await.expect("exists");
    let session = again.write_session(BranchName::main()).await.expect("main");
    assert_eq!(read(&session, "/a", &[1, 1]).await, Some(vec![2; 1000]));
    assert_eq!(read(&session, "/a", &[0, 0]).await, None);
    assert_eq!(read(&session, "/a", &[7, 7]).await, None);
    session.delete_chunk(&path("/a"), &[0, 1]).await.expect("an array");
    write(&session, "/a", &[0, 0], vec![3; 3]).await;
    assert_eq!(read(&session, "/a", &[0, 1]).await, None);
    let second = committed(&session, "second").await;

    let old = again.read_session(first).await.expect("exists");
    assert_eq!(read(&old, "/a", &[0, 1]).await, Some(vec![1; 10]));
    let diff = again.diff(first, second).await.expect("readable");
    let chunks = &diff.updated_chunks[&path("/a")];
    assert_eq!(chunks.len(), 2);
    let history: Vec<_> = again.ancestry(second).try_collect().await.expect("sound");
    let messages: Vec<_> = history.iter().map(|info| info.message.as_str()).collect();
    assert_eq!(messages, ["second", "first", "Repository initialized"]);
    assert!(history.is_sorted_by(|newer, older| newer.written_at > older.written_at));
}

#[tokio::test]
async fn of_two_writers_one_is_refused_and_keeps_its_edits() {
    let (_, repository) = new_repository().await;
    let (one, two) = (
        repository.write_session(BranchName::main()).await.expect("main"),
        repository.write_session(BranchName::main()).await.expect("main"),
    );
    set(&one, "/a", array(&[1], &[1])).await;
    set(&two, "/b", array(&[1], &[1])).await;
    let first = committed(&one, "one").await;
    let outcome = two.commit("two").await.expect("valid");
    assert!(matches!(
        outcome,
        CommitOutcome::BranchMoved { expected: SnapshotId::INITIAL, found } if found == Some(first)
    ));
    assert!(two.has_changes().expect("sound"));
    assert!(two.metadata(&path("/b")).expect("sound").is_some());
}

#[tokio::test]
async fn refs_are_edited_by_compare_and_swap() {
    let (_, repository) = new_repository().await;
    let session = repository.write_session(BranchName::main()).await.expect("main");
    set(&session, "/a", array(&[1], &[1])).await;
    let id = committed(&session, "one").await;
    let odd = "odd name {x} é~%#";
    for _ in 0..2 {
        let _ = repository.create_branch(odd, id).await.expect("valid");
    }
    assert!(matches!(
        repository.create_branch(odd, id).await.expect("valid"),
        EditOutcome::Refused(_)
    ));
    assert!(matches!(
        repository.create_tag("v1", id).await.expect("valid"),
        EditOutcome::Done(_)
    ));
    let tag: TagName = "v1".parse().expect("valid");
    assert!(matches!(
        repository.delete_tag(&tag).await.expect("valid"),
        EditOutcome::Done(_)
    ));
    assert!(matches!(
        repository.create_tag("v1", id).await.expect("valid"),
        EditOutcome::Refused(icefield_core::Refusal::NameTaken)
    ));
    let refs = repository.refs().await.expect("readable");
    assert_eq!(refs.branches.len(), 2);
    assert!(refs.tags.is_empty() && refs.strays.is_empty());
    assert_eq!(refs.deleted_tags.len(), 1);
    assert!(matches!(
        repository.delete_branch(&BranchName::main()).await,
        Err(RepositoryError::Refs(icefield_core::RefsError::MainIsPermanent))
    ));
}

#[tokio::test]
async fn a_resize_drops_what_is_outside() {
    let (_, repository) = new_repository().await;
    let session = repository.write_session(BranchName::main()).await.expect("main");
    set(&session, "/a", array(&[10], &[1])).await;
    for i in 0..10 {
        write(&session, "/a", &[i], vec![i as u8; 5]).await;
    }
    committed(&session, "ten").await;
    let session = repository.write_session(BranchName::main()).await.expect("main");
    set(&session, "/a", array(&[5], &[1])).await;
    set(&session, "/a", array(&[8], &[1])).await;
    assert_eq!(read(&session, "/a", &[5]).await, None);
    assert_eq!(read(&session, "/a", &[4]).await, Some(vec![4; 5]));
    committed(&session, "eight").await;
    let session = repository.read_session(BranchName::main()).await.expect("main");
    assert_eq!(read(&session, "/a", &[5]).await, None);
    let chunks: Vec<_> = session
        .chunks(&path("/a"))
        .expect("an array")
        .try_collect()
        .await
        .expect("readable");
    assert_eq!(chunks.len(), 5);
}
