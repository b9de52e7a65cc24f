//! `icefield upgrade`

use std::io::{self, Write};
use std::sync::Arc;

use icefield::maintenance::Progress;
use icefield::{UpgradeOptions, UpgradeReport, UpgradeStep};
use serde::Serialize;

use super::Context;
use super::found::FoundRepository;
use crate::args::Upgrade;
use crate::failure::Failure;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

#[derive(Serialize)]
struct UpgradeFacts {
    location: String,
    dry_run: bool,
    /// Whether an earlier upgrade was stopped, or version-1 programs have written since.
    resumed: bool,
    snapshots: u64,
    branches: u64,
    tags: u64,
    deleted_tags: u64,
    has_config: bool,
    carried_over: Vec<String>,
    removed_files: u64,
}

pub(super) async fn run(context: &Context, args: Upgrade) -> Result<(), Failure> {
    let storage = context.storage_of_repository(&args.location).await?;
    let builder = context.builder(Arc::clone(&storage));
    let bar = StepProgress::new();
    bar.stage("snapshots and files of version 1", None);
    let on_step = |_: UpgradeStep| {
        bar.more(1);
        bar.advance(1, 0);
    };
    let options = UpgradeOptions {
        on_step: &on_step,
        ..UpgradeOptions::default()
    };
    let upgraded = match args.dry_run {
        true => builder.plan_upgrade(&options).await,
        false => builder.upgrade(&options).await,
    };
    bar.clear();
    let report = FoundRepository::of(upgraded, storage).await?;
    let report = report.of_today(&args.location)?;
    let facts = UpgradeFacts::of(output::location(&args.location), args.dry_run, report);
    Output::new(args.output).facts(&facts, text)
}

impl UpgradeFacts {
    fn of(location: String, dry_run: bool, report: UpgradeReport) -> Self {
        Self {
            location,
            dry_run,
            resumed: report.resumed,
            snapshots: report.snapshots,
            branches: report.branches,
            tags: report.tags,
            deleted_tags: report.deleted_tags,
            has_config: report.has_config,
            carried_over: report.carried_over,
            removed_files: report.files,
        }
    }
}

fn text(facts: &UpgradeFacts, out: &mut dyn Write) -> io::Result<()> {
    let said = match (facts.dry_run, facts.resumed) {
        (true, false) => "would be upgraded to spec version 2",
        (true, true) => "has an object `repo`, and the upgrade would be completed",
        (false, _) => "has spec version 2 now",
    };
    writeln!(
        out,
        "{} {said}: {}, {}, {}, {}",
        printable(&facts.location),
        count(facts.snapshots, "snapshot", "snapshots"),
        count(facts.branches, "branch", "branches"),
        count(facts.tags, "tag", "tags"),
        count(
            facts.removed_files,
            "file of version 1 removed",
            "files of version 1 removed"
        ),
    )?;
    for carried in &facts.carried_over {
        writeln!(out, "carried over: {}", printable(carried))?;
    }
    Ok(())
}
