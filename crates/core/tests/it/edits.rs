//! Edits as data, and a small hierarchy to make them on.

use std::sync::Arc;

use icefield_core::{
    BranchName, ByteRange, CommitOutcome, NodePath, Repository, Session, WriteMode,
};
use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;

pub(crate) fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("valid")
}

pub(crate) fn array(length: u64, extra: &str) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{length}],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}]{extra}}}"#
    )
}

pub(crate) fn group(attributes: &str) -> String {
    format!(r#"{{"zarr_format":3,"node_type":"group","attributes":{attributes}}}"#)
}

/// One edit of a session.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    Meta(&'static str, String),
    Chunk(&'static str, u32, u8),
    NoChunk(&'static str, u32),
    Delete(&'static str),
}
pub(crate) use Edit::{Chunk, Delete, Meta, NoChunk};

pub(crate) async fn open(storage: &Arc<dyn Storage>) -> Repository {
    Repository::open(Arc::clone(storage)).await.expect("exists")
}

pub(crate) async fn apply(session: &Session, edits: &[Edit]) {
    for edit in edits {
        match edit {
            Meta(at, document) => session
                .set_metadata(&path(at), document.clone().into(), WriteMode::Overwrite)
                .await
                .map(|_| ()),
            // Long enough for an object of its own, so that equal bytes have different references.
            Chunk(at, index, byte) => session
                .set_chunk(
                    &path(at),
                    &[*index],
                    vec![*byte; 600].into(),
                    WriteMode::Overwrite,
                )
                .await
                .map(|_| ()),
            NoChunk(at, index) => session.delete_chunk(&path(at), &[*index]).await,
            Delete(at) => session.delete_node(&path(at)).await.map(|_| ()),
        }
        .unwrap_or_else(|error| panic!("{edit:?}: {error}"));
    }
}

pub(crate) async fn commit(session: &Session) {
    match session.commit("edit").await.expect("valid") {
        CommitOutcome::Committed(_) => {}
        other => panic!("{other:?}"),
    }
}

/// `/g` with the array `/g/a` of ten chunks, and the array `/b` of ten chunks, of which 0 to 4 are written.
pub(crate) async fn start() -> Repository {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let repository = Repository::create(storage).await.expect("new");
    let session = writer(&repository).await;
    let mut edits = vec![
        Meta("/", group(r#"{"x":1,"y":1}"#)),
        Meta("/g", group(r#"{"x":1,"y":1}"#)),
        Meta("/g/a", array(10, r#","attributes":{"x":1,"y":1}"#)),
        Meta("/b", array(10, r#","attributes":{"x":1,"y":1}"#)),
    ];
    for index in 0..5 {
        edits.push(Chunk("/g/a", index, 100));
        edits.push(Chunk("/b", index, 100));
    }
    apply(&session, &edits).await;
    commit(&session).await;
    repository
}

pub(crate) async fn writer(repository: &Repository) -> Session {
    repository
        .write_session(BranchName::main())
        .await
        .expect("main exists")
}

pub(crate) async fn byte(session: &Session, at: &str, index: u32) -> Option<u8> {
    let chunk = session.chunk(&path(at), &[index], ByteRange::All).await;
    chunk.expect("readable").map(|bytes| bytes[0])
}

pub(crate) fn attributes(text: &str) -> String {
    format!(r#","attributes":{text}"#)
}

/// Commits, and opens what the branch points to then.
pub(crate) async fn committed(repository: &Repository, session: &Session) -> Session {
    commit(session).await;
    reader(repository).await
}

pub(crate) async fn reader(repository: &Repository) -> Session {
    let session = repository.read_session(BranchName::main()).await;
    session.expect("main exists")
}
