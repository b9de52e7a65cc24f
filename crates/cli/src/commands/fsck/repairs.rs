//! The report of a repair as text, and its exit code.

use std::io::{self, Write};

use icefield::maintenance::{
    BranchRepair, LogOutcome, RepairOutcome, RepairReport, RepoRepair, RestoredBranch,
};
use serde::Serialize;

use super::findings::check_text;
use crate::failure::{Exit, Failure};
use crate::output::escape::printable;
use crate::output::{self, count};

#[derive(Serialize)]
pub(super) struct RepairFacts {
    pub(super) location: String,
    pub(super) dry_run: bool,
    #[serde(flatten)]
    pub(super) report: RepairReport,
}

pub(super) fn repair_verdict(report: &RepairReport) -> Result<(), Failure> {
    let restored = report.restored.iter().map(|it| (&it.branch, &it.outcome));
    let branches = report.branches.iter().map(|it| (&it.branch, &it.outcome));
    let mut worst = Ok(());
    if let Some(repo) = &report.repo {
        match &repo.outcome {
            LogOutcome::Unknown { reason } => {
                let message = format!(
                    "it is not known whether `repo` is {} now: {reason}",
                    repo.from
                );
                let failure = Failure::new(Exit::Unknown, message);
                return Err(failure.hint("run it again: it looks at `repo` first"));
            }
            LogOutcome::Changed => {
                let message = "`repo` was written since it was checked";
                let failure = Failure::new(Exit::Conflict, message);
                return Err(failure.hint("run it again: it looks at `repo` first"));
            }
            LogOutcome::Failed { reason } => {
                let message = format!("`repo` was not put back: {reason}");
                return Err(Failure::new(Exit::Damage, message));
            }
            LogOutcome::Planned | LogOutcome::Done => {}
        }
    }
    for (branch, outcome) in restored.chain(branches) {
        match outcome {
            RepairOutcome::Unknown { snapshot, reason } => {
                let message = format!(
                    "it is not known whether branch {branch} points to {snapshot} now: {reason}"
                );
                let failure = Failure::new(Exit::Unknown, message);
                return Err(
                    failure.hint("run `icefield fsck` again: it shows where the branch points")
                );
            }
            RepairOutcome::BranchMoved => {
                let message = format!("branch {branch} was moved since it was checked");
                let failure = Failure::new(Exit::Conflict, message);
                worst = Err(failure.hint("run the command again: it has not touched the branch"));
            }
            RepairOutcome::Failed { reason } if worst.is_ok() => {
                let message = format!("branch {branch} could not be repaired: {reason}");
                worst = Err(Failure::new(Exit::Damage, message));
            }
            _ => {}
        }
    }
    for file in &report.renamed {
        let (from, to) = (&file.from, &file.to);
        match &file.outcome {
            LogOutcome::Unknown { reason } => {
                let message = format!("it is not known whether {from} is {to} now: {reason}");
                let failure = Failure::new(Exit::Unknown, message);
                return Err(failure.hint("run it again: it looks at both first"));
            }
            LogOutcome::Changed if worst.is_ok() => {
                let message = format!("{from} was written since it was checked");
                let failure = Failure::new(Exit::Conflict, message);
                worst = Err(failure.hint("run it again: it looks at it first"));
            }
            LogOutcome::Failed { reason } if worst.is_ok() => {
                let message = format!("{from} was not renamed: {reason}");
                worst = Err(Failure::new(Exit::Damage, message));
            }
            _ => {}
        }
    }
    for log in &report.logs {
        let of = log.log_of;
        match &log.outcome {
            LogOutcome::Unknown { reason } => {
                let message = format!(
                    "it is not known whether the transaction log of {of} was written: {reason}"
                );
                let failure = Failure::new(Exit::Unknown, message);
                return Err(failure.hint("run it again: it looks at the log first"));
            }
            LogOutcome::Changed if worst.is_ok() => {
                let message =
                    format!("the transaction log of {of} was written since it was checked");
                let failure = Failure::new(Exit::Conflict, message);
                worst = Err(failure.hint("run it again: it looks at the log first"));
            }
            LogOutcome::Failed { reason } if worst.is_ok() => {
                let message = format!("the transaction log of {of} was not written: {reason}");
                worst = Err(Failure::new(Exit::Damage, message));
            }
            _ => {}
        }
    }
    if worst.is_ok() && !report.left.is_empty() {
        let left = count(report.left.len() as u64, "thing", "things");
        let failure = Failure::new(
            Exit::Damage,
            format!("{left} could not be repaired, or only by a commit that was not made"),
        );
        worst = Err(failure.hint("the report above says what to do"));
    }
    worst
}

