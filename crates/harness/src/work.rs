//! Work that races and gets killed: commits to `main`, each acknowledged in a log of its own.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;

use anyhow::bail;
use icefield::Location;
use icefield::format::SpecVersion;
use icefield_core::{
    BranchName, CommitOutcome, Detector, NodePath, Repository, RepositoryError, SnapshotId,
    WriteMode,
};
use icefield_storage::Storage;

/// Chunks of the array that workers write to. A worker that rebases writes that of its own number; the others
/// go through all of them, each from its own number on.
pub const CHUNKS: u32 = 64;

/// Where the array is.
pub fn array_path() -> NodePath {
    NodePath::root()
        .join("data")
        .unwrap_or_else(|_| NodePath::root())
}

/// Creates the repository at a location, as [`prepare_in`] does.
///
/// # Errors
/// Errors of the engine.
pub async fn prepare(location: &Location, spec: SpecVersion) -> anyhow::Result<SnapshotId> {
    prepare_in(crate::storage(location).await?, spec).await
}

/// Creates the repository with the array that the workers write to, as one commit after the first snapshot.
///
/// # Errors
/// Errors of the engine.
pub async fn prepare_in(
    storage: Arc<dyn Storage>,
    spec: SpecVersion,
) -> anyhow::Result<SnapshotId> {
    let builder = Repository::builder(storage).spec_version(spec);
    let repository = builder.open_or_create().await?;
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

/// The task of one worker.
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
    /// Whether a commit that was not first is carried over to the one that was; else it is done again, from a
    /// fresh session.
    pub rebase: bool,
}

impl Work {
    /// Commits until the number is reached. Returns how many attempts on the way were refused.
    ///
    /// # Errors
    /// Errors of the engine.
    pub async fn run(&self, repository: &Repository) -> anyhow::Result<usize> {
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)?;
        let mut refused = 0;
        for round in 0..self.commits {
            loop {
                let session = repository.write_session(BranchName::main()).await?;
                let value = vec![value_of(round); self.chunk_bytes];
                session
                    .set_chunk(
                        &array_path(),
                        &[self.chunk(round)],
                        value.into(),
                        WriteMode::Overwrite,
                    )
                    .await?;
                let mut commit = session.commit(format!("worker {} round {round}", self.number));
                if self.rebase {
                    commit = commit.rebase_with(Detector::Strict);
                }
                let mut outcome = commit.await?;
                while let CommitOutcome::Unknown { .. } = outcome {
                    outcome = session.resolve().await?;
                }
                match outcome {
                    CommitOutcome::Committed(id) => {
                        refused += session.commit_attempts()? as usize - 1;
                        // One write, so that a kill cannot leave a line without its end behind.
                        log.write_all(format!("{id}\n").as_bytes())?;
                        log.sync_data()?;
                        break;
                    }
                    CommitOutcome::Conflicts { conflicts, .. } => {
                        bail!("no other process writes this chunk: {conflicts:?}")
                    }
                    _ => refused += session.commit_attempts()? as usize,
                }
            }
        }
        Ok(refused)
    }

    fn chunk(&self, round: usize) -> u32 {
        match self.rebase {
            true => self.number % CHUNKS,
            false => (self.number + round as u32) % CHUNKS,
        }
    }
}

/// Each byte of the chunks that are written in a round.
pub fn value_of(round: usize) -> u8 {
    (round % 255) as u8 + 1
}

/// Creates a repository, or finds that it exists. Returns which.
///
/// # Errors
/// Other errors of the engine.
pub async fn create(location: &Location, or_open: bool) -> anyhow::Result<&'static str> {
    let storage = crate::storage(location).await?;
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
