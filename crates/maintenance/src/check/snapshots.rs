//! One snapshot of a history, as far as it is not what its parent is: a check of all of them has checked everything
//! once, however many snapshots share a manifest.

mod arrays;
mod manifests;
mod moved;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::sync::Arc;

use icefield_format::{ManifestId, TransactionLog, layout};

use super::error::CheckError;
use super::finding::{Finding, FindingKind};
use super::job::{Context, Job, Verdict};
use super::logs::{self, Logged};
use super::nodes;
use super::objects::Broken;

use arrays::SnapshotCheck;

/// The advice for the log of a snapshot that expiration took out.
pub(super) const PRUNED_LOG: &str = "data is not touched by this, but writers that began before that commit cannot be rebased by it: put the object back from a copy";

/// Checks one snapshot.
pub(super) async fn check(cx: &Context, job: &Job) -> Result<Verdict, CheckError> {
    let mut verdict = Verdict {
        detached: job.detached.then(|| job.snapshot.id()),
        ..Verdict::default()
    };
    let (snapshot, parent) = (&*job.snapshot, job.parent.as_deref());
    nodes::check(snapshot, parent, &mut verdict.findings);
    let logged = match job.log {
        true => log(cx, job, &mut verdict).await?,
        false => None,
    };
    let known = |id: &ManifestId| parent.is_some_and(|it| it.manifest_file(id).is_some());
    let files = snapshot.manifest_files().map(|info| info.id);
    verdict.manifests = files.filter(|id| !known(id)).collect();
    let mut check = SnapshotCheck {
        cx,
        job,
        logged: logged.as_ref(),
        looked: HashSet::new(),
        here: OnceCell::new(),
        before: OnceCell::new(),
        verdict,
    };
    for record in snapshot.nodes() {
        if record.array().is_some() {
            check.array(record).await?;
        }
    }
    check.unused().await?;
    Ok(check.verdict)
}

async fn log(cx: &Context, job: &Job, verdict: &mut Verdict) -> Result<Option<Logged>, CheckError> {
    let mut logs: Vec<Arc<TransactionLog>> = Vec::with_capacity(1 + job.pruned.len());
    let id = job.snapshot.id();
    let mut is_whole = true;
    for of in job.pruned.iter().copied().chain([id]) {
        match cx.objects.log(of).await? {
            Ok(log) => logs.push(log),
            Err(broken) => {
                let kind = match broken {
                    Broken::Missing => FindingKind::LogMissing,
                    Broken::Damaged(_) => FindingKind::LogDamaged,
                };
                let key = layout::transaction_log_key(of);
                let mut finding = Finding::new(kind, key, broken.to_string()).of(id);
                if of != id {
                    finding = finding.advise(PRUNED_LOG);
                }
                verdict.findings.push(finding);
                is_whole = false;
            }
        }
    }
    verdict.logs += logs.len() as u64;
    if !is_whole {
        return Ok(None);
    }
    let findings = &mut verdict.findings;
    Ok(Some(logs::check(&logs, job, findings)))
}
