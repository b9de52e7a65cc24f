//! `icefield downgrade`

use std::io::{self, Write};

use icefield::maintenance::{DowngradeReport, DowngradeRepository, NotCarried, NotCarriedKind};
use serde::Serialize;

use super::Context;
use super::copy::{self, CACHE};
use super::found::no_alpha;
use crate::args::Downgrade;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

/// The number of items of one kind that text output names; `--json` lists all.
const NAMED: usize = 3;

#[derive(Serialize)]
struct DowngradeFacts {
    source: String,
    destination: String,
    #[serde(flatten)]
    report: DowngradeReport,
}

pub(super) async fn run(context: &Context, args: Downgrade) -> Result<(), Failure> {
    let source = context.open_with_cache(&args.source, CACHE).await?;
    let destination = context.storage(&args.destination).await?;
    no_alpha(&args.destination, &*destination).await?;
    let bar = StepProgress::new();
    let mut downgrade = DowngradeRepository::new()
        .refs(args.part.refs)
        .leave_out(args.leave_out)
        .force(args.force)
        .dry_run(args.dry_run);
    if let Some(depth) = args.part.depth {
        downgrade = downgrade.depth(depth.get());
    }
    let done = downgrade.run(&source, destination, &bar).await;
    bar.clear();
    let facts = DowngradeFacts {
        source: output::location(&args.source),
        destination: output::location(&args.destination),
        report: done.map_err(copy::failure)?,
    };
    Output::new(args.output).facts(&facts, text)
}

fn text(facts: &DowngradeFacts, out: &mut dyn Write) -> io::Result<()> {
    let report = &facts.report;
    copy::report(&facts.source, &facts.destination, &report.copy, out)?;
    if !report.left_out.is_empty() {
        writeln!(out, "left out: {}", printable(&report.left_out.join(", ")))?;
    }
    writeln!(out, "not carried:")?;
    let mut rest = &report.not_carried[..];
    // They are sorted by kind.
    while let Some(first) = rest.first() {
        let (same, others) = rest.split_at(rest.partition_point(|it| it.kind <= first.kind));
        of_kind(first.kind, same, out)?;
        rest = others;
    }
    Ok(())
}

fn of_kind(kind: NotCarriedKind, all: &[NotCarried], out: &mut dyn Write) -> io::Result<()> {
    if kind == NotCarriedKind::OperationsLog {
        return writeln!(out, "  {kind}");
    }
    writeln!(out, "  {kind}:")?;
    for it in all.iter().take(NAMED) {
        writeln!(out, "    {}", printable(&it.to_string()))?;
    }
    match all.len().saturating_sub(NAMED) {
        0 => Ok(()),
        more => writeln!(out, "    and {}", count(more as u64, "other", "others")),
    }
}
