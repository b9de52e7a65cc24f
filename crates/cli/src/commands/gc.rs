//! `icefield gc`

use std::io::{self, Write};
use std::sync::Arc;

use icefield::maintenance::{ClocksApart, Collect, CollectError, CollectReport, Swept, TimeSource};
use icefield::storage::with_causes;
use serde::Serialize;

use super::Context;
use super::copy::CACHE;
use crate::args::Gc;
use crate::failure::{Exit, Failure};
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct CollectFacts {
    location: String,
    #[serde(flatten)]
    report: CollectReport,
    total: Swept,
}

pub(super) async fn run(context: &Context, args: Gc) -> Result<(), Failure> {
    let repository = context.open_with_cache(&args.location, CACHE).await?;
    let bar = Arc::new(StepProgress::new());
    let mut collect = Collect::default()
        .floor(args.older_than)
        .dry_run(args.dry_run)
        .whole(args.whole)
        .rate(args.rate)
        .progress(Arc::<StepProgress>::clone(&bar))
        .interruptible(&on_ctrl_c());
    if args.force_age {
        collect = collect.force_floor();
    }
    let collected = collect.run(&repository).await;
    bar.clear();
    let report = collected.map_err(failed)?;
    let failures = report.total().failed;
    let facts = CollectFacts {
        location: output::location(&args.location),
        total: report.total(),
        report,
    };
    Output::new(args.output).facts(&facts, text)?;
    match failures {
        0 => Ok(()),
        failures => Err(Failure::new(
            Exit::Failure,
            format!("{failures} objects could not be deleted"),
        )
        .hint("run the command again: it deletes the rest")),
    }
}

fn text(facts: &CollectFacts, out: &mut dyn Write) -> io::Result<()> {
    let report = &facts.report;
    let verb = if report.dry_run {
        "would delete"
    } else {
        "deleted"
    };
    for (one, many, swept) in [
        ("snapshot", "snapshots", &report.snapshots),
        (
            "transaction log",
            "transaction logs",
            &report.transaction_logs,
        ),
        ("manifest", "manifests", &report.manifests),
        ("chunk object", "chunk objects", &report.chunks),
        ("backup", "backups", &report.backups),
        ("lease", "leases", &report.leases),
    ] {
        if swept.deleted > 0 {
            let (number, bytes) = (
                count(swept.deleted, one, many),
                output::bytes(swept.deleted_bytes),
            );
            writeln!(out, "{verb} {number} ({bytes})")?;
        }
    }
    for (key, reason) in &report.failures {
        writeln!(
            out,
            "not deleted: {}: {}",
            printable(key),
            printable(reason)
        )?;
    }
    if report.stopped_early {
        writeln!(out, "objects that those snapshots refer to were kept")?;
    }
    for (key, date) in &report.dated_ahead.keys {
        let date = output::time(icefield::time_of_micros(*date));
        writeln!(
            out,
            "kept: {} has the date {date}, which lies in the future",
            printable(key)
        )?;
    }
    let unnamed = report.dated_ahead.objects - report.dated_ahead.keys.len() as u64;
    if unnamed > 0 {
        writeln!(out, "kept: {unnamed} more with dates in the future")?;
    }
    if report.time_source == TimeSource::ThisMachine {
        writeln!(
            out,
            "the store takes no writes and cannot be asked for the time: ages are by this machine's clock"
        )?;
    }
    let cutoff = output::time(icefield::time_of_micros(report.cutoff));
    if let Some(lease) = &report.held_back_by {
        writeln!(
            out,
            "an open session ({}) keeps objects younger than {cutoff}",
            printable(lease)
        )?;
    }
    let total = &facts.total;
    let (kept, young) = (
        output::bytes(total.kept_bytes),
        output::bytes(total.young_bytes),
    );
    writeln!(
        out,
        "{} {verb} ({}), {} in use ({kept}), {} too young to tell ({young})",
        count(total.deleted, "object", "objects"),
        output::bytes(total.deleted_bytes),
        count(total.kept, "object", "objects"),
        total.young,
    )
}

/// Describes the times of both clocks.
pub(super) fn clocks(apart: &ClocksApart) -> String {
    let (store, host) = (
        output::time(apart.store_time),
        output::time(apart.host_time),
    );
    format!("the store dates a new object {store}, and this machine's clock shows {host}")
}

fn failed(error: CollectError) -> Failure {
    let said = with_causes(&error);
    match error {
        CollectError::FloorTooLow { .. } => Failure::new(Exit::Usage, said)
            .hint("--force-age allows it, which is safe only when no other process uses the repository"),
        CollectError::Interrupted(_) => Failure::new(Exit::Interrupted, said),
        CollectError::PutBack => Failure::new(Exit::Damage, said)
            .hint("`icefield fsck` names the snapshots that `repo` does not list"),
        CollectError::Running | CollectError::TakenOver => Failure::new(Exit::Conflict, said),
        CollectError::Marks { .. } => Failure::new(Exit::Failure, said)
            .hint("`icefield gc --whole` marks everything again; no object in use was deleted"),
        CollectError::Snapshot { .. }
        | CollectError::Manifest(_)
        | CollectError::Reference(_) => Failure::new(Exit::Damage, said)
            .hint("nothing was deleted after this; `icefield fsck` shows the damage, and may repair it"),
        CollectError::Refs(error) => error.into(),
        CollectError::Repository(error) => error.into(),
        CollectError::Storage(error) => icefield::RepositoryError::from(error).into(),
        CollectError::ClocksApart(apart) => Failure::new(Exit::Failure, said).hint(clocks(&apart)),
        CollectError::ClockWentBack { began, now, .. } => {
            let (began, now) = (output::time(began), output::time(now));
            let clocks = format!("the store dated a new object {began} at first, and {now} now");
            Failure::new(Exit::Failure, said).hint(clocks)
        }
        _ => Failure::new(Exit::Failure, said),
    }
}
