//! The abilities that all actors share: open the repository, read and write numbers, commit, and tell failures that a store may give from
//! those that no store may cause.

use std::sync::Arc;
use std::time::Duration;

use icefield::{
    BranchName, ByteRange, CommitError, CommitOutcome, Error, ErrorKind, NodePath, Repository,
    RepositoryBuilder, Session, SnapshotId, WriteMode,
};
use icefield_storage::{Clock, SeededEntropy, Storage};

use crate::facts::Facts;
use crate::process::ProcessStorage;
use crate::time::{WorldClock, WorldTime};

/// How long a collection spares what is new.
pub(crate) const FLOOR: Duration = Duration::from_secs(8 * 3600);
/// Times that the outcome of a commit is asked for before its writer gives up.
const RESOLVES: u32 = 40;

/// Why a round did not end well.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// A store and other writers may cause it: the actor tries again, in another round.
    Later,
    /// A rule does not hold.
    Broken(String),
}

/// A round of an actor.
pub(crate) type Round<T = ()> = Result<T, Trouble>;

/// Whether a commit landed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Landing {
    Landed(SnapshotId),
    Refused,
}

/// One process.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) number: usize,
    pub(crate) storage: ProcessStorage,
    pub(crate) world: WorldTime,
    pub(crate) clock: WorldClock,
    pub(crate) facts: Facts,
    pub(crate) dice: Arc<SeededEntropy>,
    pub(crate) native_chunks: bool,
    pub(crate) is_hasty: bool,
    pub(crate) has_no_floor: bool,
    /// Draws ids; new in every life of the process.
    pub(crate) entropy: Arc<SeededEntropy>,
}

/// Sorts a failure.
pub(crate) fn trouble(error: impl Into<Error>) -> Trouble {
    let error: Error = error.into();
    match error.kind() {
        ErrorKind::Unavailable
        | ErrorKind::Conflict
        | ErrorKind::OutcomeUnknown
        | ErrorKind::Interrupted => Trouble::Later,
        // A ref or snapshot may have gone meanwhile, or come.
        ErrorKind::NotFound | ErrorKind::AlreadyExists => Trouble::Later,
        // So a handle answers whose repository was upgraded meanwhile, or is in the middle of that.
        ErrorKind::Unsupported | ErrorKind::ReadOnly => Trouble::Later,
        kind => Trouble::Broken(format!("{kind:?}: {}", chain(&error))),
    }
}

/// Spells an error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

/// Requires a rule.
pub(crate) fn require(holds: bool, rule: impl FnOnce() -> String) -> Round {
    match holds {
        true => Ok(()),
        false => Err(Trouble::Broken(rule())),
    }
}

pub(crate) fn path(text: &str) -> Round<NodePath> {
    NodePath::parse(text).map_err(|error| Trouble::Broken(error.to_string()))
}

/// Spells the `zarr.json` of an array of numbers, one a chunk.
pub(crate) fn array(length: u64) -> String {
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[{length}],"data_type":"int64","chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[1]}}}},"chunk_key_encoding":{{"name":"default"}},"fill_value":0,"codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}],"attributes":{{}}}}"#
    )
}

impl Member {
    pub(crate) fn builder(&self) -> RepositoryBuilder {
        let storage: Arc<dyn Storage> = Arc::new(self.storage.clone());
        Repository::builder(storage)
            .clock(Arc::new(self.clock.clone()))
            .entropy(Arc::<SeededEntropy>::clone(&self.entropy))
    }

    pub(crate) async fn open(&self) -> Round<Repository> {
        self.builder().open().await.map_err(trouble)
    }

    /// Waits as long as a user or a scheduler does between two rounds.
    pub(crate) async fn think(&self) {
        let most = [50, 500, 5_000, 600_000, 7_200_000][self.dice.below(5) as usize];
        self.clock
            .sleep(Duration::from_millis(self.dice.below(most)))
            .await;
    }

