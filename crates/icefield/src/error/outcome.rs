//! Outcomes as errors, for callers that have nothing to do on *refused* and *unknown* but to report them.

use icefield_core::{CommitOutcome, EditOutcome, RefsError, Refusal, SnapshotId};
use icefield_storage::StorageError;

use crate::{Error, ErrorKind};

/// Why a commit or an edit of a ref is not known to have landed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unsettled {
    /// The branch points elsewhere.
    #[error(
        "the branch has moved to snapshot {found} meanwhile: nothing was changed; look at what is new, then do it again"
    )]
    BranchMoved {
        /// Where it points now.
        found: SnapshotId,
    },
    /// A commit that landed meanwhile touched the same things.
    #[error("the edits collide with commit {snapshot}, in {} places: nothing was committed", .conflicts.len())]
    Conflicts {
        /// The other commit.
        snapshot: SnapshotId,
        /// All collisions with it.
        conflicts: Vec<icefield_core::Conflict>,
    },
    /// The branch was deleted.
    #[error("the branch was deleted meanwhile: nothing was changed")]
    BranchGone,
    /// The name is in use.
    #[error("a ref of this name exists already: choose another name")]
    AlreadyExists,
    /// The name of a deleted tag.
    #[error(
        "a tag of this name was deleted, and the name of a tag is never given again: choose another name"
    )]
    NameTaken,
    /// There is nothing to delete.
    #[error("there is no ref of this name")]
    NotFound,
    /// The commit may or may not be on the branch.
    #[error(
        "it is not known whether the commit landed: look for snapshot {snapshot} in the history of the branch"
    )]
    CommitUnknown {
        /// The snapshot to look for.
        snapshot: SnapshotId,
        /// What the store said.
        source: StorageError,
    },
    /// The edit may or may not have landed.
    #[error("it is not known whether the edit landed: read the ref to find out")]
    EditUnknown {
        /// What the store said.
        source: StorageError,
    },
}

/// Returns the snapshot of a commit that landed, and everything else as an error.
///
/// # Errors
/// [`Unsettled`], as [`Conflict`](crate::ErrorKind::Conflict) or
/// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown).
pub fn committed(outcome: CommitOutcome) -> Result<SnapshotId, Error> {
    Err(match outcome {
        CommitOutcome::Committed(id) => return Ok(id),
        CommitOutcome::BranchMoved {
            found: Some(found), ..
        } => Unsettled::BranchMoved { found },
        CommitOutcome::BranchMoved { found: None, .. } => Unsettled::BranchGone,
        CommitOutcome::Conflicts {
            snapshot,
            conflicts,
        } => Unsettled::Conflicts {
            snapshot,
            conflicts,
        },
        CommitOutcome::Unknown { snapshot, source } => {
            Unsettled::CommitUnknown { snapshot, source }
        }
        other => {
            return Err(Error::new(
                ErrorKind::Other,
                format!("unexpected outcome: {other:?}"),
            ));
        }
    }
    .into())
}

/// Returns whether an edit of a ref landed, with everything else as an error.
///
/// # Errors
/// [`Unsettled`], as [`Conflict`](crate::ErrorKind::Conflict),
/// [`AlreadyExists`](crate::ErrorKind::AlreadyExists), [`NotFound`](crate::ErrorKind::NotFound) or
/// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown).
pub fn landed(outcome: EditOutcome) -> Result<(), Error> {
    Err(match outcome {
        EditOutcome::Done(_) => return Ok(()),
        EditOutcome::Unknown(source) => Unsettled::EditUnknown { source },
        EditOutcome::Refused(refusal) => match refusal {
            Refusal::BranchMoved { found } => Unsettled::BranchMoved { found },
            Refusal::Upgraded => return Err(RefsError::Upgraded.into()),
            Refusal::BranchGone => Unsettled::BranchGone,
            Refusal::NameTaken => Unsettled::NameTaken,
            Refusal::NotFound => Unsettled::NotFound,
            // Whatever other refusal there may be: the ref is not as it should be.
            _ => Unsettled::AlreadyExists,
        },
    }
    .into())
}
