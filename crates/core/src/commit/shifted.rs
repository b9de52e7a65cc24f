//! What a shift did to the chunks of the base, for the log: readers of it know no shifts, only chunks that changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{Manifest, ManifestId, NodeId};
use icefield_refs::SnapshotInfo;
use serde_json::Value;

use super::plan::away;
use crate::SessionError;
use crate::change_set::{BaseView, ChangeSet};
use crate::session::{Base, Session};

/// The property of a snapshot that lists arrays whose chunks it shifted, by node id. Logs do not tell a shift from writes,
/// and where an array has no chunks yet, they tell nothing.
const SHIFTED_ARRAYS: &str = "icefield.shifted-arrays";

/// Says which arrays a change set shifts, for the properties of its snapshot.
pub(super) fn note_shifts(changes: &ChangeSet, properties: &mut BTreeMap<String, Value>) {
    let shifted = changes.views().iter().filter(|(_, it)| it.is_shifted());
    let shifted: Vec<Value> = shifted.map(|(node, _)| node.to_string().into()).collect();
    if !shifted.is_empty() {
        properties.insert(SHIFTED_ARRAYS.to_owned(), shifted.into());
    }
}

/// Returns which arrays a commit shifted, as far as its snapshot says it.
pub(crate) fn shifted_arrays(snapshot: &SnapshotInfo) -> BTreeSet<NodeId> {
    let listed = snapshot.metadata.get(SHIFTED_ARRAYS);
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    listed
        .filter_map(|node| node.as_str()?.parse().ok())
        .collect()
}

/// Manifests read ahead.
const AHEAD: usize = 4;

/// Chunks of one array at which there is another reference than before, or none: ascending indices, each once.
#[derive(Debug)]
pub(super) struct MovedChunks {
    rank: usize,
    /// The coordinates of one behind those of the other.
    coords: Vec<u32>,
}

impl MovedChunks {
    /// The indices. An array without dimensions cannot be shifted.
    pub(super) fn indices(&self) -> impl Iterator<Item = &[u32]> {
        self.coords.chunks_exact(self.rank.max(1))
    }

    /// `before` has where the base has references; those that stay where they are do not count.
    fn of(view: &BaseView, before: &[u32]) -> Self {
        let rank = view.seen().len();
        let mut moved = Self {
            rank,
            coords: Vec::with_capacity(before.len() + before.len() / 8),
        };
        let (mut place, mut next) = (Vec::new(), Vec::new());
        let mut old = before.chunks_exact(rank.max(1)).peekable();
        let mut new = before.chunks_exact(rank.max(1));
        let mut step = |into: &mut Vec<u32>| new.any(|base| view.place(base, into));
        let mut has_next = step(&mut next);
        loop {
            let order = match (old.peek(), has_next) {
                (None, false) => break,
                (Some(_), false) => std::cmp::Ordering::Less,
                (None, true) => std::cmp::Ordering::Greater,
                (Some(old), true) => (*old).cmp(&next[..]),
            };
            let mut is_changed = true;
            if order.is_le()
                && let Some(index) = old.next()
            {
                // It is still there, and nothing else is.
                is_changed = !(view.place(index, &mut place) && place == index);
                place.clear();
                place.extend_from_slice(index);
            }
            if order.is_ge() {
                std::mem::swap(&mut place, &mut next);
                has_next = step(&mut next);
            }
            if is_changed {
                moved.coords.extend_from_slice(&place);
            }
        }
        moved
    }
}

/// Reads the manifests of arrays that were shifted, and says which of their chunks changed.
pub(super) async fn moved_chunks(
    session: &Session,
    base: &Base,
    changes: &ChangeSet,
) -> Result<BTreeMap<NodeId, MovedChunks>, SessionError> {
    let mut moved = BTreeMap::new();
    for (node, view) in changes.views().iter().filter(|(_, view)| view.is_shifted()) {
        let Some(array) = base.position(&view.home).and_then(|at| base.array(at)) else {
            continue;
        };
        let is_deleted = changes.deleted().values().any(|(id, _)| id == node);
        if is_deleted && changes.moved_from(node).is_none() {
            continue;
        }
        let mut ids: Vec<(Vec<u32>, ManifestId)> = array
            .manifests()
            .map(|it| (it.ranges().map(|range| range.start).collect(), it.id()))
            .collect();
        ids.sort_unstable();
        let objects = &session.shared().objects;
        let mut loading = stream::iter(ids)
            .map(|(_, id)| objects.manifest(id))
            .buffered(AHEAD);
        let mut before = Vec::new();
        while let Some(manifest) = loading.try_next().await? {
            add(&manifest, node, view.seen().len(), &mut before);
        }
        let view = view.clone();
        let few = before.len() < 1 << 14;
        let found = away(few, move || {
            sort(&mut before, view.seen().len());
            MovedChunks::of(&view, &before)
        });
        moved.insert(*node, found.await?);
    }
    Ok(moved)
}

fn add(manifest: &Arc<Manifest>, node: &NodeId, rank: usize, coords: &mut Vec<u32>) {
    let refs = manifest
        .array(node)
        .into_iter()
        .flat_map(|refs| refs.refs());
    for record in refs.filter(|record| record.rank() == rank) {
        coords.extend(record.coordinates());
    }
}

/// Sorts indices. Those of manifests that lie behind one another are sorted already.
fn sort(coords: &mut Vec<u32>, rank: usize) {
    let indices: Vec<&[u32]> = coords.chunks_exact(rank.max(1)).collect();
    if indices.is_sorted() {
        return;
    }
    let mut indices = indices;
    indices.sort_unstable();
    indices.dedup();
    *coords = indices.concat();
}

#[cfg(test)]
mod tests {
    use icefield_format::NodePath;

    use super::*;

    fn moved(grid: u32, by: &[i64], before: &[u32]) -> Vec<u32> {
        let mut view = BaseView::whole(NodePath::parse("/a").expect("a path"), &[grid]);
        by.iter().for_each(|by| view.shift(&[*by], &[grid]));
        let moved = MovedChunks::of(&view, before);
        moved.indices().flatten().copied().collect()
    }

    #[test]
    fn places_that_were_left_and_places_that_were_taken_changed() {
        assert_eq!(moved(5, &[-1], &[0, 1, 2, 3, 4]), [0, 1, 2, 3, 4]);
        assert_eq!(moved(5, &[-1], &[0, 4]), [0, 3, 4]);
        assert_eq!(moved(5, &[2], &[0, 1]), [0, 1, 2, 3]);
        assert_eq!(moved(5, &[2], &[4]), [4]);
        assert_eq!(moved(5, &[9], &[1, 3]), [1, 3]);
    }

    #[test]
    fn what_was_shifted_back_changed_where_something_was_cut_off() {
        assert_eq!(moved(5, &[-1, 1], &[0, 1, 2]), [0]);
        assert_eq!(moved(5, &[1, -1], &[0, 1, 2]), Vec::<u32>::new());
    }

    #[test]
    fn indices_of_manifests_in_any_order_are_sorted() {
        let mut coords = vec![3, 0, 1, 2, 1, 1];
        sort(&mut coords, 2);
        assert_eq!(coords, [1, 1, 1, 2, 3, 0]);
    }
}
