//! The first state of `repo`, made of what the files of spec version 1 say.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{
    NewRepoInfo, NewSnapshotInfo, OpsLog, RepoEditError, RepoInfo, SnapshotId, UpdateKind,
};

use super::scan::Scan;
use crate::spec_v2::upgrading;
use crate::{RefsError, SnapshotInfo, micros_of_time};

/// Microseconds between a snapshot and the entry of a ref that was put onto it, and between that and its deletion: when refs
/// were really created, version 1 does not tell.
const REF_AFTER: u64 = 1_000;

/// All snapshots that the refs of a scan reach, parents before their children, each with the branch whose history has it.
pub(super) struct Snapshots {
    pub(super) all: Vec<(SnapshotInfo, Option<String>)>,
}

/// Returns the state that a repository has once it is upgraded, but for its status, which keeps writers away, and for the
/// entry of the operations log that says so.
pub(super) fn state(scan: &Scan, snapshots: &Snapshots, now: u64) -> Result<RepoInfo, RefsError> {
    let log = OpsLog::new(entries(scan, snapshots, now)).map_err(RepoEditError::from)?;
    let listed = snapshots.all.iter().map(|(info, _)| NewSnapshotInfo {
        id: info.id,
        parent: info.parent_id,
        flushed_at: micros_of_time(info.written_at),
        message: &info.message,
        metadata: &info.metadata,
        pruned_ancestor_tx_logs: &[],
    });
    let branches = scan.branches.iter();
    let tags = scan.tags.iter();
    Ok(RepoInfo::new(NewRepoInfo {
        snapshots: listed.collect(),
        branches: branches.map(|(name, id)| (name.to_string(), *id)).collect(),
        tags: tags.map(|(name, id)| (name.to_string(), *id)).collect(),
        deleted_tags: (scan.deleted_tags.keys().map(ToString::to_string)).collect(),
        status: upgrading(now),
        metadata: BTreeMap::new(),
        config: scan.config.clone(),
        log,
    })?)
}

/// The entries that the log would have if the repository had always been one of version 2, oldest first. None is later than
/// `now` but by the microseconds that keep them apart: a log that is ahead of the clock takes no edits.
fn entries(scan: &Scan, snapshots: &Snapshots, now: u64) -> Vec<(UpdateKind, u64)> {
    let times: BTreeMap<SnapshotId, u64> = (snapshots.all.iter())
        .map(|(info, _)| (info.id, micros_of_time(info.written_at)))
        .collect();
    let mut entries = Vec::with_capacity(snapshots.all.len());
    let mut roots = BTreeSet::new();
    for (info, branch) in &snapshots.all {
        let (snapshot, at) = (info.id, times[&info.id]);
        let kind = match branch {
            _ if info.parent_id.is_none() && roots.insert(snapshot) && roots.len() == 1 => {
                UpdateKind::RepoInitialized
            }
            Some(branch) => UpdateKind::NewCommit {
                branch: branch.clone(),
                snapshot,
            },
            // Its branch is gone: only a tag keeps it.
            None => UpdateKind::NewDetachedSnapshot { snapshot },
        };
        entries.push((kind, at));
    }
    let after = |id: &SnapshotId, by| times.get(id).map(|at| at.saturating_add(by));
    for (name, tip) in scan.branches.iter().filter(|(name, _)| !name.is_main()) {
        let name = name.to_string();
        entries.extend(after(tip, REF_AFTER).map(|at| (UpdateKind::BranchCreated { name }, at)));
    }
    for (name, target) in &scan.tags {
        let name = name.to_string();
        entries.extend(after(target, REF_AFTER).map(|at| (UpdateKind::TagCreated { name }, at)));
    }
    for (name, target) in &scan.deleted_tags {
        // Of one whose snapshot nothing else keeps, there is no more to tell than that its name is taken.
        let Some((previous, created)) =
            target.and_then(|target| Some((target, after(&target, REF_AFTER)?)))
        else {
            continue;
        };
        let name = name.to_string();
        entries.push((UpdateKind::TagCreated { name: name.clone() }, created));
        let deleted = created.saturating_add(REF_AFTER);
        entries.push((UpdateKind::TagDeleted { name, previous }, deleted));
    }
    let is_first = |kind: &UpdateKind| matches!(kind, UpdateKind::RepoInitialized);
    entries.sort_by_key(|(kind, at)| (!is_first(kind), (*at).min(now)));
    let mut newest = None;
    for (_, at) in &mut entries {
        let earliest = newest.map_or(0, |newest: u64| newest + 1);
        *at = (*at).min(now).max(earliest);
        newest = Some(*at);
    }
    entries
}
