//! `icefield materialize`

use std::io::{self, Write};
use std::sync::Arc;

use icefield::SnapshotId;
use icefield::ingest;
use serde::Serialize;

use super::Context;
use crate::args::Materialize;
use crate::failure::{Exit, Failure};
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::ChunkProgress;

#[derive(Serialize)]
struct Materialized {
    location: String,
    branch: String,
    path: String,
    /// `None` if there was nothing to copy.
    snapshot_id: Option<SnapshotId>,
    arrays: u64,
    chunks: u64,
    bytes: u64,
}

pub(super) async fn run(context: &Context, args: Materialize) -> Result<(), Failure> {
    let repository = context.open(&args.location).await?;
    let bar = Arc::new(ChunkProgress::new("committing"));
    let default = || format!("Copy the virtual chunks of {}", args.path);
    let message = args.message.clone().unwrap_or_else(default);
    let done = ingest::Materialize::new(args.path.clone())
        .progress(Arc::<ChunkProgress>::clone(&bar))
        .interruptible(&on_ctrl_c())
        .run(&repository, args.branch.clone(), &message)
        .await;
    bar.clear();
    let (report, commit) = done?;
    let snapshot_id = match commit.map(icefield::committed) {
        None => None,
        Some(Ok(id)) => Some(id),
        Some(Err(error)) => {
            let failure = Failure::from(error);
            return Err(match failure.exit {
                Exit::Conflict => {
                    failure.hint("run the command again: it has not touched the branch")
                }
                _ => failure,
            });
        }
    };
    let facts = Materialized {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        path: args.path.to_string(),
        snapshot_id,
        arrays: report.arrays,
        chunks: report.chunks,
        bytes: report.bytes,
    };
    Output::new(args.output).facts(&facts, text)
}

fn text(facts: &Materialized, out: &mut dyn Write) -> io::Result<()> {
    let Some(id) = facts.snapshot_id else {
        let path = printable(&facts.path);
        return writeln!(out, "{path} has no virtual chunks: nothing to do");
    };
    let chunks = count(facts.chunks, "chunk", "chunks");
    let arrays = count(facts.arrays, "array", "arrays");
    let (branch, bytes) = (printable(&facts.branch), output::bytes(facts.bytes));
    writeln!(
        out,
        "committed {id} to {branch}: {chunks} of {arrays} copied ({bytes})"
    )
}
