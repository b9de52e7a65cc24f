//! The effect of a shift on the chunks of the base, for the log: its readers know no shifts, only chunks that changed.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{Manifest, ManifestId, NodeId};

use super::blocking::{AT_ONCE, run_blocking};
use crate::SessionError;
use crate::change_set::{BaseView, ChangeSet};
use crate::session::{Base, Session};

/// Manifests read at a time.
const AHEAD: usize = 4;

/// Chunks of one array at which there is another reference than before, or none.
#[derive(Debug)]
pub(super) struct MovedChunks {
    view: BaseView,
    /// Where the base has references: the coordinates of one behind those of the other, ascending, in parts behind one
    /// another.
    before: Vec<Vec<u32>>,
}

impl MovedChunks {
    fn new(view: BaseView, before: Vec<Vec<u32>>) -> Self {
        let before = in_order(before, view.seen().len());
        Self { view, before }
    }

    /// Returns how many there are, at most.
    pub(super) fn most(&self) -> usize {
        let coordinates: usize = self.before.iter().map(Vec::len).sum();
        2 * coordinates / self.rank()
    }

    /// An array without dimensions cannot be shifted.
    pub(super) fn rank(&self) -> usize {
        self.view.seen().len().max(1)
    }

    /// Calls `each` with the indices, which ascend, once each. References that stay where they are do not count.
    pub(super) fn for_each<E>(
        &self,
        mut each: impl FnMut(&[u32]) -> Result<(), E>,
    ) -> Result<(), E> {
        let (view, rank) = (&self.view, self.rank());
        let mut place = Vec::new();
        let all = || self.before.iter().flat_map(|part| part.chunks_exact(rank));
        let mut old = all().peekable();
        let mut all_new = all();
        let mut next = Vec::new();
        let mut step = |into: &mut Vec<u32>| all_new.any(|base| view.place(base, into));
        let mut has_next = step(&mut next);
        loop {
            let order = match (old.peek(), has_next) {
                (None, false) => return Ok(()),
                (Some(_), false) => Ordering::Less,
                (None, true) => Ordering::Greater,
                (Some(old), true) => (*old).cmp(&next[..]),
            };
            match old.next_if(|_| order.is_le()) {
                // It may still be there, and nothing else.
                Some(index) if view.place(index, &mut place) && place == index => {}
                Some(index) => each(index)?,
                None => each(&next)?,
            }
            if order.is_ge() {
                has_next = step(&mut next);
            }
        }
    }
}

/// Where the base has the references of shifted arrays, by what was read of its manifests. Each is read once: what a commit
/// reads to write the new ones is noted here.
#[derive(Debug, Default)]
pub(super) struct Before(Mutex<HashMap<(NodeId, ManifestId), Vec<u32>>>);

impl Before {
    /// Notes the references that a manifest has of an array, unless that was done.
    pub(super) fn note(&self, changes: &ChangeSet, node: &NodeId, manifest: &Manifest) {
        let Some(view) = changes.view_of(node).filter(|view| view.is_shifted()) else {
            return;
        };
        let name = (*node, manifest.id());
        if self.lock().contains_key(&name) {
            return;
        }
        let rank = view.seen().len();
        let refs = manifest.array(node);
        let mut coordinates = Vec::with_capacity(refs.map_or(0, |refs| refs.len() * rank));
        let refs = refs.into_iter().flat_map(|refs| refs.refs());
        for record in refs.filter(|record| record.rank() == rank) {
            coordinates.extend(record.coordinates());
        }
        self.lock().insert(name, coordinates);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(NodeId, ManifestId), Vec<u32>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says which chunks of arrays that were shifted changed. Reads what manifests of theirs were not read before: those of
/// which nothing is left.
pub(super) async fn moved_chunks(
    session: &Session,
    base: &Base,
    changes: &Arc<ChangeSet>,
    before: &Arc<Before>,
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
        let ids: HashSet<ManifestId> = array.manifests().map(|it| it.id()).collect();
        let mut missing: Vec<ManifestId> = {
            let known = before.lock();
            let is_missing = |id: &&ManifestId| !known.contains_key(&(*node, **id));
            ids.iter().filter(is_missing).copied().collect()
        };
        // The same requests in each run.
        missing.sort_unstable();
        let objects = &session.shared().objects;
        stream::iter(missing)
            .map(|id| async move {
                let opened = objects.open_manifest(id).await?;
                let (changes, before, node) = (Arc::clone(changes), Arc::clone(before), *node);
                let small = opened.work() <= AT_ONCE;
                let note = move || opened.decode().map(|it| before.note(&changes, &node, &it));
                Ok::<_, SessionError>(run_blocking(small, note).await??)
            })
            .buffer_unordered(AHEAD)
            .try_collect::<()>()
            .await?;
        let mut found = before.lock();
        let parts = ids.iter().filter_map(|id| found.remove(&(*node, *id)));
        let parts = parts.filter(|part| !part.is_empty()).collect();
        moved.insert(*node, MovedChunks::new(view.clone(), parts));
    }
    Ok(moved)
}

/// Puts indices in order. Those of one manifest are, and those of manifests along an axis lie behind one another.
fn in_order(mut parts: Vec<Vec<u32>>, rank: usize) -> Vec<Vec<u32>> {
    let rank = rank.max(1);
    parts.sort_unstable_by(|a, b| a[..rank].cmp(&b[..rank]));
    let behind = |pair: &[Vec<u32>]| pair[0][pair[0].len() - rank..] < pair[1][..rank];
    if parts.windows(2).all(behind) {
        return parts;
    }
    let mut indices: Vec<&[u32]> = parts.iter().flat_map(|it| it.chunks_exact(rank)).collect();
    indices.sort_unstable();
    indices.dedup();
    vec![indices.concat()]
}

#[cfg(test)]
mod tests {
    use icefield_format::NodePath;

    use super::*;

    fn moved(grid: u32, by: &[i64], before: &[u32]) -> Vec<u32> {
        let mut view = BaseView::whole(NodePath::parse("/a").expect("a path"), &[grid]);
        by.iter().for_each(|by| view.shift(&[*by], &[grid]));
        let (first, second) = before.split_at(before.len() / 2);
        let parts = [second, first].map(<[u32]>::to_vec).into_iter();
        let parts = parts.filter(|part| !part.is_empty()).collect();
        let moved = MovedChunks::new(view, parts);
        let mut found = Vec::new();
        let collected = moved.for_each(|index| {
            found.extend_from_slice(index);
            Ok::<_, ()>(())
        });
        assert_eq!(collected, Ok(()));
        assert!(found.len() <= moved.most());
        found
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
        let parts = vec![vec![3, 0], vec![1, 2, 1, 3], vec![1, 1, 1, 2]];
        assert_eq!(in_order(parts, 2), [[1, 1, 1, 2, 1, 3, 3, 0]]);
        let parts = vec![vec![3, 0], vec![1, 1, 1, 2]];
        assert_eq!(in_order(parts, 2), [vec![1, 1, 1, 2], vec![3, 0]]);
    }
}
