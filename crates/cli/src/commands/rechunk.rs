//! `icefield rechunk`

use std::io::{self, Write};
use std::sync::Arc;

use icefield::SnapshotId;
use icefield::ingest::{self, ArrayLayout, RechunkPlan};
use serde::Serialize;

use super::Context;
use crate::args::Rechunk;
use crate::failure::{Exit, Failure};
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::ChunkProgress;

/// The chunk layout of an array.
#[derive(Serialize)]
struct LayoutFacts {
    chunk_shape: Vec<u64>,
    shard_shape: Option<Vec<u64>>,
    codecs: Vec<String>,
}

impl LayoutFacts {
    fn new(layout: ArrayLayout) -> Self {
        Self {
            chunk_shape: layout.chunk_shape,
            shard_shape: layout.shard_shape,
            codecs: layout.codecs,
        }
    }
}

#[derive(Serialize)]
struct RechunkFacts {
    location: String,
    branch: String,
    array: String,
    /// `committed`, or `unchanged` if the array has the layout already.
    outcome: &'static str,
    snapshot_id: Option<SnapshotId>,
    before: LayoutFacts,
    after: LayoutFacts,
    chunks_before: u64,
    bytes_before: u64,
    chunks: u64,
    bytes: u64,
    decoded_chunks: u64,
}

#[derive(Serialize)]
struct RechunkPlanFacts {
    location: String,
    branch: String,
    array: String,
    /// `planned`, or `unchanged` if the array has the layout already.
    outcome: &'static str,
    shape: Vec<u64>,
    before: LayoutFacts,
    after: LayoutFacts,
    chunks_before: u64,
    bytes_before: u64,
    chunks: u64,
    element_bytes: u64,
    decodes: u64,
    held_bytes: u64,
}

pub(super) async fn run(context: &Context, args: Rechunk) -> Result<(), Failure> {
    let layout = args.laid.layout();
    if layout.is_kept() {
        return Err(Failure::new(Exit::Usage, "no option changes the layout")
            .hint("give --chunks DIM=N, --shards DIM=N or --codec CODEC"));
    }
    let repository = context.open(&args.location).await?;
    let bar = Arc::new(ChunkProgress::new("committing"));
    let rechunk = ingest::Rechunk::new(args.array.clone(), layout)
        .progress(Arc::<ChunkProgress>::clone(&bar))
        .interruptible(&on_ctrl_c());
    if args.dry_run {
        let session = repository.read_session(args.branch.clone()).await?;
        let plan = rechunk.plan(&session).await?;
        return Output::new(args.output).facts(&planned(&args, plan), plan_text);
    }
    let default = || format!("Rechunk {}", args.array);
    let message = args.message.clone().unwrap_or_else(default);
    let done = rechunk
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
    let facts = RechunkFacts {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        array: args.array.to_string(),
        outcome: match snapshot_id {
            Some(_) => "committed",
            None => "unchanged",
        },
        snapshot_id,
        before: LayoutFacts::new(report.before),
        after: LayoutFacts::new(report.after),
        chunks_before: report.chunks_before,
        bytes_before: report.bytes_before,
        chunks: report.chunks,
        bytes: report.bytes,
        decoded_chunks: report.decoded,
    };
    Output::new(args.output).facts(&facts, text)
}

fn planned(args: &Rechunk, plan: RechunkPlan) -> RechunkPlanFacts {
    RechunkPlanFacts {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        array: args.array.to_string(),
        outcome: match plan.is_needed {
            true => "planned",
            false => "unchanged",
        },
        shape: plan.shape,
        before: LayoutFacts::new(plan.before),
        after: LayoutFacts::new(plan.after),
        chunks_before: plan.chunks_before,
        bytes_before: plan.bytes_before,
        chunks: plan.chunks,
        element_bytes: plan.element_bytes,
        decodes: plan.decodes,
        held_bytes: plan.held,
    }
}

fn text(facts: &RechunkFacts, out: &mut dyn Write) -> io::Result<()> {
    let Some(id) = facts.snapshot_id else {
        return unchanged(&facts.array, out);
    };
    writeln!(
        out,
        "committed {id} to {}: {} has {} ({}) instead of {} ({})",
        printable(&facts.branch),
        printable(&facts.array),
        count(facts.chunks, unit(&facts.after), units(&facts.after)),
        output::bytes(facts.bytes),
        count(
            facts.chunks_before,
            unit(&facts.before),
            units(&facts.before)
        ),
        output::bytes(facts.bytes_before),
    )
}

fn plan_text(plan: &RechunkPlanFacts, out: &mut dyn Write) -> io::Result<()> {
    if plan.outcome == "unchanged" {
        return unchanged(&plan.array, out);
    }
    let shape = lengths_text(&plan.shape);
    writeln!(out, "{} ({shape}):", printable(&plan.array))?;
    writeln!(
        out,
        "  now   {}: {} ({})",
        described(&plan.before),
        count(plan.chunks_before, unit(&plan.before), units(&plan.before)),
        output::bytes(plan.bytes_before)
    )?;
    writeln!(
        out,
        "  then  {}: {} at most ({} of elements)",
        described(&plan.after),
        count(plan.chunks, unit(&plan.after), units(&plan.after)),
        output::bytes(plan.element_bytes)
    )?;
    writeln!(
        out,
        "{} decoded at most, with {} in memory",
        count(plan.decodes, unit(&plan.before), units(&plan.before)),
        output::bytes(plan.held_bytes)
    )?;
    writeln!(out, "nothing was written")
}

fn unchanged(array: &str, out: &mut dyn Write) -> io::Result<()> {
    let array = printable(array);
    writeln!(
        out,
        "{array} already has these chunks and codecs: nothing to do"
    )
}

/// Returns the word for the unit that is stored as one object.
fn unit(layout: &LayoutFacts) -> &'static str {
    match layout.shard_shape {
        Some(_) => "shard",
        None => "chunk",
    }
}

fn units(layout: &LayoutFacts) -> &'static str {
    match layout.shard_shape {
        Some(_) => "shards",
        None => "chunks",
    }
}

/// Returns a layout in a few words: `chunks of 24 x 90 in shards of 240 x 180, zstd`.
fn described(layout: &LayoutFacts) -> String {
    let mut text = format!("chunks of {}", lengths_text(&layout.chunk_shape));
    if let Some(shards) = &layout.shard_shape {
        text = format!("{text} in shards of {}", lengths_text(shards));
    }
    let codecs: Vec<_> = layout.codecs.iter().map(|it| printable(it)).collect();
    format!("{text}, {}", codecs.join(" "))
}

fn lengths_text(lengths: &[u64]) -> String {
    match lengths.is_empty() {
        true => "one element".to_owned(),
        false => {
            let lengths: Vec<String> = lengths.iter().map(ToString::to_string).collect();
            lengths.join(" x ")
        }
    }
}
