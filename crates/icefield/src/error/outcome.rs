//! Outcomes as errors, for callers that have nothing to do on *refused* and *unknown* but to report them.

use icefield_core::{CommitOutcome, EditOutcome, RefsError, Refusal, SnapshotId};

use crate::{Error, ErrorKind, Unsettled};

/// Returns the snapshot of a commit that landed, and every other outcome as an error. It suits programs that only
/// report a lost race; programs that rebase and try again match on [`CommitOutcome`] themselves.
///
/// ```
/// use icefield::{BranchName, NodePath, WriteMode};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), icefield::Error> {
/// let repository = icefield::create("memory:").await?;
/// let session = repository.write_session(BranchName::main()).await?;
/// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// session.set_metadata(&NodePath::parse("/ocean")?, group.into(), WriteMode::Overwrite).await?;
/// let id = icefield::committed(session.commit("a group").await?)?;
/// icefield::landed(repository.create_tag("first", id).await?)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`Unsettled`], as [`Conflict`](crate::ErrorKind::Conflict) where another commit was faster or the branch was deleted
/// (nothing was changed), and as [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) where the store gave no answer:
/// call [`Session::resolve`](crate::Session::resolve) before anything else.
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

/// Returns `Ok` if an edit of a ref landed, and every other outcome as an error.
///
/// # Errors
/// [`Unsettled`], as [`Conflict`](crate::ErrorKind::Conflict) if the branch is not where it was expected,
/// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the name is taken, [`NotFound`](crate::ErrorKind::NotFound) if
/// there is no such ref, or [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): read the ref to find out.
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
