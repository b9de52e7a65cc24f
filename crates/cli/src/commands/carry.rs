//! `icefield merge`, `cherry-pick` and `revert`

use std::io::{self, Write};

use icefield::{
    ApplyOutcome, BasicSolver, CommitOutcome, Conflict, Repository, Session, SnapshotId,
    VersionSelection,
};
use serde::Serialize;

use super::diff::ChangeFacts;
use super::{Context, dangling};
use crate::args::{Carry, OnConflict};
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output, count};

/// The operation that applies changes to the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CarryKind {
    Merge,
    CherryPick,
    Revert,
}

/// The hint for conflicts [`are_of_moved_nodes`].
pub(super) const FOLLOW_MOVES: &str =
    "`--follow-moves` applies changes to moved arrays and groups at their new paths";

#[derive(Serialize)]
struct CarryFacts {
    location: String,
    branch: String,
    /// `committed`, `nothing to do`, or `conflicts`.
    outcome: &'static str,
    source: SnapshotId,
    snapshot_id: Option<SnapshotId>,
    changes: Option<ChangeFacts>,
    conflicts: Vec<ConflictFacts>,
}

#[derive(Serialize)]
struct ConflictFacts {
    kind: &'static str,
    path: String,
    chunks: Vec<Vec<u32>>,
    message: String,
}

pub(super) async fn run(context: &Context, kind: CarryKind, args: Carry) -> Result<(), Failure> {
    let (repository, source) = context.open_at(&args.location, &args.revision).await?;
    let session = repository.write_session(args.branch.clone()).await?;
    let solver = solver(&args);
    let applied = match kind {
        CarryKind::Merge => session.merge(source, &solver).await,
        CarryKind::CherryPick => session.cherry_pick(source, &solver).await,
        CarryKind::Revert => session.revert(source, &solver).await,
    };
    let applied = applied.map_err(|error| dangling(&args.revision, error))?;
    let mut carried = CarryFacts {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        outcome: "committed",
        source,
        snapshot_id: None,
        changes: None,
        conflicts: Vec::new(),
    };
    let mut out = Output::new(args.output);
    let conflicts = match applied {
        ApplyOutcome::Applied(diff) => {
            carried.changes = Some(ChangeFacts::of(diff));
            let message = message(&repository, kind, &args, source).await?;
            match commit(&session, message, solver).await? {
                Ok(snapshot) => {
                    carried.snapshot_id = Some(snapshot);
                    return out.facts(&carried, text);
                }
                Err(conflicts) => conflicts,
            }
        }
        ApplyOutcome::Conflicts(conflicts) => conflicts,
        _ => {
            carried.outcome = "nothing to do";
            return out.facts(&carried, text);
        }
    };
    carried.outcome = "conflicts";
    carried.conflicts = conflicts.iter().map(ConflictFacts::of).collect();
    out.facts(&carried, text)?;
    let number = count(conflicts.len() as u64, "conflict", "conflicts");
    let message = format!(
        "{number} with branch {}: nothing was committed",
        args.branch
    );
    let hint = match are_of_moved_nodes(&conflicts) {
        true => FOLLOW_MOVES,
        false => "`--on-conflict source` or `--on-conflict branch` says which side stays",
    };
    Err(Failure::new(Exit::Conflict, message).hint(hint))
}

/// Commits. If the branch has moved, the commit rebases the changes.
async fn commit(
    session: &Session,
    message: String,
    solver: BasicSolver,
) -> Result<Result<SnapshotId, Vec<Conflict>>, Failure> {
    let outcome = session.commit(message).rebase_with(solver).await;
    match outcome.map_err(icefield::Error::from)? {
        CommitOutcome::Conflicts { conflicts, .. } => Ok(Err(conflicts)),
        outcome => Ok(Ok(icefield::committed(outcome)?)),
    }
}

fn solver(args: &Carry) -> BasicSolver {
    // For the solver, the applied changes are ours, and the changes of the branch are theirs.
    let selection = match args.on_conflict {
        OnConflict::Fail => VersionSelection::Fail,
        OnConflict::Source => VersionSelection::UseOurs,
        OnConflict::Branch => VersionSelection::UseTheirs,
    };
    following(BasicSolver::of(selection), args.follow_moves)
}

/// Returns the solver, which follows moves if `follow_moves` is set.
pub(super) fn following(solver: BasicSolver, follow_moves: bool) -> BasicSolver {
    match follow_moves {
        true => solver.follow_moves(),
        false => solver,
    }
}

/// Returns whether `--follow-moves` would resolve all conflicts.
pub(super) fn are_of_moved_nodes(conflicts: &[Conflict]) -> bool {
    let mut conflicts = conflicts.iter();
    conflicts.all(|it| matches!(it, Conflict::EditOfMovedNode { .. }))
}

async fn message(
    repository: &Repository,
    kind: CarryKind,
    args: &Carry,
    source: SnapshotId,
) -> Result<String, Failure> {
    if let Some(message) = &args.message {
        return Ok(message.clone());
    }
    let what = || async {
        let info = repository.snapshot_info(source).await?;
        Ok::<_, Failure>(format!("{source}: {}", info.message))
    };
    Ok(match kind {
        CarryKind::Merge => format!("Merge {} into {}", args.revision, args.branch),
        CarryKind::CherryPick => format!("Cherry-pick {}", what().await?),
        CarryKind::Revert => format!("Revert {}", what().await?),
    })
}

impl ConflictFacts {
    fn of(conflict: &Conflict) -> Self {
        let chunks = conflict.chunks().into_iter().flatten();
        Self {
            kind: conflict.kind(),
            path: conflict.path().to_string(),
            chunks: chunks.map(|index| index.to_vec()).collect(),
            message: conflict.to_string(),
        }
    }
}

fn text(facts: &CarryFacts, out: &mut dyn Write) -> io::Result<()> {
    let branch = printable(&facts.branch);
    for conflict in &facts.conflicts {
        writeln!(out, "! {}", printable(&conflict.message))?;
    }
    match (&facts.snapshot_id, &facts.changes) {
        (Some(snapshot), Some(changes)) => {
            changes.text(out)?;
            writeln!(out, "committed {snapshot} to {branch}")
        }
        _ if facts.conflicts.is_empty() => {
            writeln!(out, "{branch} has all of {} already", facts.source)
        }
        _ => Ok(()),
    }
}
