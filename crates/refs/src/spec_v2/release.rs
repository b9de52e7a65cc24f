//! Taking snapshots out of `repo`: what expiration and collection do to the graph (spec 2, §8).

use std::collections::BTreeSet;

use icefield_format::{RepoEdit, RepoInfo, SnapshotGraph, SnapshotId};

use crate::RefsError;

/// Takes snapshots out of the graph, but for those that a ref points to. Each snapshot that is kept and loses its parent is
/// given the nearest ancestor that is kept, and the logs of all between: its change since the new parent. The reference gives
/// it the first of the history, of which this is a special case: its expiration keeps none between.
pub(super) fn release(
    edit: &mut RepoEdit,
    released: &BTreeSet<SnapshotId>,
) -> Result<(), RefsError> {
    let before = edit.so_far().clone();
    let pointed_to = pointed_to(&before);
    let is_released = |id: SnapshotId| released.contains(&id) && !pointed_to.contains(&id);
    for snapshot in before.snapshots().snapshots() {
        let Some(parent) = snapshot.parent_id() else {
            continue;
        };
        if is_released(snapshot.id()) || !is_released(parent) {
            continue;
        }
        let (parent, pruned) = above(before.snapshots(), snapshot.id(), is_released);
        edit.reparent(snapshot.id(), parent, &pruned)?;
    }
    edit.retain_snapshots(|snapshot| !is_released(snapshot.id()))?;
    Ok(())
}

fn pointed_to(info: &RepoInfo) -> BTreeSet<SnapshotId> {
    info.branches()
        .chain(info.tags())
        .map(|(_, id)| id)
        .collect()
}

/// Returns the new parent of a snapshot, and the logs between the two, oldest first: of each ancestor that is passed its own
/// pruned logs and then its log, and at last the pruned logs that the snapshot itself has.
fn above(
    graph: &SnapshotGraph,
    id: SnapshotId,
    is_released: impl Fn(SnapshotId) -> bool,
) -> (Option<SnapshotId>, Vec<SnapshotId>) {
    let mut passed = Vec::new();
    let mut new_parent = None;
    for ancestor in graph.ancestry(&id).skip(1) {
        if !is_released(ancestor.id()) {
            new_parent = Some(ancestor.id());
            break;
        }
        passed.push(ancestor);
    }
    let mut pruned = Vec::new();
    for ancestor in passed.iter().rev() {
        pruned.extend(ancestor.pruned_ancestor_tx_logs());
        pruned.push(ancestor.id());
    }
    pruned.extend((graph.get(&id).iter()).flat_map(|it| it.pruned_ancestor_tx_logs()));
    (new_parent, pruned)
}