    /// Spells a number as a chunk: in sixteen bytes, which lie in a manifest, or with so many behind them that they do not. A mark
    /// tells chunks of two writers apart: a rebase takes equal chunks of both sides for one.
    pub(crate) fn chunk(&self, value: u64) -> Vec<u8> {
        let mut bytes = value.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.dice.next_u64().to_le_bytes());
        if self.native_chunks {
            bytes.resize(600, 0x5a);
        }
        bytes
    }

    pub(crate) async fn set(
        &self,
        session: &Session,
        at: &NodePath,
        index: u32,
        value: u64,
    ) -> Round {
        let bytes = self.chunk(value).into();
        session
            .set_chunk(at, &[index], bytes, WriteMode::Overwrite)
            .await
            .map_err(trouble)?;
        Ok(())
    }

    pub(crate) async fn resize(&self, session: &Session, at: &NodePath, length: u64) -> Round {
        let document = array(length).into();
        session
            .set_metadata(at, document, WriteMode::Overwrite)
            .await
            .map_err(trouble)?;
        Ok(())
    }

    /// Gives back what was committed.
    ///
    /// # Errors
    /// `Later` if the commit failed, or its outcome stays unknown.
    pub(crate) async fn land(
        &self,
        session: &Session,
        mut outcome: Result<CommitOutcome, CommitError>,
    ) -> Round<Landing> {
        let mut asked = 0;
        loop {
            match outcome {
                Ok(CommitOutcome::Committed(id)) => {
                    let mut known = self.facts.lock();
                    known.figures.commits += 1;
                    return Ok(Landing::Landed(id));
                }
                Ok(CommitOutcome::BranchMoved { .. } | CommitOutcome::Conflicts { .. }) => {
                    self.facts.lock().figures.refused += 1;
                    return Ok(Landing::Refused);
                }
                Ok(CommitOutcome::Unknown { snapshot, .. }) if self.is_hasty => {
                    // The planted bug of a client that takes no answer for a yes.
                    return Ok(Landing::Landed(snapshot));
                }
                Ok(CommitOutcome::Unknown { .. }) => {
                    self.facts.lock().figures.unknown += u64::from(asked == 0);
                }
                Ok(other) => {
                    return Err(Trouble::Broken(format!(
                        "an outcome that is not known here: {other:?}"
                    )));
                }
                Err(error) => {
                    let trouble = trouble(error);
                    if asked == 0 || asked == RESOLVES || matches!(trouble, Trouble::Broken(_)) {
                        return Err(trouble);
                    }
                }
            }
            if asked == RESOLVES {
                return Err(Trouble::Later);
            }
            asked += 1;
            self.clock
                .sleep(Duration::from_secs(1 << asked.min(9)))
                .await;
            outcome = session.resolve().await;
        }
    }

    /// Notes a commit on `main` that was acknowledged.
    pub(crate) fn note_commit(&self, id: SnapshotId) {
        self.facts.lock().commits.push(id);
    }

    pub(crate) fn main() -> BranchName {
        BranchName::main()
    }
}

/// Reads a number; none where there is no chunk.
pub(crate) async fn number(session: &Session, at: &NodePath, index: u32) -> Round<Option<u64>> {
    let chunk = session
        .chunk(at, &[index], ByteRange::All)
        .await
        .map_err(trouble)?;
    let Some(chunk) = chunk else {
        return Ok(None);
    };
    match chunk.first_chunk() {
        Some(bytes) => Ok(Some(u64::from_le_bytes(*bytes))),
        None => Err(Trouble::Broken(format!("a chunk of {} bytes", chunk.len()))),
    }
}

/// Returns the length of an array; none if it is not there.
pub(crate) fn length(session: &Session, at: &NodePath) -> Round<Option<u64>> {
    if session.node_kind(at).map_err(trouble)?.is_none() {
        return Ok(None);
    }
    let array = session.array(at).map_err(trouble)?;
    Ok(array.shape.first().copied())
}
