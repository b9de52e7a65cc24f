//! Ways to say which snapshot is meant.

use std::time::SystemTime;

use futures::TryStreamExt;
use icefield_format::SnapshotId;
use icefield_refs::{BranchName, TagName, TagState};

use super::Repository;
use crate::RepositoryError;

/// The ref or snapshot from which a [`Revision`] is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Start {
    /// The tip of a branch, at the moment when the revision is resolved.
    Branch(BranchName),
    /// The snapshot that a tag points to.
    Tag(TagName),
    /// The snapshot with this id, whether a ref reaches it or not.
    Snapshot(SnapshotId),
}

/// The name of a snapshot: a ref or an id, then optionally a time, then optionally a number of steps back. Names of
/// branches and tags, and ids of snapshots, convert into one.
///
/// ```
/// use icefield_core::{BranchName, Revision};
///
/// let revision = Revision::from(BranchName::main()).back(2);
/// assert_eq!(revision.back, 2, "the grandparent of the tip");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The ref or snapshot to begin with.
    pub start: Start,
    /// If set, the newest snapshot of the history that is not younger than this time.
    pub as_of: Option<SystemTime>,
    /// The number of parents to go back, after the time has been applied.
    pub back: usize,
}

impl From<Start> for Revision {
    fn from(start: Start) -> Self {
        Self {
            start,
            as_of: None,
            back: 0,
        }
    }
}

impl From<BranchName> for Revision {
    fn from(name: BranchName) -> Self {
        Start::Branch(name).into()
    }
}

impl From<TagName> for Revision {
    fn from(name: TagName) -> Self {
        Start::Tag(name).into()
    }
}

impl From<SnapshotId> for Revision {
    fn from(id: SnapshotId) -> Self {
        Start::Snapshot(id).into()
    }
}

impl Revision {
    /// Returns the revision as it was at a time, by the times in the history.
    #[must_use]
    pub fn at(mut self, time: SystemTime) -> Self {
        self.as_of = Some(time);
        self
    }

    /// Returns the revision that is a number of snapshots earlier. Calls add up.
    #[must_use]
    pub fn back(mut self, steps: usize) -> Self {
        self.back += steps;
        self
    }
}

impl Repository {
    /// Finds the snapshot that a revision names. Costs one read for a ref; steps and times read the history as far as
    /// they go back.
    ///
    /// # Errors
    /// - [`RepositoryError::Refs`]: the branch, tag or snapshot does not exist.
    /// - [`RepositoryError::NoSnapshotAtTime`]: all snapshots of the history are younger.
    /// - [`RepositoryError::HistoryTooShort`]: there are fewer ancestors than steps.
    /// - Otherwise an object that cannot be read.
    pub async fn resolve(&self, revision: &Revision) -> Result<SnapshotId, RepositoryError> {
        let refs = &self.0.ledger;
        let start = match &revision.start {
            Start::Branch(name) => refs.resolve_branch(name).await?.snapshot,
            Start::Tag(name) => refs.resolve_tag(name).await?,
            Start::Snapshot(id) => {
                refs.check_target(*id).await?;
                *id
            }
        };
        self.walk(start, revision).await
    }

    /// Follows a revision from where it begins.
    pub(super) async fn walk(
        &self,
        start: SnapshotId,
        revision: &Revision,
    ) -> Result<SnapshotId, RepositoryError> {
        if revision.as_of.is_none() && revision.back == 0 {
            return Ok(start);
        }
        let mut history = self.0.ledger.ancestry(start);
        let mut steps = 0;
        while let Some(info) = history.try_next().await? {
            if revision.as_of.is_some_and(|time| info.written_at > time) {
                continue;
            }
            if steps == revision.back {
                return Ok(info.id);
            }
            steps += 1;
        }
        if revision.as_of.is_some() && steps == 0 {
            return Err(RepositoryError::NoSnapshotAtTime { start });
        }
        Err(RepositoryError::HistoryTooShort {
            start,
            length: steps.saturating_sub(1),
        })
    }

    /// Finds the ref or snapshot that a bare word means: a branch, else a tag, else a snapshot id.
    ///
    /// # Errors
    /// [`icefield_refs::RefsError::BranchNotFound`] if it is neither; the error of the store.
    pub async fn start_of_word(&self, word: &str) -> Result<Start, RepositoryError> {
        let refs = &self.0.ledger;
        let branch = BranchName::parse(word).map_err(icefield_refs::RefsError::from)?;
        if refs.branch(&branch).await?.is_some() {
            return Ok(Start::Branch(branch));
        }
        let tag = TagName::parse(word).map_err(icefield_refs::RefsError::from)?;
        if let TagState::Present(_) = refs.tag(&tag).await? {
            return Ok(Start::Tag(tag));
        }
        if let Ok(id) = word.parse::<SnapshotId>() {
            return Ok(Start::Snapshot(id));
        }
        Err(icefield_refs::RefsError::BranchNotFound(branch).into())
    }
}
