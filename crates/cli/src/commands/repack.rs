//! `icefield repack`

use std::io::{self, Write};

use icefield::maintenance::{Amount, RepackReport};
use icefield::{Error, SnapshotId};
use serde::Serialize;

use super::Context;
use super::copy::CACHE;
use crate::args::Repack;
use crate::failure::Failure;
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::table::Columns;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct RepackFacts {
    location: String,
    branch: String,
    /// `committed`, `planned`, or `unchanged` if there was nothing to do.
    outcome: &'static str,
    snapshot_id: Option<SnapshotId>,
    arrays: Vec<ArrayFacts>,
    /// The chunks that are written anew.
    chunks: Amount,
    /// The objects that it lay in.
    before: Amount,
    live_bytes_before: u64,
    after: Amount,
}

#[derive(Serialize)]
struct ArrayFacts {
    path: String,
    chunks: Amount,
}

pub(super) async fn run(context: &Context, args: Repack) -> Result<(), Failure> {
    let repository = context.open_with_cache(&args.location, CACHE).await?;
    let bar = StepProgress::new();
    let repack = args.repacking().interruptible(&on_ctrl_c());
    let repacked = repack.run(&repository, &bar).await;
    bar.clear();
    let RepackReport {
        arrays,
        chunks,
        before,
        live_before,
        after,
        outcome,
        ..
    } = repacked.map_err(Error::from)?;
    let snapshot_id = outcome.map(icefield::committed).transpose()?;
    let facts = RepackFacts {
        location: output::location(&args.location),
        branch: args.branch.to_string(),
        outcome: match (snapshot_id, chunks.count) {
            (Some(_), _) => "committed",
            (None, 0) => "unchanged",
            (None, _) => "planned",
        },
        snapshot_id,
        arrays: arrays
            .into_iter()
            .map(|array| ArrayFacts {
                path: array.path.to_string(),
                chunks: array.chunks,
            })
            .collect(),
        chunks,
        before,
        live_bytes_before: live_before,
        after,
    };
    Output::new(args.output).facts(&facts, text)
}

fn text(facts: &RepackFacts, out: &mut dyn Write) -> io::Result<()> {
    if facts.chunks.count == 0 {
        return writeln!(out, "all chunks lie as they should: nothing to do");
    }
    let mut table = Columns::new(&["array", ">chunks", ">bytes"]);
    for array in &facts.arrays {
        table.row([
            printable(&array.path).to_string(),
            array.chunks.count.to_string(),
            output::bytes(array.chunks.bytes),
        ]);
    }
    table.write(out)?;
    let objects = |amount: Amount| {
        let bytes = output::bytes(amount.bytes);
        format!("{} ({bytes})", count(amount.count, "object", "objects"))
    };
    writeln!(
        out,
        "{} from {}, {} of it in use, to {}",
        count(facts.chunks.count, "chunk", "chunks"),
        objects(facts.before),
        output::bytes(facts.live_bytes_before),
        objects(facts.after),
    )?;
    match facts.snapshot_id {
        Some(id) => writeln!(out, "committed {id} to {}", printable(&facts.branch)),
        None => writeln!(out, "nothing was written"),
    }
}
