//! A writer: it commits until it is killed, and says what became of each commit.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use icefield_core::{
    BranchName, CommitError, CommitOutcome, Detector, Repository, SessionError, SnapshotId,
    WriteMode,
};

use super::stamp::Stamp;
use crate::protocol::say;
use crate::work::{CHUNKS, array_path};

/// Chunks of that many bytes are objects of their own; smaller ones are in a manifest.
const NATIVE: usize = 600;
/// Questions after a commit whose outcome is unknown, before the writer goes on without an answer.
const QUESTIONS: u32 = 8;

/// The task of one process.
#[derive(Clone, Debug)]
pub struct Writer {
    /// Its number, which no other process of the repository has.
    pub number: u32,
    /// Where it writes the id of each commit after its acknowledgement.
    pub log: PathBuf,
    /// Whether a commit that was not first is carried over to the one that was; else it is done again, from a fresh
    /// session.
    pub rebase: bool,
    /// Whether the store may fail: what it says is told, and the writer goes on.
    pub is_patient: bool,
}

/// The end of one attempt.
enum Landing {
    Acknowledged(SnapshotId),
    /// Nothing was published.
    Refused,
    /// The store did not say, and did not say either when asked.
    Unresolved,
}

impl Writer {
    /// Commits until it is killed.
    ///
    /// # Errors
    /// Errors of the engine, on a store that may not fail.
    pub async fn run(&self, repository: &Repository) -> anyhow::Result<()> {
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)?;
        let mut round = 0;
        loop {
            match self.attempt(repository, round).await {
                Ok(Landing::Acknowledged(id)) => {
                    // One write, so that a kill cannot leave a line without its end behind.
                    log.write_all(format!("{id}\n").as_bytes())?;
                    say(&"acknowledged");
                    round += 1;
                }
                Ok(Landing::Refused) => say(&"refused"),
                Ok(Landing::Unresolved) => {
                    say(&"unresolved");
                    round += 1;
                }
                // An error says that nothing was published. So the round is done again: were it a lie, the history
                // would have it twice.
                Err(error) if self.is_patient => say(&format!("failed {error:#}")),
                Err(error) => return Err(error),
            }
        }
    }

    async fn attempt(&self, repository: &Repository, round: u32) -> anyhow::Result<Landing> {
        let stamp = self.stamp(round);
        let session = repository.write_session(BranchName::main()).await?;
        let length = if (self.number + round).is_multiple_of(4) {
            NATIVE
        } else {
            1
        };
        let (bytes, overwrite) = (stamp.bytes(length).into(), WriteMode::Overwrite);
        session
            .set_chunk(&array_path(), &[stamp.chunk], bytes, overwrite)
            .await?;
        let mut commit = session.commit(stamp.to_string());
        if self.rebase {
            commit = commit.rebase_with(Detector::Strict);
        }
        let mut outcome = match commit.await {
            // With a floor below the least one, a collection makes sessions wait that are young.
            Err(CommitError::Session(SessionError::BeingCollected)) => return Ok(Landing::Refused),
            outcome => outcome?,
        };
        let mut asked = 0;
        while let CommitOutcome::Unknown { .. } = outcome {
            if asked == QUESTIONS {
                return Ok(Landing::Unresolved);
            }
            if asked == 0 {
                say(&"unknown");
            }
            asked += 1;
            match session.resolve().await {
                Ok(resolved) => outcome = resolved,
                Err(error) => say(&format!("failed {error}")),
            }
        }
        Ok(match outcome {
            CommitOutcome::Committed(id) => Landing::Acknowledged(id),
            _ => Landing::Refused,
        })
    }

    /// A writer that rebases keeps to the chunk of its number, and no process beside it has the same; the others go
    /// through all chunks.
    fn stamp(&self, round: u32) -> Stamp {
        let chunk = match self.rebase {
            true => self.number % CHUNKS,
            false => (self.number + round) % CHUNKS,
        };
        Stamp {
            writer: self.number,
            round,
            chunk,
        }
    }
}
