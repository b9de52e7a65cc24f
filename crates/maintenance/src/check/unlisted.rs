//! Snapshots that are stored and that the state of a repository of spec version 2 does not list: what a stopped commit leaves
//! and, where that state is a backup, what was committed after it.
//!
//! Their files do not name a parent. It is certain where one snapshot alone, at which a branch stands or which nothing came
//! after, differs from the stored one by nothing but what the log of that tells. Whether the commit was acknowledged, no file
//! tells.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use icefield_format::{RepoInfo, Snapshot, SnapshotId, layout};
use icefield_refs::time_of_micros;
use serde::{Serialize, Serializer};

use super::error::CheckError;
use super::finding::{Finding, FindingKind, Severity};
use super::job::{Context, Job};
use super::snapshots;

/// A snapshot that is stored, and that `repo` does not list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnlistedSnapshot {
    /// The id of the snapshot.
    pub snapshot: SnapshotId,
    /// The time of the commit, by the committer's clock.
    #[serde(serialize_with = "micros")]
    pub written_at: SystemTime,
    /// The commit message.
    pub message: String,
    /// The snapshot from which the commit was made, if its log leaves no doubt.
    pub parent: Option<SnapshotId>,
    /// The branches that point to the parent, or to an ancestor from which that was made.
    pub branches: Vec<String>,
    /// Whether the snapshot and all metadata that it needs can be read.
    pub whole: bool,
}

fn micros<S: Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(icefield_refs::micros_of_time(*time))
}

impl UnlistedSnapshot {
    pub(super) fn finding(&self) -> Finding {
        let message = &self.message;
        let rule = match self.parent {
            Some(parent) => format!(
                "its log tells what differs from {parent}{}; its message is {message:?}",
                match self.branches.is_empty() {
                    true => String::new(),
                    false => format!(", where {} stands", self.branches.join(", ")),
                }
            ),
            None => format!("what it was made from is not certain; its message is {message:?}"),
        };
        let key = layout::snapshot_key(self.snapshot);
        Finding::new(FindingKind::SnapshotUnlisted, key, rule)
    }
}

/// Comparisons for each snapshot, on average, of those that are told one by one. What needs more has no certain parent.
const COMPARISONS: usize = 5;

/// A snapshot that others may have been made from. It is read again when it is needed.
struct Base {
    id: SnapshotId,
    flushed_at: u64,
    branches: Vec<String>,
}

/// The snapshots that were found.
#[derive(Debug, Default)]
pub(super) struct Unlisted {
    /// Snapshots, the oldest first.
    pub(super) found: Vec<UnlistedSnapshot>,
    /// How many are not among them, because there are too many.
    pub(super) left_out: u64,
}

/// Looks at stored snapshots that a state does not list, the oldest first. Those that are older than all that it lists are left
/// out, and of more than `most` the newest ones. Memory is bounded but for some bytes for each stored snapshot, and so is the number of comparisons.
pub(super) async fn find_parents(
    cx: &Context,
    info: &RepoInfo,
    stored: &[SnapshotId],
    most: usize,
) -> Result<Unlisted, CheckError> {
    let mut comparisons = most.saturating_mul(COMPARISONS);
    let mut bases: Vec<Base> = Vec::new();
    for id in heads(info) {
        if let Ok(snapshot) = cx.objects.snapshot(id).await? {
            let here = info.branches().filter(|(_, at)| *at == id);
            let branches = here.map(|(name, _)| name.to_owned()).collect();
            let flushed_at = snapshot.flushed_at();
            bases.push(Base {
                id,
                flushed_at,
                branches,
            });
        }
    }
    let oldest = bases.iter().map(|it| it.flushed_at).min().unwrap_or(0);
    let mut unlisted = Vec::new();
    for id in stored {
        if !info.snapshots().contains(id)
            && let Ok(snapshot) = cx.objects.snapshot(*id).await?
            && snapshot.flushed_at() > oldest
        {
            unlisted.push((snapshot.flushed_at(), *id));
        }
    }
    unlisted.sort_unstable();
    let mut looked = Unlisted {
        left_out: unlisted.len().saturating_sub(most) as u64,
        ..Unlisted::default()
    };
    for (flushed_at, id) in unlisted.into_iter().take(most) {
        let Ok(snapshot) = cx.objects.snapshot(id).await? else {
            continue;
        };
        let (mut parents, mut whole) = (Vec::new(), true);
        let older = bases.iter().filter(|it| it.flushed_at < flushed_at);
        let older: Vec<&Base> = older.collect();
        let is_compared = older.len() <= comparisons;
        for base in older.into_iter().filter(|_| is_compared) {
            comparisons -= 1;
            let Ok(before) = cx.objects.snapshot(base.id).await? else {
                continue;
            };
            match compare(cx, &before, &snapshot).await? {
                Likeness::Made => parents.push(base),
                Likeness::Other => {}
                Likeness::Broken => whole = false,
            }
        }
        let parent = match parents[..] {
            [base] if whole => Some(base),
            _ => None,
        };
        let one = UnlistedSnapshot {
            snapshot: id,
            written_at: time_of_micros(flushed_at),
            message: snapshot.message().to_owned(),
            parent: parent.map(|base| base.id),
            branches: parent.map(|base| base.branches.clone()).unwrap_or_default(),
            whole,
        };
        // Another commit may have come on top of it.
        if one.parent.is_some() {
            let branches = one.branches.clone();
            bases.push(Base {
                id,
                flushed_at,
                branches,
            });
        }
        looked.found.push(one);
    }
    Ok(looked)
}

/// The snapshots that a commit may have come on top of: those where branches stand, and those that nothing came after.
fn heads(info: &RepoInfo) -> BTreeSet<SnapshotId> {
    let listed = info.snapshots();
    let parents: BTreeSet<_> = listed.snapshots().filter_map(|it| it.parent_id()).collect();
    let last = listed
        .snapshots()
        .map(|it| it.id())
        .filter(|id| !parents.contains(id));
    last.chain(info.branches().map(|(_, tip)| tip)).collect()
}

enum Likeness {
    /// The log tells exactly what differs.
    Made,
    /// It tells something else.
    Other,
    /// Something of the snapshot cannot be read.
    Broken,
}

async fn compare(
    cx: &Context,
    base: &Arc<Snapshot>,
    snapshot: &Arc<Snapshot>,
) -> Result<Likeness, CheckError> {
    let job = Job {
        snapshot: Arc::clone(snapshot),
        parent: Some(Arc::clone(base)),
        log: true,
        pruned: Vec::new(),
        judge_all: true,
        detached: false,
    };
    let verdict = snapshots::check(cx, &job).await?;
    // The sources of chunks are not recorded here.
    let mut sources = cx.sources.lock().unwrap_or_else(PoisonError::into_inner);
    sources.clear();
    drop(sources);
    let is_of_log =
        |it: &&Finding| matches!(it.kind, FindingKind::LogIncomplete | FindingKind::LogExcess);
    let findings = &verdict.findings;
    if findings
        .iter()
        .any(|it| it.severity == Severity::Damage && !is_of_log(&it))
    {
        return Ok(Likeness::Broken);
    }
    Ok(match findings.iter().any(|it| is_of_log(&it)) {
        true => Likeness::Other,
        false => Likeness::Made,
    })
}
