//! `icefield mv`

use icefield::{Detector, SnapshotId};
use serde::Serialize;

use super::Context;
use crate::args::Mv;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct Moved {
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
    let outcome = session.commit(message).rebase_with(Detector::Strict).await;
    let snapshot_id = icefield::committed(outcome.map_err(icefield::Error::from)?)?;
    let facts = Moved {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        from: args.from.to_string(),
        to: args.to.to_string(),
        snapshot_id,
    };
    Output::new(args.facts).facts(&facts, |facts, out| {
        let (from, to) = (printable(&facts.from), printable(&facts.to));
        let branch = printable(&facts.branch);
        writeln!(
            out,
            "moved {from} to {to}: committed {} to {branch}",
            facts.snapshot_id
        )
    })
}
