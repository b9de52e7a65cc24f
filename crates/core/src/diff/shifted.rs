//! The chunks that a session with a shifted array changed: the refs of the base moved, and only its manifests
//! know which there are.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{
    ArrayRecord, ChunkIndex, ChunkRef, Extents, Manifest, ManifestId, NodeId, NodePath,
};

use super::MANIFESTS_AHEAD;
use crate::SessionError;
use crate::change_set::{BaseView, ChangeSet, PendingChunk};
use crate::objects::Objects;
use crate::session::Base;

/// References that are compared before other tasks have their turn, and a caller that gave up is noticed.
const AT_ONCE: usize = 1 << 12;

/// Arrays of the base that a session shifted and did not delete, and where they are now.
pub(super) fn shifted<'a>(
    changes: &'a ChangeSet,
    base: &'a Base,
) -> impl Iterator<Item = (NodeId, NodePath, &'a BaseView, ArrayRecord<'a>)> {
    let views = changes.views().iter();
    views
        .filter(|(_, view)| view.is_shifted())
        .filter_map(|(id, view)| {
            let record = base.record(base.position(&view.home)?);
            let array = record.array().filter(|_| record.id() == *id)?;
            let is_moved = changes.moved_from(id).is_some();
            let now = match is_moved {
                true => {
                    let mut created = changes.created().iter();
                    created.find(|(_, node)| node.id == *id)?.0.clone()
                }
                false if changes.deleted().contains_key(&view.home) => return None,
                false => view.home.clone(),
            };
            Some((*id, now, view, array))
        })
}

/// Returns at which indices of a shifted array the session sees another reference than the base has, or none any more.
pub(super) async fn changed_chunks(
    objects: &Objects,
    changes: &ChangeSet,
    node: NodeId,
    view: &BaseView,
    array: ArrayRecord<'_>,
) -> Result<BTreeSet<ChunkIndex>, SessionError> {
    let boxes: Vec<(ManifestId, Extents)> = array
        .manifests()
        .map(|it| (it.id(), it.extents()))
        .collect();
    let parts = stream::iter(boxes)
        .map(|(id, extents)| async move { Part::load(objects, id, extents).await })
        .buffered(MANIFESTS_AHEAD)
        .try_collect()
        .await?;
    let state = Shifted {
        node,
        view,
        parts,
        // A chunk at another path is new there, as in a comparison of snapshots, unless that knows moves.
        is_new: changes.moved_from(&node).is_some() && !super::names_moves(objects),
        changes,
        found_in: AtomicUsize::new(0),
    };
    state.changed().await
}

/// A manifest, and the box that it says something of.
struct Part {
    extents: Extents,
    manifest: Arc<Manifest>,
}

impl Part {
    async fn load(
        objects: &Objects,
        id: ManifestId,
        extents: Extents,
    ) -> Result<Self, SessionError> {
        let manifest = objects.manifest(id).await?;
        Ok(Self { extents, manifest })
    }

    /// A box of another rank says nothing.
    fn may_have(&self, index: &[u32]) -> bool {
        self.extents.ranges().len() != index.len() || self.extents.contains(index)
    }
}

struct Shifted<'a> {
    node: NodeId,
    view: &'a BaseView,
    parts: Vec<Part>,
    is_new: bool,
    changes: &'a ChangeSet,
    /// The part in which something was found last: what is asked next is near it.
    found_in: AtomicUsize,
}

impl Shifted<'_> {
    /// The chunk ref of the base at an index.
    fn stored(&self, index: &[u32]) -> Result<Option<ChunkRef<'_>>, SessionError> {
        let last = self.found_in.load(Ordering::Relaxed);
        let others = (0..self.parts.len()).filter(|at| *at != last);
        for at in std::iter::once(last).chain(others) {
            let Some(part) = self.parts.get(at).filter(|part| part.may_have(index)) else {
                continue;
            };
            if let Some(chunk) = part.manifest.get(&self.node, index)? {
                self.found_in.store(at, Ordering::Relaxed);
                return Ok(Some(chunk));
            }
        }
        Ok(None)
    }

    /// The chunk ref at an index before the session.
    fn before(&self, index: &[u32]) -> Result<Option<ChunkRef<'_>>, SessionError> {
        match self.is_new {
            true => Ok(None),
            false => self.stored(index),
        }
    }

    /// The chunk ref of the session at an index.
    fn now(&self, index: &[u32]) -> Result<Option<ChunkRef<'_>>, SessionError> {
        match self.changes.chunk(&self.node, index) {
            Some(PendingChunk::Set(chunk)) => return Ok(Some(chunk)),
            Some(PendingChunk::Deleted) => return Ok(None),
            None => {}
        }
        let mut base = Vec::new();
        match self.view.find(index, &mut base) {
            true => self.stored(&base),
            false => Ok(None),
        }
    }

    /// Every index at which there was something, is something that moved there, or wrote the session.
    async fn changed(&self) -> Result<BTreeSet<ChunkIndex>, SessionError> {
        let mut changed = BTreeSet::new();
        let (mut index, mut place) = (Vec::new(), Vec::new());
        let mut looked_at = 0_usize;
        for part in &self.parts {
            let refs = part.manifest.array(&self.node);
            for record in refs.iter().flat_map(|it| it.refs()) {
                index.clear();
                record.index_into(&mut index);
                self.compare_cell(&index, &mut changed)?;
                if self.view.place(&index, &mut place) && place != index {
                    self.compare_cell(&place, &mut changed)?;
                }
                looked_at += 1;
                if looked_at.is_multiple_of(AT_ONCE) {
                    tokio::task::yield_now().await;
                }
            }
        }
        if let Some(table) = self.changes.chunks_of(&self.node) {
            for row in 0..table.len() as u32 {
                self.compare_cell(table.index(row), &mut changed)?;
            }
        }
        Ok(changed)
    }

    fn compare_cell(
        &self,
        index: &[u32],
        changed: &mut BTreeSet<ChunkIndex>,
    ) -> Result<(), SessionError> {
        if self.before(index)? != self.now(index)? {
            changed.insert(ChunkIndex::from(index.to_vec()));
        }
        Ok(())
    }
}
