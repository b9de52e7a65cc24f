//! Erasing all chunks of a box at once: what leaves a window that grows at its other end.

use std::ops::Range;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{Manifest, ManifestId, NodeId, NodePath};

use super::write::array_of;
use super::{Session, SessionState};
use crate::SessionError;
use crate::change_set::BaseView;

/// Manifests read at a time.
const AHEAD: usize = 4;

/// A box in the base's coordinates, and the manifests in which readers look for its chunks.
struct Target {
    node: NodeId,
    /// The array as it will be.
    grid: Vec<u32>,
    view: Option<BaseView>,
    /// The box, as far as it lies within the grid.
    within: Vec<Range<u32>>,
    /// Of each manifest, the part of the box that readers look for in it.
    manifests: Vec<(ManifestId, Vec<Range<u32>>)>,
}

impl Session {
    /// Deletes every chunk of an array within a box: one range of chunk coordinates per dimension. What of the box lies outside
    /// of the grid has no chunks, and neither has a box of another rank. Returns how many there were.
    ///
    /// The same as [`Session::delete_chunk`] for each cell of the box, also where there is no chunk: one that a concurrent commit
    /// writes anywhere in the box is a conflict. It takes the time of reading the manifests that have something in the box, and
    /// memory for the chunks that are there, however many cells the box has.
    ///
    /// The log of the commit names the chunks that were there. It names the other cells, too, if the boxes that the session
    /// erased of the array have at most 4096.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], the errors of the store, and the reasons why a session
    /// cannot be written; [`SessionError::ArrayChanged`] if the array is replaced, or its shape changed, meanwhile. Nothing is
    /// deleted then.
    pub async fn delete_chunks(
        &self,
        path: &NodePath,
        within: &[Range<u32>],
    ) -> Result<u64, SessionError> {
        let permit = self.begin_write().await?;
        let target = Target::of(&*self.state()?, path, within)?;
        if within.len() != target.grid.len() {
            return Ok(0);
        }
        if within.is_empty() {
            // One chunk at most, which has no coordinates to collect.
            let there = self.chunk_location(path, &[]).await?.is_some();
            drop(permit);
            self.delete_chunk(path, &[]).await?;
            return Ok(there.into());
        }
        let objects = &self.shared().objects;
        let mut reading = stream::iter(target.manifests.clone())
            .map(|(id, part)| async move {
                let manifest = objects.manifest(id).await?;
                Ok::<_, SessionError>((manifest, part))
            })
            .buffered(AHEAD);
        let mut found = Vec::new();
        while let Some((manifest, part)) = reading.try_next().await? {
            target.collect(&manifest, &part, &mut found);
        }
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        let now = Target::of(&state, path, within)?;
        if (now.node, &now.grid, &now.view) != (target.node, &target.grid, &target.view) {
            let first: Vec<u32> = within.iter().map(|range| range.start).collect();
            return Err(SessionError::ArrayChanged {
                path: path.clone(),
                index: first.into(),
            });
        }
        let changes = Arc::make_mut(&mut state.changes);
        Ok(changes.delete_box(path, target.node, &target.within, &found))
    }
}

impl Target {
    fn of(
        state: &SessionState,
        path: &NodePath,
        within: &[Range<u32>],
    ) -> Result<Self, SessionError> {
        let node = array_of(state, path)?;
        let grid = node.metadata.array().map(|it| it.chunk_counts.clone());
        let grid = grid.unwrap_or_default();
        let view = state.changes.view_of(&node.id).cloned();
        let axes = within.iter().zip(&grid);
        let inside: Vec<Range<u32>> = axes
            .map(|(range, count)| range.start..range.end.min(*count))
            .collect();
        let wanted = match &view {
            None => Some(inside.clone()),
            Some(view) => view.find_box(&inside),
        };
        let base = &state.base;
        let array = node.base_position.and_then(|position| base.array(position));
        let manifests = array.iter().flat_map(|array| array.manifests());
        let manifests = manifests
            .filter_map(|it| {
                let wanted = wanted.as_ref().filter(|wanted| it.rank() == wanted.len())?;
                let extents = it.extents();
                let axes = extents.ranges().iter().zip(wanted);
                let part: Vec<Range<u32>> = axes
                    .map(|(a, b)| a.start.max(b.start)..a.end.min(b.end))
                    .collect();
                (!part.iter().any(Range::is_empty)).then(|| (it.id(), part))
            })
            .collect();
        Ok(Self {
            node: node.id,
            grid,
            view,
            within: inside,
            manifests,
        })
    }

    /// Adds the coordinates at which the references of a part of the box are seen, one behind the other.
    fn collect(&self, manifest: &Manifest, part: &[Range<u32>], found: &mut Vec<u32>) {
        let Some(refs) = manifest.array(&self.node) else {
            return;
        };
        let first: Vec<u32> = part.iter().map(|range| range.start).collect();
        let (Ok(from) | Err(from)) = refs.position(&first);
        let (mut base, mut place) = (Vec::new(), Vec::new());
        for position in from..refs.len() {
            refs.record_at(position).index_into(&mut base);
            // Along the first axis they ascend.
            if base.first().is_none_or(|at| *at >= part[0].end) {
                break;
            }
            if base.len() != part.len()
                || !part.iter().zip(&base).all(|(range, at)| range.contains(at))
            {
                continue;
            }
            match &self.view {
                None => found.extend_from_slice(&base),
                Some(view) if view.place(&base, &mut place) => found.extend_from_slice(&place),
                Some(_) => {}
            }
        }
    }
}
