//! `icefield fsck`

mod repairs;

use std::io::{self, Write};
use std::sync::Arc;

use icefield::maintenance::{
    Check, CheckError, CheckReport, Finding, Repair, RepairError, RepairReport, Severity,
};
use icefield::{RefsError, RepositoryError, Settings};
use serde::Serialize;

use super::Context;
use super::found::no_alpha;
use crate::args::Fsck;
use crate::failure::{Exit, Failure};
use crate::interrupt::on_ctrl_c;
use crate::output::escape::printable;
use crate::output::{self, Output, count};
use crate::progress::Steps;

use repairs::{repair_text, repair_verdict};

/// Objects are looked at once: a small cache will do.
const CACHE_BYTES: u64 = 16 << 20;

#[derive(Serialize)]
struct Checked {
    location: String,
    sound: bool,
    #[serde(flatten)]
    report: CheckReport,
}

#[derive(Serialize)]
struct Repaired {
    location: String,
    dry_run: bool,
    #[serde(flatten)]
    report: RepairReport,
}

pub(super) async fn run(context: &Context, args: Fsck) -> Result<(), Failure> {
    let location = args.location.clone();
    let done = check(context, args).await;
    if let Err(failure) = &done
        && failure.exit == Exit::NotFound
        && let Ok(storage) = context.storage(&location).await
    {
        no_alpha(&location, &*storage).await?;
    }
    done
}

async fn check(context: &Context, args: Fsck) -> Result<(), Failure> {
    let storage = context.storage_of_repository(&args.location).await?;
    let settings = Settings::default().with_cache_bytes(CACHE_BYTES);
    let builder = context.builder(Arc::clone(&storage)).settings(settings);
    let mut check = Check::new(storage);
    // A repository does not open without its `repo`: what is wrong with that is said instead.
    let opens = args.revision.is_some() || args.r#virtual || args.drop_virtual;
    let is_unusable = opens && check.is_unusable().await.map_err(failed)?;
    if let Some(revision) = args.revision.as_ref().filter(|_| !is_unusable) {
        let repository = builder.clone().open().await?;
        let id = context.find(&repository, revision).await?;
        check = check.only(revision.to_string(), id);
    }
    if args.tips {
        check = check.tips_only();
    }
    if args.read {
        check = check.read_chunks();
    }
    if (args.r#virtual || args.drop_virtual) && !is_unusable {
        check = check.virtual_chunks(builder.clone().open().await?);
    }
    let location = output::location(&args.location);
    let bar = Steps::new();
    if !args.repair {
        let report = check.run(&bar).await;
        bar.clear();
        let report = report.map_err(failed)?;
        let verdict = verdict(&report);
        let facts = Checked {
            location,
            sound: report.is_sound(),
            report,
        };
        Output::new(args.facts).facts(&facts, |facts, out| check_text(&facts.report, out))?;
        return verdict;
    }
    let mut repair = Repair::new(check.interruptible(&on_ctrl_c()), builder);
    if args.dry_run {
        repair = repair.dry_run();
    }
    if args.drop_virtual {
        repair = repair.drop_virtual_chunks();
    }
    if args.give_up_unlisted {
        repair = repair.give_up_unlisted();
    }
    if let Some(branch) = args.restore_branch {
        repair = repair.restore_branch(branch);
    }
    let report = repair.run(&bar).await;
    bar.clear();
    let report = report.map_err(repair_failed)?;
    let verdict = repair_verdict(&report);
    let facts = Repaired {
        location,
        dry_run: args.dry_run,
        report,
    };
    Output::new(args.facts).facts(&facts, repair_text)?;
    verdict
}

fn failed(error: CheckError) -> Failure {
    match error {
        CheckError::NoRepository { location } => RepositoryError::NotFound { location }.into(),
        CheckError::NewerSpecVersion { location } => {
            RepositoryError::NewerSpecVersion { location }.into()
        }
        CheckError::Refs(error) => error.into(),
        CheckError::Fetch(error) => RepositoryError::Fetch(error).into(),
        CheckError::Storage(error) => RefsError::Storage(error).into(),
        CheckError::Interrupted(_) => Failure::new(Exit::Interrupted, error.to_string()),
        other => Failure::new(Exit::Failure, other.to_string()),
    }
}

fn repair_failed(error: RepairError) -> Failure {
    match error {
        RepairError::Check(error) => failed(error),
        RepairError::Repository(error) => error.into(),
        RepairError::Refs(error) => error.into(),
        RepairError::Interrupted(_) => Failure::new(Exit::Interrupted, error.to_string()),
        error @ RepairError::NotLost { .. } => Failure::new(Exit::Conflict, error.to_string()),
        error @ RepairError::NothingToRestore { .. } => {
            Failure::new(Exit::Damage, error.to_string())
        }
        other => Failure::new(Exit::Failure, other.to_string()),
    }
}

