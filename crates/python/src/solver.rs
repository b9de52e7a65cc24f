//! Conflict solvers, parsed from JSON.

use async_trait::async_trait;
use icefield::storage::BoxError;
use icefield::{BasicSolver, Conflict, ConflictSolver, Detector, Resolution, VersionSelection};
use serde_json::Value;

use crate::errors::Failure;

/// A conflict solver.
#[derive(Debug)]
pub(crate) enum Solver {
    /// Finds conflicts, and resolves none.
    Detect(Detector),
    /// Resolves each kind of conflict by a fixed rule.
    Settle(BasicSolver),
}

impl Solver {
    /// Parses
    /// `{"detector": "strict", "on_chunk_conflict": "ours", "fail_on_delete_of_updated_array": false, …}`.
    pub(crate) fn from_json(document: &str) -> Result<Self, Failure> {
        let wrong = |problem: &str| {
            let message = format!("this is no description of a conflict solver: {problem}");
            Failure::new("invalid-commit-configuration", message)
        };
        let value: Value =
            serde_json::from_str(document).map_err(|error| wrong(&error.to_string()))?;
        let detector = match value["detector"].as_str() {
            Some("strict") => Detector::Strict,
            Some("compatible") => Detector::Compatible,
            _ => return Err(wrong("its detector is neither strict nor compatible")),
        };
        let on_chunk_conflict = match &value["on_chunk_conflict"] {
            Value::Null => return Ok(Self::Detect(detector)),
            Value::String(answer) => match answer.as_str() {
                "fail" => VersionSelection::Fail,
                "ours" => VersionSelection::UseOurs,
                "theirs" => VersionSelection::UseTheirs,
                _ => return Err(wrong("its answer to chunks is none of fail, ours, theirs")),
            },
            _ => return Err(wrong("its answer to chunks is no text")),
        };
        let on_delete = |name: &str| match value[name].as_bool() {
            Some(true) => VersionSelection::Fail,
            _ => VersionSelection::UseOurs,
        };
        let mut solver = BasicSolver::default();
        solver.detector = detector;
        solver.on_chunk_conflict = on_chunk_conflict;
        solver.on_delete_of_updated_array = on_delete("fail_on_delete_of_updated_array");
        solver.on_delete_of_updated_group = on_delete("fail_on_delete_of_updated_group");
        if value["follow_moves"].as_bool() == Some(true) {
            solver = solver.follow_moves();
        }
        Ok(Self::Settle(solver))
    }

    /// Swaps ours and theirs. For changes that are applied to a branch, the core calls those changes ours, whereas users call the
    /// changes of the branch so.
    pub(crate) fn of_branch(self) -> Self {
        let changed = |selection| match selection {
            VersionSelection::UseOurs => VersionSelection::UseTheirs,
            VersionSelection::UseTheirs => VersionSelection::UseOurs,
            other => other,
        };
        match self {
            Self::Settle(mut solver) => {
                solver.on_chunk_conflict = changed(solver.on_chunk_conflict);
                Self::Settle(solver)
            }
            detect @ Self::Detect(_) => detect,
        }
    }

    fn inner(&self) -> &dyn ConflictSolver {
        match self {
            Self::Detect(detector) => detector,
            Self::Settle(solver) => solver,
        }
    }
}

#[async_trait]
impl ConflictSolver for Solver {
    fn detector(&self) -> Detector {
        self.inner().detector()
    }

    async fn solve(
        &self,
        conflict: &Conflict,
        ours: &icefield::Session,
        before: &icefield::Session,
        theirs: &icefield::Session,
    ) -> Result<Resolution, BoxError> {
        self.inner().solve(conflict, ours, before, theirs).await
    }
}
