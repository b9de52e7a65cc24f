//! The chunks that both sides of a merge wrote.

use std::collections::BTreeSet;
use std::sync::Arc;

use icefield_format::{Checksum, ChunkIndex, ChunkRef, NodeId, NodeKind, NodePath};
use icefield_storage::{PlantedBug, planted};

use super::{Fold, deleted_and_updated};
use crate::change_set::{ChangeSet, ChunkTable, PendingChunk, Unified};
use crate::rebase::{ChunkSets, Conflict, VersionSelection};

/// Their id of an array, its path, our table of it and theirs.
type Tables<'a> = (
    NodeId,
    &'a NodePath,
    Option<&'a Arc<ChunkTable>>,
    &'a Arc<ChunkTable>,
);

impl<'a> Fold<'a> {
    /// The chunks that both sides wrote since the origin, differently as far as the references tell.
    pub(in crate::session) fn double_writes(&self) -> ChunkSets {
        let mut both = ChunkSets::new();
        for (node, path, ours, theirs) in self.tables() {
            let Some(ours) = ours else { continue };
            let origin = self.table(self.origin, path);
            if is_same(origin, theirs) || is_same(origin, ours) {
                continue;
            }
            let theirs_and_ours = rows_of(theirs).chain(boxed_rows(ours, theirs));
            for index in theirs_and_ours {
                let (was, now) = (origin.and_then(|it| it.get(index)), theirs.get(index));
                let mine = ours.get(index);
                if now != was && mine != was && mine != now {
                    both.entry(node).or_default().insert(index.into());
                }
            }
        }
        both
    }

    /// The tables of arrays that their side has chunks of, with their id and with our table of the array.
    fn tables(&self) -> impl Iterator<Item = Tables<'a>> {
        let fold = *self;
        fold.theirs
            .chunks()
            .iter()
            .filter_map(move |(node, table)| {
                let path = fold.theirs.array_path(node)?;
                let ours = fold.table(fold.ours, path);
                let ours = ours.filter(|_| !fold.is_replaced(path, node));
                Some((*node, path, ours, table))
            })
    }

    /// The table of the array that a side has at a path.
    fn table(&self, side: &'a ChangeSet, path: &NodePath) -> Option<&'a Arc<ChunkTable>> {
        side.chunks().get(&side.entry(path).id_in(self.base, path)?)
    }

    /// The table of an array as both sides began with it; `None` if another array was at the path, whose chunks say nothing
    /// of this one's.
    fn before(&self, path: &NodePath, node: &NodeId) -> Option<&'a Arc<ChunkTable>> {
        let was = self.origin.entry(path).id_in(self.base, path);
        was.filter(|was| was == node)
            .and_then(|was| self.origin.chunks().get(&was))
    }

    /// Whether they put another array, `theirs`, in the place of the one that we have as it was: what that one has says
    /// nothing of theirs.
    fn is_replaced(&self, path: &NodePath, theirs: &NodeId) -> bool {
        let id = |side: &ChangeSet| side.entry(path).id_in(self.base, path);
        let was = id(self.origin);
        was.is_some() && was != Some(*theirs) && id(self.ours) == was
    }

    /// The chunks of an array that a side wrote or erased since the origin, of large boxes one for all; `None` if there are
    /// none.
    pub(super) fn changed_chunks(
        &self,
        side: &'a ChangeSet,
        path: &NodePath,
    ) -> Option<BTreeSet<ChunkIndex>> {
        let id = side.entry(path).id_in(self.base, path)?;
        let table = side.chunks().get(&id)?;
        let origin = self.before(path, &id);
        let mut changed = changed_rows(origin, table);
        if erases_more(origin, table) {
            changed.extend(table.shown());
        }
        (!changed.is_empty()).then_some(changed)
    }

    /// Forgets chunks of the origin that a resize on their side cut off, where ours still has them as they were.
    fn drop_rows(
        &self,
        node: NodeId,
        origin: Option<&Arc<ChunkTable>>,
        ours: Option<&Arc<ChunkTable>>,
        theirs: &Arc<ChunkTable>,
        folded: &mut ChangeSet,
    ) {
        let Some(origin) = origin.filter(|_| !is_same(origin, theirs)) else {
            return;
        };
        let dropped: BTreeSet<ChunkIndex> = (0..origin.len() as u32)
            .filter(|row| {
                let index = origin.index(*row);
                theirs.get(index).is_none()
                    && ours.and_then(|it| it.get(index)) == Some(origin.at(*row))
            })
            .map(|row| origin.index(row).to_vec().into())
            .collect();
        if !dropped.is_empty() {
            folded.forget_chunks(&node, &dropped);
        }
    }

    pub(super) fn fold_chunks(
        &self,
        equal: &ChunkSets,
        policy: VersionSelection,
        unified: &Unified,
        folded: &mut ChangeSet,
        conflicts: &mut Vec<Conflict>,
    ) {
        for (their_id, path, ours, theirs) in self.tables() {
            let origin = self.before(path, &their_id);
            let now_at = folded.entry(path).id_in(self.base, path);
            let theirs_now = unified.get(&their_id).copied().unwrap_or(their_id);
            if now_at == Some(theirs_now) {
                self.drop_rows(theirs_now, origin, ours, theirs, folded);
            }
            let mut changed = changed_rows(origin, theirs);
            let erases_more = erases_more(origin, theirs);
            if changed.is_empty() && !erases_more {
                continue;
            }
            // Gone, or another array in its place.
            let Some(node) = now_at.filter(|node| *node == theirs_now) else {
                let kind = NodeKind::Array;
                conflicts.push(deleted_and_updated(path, their_id, kind, false));
                continue;
            };
            let (was, mine) = (self.origin.entry(path), self.ours.entry(path));
            if mine != was {
                self.check_reach(path, was, mine, self.theirs, true, conflicts);
            }
            if erases_more {
                // Chunks that we wrote within their boxes are decided one by one, and the rest of the boxes is taken over.
                let ours = ours.map(|ours| boxed_rows(ours, theirs));
                changed.extend(ours.into_iter().flatten().map(ChunkIndex::from));
            }
            let same = equal.get(&their_id);
            let mut both = BTreeSet::new();
            for index in changed {
                let Some(now) = theirs.get(&index) else {
                    continue;
                };
                let was = origin.and_then(|it| it.get(&index));
                let mine = ours.and_then(|it| it.get(&index));
                let take = if mine == was {
                    true
                } else if mine == Some(now) {
                    false
                } else if same.is_some_and(|it| it.contains(&index)) {
                    // Equal bytes: any order of folding must end at one of the two references.
                    mine.is_none_or(|mine| rank(now) < rank(mine))
                } else {
                    match policy {
                        VersionSelection::UseOurs => false,
                        VersionSelection::UseTheirs => true,
                        VersionSelection::Fail => {
                            both.insert(index);
                            continue;
                        }
                    }
                };
                let is_dropped =
                    now == PendingChunk::Deleted && planted(PlantedBug::ForkDeletesDropped);
                if take && !is_dropped {
                    folded.set_chunk(path, node, &index, now);
                }
            }
            if erases_more {
                folded.add_erased(path, node, theirs);
            }
            if !both.is_empty() {
                conflicts.push(Conflict::ChunkDoubleUpdate {
                    path: path.clone(),
                    node,
                    chunks: both,
                });
            }
        }
        let grids: Vec<(NodeId, Vec<u32>)> = folded
            .chunks()
            .keys()
            .filter_map(|node| {
                let written = folded.entry(folded.array_path(node)?).written()?;
                Some((*node, written.metadata.array()?.chunk_counts.clone()))
            })
            .collect();
        for (node, grid) in grids {
            let outside = |table: &Arc<ChunkTable>| !table.lies_within(&grid);
            if folded.chunks().get(&node).is_some_and(outside) {
                folded.keep_chunks_within(&node, &grid);
            }
        }
    }
}

