//! Edits that are addressed by what they hold: where another commit moved the window of an array, they move along.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{ByteRange, ChunkIndex, NodeId, NodePath};

use super::{Changes, ChunkSets};
use crate::change_set::{ChangeSet, ChunkTable, NodeChange};
use crate::grid::within;
use crate::metadata::document::moved_by;
use crate::session::{Base, Session};
use crate::{ChunkLocation, SessionError};

/// Both sides, after our edits moved along.
#[derive(Debug)]
pub(super) struct Followed<'a> {
    pub(super) ours: Arc<ChangeSet>,
    /// Without chunks that only moved.
    pub(super) theirs: Cow<'a, Changes>,
    /// The arrays whose edits moved.
    pub(super) arrays: BTreeSet<NodeId>,
}

/// How the chunks of an array moved.
struct Move {
    node: NodeId,
    path: NodePath,
    /// In chunks per dimension.
    by: Vec<i64>,
    /// Chunks per dimension before and after.
    grids: (Vec<u32>, Vec<u32>),
}

impl<'a> Followed<'a> {
    pub(super) fn nothing(theirs: &'a Changes, ours: Arc<ChangeSet>) -> Self {
        Self {
            ours,
            theirs: Cow::Borrowed(theirs),
            arrays: BTreeSet::new(),
        }
    }
}

impl Session {
    /// Moves our edits of arrays that [follow](Session::follow_shifts), as far as the commit moved their chunks.
    ///
    /// Edits that would leave the grid stay where they are, all those of their array: they are conflicts then, since the
    /// place means something else now.
    pub(super) async fn follow<'a>(
        &self,
        before: &Arc<Base>,
        after: &Arc<Base>,
        theirs: &'a Changes,
        ours: Arc<ChangeSet>,
    ) -> Result<Followed<'a>, SessionError> {
        let moves = ours.followers().iter().filter_map(|node| {
            let it = move_of(before, after, theirs, &ours, node)?;
            let table = ours.chunks_of(node)?;
            stays_within(table, &it).then_some(it)
        });
        let moves: Vec<Move> = moves.collect();
        let mut followed = Followed::nothing(theirs, ours);
        for it in moves {
            let changes = Arc::make_mut(&mut followed.ours);
            changes.move_edits(&it.node, &it.by, &it.grids.1);
            let written = self.written_by_them(before, after, theirs, changes, &it);
            let written = written.await?;
            let theirs = followed.theirs.to_mut();
            theirs.chunks.remove(&it.node);
            theirs.chunks.extend(written);
            followed.arrays.insert(it.node);
        }
        Ok(followed)
    }

    /// Of the chunks that we wrote, too, those that they did not only move.
    async fn written_by_them(
        &self,
        before: &Arc<Base>,
        after: &Arc<Base>,
        theirs: &Changes,
        ours: &ChangeSet,
        it: &Move,
    ) -> Result<ChunkSets, SessionError> {
        let nothing = Arc::default();
        let old = Self::view_of(self.shared(), before, &nothing);
        let new = Self::view_of(self.shared(), after, &nothing);
        let table = ours.chunks_of(&it.node);
        let mut written = BTreeSet::new();
        for index in theirs.chunks.get(&it.node).into_iter().flatten() {
            if table.and_then(|table| table.get(index)).is_none() {
                continue;
            }
            let back: Vec<i64> = it.by.iter().map(|by| -by).collect();
            let was = match moved(index, &back).filter(|from| within(from, &it.grids.0)) {
                Some(from) => content(&old, &it.path, &from).await?,
                None => None,
            };
            if was != content(&new, &it.path, index).await? {
                written.insert(index.clone());
            }
        }
        let mut sets = BTreeMap::new();
        if !written.is_empty() {
            sets.insert(it.node, written);
        }
        Ok(sets)
    }
}

/// How a commit moved the chunks of an array that we did nothing else to.
fn move_of(
    before: &Base,
    after: &Base,
    theirs: &Changes,
    ours: &ChangeSet,
    node: &NodeId,
) -> Option<Move> {
    let path = ours.array_path(node)?;
    let is_only_written = theirs.updated.contains(node)
        && ours.view_of(node).is_none()
        && matches!(ours.node(path), NodeChange::Unchanged);
    if !is_only_written {
        return None;
    }
    let document = |base: &Base| {
        let record = base.record(base.position(path)?);
        (record.id() == *node).then(|| record.user_data().to_vec())
    };
    let by = moved_by(&document(before)?, &document(after)?)?;
    let grids = (before.grid_of(node, path)?, after.grid_of(node, path)?);
    let of_one_rank = by.len() == grids.0.len() && by.len() == grids.1.len();
    (of_one_rank && by.iter().any(|by| *by != 0)).then(|| Move {
        node: *node,
        path: path.clone(),
        by,
        grids,
    })
}

fn stays_within(table: &ChunkTable, it: &Move) -> bool {
    (0..table.len() as u32).all(|row| {
        let index = moved(table.index(row), &it.by);
        index.is_some_and(|index| within(&index, &it.grids.1))
    }) && table.boxes_stay_within(&it.by, &it.grids.1)
}

fn moved(index: &[u32], by: &[i64]) -> Option<ChunkIndex> {
    let moved = index.iter().zip(by).map(|(at, by)| {
        let at = i64::from(*at).checked_add(*by)?;
        u32::try_from(at).ok()
    });
    moved.collect::<Option<Vec<u32>>>().map(ChunkIndex::from)
}

/// A reference, with its bytes if it holds them itself.
async fn content(
    session: &Session,
    path: &NodePath,
    index: &[u32],
) -> Result<Option<(ChunkLocation, Option<bytes::Bytes>)>, SessionError> {
    let Some(location) = session.chunk_location(path, index).await? else {
        return Ok(None);
    };
    let inline = match location {
        ChunkLocation::Inline { .. } => session.chunk(path, index, ByteRange::All).await?,
        _ => None,
    };
    Ok(Some((location, inline)))
}
