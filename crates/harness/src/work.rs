//! Work that races and gets killed: commits to `main`, each acknowledged in a log of its own.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::bail;
use icefield_core::{
    BranchName, CommitOutcome, NodePath, Repository, RepositoryError, SnapshotId, WriteMode,
};

/// Chunks of the array that workers write to; each writes those of its own number, modulo this.
pub const CHUNKS: u32 = 64;

/// Where the array is.
pub fn array_path() -> NodePath {
    NodePath::root()
        .join("data")
        .unwrap_or_else(|_| NodePath::root())
}

/// Creates the repository with the array that the workers write to, as one commit after the first snapshot.
///
/// # Errors
/// What the engine says.
pub async fn prepare(location: &Path) -> anyhow::Result<SnapshotId> {
    let repository = Repository::open_or_create(crate::storage(location)?).await?;
    let session = repository.write_session(BranchName::main()).await?;
    let group = r#"{"zarr_format":3,"node_type":"group"}"#;
    session
        .set_metadata(&NodePath::root(), group.into(), WriteMode::Overwrite)
        .await?;
    let document = format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{CHUNKS}],"data_type":"uint8","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes"}}],"attributes":{{}}}}"#
    );
    session
        .set_metadata(&array_path(), document.into(), WriteMode::Overwrite)
        .await?;
    match session.commit("prepare").await? {
        CommitOutcome::Committed(id) => Ok(id),
        other => bail!("not committed: {other:?}"),
    }
}

/// What one worker does.
#[derive(Clone, Debug)]
pub struct Work {
    /// Its number among the workers.
    pub number: u32,
    /// Acknowledged commits to reach; it then stops.
    pub commits: usize,
    /// Where it writes the id of each commit after its acknowledgement, synchronised to the disk.
    pub log: std::path::PathBuf,
    /// Bytes of each chunk: one is inline, more than the threshold go to an object of their own.
    pub chunk_bytes: usize,
}

impl Work {
    /// Commits until the number is reached. A refused commit is tried again from a fresh session.
    ///
    /// # Errors
    /// What the engine says.
    pub async fn run(&self, repository: &Repository) -> anyhow::Result<usize> {
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)?;
        let mut refused = 0;
        for round in 0..self.commits {
            loop {
                let session = repository.write_session(BranchName::main()).await?;
                let index = [(self.number + round as u32) % CHUNKS];
                let value = vec![(round % 255) as u8 + 1; self.chunk_bytes];
                session
                    .set_chunk(&array_path(), &index, value.into(), WriteMode::Overwrite)
                    .await?;
                let message = format!("worker {} round {round}", self.number);
                let mut outcome = session.commit(message).await?;
                while let CommitOutcome::Unknown { .. } = outcome {
                    outcome = session.resolve().await?;
                }
                match outcome {
                    CommitOutcome::Committed(id) => {
                        // One write, so that a kill cannot leave a line without its end behind.
                        log.write_all(format!("{id}\n").as_bytes())?;
                        log.sync_data()?;
                        break;
                    }
                    _ => refused += 1,
                }
            }
        }
        Ok(refused)
    }
}

/// Creates a repository, or finds that it exists. Returns which.
///
/// # Errors
/// What the engine says otherwise.
pub async fn create(location: &Path, or_open: bool) -> anyhow::Result<&'static str> {
    let storage = crate::storage(location)?;
    if or_open {
        Repository::open_or_create(storage).await?;
        return Ok("opened");
    }
    match Repository::create(storage).await {
        Ok(_) => Ok("created"),
        Err(RepositoryError::AlreadyExists { .. }) => Ok("exists"),
        Err(error) => Err(error.into()),
    }
}
