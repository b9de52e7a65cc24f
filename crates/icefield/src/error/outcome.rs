//! Outcomes as errors, for callers that have nothing to do on *refused* and *unknown* but to report them.

use icefield_core::{CommitOutcome, EditOutcome, RefsError, Refusal, SnapshotId};

use crate::{Error, ErrorKind, Unsettled};

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