/// Damage is a failure, of its own exit code.
fn verdict(report: &CheckReport) -> Result<(), Failure> {
    match report.damage {
        0 => Ok(()),
        damage => {
            let failure = Failure::new(Exit::Damage, format!("{} found", damages(damage)));
            let mut tips = report.findings.iter().flat_map(|it| &it.tips);
            // Neither tags nor the past can be repaired.
            Err(match tips.any(|tip| tip.starts_with("branch:")) {
                true => failure.hint(
                    "`fsck --repair` makes commits that leave out what cannot be read; with --dry-run, it says what they would be",
                ),
                false => failure.hint("what is above says what to do"),
            })
        }
    }
}

fn damages(damage: u64) -> String {
    count(
        damage,
        "thing that is damaged was",
        "things that are damaged were",
    )
}

fn check_text(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut last = None;
    for (at, finding) in report.findings.iter().enumerate() {
        if last != Some(finding.kind) {
            let word = match finding.severity {
                Severity::Damage => "DAMAGE",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            let total = report.kinds.get(&finding.kind).copied().unwrap_or(1);
            writeln!(out, "{word}: {} ({total})", finding.kind.title())?;
            last = Some(finding.kind);
        }
        finding_text(finding, out)?;
        let next = report.findings.get(at + 1).map(|it| it.kind);
        if next != last {
            writeln!(out, "  what to do: {}", finding.next)?;
        }
    }
    if report.left_out > 0 {
        let more = count(report.left_out, "finding more is", "findings more are");
        writeln!(out, "{more} not listed here")?;
    }
    for proposal in &report.proposals {
        let branch = printable(&proposal.branch);
        match proposal.snapshot {
            Some(id) if report.spec_version > 1 && !proposal.lost => writeln!(
                out,
                "branch {branch} could be made to point to {id}, the nearest whole snapshot of its history"
            )?,
            Some(id) => writeln!(
                out,
                "branch {branch} could be made to point to {id}, the newest whole snapshot that no other branch reaches"
            )?,
            None => writeln!(
                out,
                "there is no whole snapshot that branch {branch} alone could have pointed to"
            )?,
        }
    }
    let verdict = match (report.damage, report.warnings) {
        (0, 0) => "sound".to_owned(),
        (0, warnings) => format!("sound, with {}", count(warnings, "warning", "warnings")),
        (damage, _) => format!("DAMAGED ({})", count(damage, "finding", "findings")),
    };
    let read = if report.chunks_read { ", all read" } else { "" };
    write!(
        out,
        "{verdict}: {}, {}, {}, {}, {} ({}{read})",
        count(report.refs, "ref", "refs"),
        count(report.snapshots, "snapshot", "snapshots"),
        count(report.manifests, "manifest", "manifests"),
        count(
            report.transaction_logs,
            "transaction log",
            "transaction logs"
        ),
        count(report.chunks, "chunk object", "chunk objects"),
        output::bytes(report.chunk_bytes),
    )?;
    if report.virtual_chunks > 0 {
        let chunks = count(report.virtual_chunks, "virtual chunk", "virtual chunks");
        write!(out, ", {chunks}")?;
        if report.foreign_objects > 0 {
            let files = count(report.foreign_objects, "file", "files");
            write!(out, " in {files}")?;
        }
    }
    if let Some(garbage) = report.garbage.as_ref().filter(|it| it.objects > 0) {
        let objects = count(garbage.objects, "object", "objects");
        write!(
            out,
            "; {objects} of garbage ({})",
            output::bytes(garbage.bytes)
        )?;
    }
    writeln!(out)
}

fn finding_text(finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
    let (key, rule) = (printable(&finding.key), printable(&finding.rule));
    match key.is_empty() {
        true => writeln!(out, "  {rule} ({})", finding.count)?,
        false => writeln!(out, "  {key}: {rule}")?,
    }
    let mut place = Vec::new();
    if let Some(path) = &finding.path {
        let mut text = printable(path).into_owned();
        if let Some(index) = &finding.index {
            text = match finding.count {
                0 | 1 => format!("{text} chunk {index:?}"),
                more => format!("{text} chunk {index:?} and {} more", more - 1),
            };
        }
        place.push(text);
    }
    if let Some(snapshot) = finding.snapshot {
        place.push(format!("since snapshot {snapshot}"));
    }
    if !finding.refs.is_empty() {
        place.push(format!("in the history of {}", names(&finding.refs)));
    }
    if !finding.tips.is_empty() {
        place.push(format!("seen now at {}", names(&finding.tips)));
    }
    match place.is_empty() {
        true => Ok(()),
        false => writeln!(out, "    {}", place.join(", ")),
    }
}

/// Some names, and how many more there are.
fn names(names: &[String]) -> String {
    const MOST: usize = 4;
    let mut text = names
        .iter()
        .take(MOST)
        .map(|it| printable(it))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > MOST {
        text.push_str(&format!(" and {} more", names.len() - MOST));
    }
    text
}
