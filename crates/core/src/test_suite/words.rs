//! The few words in which the cases speak. Each panics where something does not go as it should.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use icefield_format::{ByteRange, ChunkIndex, NodeId, NodePath, SnapshotId};
use icefield_refs::SnapshotInfo;
use icefield_storage::{Key, Prefix, PutMode, PutOutcome, Storage, StorageExt};
use serde_json::{Value, json};

use crate::{
    BranchName, ChunkInfo, CommitOutcome, EditOutcome, Refusal, Repository, Session, SessionError,
    WriteMode,
};

/// Asserts that a value matches a pattern, and says what it is if not.
#[doc(hidden)]
#[macro_export]
macro_rules! __is {
    ($value:expr, $pattern:pat $(if $guard:expr)? $(,)?) => {
        match $value {
            $pattern $(if $guard)? => {}
            other => panic!(
                "must be {}, is {other:?}",
                stringify!($pattern $(if $guard)?)
            ),
        }
    };
}

pub use crate::__is as is;

/// Returns the path of this text.
#[track_caller]
pub fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("BUG: the case uses a valid path")
}

/// Returns the key of this text.
#[track_caller]
pub fn key(text: &str) -> Key {
    Key::parse(text).expect("BUG: the case uses a valid key")
}

/// Returns the branch of this name.
#[track_caller]
pub fn branch(name: &str) -> BranchName {
    BranchName::parse(name).expect("BUG: the case uses a valid name")
}

/// Returns the `zarr.json` of an array of bytes.
pub fn array(shape: &[u64], chunk: &[u64]) -> String {
    array_with(shape, chunk, json!({}))
}

/// Returns the `zarr.json` of an array of bytes with these attributes.
pub fn array_with(shape: &[u64], chunk: &[u64], attributes: Value) -> String {
    json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": 0, "codecs": [{"name": "bytes"}],
        "attributes": attributes,
    })
    .to_string()
}

/// Returns the `zarr.json` of a group.
pub fn group() -> String {
    group_with(json!({}))
}

/// Returns the `zarr.json` of a group with these attributes.
pub fn group_with(attributes: Value) -> String {
    json!({"zarr_format": 3, "node_type": "group", "attributes": attributes}).to_string()
}

/// Returns bytes that differ for every seed.
pub fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let noise = icefield_storage::SeededEntropy::new(seed);
    let mut bytes = vec![0; length];
    icefield_storage::Entropy::fill(&noise, &mut bytes);
    bytes
}

/// Returns a source of numbers below a bound, the same ones for a seed in each run.
pub fn dice(mut state: u64) -> impl FnMut(u64) -> u64 {
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Opens a session that writes to `main`.
pub async fn writer(repository: &Repository) -> Session {
    writer_on(repository, "main").await
}

/// Opens a session that writes to a branch.
pub async fn writer_on(repository: &Repository, name: &str) -> Session {
    let session = repository.write_session(branch(name)).await;
    session.unwrap_or_else(|error| panic!("cannot write to {name}: {error:?}"))
}

/// Opens a session that reads a revision.
pub async fn reader(repository: &Repository, revision: impl Into<crate::Revision>) -> Session {
    let session = repository.read_session(revision).await;
    session.unwrap_or_else(|error| panic!("cannot read: {error:?}"))
}

/// Opens a session that reads `main`.
pub async fn read_main(repository: &Repository) -> Session {
    reader(repository, BranchName::main()).await
}

/// Writes the metadata of a node.
pub async fn set(session: &Session, at: &str, document: String) {
    let written = session
        .set_metadata(&path(at), document.into(), WriteMode::Overwrite)
        .await;
    is!(written, Ok(true));
}

/// Writes a chunk.
pub async fn write(session: &Session, at: &str, index: &[u32], bytes: impl Into<Bytes>) {
    is!(try_write(session, at, index, bytes).await, Ok(true));
}

/// Writes a chunk, if that is allowed.
pub async fn try_write(
    session: &Session,
    at: &str,
    index: &[u32],
    bytes: impl Into<Bytes>,
) -> Result<bool, SessionError> {
    session
        .set_chunk(&path(at), index, bytes.into(), WriteMode::Overwrite)
        .await
}

/// Reads a chunk; `None` if it is absent.
pub async fn read(session: &Session, at: &str, index: &[u32]) -> Option<Bytes> {
    let chunk = session.chunk(&path(at), index, ByteRange::All).await;
    chunk.unwrap_or_else(|error| panic!("cannot read chunk {index:?} of {at}: {error:?}"))
}

/// Asserts the bytes of a chunk; `None`: that it is absent.
pub async fn holds(session: &Session, at: &str, index: &[u32], bytes: Option<&[u8]>) {
    let found = read(session, at, index).await;
    assert!(
        found.as_deref() == bytes,
        "chunk {index:?} of {at} must be {:?}, is {found:?}",
        bytes.map(Bytes::copy_from_slice)
    );
}

/// Commits, and returns the new snapshot.
pub async fn commit(session: &Session, message: &str) -> SnapshotId {
    match session.commit(message).await {
        Ok(CommitOutcome::Committed(id)) => id,
        other => panic!("{message:?} must be committed, is {other:?}"),
    }
}

/// A chunk to write: its array, its coordinates and its bytes.
pub type Chunk<'a> = (&'a str, &'a [u32], &'a [u8]);

