//! `icefield fsck`

mod findings;
mod repairs;

use std::sync::Arc;

use icefield::maintenance::{Check, CheckError, CheckReport, Repair, RepairError};
use icefield::{RefsError, RepositoryError, Settings};
use serde::Serialize;

use super::Context;
use super::found::no_alpha;
use crate::args::Fsck;
use crate::failure::{Exit, Failure};
use crate::interrupt::on_ctrl_c;
use crate::output::{self, Output, count};
use crate::progress::StepProgress;

use findings::check_text;
use repairs::{RepairFacts, repair_text, repair_verdict};

/// Bytes of cached metadata. A check reads each object once, so a small cache is enough.
const CACHE_BYTES: u64 = 16 << 20;

#[derive(Serialize)]
struct CheckFacts {
    location: String,
    sound: bool,
    #[serde(flatten)]
    report: CheckReport,
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
    // A repository does not open without a readable `repo`: the check reports that damage instead.
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
    let bar = StepProgress::new();
    if !args.repair {
        let report = check.run(&bar).await;
        bar.clear();
        let report = report.map_err(failed)?;
        let verdict = verdict(&report);
        let facts = CheckFacts {
            location,
            sound: report.is_sound(),
            report,
        };
        Output::new(args.output).facts(&facts, |facts, out| check_text(&facts.report, out))?;
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
    let facts = RepairFacts {
        location,
        dry_run: args.dry_run,
        report,
    };
    Output::new(args.output).facts(&facts, repair_text)?;
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

/// Damage ends the command with its own exit code.
fn verdict(report: &CheckReport) -> Result<(), Failure> {
    match report.damage {
        0 => Ok(()),
        damage => {
            let failure = Failure::new(Exit::Damage, format!("{} found", damages(damage)));
            let mut tips = report.findings.iter().flat_map(|it| &it.tips);
            // A repair changes branches only, neither tags nor earlier snapshots.
            Err(match tips.any(|tip| tip.starts_with("branch:")) {
                true => failure.hint(
                    "`fsck --repair` commits to branches without the unreadable parts; with --dry-run, it shows those commits",
                ),
                false => failure.hint("the findings above say what to do"),
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
