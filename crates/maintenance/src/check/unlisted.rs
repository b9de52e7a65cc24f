//! Snapshots that are stored and that the state of a repository of spec version 2 does not list: what a stopped commit leaves
//! and, where that state is a backup, what was committed after it.
//!
//! Their files do not name a parent. It is certain where one snapshot alone, at which a branch stands or which nothing came
//! after, differs from the stored one by nothing but what the log of that tells. Whether the commit was acknowledged, no file
//! tells.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::SystemTime;

use icefield_format::{RepoInfo, Snapshot, SnapshotId, layout};
use icefield_refs::time_of_micros;
use serde::{Serialize, Serializer};

use super::CheckError;
use super::finding::{Finding, FindingKind, Severity};
use super::snapshots::{self, Context, Job};

/// A snapshot that is stored and not listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnlistedSnapshot {
    /// The snapshot.
    pub snapshot: SnapshotId,
    /// When the commit was made, by the committer's clock.
    #[serde(serialize_with = "micros")]
    pub written_at: SystemTime,
    /// The commit message.
    pub message: String,
    /// The snapshot that it was made from, where its log leaves no doubt.
    pub parent: Option<SnapshotId>,
    /// The branches that stand at the parent, or at what that was made from.
    pub branches: Vec<String>,
    /// Whether it and all that it needs of metadata can be read.
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

/// A snapshot that others may have been made from.
struct Base {
    snapshot: Arc<Snapshot>,
    branches: Vec<String>,
}

/// Looks at stored snapshots that a state does not list, the oldest first. Those that are older than all that it lists are left
/// out.
pub(super) async fn look(
    cx: &Context,
    info: &RepoInfo,
    stored: &[SnapshotId],
) -> Result<Vec<UnlistedSnapshot>, CheckError> {
    let mut bases: Vec<Base> = Vec::new();
    for tip in heads(info) {
        if let Ok(snapshot) = cx.objects.snapshot(tip).await? {
            let here = info.branches().filter(|(_, at)| *at == tip);
            let branches = here.map(|(name, _)| name.to_owned()).collect();
            bases.push(Base { snapshot, branches });
        }
    }
    let mut unlisted = Vec::new();
    let oldest = bases
        .iter()
        .map(|it| it.snapshot.flushed_at())
        .min()
        .unwrap_or(0);
    for id in stored {
        if !info.snapshots().contains(id)
            && let Ok(snapshot) = cx.objects.snapshot(*id).await?
            && snapshot.flushed_at() > oldest
        {
            unlisted.push(snapshot);
        }
    }
    unlisted.sort_by_key(|it| (it.flushed_at(), it.id()));
    let mut found = Vec::new();
    for snapshot in unlisted {
        let mut parents = Vec::new();
        let mut whole = true;
        for base in &bases {
            if base.snapshot.flushed_at() >= snapshot.flushed_at() {
                continue;
            }
            match compare(cx, &base.snapshot, &snapshot).await? {
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
            snapshot: snapshot.id(),
            written_at: time_of_micros(snapshot.flushed_at()),
            message: snapshot.message().to_owned(),
            parent: parent.map(|base| base.snapshot.id()),
            branches: parent.map(|base| base.branches.clone()).unwrap_or_default(),
            whole,
        };
        // Another commit may have come on top of it.
        if one.parent.is_some() {
            let branches = one.branches.clone();
            bases.push(Base { snapshot, branches });
        }
        found.push(one);
    }
    Ok(found)
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
    };
    let verdict = snapshots::check(cx, &job).await?;
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
