//! Commits and amended commits of a session.

use std::collections::BTreeMap;

use icefield::CommitOutcome;
use serde_json::Value;

use crate::errors::Failure;
use crate::solver::Solver;

/// The arguments of a commit.
pub(super) struct CommitRequest {
    pub(super) message: String,
    pub(super) metadata: BTreeMap<String, Value>,
    /// Rebases with this solver where another commit came first.
    pub(super) solver: Option<Solver>,
    /// The number of rebases at most.
    pub(super) tries: usize,
    pub(super) allow_empty: bool,
}

impl CommitRequest {
    pub(super) async fn run(self, session: icefield::Session) -> Result<String, Failure> {
        let mut commit = session.commit(self.message);
        for (name, value) in self.metadata {
            commit = commit.metadata(name, value);
        }
        if self.allow_empty {
            commit = commit.allow_empty();
        }
        if let Some(solver) = self.solver {
            // `tries` counts the rebases; the first commit comes on top.
            commit = commit
                .rebase_with(solver)
                .tries(self.tries.saturating_add(1));
        }
        commit_result(commit.await?)
    }
}

/// The arguments of an amended commit.
pub(super) struct AmendRequest {
    pub(super) message: String,
    pub(super) metadata: BTreeMap<String, Value>,
    pub(super) allow_empty: bool,
}

impl AmendRequest {
    pub(super) async fn run(self, session: icefield::Session) -> Result<String, Failure> {
        let mut amend = session.amend(self.message);
        for (name, value) in self.metadata {
            amend = amend.metadata(name, value);
        }
        if self.allow_empty {
            amend = amend.allow_empty();
        }
        commit_result(amend.await?)
    }
}

/// Returns the id of a commit, or the failure of one that did not land.
///
/// # Errors
/// The failure of every outcome but a commit.
pub(super) fn commit_result(outcome: CommitOutcome) -> Result<String, Failure> {
    match outcome {
        CommitOutcome::Committed(id) => Ok(id.to_string()),
        outcome => Err(Failure::of_commit(outcome)),
    }
}