/// Writes metadata and chunks to `main` in one commit.
pub async fn commit_edits(
    repository: &Repository,
    message: &str,
    nodes: &[(&str, String)],
    chunks: &[Chunk<'_>],
) -> SnapshotId {
    let session = writer(repository).await;
    for (at, document) in nodes {
        set(&session, at, document.clone()).await;
    }
    for (at, index, bytes) in chunks {
        write(&session, at, index, Bytes::copy_from_slice(bytes)).await;
    }
    commit(&session, message).await
}

/// Asserts that an edit of a ref landed.
#[track_caller]
pub fn done(outcome: Result<EditOutcome, impl std::fmt::Debug>) {
    is!(outcome, Ok(EditOutcome::Done(_)));
}

/// Asserts that an edit of a ref was refused, for this reason.
#[track_caller]
pub fn refused(outcome: Result<EditOutcome, impl std::fmt::Debug>, reason: &Refusal) {
    is!(outcome, Ok(EditOutcome::Refused(found)) if found == *reason);
}

/// Returns the snapshot at the tip of a branch.
pub async fn tip(repository: &Repository, name: &str) -> SnapshotId {
    let tip = repository.resolve(&branch(name).into()).await;
    tip.unwrap_or_else(|error| panic!("{name} must resolve: {error:?}"))
}

/// Returns the history of a snapshot, newest first.
pub async fn history(repository: &Repository, start: SnapshotId) -> Vec<SnapshotInfo> {
    let history = repository.ancestry(start).try_collect().await;
    history.unwrap_or_else(|error| panic!("the history of {start} is damaged: {error:?}"))
}

/// Returns the messages of the history of a branch, newest first.
pub async fn messages(repository: &Repository, name: &str) -> Vec<String> {
    let tip = tip(repository, name).await;
    let history = history(repository, tip).await;
    history.into_iter().map(|info| info.message).collect()
}

/// Lists the chunks of an array, sorted.
pub async fn chunk_list(session: &Session, at: &str) -> Vec<ChunkInfo> {
    let stream = session
        .chunks(&path(at))
        .unwrap_or_else(|error| panic!("{error:?}"));
    let chunks: Result<Vec<_>, _> = stream.try_collect().await;
    let mut chunks = chunks.unwrap_or_else(|error| panic!("cannot list {at}: {error:?}"));
    chunks.sort_unstable_by(|a: &ChunkInfo, b| a.index.cmp(&b.index));
    chunks
}

/// Lists the coordinates of the chunks of an array, sorted.
pub async fn indices(session: &Session, at: &str) -> Vec<ChunkIndex> {
    let chunks = chunk_list(session, at).await;
    chunks.into_iter().map(|chunk| chunk.index).collect()
}

/// Lists the paths of the nodes, sorted.
#[track_caller]
pub fn paths(session: &Session, below: &str) -> Vec<String> {
    let nodes = session.nodes(&path(below)).expect("a sound session");
    nodes.iter().map(|node| node.path.to_string()).collect()
}

/// Returns the id of a node that exists.
#[track_caller]
pub fn node_id(session: &Session, at: &str) -> NodeId {
    let nodes = session.nodes(&path(at)).expect("a sound session");
    let node = nodes.iter().find(|node| node.path.as_str() == at);
    node.unwrap_or_else(|| panic!("there is no {at}")).id
}

/// Lists all objects of a store.
pub async fn keys(storage: &Arc<dyn Storage>) -> Vec<String> {
    let objects = storage.list_all(&Prefix::default()).await;
    let objects = objects.unwrap_or_else(|error| panic!("cannot list: {error:?}"));
    objects
        .into_iter()
        .map(|meta| meta.key.to_string())
        .collect()
}

/// Reads all objects of a store.
pub async fn objects(storage: &Arc<dyn Storage>) -> BTreeMap<String, Bytes> {
    let mut objects = BTreeMap::new();
    for name in keys(storage).await {
        let read = storage.read(&key(&name)).await;
        let (bytes, _) = read.unwrap_or_else(|error| panic!("cannot read {name}: {error:?}"));
        objects.insert(name, bytes);
    }
    objects
}

/// Stores an object, over what is there.
pub async fn put(storage: &Arc<dyn Storage>, at: &str, bytes: impl Into<Bytes>) {
    let outcome = storage
        .put(&key(at), bytes.into().into(), PutMode::Overwrite.into())
        .await;
    is!(outcome, Ok(PutOutcome::Written(_)));
}
