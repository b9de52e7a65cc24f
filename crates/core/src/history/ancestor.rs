//! Where two histories went apart.

use std::collections::{BTreeSet, HashMap, HashSet};

use futures::future::try_join_all;
use icefield_format::SnapshotId;
use icefield_refs::{FetchError, SnapshotInfo};

use super::merged_by;
use crate::{Repository, RepositoryError};

/// Snapshots read in one round.
const ROUND: usize = 2;

/// From which of the two histories a snapshot can be reached.
#[derive(Clone, Copy, Debug, Default)]
struct Reached {
    ours: bool,
    theirs: bool,
}

/// Walks both histories at once, newest snapshots first. A child is always newer than its parent, so the first
/// snapshot that is taken up from both sides has no descendant that is common, too.
pub(super) async fn merge_base(
    repository: &Repository,
    ours: SnapshotId,
    theirs: SnapshotId,
) -> Result<SnapshotId, RepositoryError> {
    let mut reached: HashMap<SnapshotId, Reached> = HashMap::new();
    reached.entry(ours).or_default().ours = true;
    reached.entry(theirs).or_default().theirs = true;
    let mut infos: HashMap<SnapshotId, SnapshotInfo> = HashMap::new();
    let mut waiting: BTreeSet<(std::time::SystemTime, SnapshotId)> = BTreeSet::new();
    let mut unread = vec![ours, theirs];
    // Snapshots that only a merge names; they may have expired since.
    let mut only_merged: HashSet<SnapshotId> = HashSet::new();
    loop {
        for info in read(repository, &mut unread, &only_merged).await? {
            waiting.insert((info.written_at, info.id));
            infos.insert(info.id, info);
        }
        let Some((_, id)) = waiting.pop_last() else {
            return Err(RepositoryError::NoCommonAncestor { ours, theirs });
        };
        let from = reached[&id];
        if from.ours && from.theirs {
            return Ok(id);
        }
        let info = &infos[&id];
        let merged = merged_by(info);
        only_merged.extend(merged.iter().filter(|id| !reached.contains_key(*id)));
        if let Some(parent) = &info.parent_id {
            only_merged.remove(parent);
        }
        for parent in merged.into_iter().chain(info.parent_id) {
            let sides = reached.entry(parent).or_default();
            let grew = (from.ours && !sides.ours) || (from.theirs && !sides.theirs);
            sides.ours |= from.ours;
            sides.theirs |= from.theirs;
            match infos.get(&parent) {
                None => unread.push(parent),
                // Older than its child by its clock only: once more, with what is known now.
                Some(info) if grew => drop(waiting.insert((info.written_at, parent))),
                Some(_) => {}
            }
        }
    }
}

/// Reads what is to be read. A merged snapshot that has expired leads nowhere; a parent must be there.
async fn read(
    repository: &Repository,
    unread: &mut Vec<SnapshotId>,
    may_be_gone: &HashSet<SnapshotId>,
) -> Result<Vec<SnapshotInfo>, RepositoryError> {
    let mut infos = Vec::with_capacity(unread.len());
    unread.sort_unstable();
    unread.dedup();
    for round in unread.chunks(ROUND) {
        let reads = round.iter().map(|id| async move {
            match repository.snapshot_info(*id).await {
                Ok(info) => Ok(Some(info)),
                Err(RepositoryError::Fetch(FetchError::Missing { .. }))
                    if may_be_gone.contains(id) =>
                {
                    Ok(None)
                }
                Err(error) => Err(error),
            }
        });
        infos.extend(try_join_all(reads).await?.into_iter().flatten());
    }
    unread.clear();
    Ok(infos)
}
