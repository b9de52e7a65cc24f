//! Applying changes of one history to another: merge, cherry-pick, revert.

use icefield::ApplyOutcome;
use pyo3::prelude::*;

use crate::convert;
use crate::errors::Failure;
use crate::session::Session;
use crate::solver::Solver;
use crate::task::{Task, begin_to_the_end};

/// Applies the changes to the session, uncommitted. Returns whether there was anything to apply. `kind` is `merge`,
/// `cherry-pick` or `revert`.
#[pyfunction]
pub(crate) fn carry(
    py: Python<'_>,
    session: &Session,
    kind: &str,
    snapshot_id: &str,
    solver: &str,
) -> PyResult<Task> {
    let session = session.handle()?;
    let kind = CarryKind::of(kind)?;
    let source = convert::snapshot_id(snapshot_id)?;
    let solver = Solver::from_json(solver)?.of_branch();
    begin_to_the_end(py, async move {
        let applied = match kind {
            CarryKind::Merge => session.merge(source, &solver).await,
            CarryKind::CherryPick => session.cherry_pick(source, &solver).await,
            CarryKind::Revert => session.revert(source, &solver).await,
        };
        match applied? {
            ApplyOutcome::Applied(_) => Ok(true),
            ApplyOutcome::NothingToDo => Ok(false),
            ApplyOutcome::Conflicts(conflicts) => Err(Failure::of_conflicts(source, &conflicts)),
            other => Err(Failure::new(
                "unknown",
                format!("unexpected outcome {other:?}: this is a bug"),
            )),
        }
    })
}

#[derive(Clone, Copy)]
enum CarryKind {
    Merge,
    CherryPick,
    Revert,
}

impl CarryKind {
    fn of(text: &str) -> Result<Self, Failure> {
        Ok(match text {
            "merge" => Self::Merge,
            "cherry-pick" => Self::CherryPick,
            "revert" => Self::Revert,
            _ => {
                let problem = format!("{text:?} is none of merge, cherry-pick, revert");
                return Err(Failure::new("invalid-argument", problem));
            }
        })
    }
}
