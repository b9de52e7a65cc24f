//! Where a branch that is lost could be made again: at the newest whole snapshot that no other branch reaches. Where `repo` tells
//! parents, it is the nearest whole ancestor of the snapshot that the branch points to.

use std::collections::{HashMap, HashSet};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{RepoInfo, SnapshotId};

use super::error::CheckError;
use super::objects::{Objects, Parents};
use super::refs::Target;

/// Snapshots decoded at a time.
const FETCHES: usize = 8;

/// Returns the snapshots that branches reach, by what a walk of all histories has seen.
pub(super) fn of_branches(
    targets: &[Target],
    seen: &HashMap<SnapshotId, Option<SnapshotId>>,
) -> HashSet<SnapshotId> {
    let mut reached = HashSet::new();
    for target in targets.iter().filter(|it| it.name.starts_with("branch:")) {
        let mut next = Some(target.snapshot);
        while let Some(id) = next {
            if !seen.contains_key(&id) || !reached.insert(id) {
                break;
            }
            next = seen[&id];
        }
    }
    reached
}

/// A snapshot that a lost branch may have pointed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) snapshot: SnapshotId,
    /// Whether there is no other one that it does not come from: refused commits leave such snapshots, too.
    pub(super) certain: bool,
}

/// Returns the nearest ancestor of a snapshot that can be read with all its manifests, by what a state says of parents. It is certain
/// if no branch reaches it: else, all that the branch had of its own is lost, and a person decides.
pub(super) async fn ancestor(
    objects: &Objects,
    info: &RepoInfo,
    start: SnapshotId,
    reached: &HashSet<SnapshotId>,
) -> Result<Option<Candidate>, CheckError> {
    let mut passed = HashSet::from([start]);
    let parent = |id: SnapshotId| info.snapshots().get(&id).and_then(|it| it.parent_id());
    let mut next = parent(start);
    while let Some(snapshot) = next.filter(|id| passed.insert(*id)) {
        if is_whole(objects, snapshot).await? {
            let certain = !reached.contains(&snapshot);
            return Ok(Some(Candidate { snapshot, certain }));
        }
        next = parent(snapshot);
    }
    Ok(None)
}

/// Returns the newest snapshot among `stored` that no branch reaches, can be read with all its manifests, and comes from
/// the first snapshot of every repository.
pub(super) async fn candidate(
    objects: &Objects,
    source: &Parents,
    stored: impl IntoIterator<Item = SnapshotId>,
    reached: &HashSet<SnapshotId>,
) -> Result<Option<Candidate>, CheckError> {
    let unreached: Vec<SnapshotId> = stored
        .into_iter()
        .filter(|id| !reached.contains(id))
        .collect();
    let mut parents: HashMap<SnapshotId, Option<SnapshotId>> = HashMap::new();
    let mut by_age = Vec::new();
    let mut reads = stream::iter(unreached)
        .map(|id| async move { Ok::<_, CheckError>((id, objects.step(source, id).await?)) })
        .buffered(FETCHES);
    while let Some((id, read)) = reads.try_next().await? {
        if let Ok((snapshot, parent)) = read {
            parents.insert(id, parent);
            by_age.push((snapshot.flushed_at(), id));
        }
    }
    by_age.sort_unstable();
    for (_, id) in by_age.into_iter().rev() {
        if comes_from_the_first(id, &parents, reached) && is_whole(objects, id).await? {
            let mut own = HashSet::new();
            let mut next = Some(id);
            while let Some(at) = next.filter(|at| own.insert(*at)) {
                next = parents.get(&at).copied().flatten();
            }
            let certain = parents.keys().all(|other| own.contains(other));
            return Ok(Some(Candidate {
                snapshot: id,
                certain,
            }));
        }
    }
    Ok(None)
}

fn comes_from_the_first(
    start: SnapshotId,
    parents: &HashMap<SnapshotId, Option<SnapshotId>>,
    reached: &HashSet<SnapshotId>,
) -> bool {
    let mut passed = HashSet::new();
    let mut next = start;
    loop {
        if next == SnapshotId::INITIAL || reached.contains(&next) {
            return true;
        }
        match parents.get(&next) {
            Some(Some(parent)) if passed.insert(next) => next = *parent,
            _ => return false,
        }
    }
}

async fn is_whole(objects: &Objects, id: SnapshotId) -> Result<bool, CheckError> {
    let Ok(snapshot) = objects.snapshot(id).await? else {
        return Ok(false);
    };
    for info in snapshot.manifest_files() {
        if objects.manifest(info.id).await?.is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}