/// Returns whether a side has the very table that both began with, as most arrays of most forks.
fn is_same(origin: Option<&Arc<ChunkTable>>, side: &Arc<ChunkTable>) -> bool {
    origin.is_some_and(|origin| Arc::ptr_eq(origin, side))
}

fn rows_of(table: &ChunkTable) -> impl Iterator<Item = &[u32]> {
    (0..table.len() as u32).map(|row| table.index(row))
}

/// The rows of a table that lie within boxes which another one erased, and that one has no rows of.
fn boxed_rows<'a>(
    table: &'a ChunkTable,
    eraser: &'a ChunkTable,
) -> impl Iterator<Item = &'a [u32]> {
    let erases = !eraser.erased().is_empty();
    let rows = erases.then(|| rows_of(table)).into_iter().flatten();
    rows.filter(|index| eraser.is_boxed(index) && eraser.row_of(index).is_none())
}

/// The rows of a table that differ from what both sides began with.
fn changed_rows(origin: Option<&Arc<ChunkTable>>, table: &Arc<ChunkTable>) -> BTreeSet<ChunkIndex> {
    if is_same(origin, table) {
        return BTreeSet::new();
    }
    let was = |index: &[u32]| origin.and_then(|it| it.get(index));
    rows_of(table)
        .filter(|index| was(index) != table.get(index))
        .map(ChunkIndex::from)
        .collect()
}

/// Whether a side erased boxes since the origin.
fn erases_more(origin: Option<&Arc<ChunkTable>>, table: &ChunkTable) -> bool {
    let erased = table.erased();
    !erased.is_empty() && origin.is_none_or(|origin| origin.erased() != erased)
}

/// A total order of what a chunk can be.
fn rank(chunk: PendingChunk<'_>) -> impl Ord {
    match chunk {
        PendingChunk::Deleted => (0, Vec::new(), 0, 0, Vec::new()),
        PendingChunk::Set(ChunkRef::Inline(bytes)) => (1, bytes.to_vec(), 0, 0, Vec::new()),
        PendingChunk::Set(ChunkRef::Native { id, offset, length }) => {
            (2, id.as_bytes().to_vec(), offset, length, Vec::new())
        }
        PendingChunk::Set(ChunkRef::Virtual {
            location,
            offset,
            length,
            checksum,
        }) => {
            let checksum = match checksum {
                None => Vec::new(),
                Some(Checksum::ETag(tag)) => tag.as_bytes().to_vec(),
                Some(Checksum::LastModified(seconds)) => seconds.to_be_bytes().to_vec(),
            };
            (3, location.as_bytes().to_vec(), offset, length, checksum)
        }
    }
}
