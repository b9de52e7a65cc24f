//! `icefield amend`

use icefield::{Error, SnapshotId};
use serde::Serialize;

use super::Context;
use crate::args::Amend;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output};

#[derive(Serialize)]
struct Amended {
    location: String,
    branch: String,
    /// The replaced snapshot. It is readable by its id until a collection deletes it.
    previous: SnapshotId,
    snapshot_id: SnapshotId,
    message: String,
}

pub(super) async fn run(context: &Context, args: Amend) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let session = repository.write_session(args.branch.clone()).await?;
    let previous = session.snapshot_id()?;
    let was = repository.snapshot_info(previous).await?;
    let message = args.message.unwrap_or(was.message);
    let mut amend = session.amend(message.clone()).allow_empty();
    for (name, value) in was.metadata.into_iter().chain(args.metadata) {
        amend = amend.metadata(name, value);
    }
    let snapshot_id = icefield::committed(amend.await.map_err(Error::from)?)?;
    let facts = Amended {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        previous,
        snapshot_id,
        message,
    };
    Output::new(args.output).facts(&facts, |facts, out| {
        writeln!(
            out,
            "amended {}: {} is the tip of {} now",
            facts.previous,
            facts.snapshot_id,
            printable(&facts.branch)
        )
    })
}
