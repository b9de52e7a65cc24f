//! Repositories with something in them.

use std::sync::Arc;

use icefield_core::{
    BranchName, CommitOutcome, NodePath, Repository, Session, SnapshotId, WriteMode,
};
use icefield_storage::{Bytes, Storage};
use serde_json::json;

use crate::noise;

/// Returns a node path.
///
/// # Panics
/// If the text is none.
pub fn path(text: &str) -> NodePath {
    NodePath::parse(text).expect("the path is valid")
}

/// A repository with one array, `/a`, of one dimension, all of whose chunks exist.
#[derive(Debug)]
pub struct Filled {
    /// The repository.
    pub repository: Repository,
    /// The array.
    pub array: NodePath,
    /// Its number of chunks.
    pub chunks: u32,
    /// Bytes of each of them.
    pub chunk_size: usize,
}

impl Filled {
    /// Creates it, in two commits.
    ///
    /// # Panics
    /// If it cannot be created.
    pub async fn create(storage: Arc<dyn Storage>, chunks: u32, chunk_size: usize) -> Self {
        let repository = Repository::create(storage)
            .await
            .expect("nothing is there yet");
        let filled = Self {
            repository,
            array: path("/a"),
            chunks,
            chunk_size,
        };
        let session = filled.write_session().await;
        let document = json!({
            "zarr_format": 3,
            "node_type": "array",
            "shape": [u64::from(chunks) * chunk_size as u64],
            "data_type": "uint8",
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [chunk_size]}},
            "chunk_key_encoding": {"name": "default"},
            "fill_value": 0,
            "codecs": [{"name": "bytes"}],
        });
        session
            .set_metadata(
                &filled.array,
                document.to_string().into(),
                WriteMode::Overwrite,
            )
            .await
            .expect("the document is valid");
        for index in 0..chunks {
            filled.set(&session, index, filled.bytes(index)).await;
        }
        filled.commit(&session).await;
        filled
    }

    /// Returns the bytes that a chunk was created with.
    pub fn bytes(&self, index: u32) -> Bytes {
        noise(u64::from(index), self.chunk_size)
    }

    /// Opens a session on the main branch.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub async fn write_session(&self) -> Session {
        let session = self.repository.write_session(BranchName::main()).await;
        session.expect("the branch exists")
    }

    /// Opens a session that reads the main branch.
    ///
    /// # Panics
    /// If it cannot be opened.
    pub async fn read_session(&self) -> Session {
        let session = self.repository.read_session(BranchName::main()).await;
        session.expect("the branch exists")
    }

    /// Writes a chunk.
    ///
    /// # Panics
    /// If it is not written.
    pub async fn set(&self, session: &Session, index: u32, bytes: Bytes) {
        let set = session
            .set_chunk(&self.array, &[index], bytes, WriteMode::Overwrite)
            .await;
        assert!(set.expect("the chunk is in the grid"));
    }

    /// Commits.
    ///
    /// # Panics
    /// If the commit does not land.
    pub async fn commit(&self, session: &Session) -> SnapshotId {
        match session.commit("a chunk").await {
            Ok(CommitOutcome::Committed(id)) => id,
            other => panic!("not committed: {other:?}"),
        }
    }
}
