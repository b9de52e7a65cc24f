//! `icefield mv`

use icefield::{BasicSolver, CommitOutcome, SnapshotId, VersionSelection};
use serde::Serialize;

use super::Context;
use super::carry::{FOLLOW_MOVES, are_of_moved_nodes, following};
use crate::args::Mv;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct MoveFacts {
    location: String,
    branch: String,
    from: String,
    to: String,
    snapshot_id: SnapshotId,
}

pub(super) async fn run(context: &Context, args: Mv) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let session = repository.write_session(args.branch.clone()).await?;
    session.move_node(&args.from, &args.to).await?;
    let message = match args.message {
        Some(message) => message,
        None => format!("Move {} to {}", args.from, args.to),
    };
    let solver = following(BasicSolver::of(VersionSelection::Fail), args.follow_moves);
    let outcome = session.commit(message).rebase_with(solver).await;
    let outcome = outcome.map_err(icefield::Error::from)?;
    if let CommitOutcome::Conflicts { conflicts, .. } = &outcome {
        let reasons: Vec<_> = conflicts.iter().map(ToString::to_string).collect();
        let message = format!("{}: nothing was committed", printable(&reasons.join("; ")));
        let failure = Failure::new(Exit::Conflict, message);
        return Err(match are_of_moved_nodes(conflicts) {
            true => failure.hint(FOLLOW_MOVES),
            false => failure,
        });
    }
    let snapshot_id = icefield::committed(outcome)?;
    let facts = MoveFacts {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        from: args.from.to_string(),
        to: args.to.to_string(),
        snapshot_id,
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        let (from, to) = (printable(&facts.from), printable(&facts.to));
        let branch = printable(&facts.branch);
        writeln!(
            out,
            "moved {from} to {to}: committed {} to {branch}",
            facts.snapshot_id
        )
    })
}