pub(super) fn repair_text(facts: &RepairFacts, out: &mut dyn Write) -> io::Result<()> {
    check_text(&facts.report.check, out)?;
    if let Some(repo) = &facts.report.repo {
        repo_text(repo, out)?;
    }
    for file in &facts.report.renamed {
        let (from, to) = (printable(&file.from), printable(&file.to));
        match &file.outcome {
            LogOutcome::Planned => writeln!(out, "{from} would be renamed to {to}")?,
            LogOutcome::Done => writeln!(out, "renamed {from} to {to}")?,
            LogOutcome::Changed => writeln!(
                out,
                "{from} was left alone: another program wrote it since it was checked"
            )?,
            LogOutcome::Unknown { reason } | LogOutcome::Failed { reason } => {
                writeln!(out, "{from} was not renamed: {}", printable(reason))?
            }
        }
    }
    for branch in &facts.report.restored {
        restored_text(branch, out)?;
    }
    for branch in &facts.report.branches {
        branch_text(branch, out)?;
    }
    for log in &facts.report.logs {
        let of = log.log_of;
        match &log.outcome {
            LogOutcome::Planned => {
                writeln!(out, "the transaction log of {of} would be written anew")?
            }
            LogOutcome::Done => writeln!(out, "wrote the transaction log of {of} anew")?,
            LogOutcome::Changed => writeln!(
                out,
                "the transaction log of {of} was left alone: another program wrote it since it was checked"
            )?,
            LogOutcome::Unknown { reason } | LogOutcome::Failed { reason } => writeln!(
                out,
                "the transaction log of {of} was not written: {}",
                printable(reason)
            )?,
        }
    }
    if let Some(left) = facts.report.unsettled {
        let snapshots = count(left, "snapshot is", "snapshots are");
        writeln!(
            out,
            "{snapshots} stored and not listed by the `repo` that was put back, and may be of acknowledged commits: `gc` and `expire` change nothing before `fsck --repair --restore-branch recovered/NAME` has made branches of them, or `fsck --repair --give-up-unlisted` gives them up"
        )?;
    }
    let report = &facts.report;
    let nothing =
        report.restored.is_empty() && report.branches.is_empty() && report.logs.is_empty();
    if nothing && report.renamed.is_empty() && report.repo.is_none() {
        writeln!(out, "no branch needs a repair")?;
    }
    Ok(())
}

fn restored_text(branch: &RestoredBranch, out: &mut dyn Write) -> io::Result<()> {
    let name = printable(&branch.branch);
    let place = branch
        .snapshot
        .map_or_else(|| "nowhere".to_owned(), |id| id.to_string());
    match &branch.outcome {
        RepairOutcome::Planned => writeln!(out, "branch {name} would be moved to {place}"),
        RepairOutcome::Done { .. } => writeln!(out, "branch {name} was moved to {place}"),
        other => writeln!(out, "branch {name} was not moved: {}", why(other)),
    }
}

fn branch_text(branch: &BranchRepair, out: &mut dyn Write) -> io::Result<()> {
    let name = printable(&branch.branch);
    match &branch.outcome {
        RepairOutcome::Planned => {
            writeln!(out, "a commit to {name}, which is {}, would", branch.from)?
        }
        RepairOutcome::Done { snapshot } => writeln!(
            out,
            "committed {snapshot} to {name}, which was {}, to",
            branch.from
        )?,
        other => writeln!(
            out,
            "nothing was committed to {name}: {}; a commit would",
            why(other)
        )?,
    }
    for array in &branch.arrays {
        let path = printable(&array.path);
        for (list, what) in [
            (&array.chunks, "chunk"),
            (&array.virtual_chunks, "virtual chunk"),
        ] {
            if !list.is_empty() {
                let chunks = count(list.len() as u64, what, &format!("{what}s"));
                let first: Vec<String> = list.iter().take(5).map(|it| format!("{it:?}")).collect();
                let more = if list.len() > 5 { ", …" } else { "" };
                writeln!(out, "  drop {chunks} of {path}: {}{more}", first.join(", "))?;
            }
        }
        for manifest in &array.manifests {
            writeln!(
                out,
                "  drop the chunk refs of {path} in manifest {manifest}"
            )?;
        }
        if array.refs_of_manifests > 0 {
            let refs = count(array.refs_of_manifests, "chunk ref", "chunk refs");
            writeln!(out, "    {refs}, as the snapshot says")?;
        }
        for right in &array.extents {
            writeln!(
                out,
                "  correct the extents of {path} in manifest {} to {:?}",
                right.manifest, right.extents
            )?;
        }
    }
    for path in &branch.dropped_nodes {
        writeln!(out, "  drop {}, which lies below an array", printable(path))?;
    }
    for path in &branch.created_groups {
        writeln!(out, "  create the group {}", printable(path))?;
    }
    Ok(())
}

fn repo_text(repo: &RepoRepair, out: &mut dyn Write) -> io::Result<()> {
    let as_of = output::time(icefield::time_of_micros(repo.as_of));
    let from = &repo.from;
    match &repo.outcome {
        LogOutcome::Planned => writeln!(
            out,
            "`repo` would be restored from {from}, as of {as_of}: no branch has later changes"
        )?,
        LogOutcome::Done => writeln!(
            out,
            "restored `repo` from {from}, as of {as_of}: no branch has later changes"
        )?,
        LogOutcome::Changed => writeln!(
            out,
            "`repo` was left alone: another program wrote it since it was checked"
        )?,
        LogOutcome::Unknown { reason } | LogOutcome::Failed { reason } => {
            writeln!(out, "`repo` was not put back: {}", printable(reason))?;
        }
    }
    match &repo.kept_aside {
        Some(key) => writeln!(out, "  the damaged object is kept as {key}"),
        None => Ok(()),
    }
}

fn why(outcome: &RepairOutcome) -> String {
    match outcome {
        RepairOutcome::BranchMoved => "another program moved it since it was checked".to_owned(),
        RepairOutcome::Unknown { reason, .. } | RepairOutcome::Failed { reason } => {
            printable(reason).into_owned()
        }
        RepairOutcome::Planned | RepairOutcome::Done { .. } => String::new(),
    }
}
