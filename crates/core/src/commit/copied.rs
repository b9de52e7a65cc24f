//! Manifests of a shifted array that are copied whole: only the coordinates of their references change.
//!
//! A window that moves by whole cells takes most manifests along as they are. A copy costs what it takes to compress it,
//! and no reference is decoded or encoded.

use std::ops::Range;

use icefield_format::{FormatError, Manifest, ManifestId, ManifestRef, Writer};

use super::manifests::{ManifestJob, NewManifest};
use crate::change_set::{BaseView, ChangeSet};

impl ManifestJob {
    /// Returns the one manifest that all references of this job come from, if they may be all that it has. It is an input of
    /// no other job of the array.
    pub(super) fn lone_input(&self, changes: &ChangeSet) -> Option<&ManifestRef> {
        let view = changes.view_of(&self.node).filter(|it| it.is_shifted())?;
        let part = self.part.as_ref()?;
        let [input] = &self.inputs[..] else {
            return None;
        };
        let placed = view.place_box(input.extents.ranges())?;
        let inside = |(placed, part): (&Range<u32>, &Range<u32>)| {
            part.start <= placed.start && placed.end <= part.end
        };
        let table = changes.chunks_of(&self.node);
        let is_erased = table.is_some_and(|table| table.erases_some_of(&placed));
        let is_edited = !self.rows.is_empty() || is_erased || self.relocations.concern(&self.node);
        (!is_edited && placed.iter().zip(part).all(inside)).then_some(input)
    }

    /// Makes the one manifest of this job by copying its only input; none if references would have to be left out, or the
    /// input is not such that it can be copied.
    pub(super) fn copy(
        &self,
        changes: &ChangeSet,
        input: &Manifest,
        writer: &Writer,
    ) -> Result<Option<NewManifest>, FormatError> {
        let (Some(view), Some(reference)) = (changes.view_of(&self.node), self.lone_input(changes))
        else {
            return Ok(None);
        };
        let Some(within) = self.carried(view, reference) else {
            return Ok(None);
        };
        let mut id = [0; 12];
        self.entropy.fill(&mut id);
        let id = ManifestId::from_bytes(id);
        let copy = input.translated(&self.node, &within, view.offset(), id, writer)?;
        Ok(copy.map(|copy| NewManifest {
            reference: ManifestRef {
                id,
                extents: copy.extents,
            },
            info: copy.encoded.info,
            file: Some(copy.encoded.bytes),
            decoded: Some(copy.manifest.into()),
        }))
    }

    /// The base's indices whose references are carried over from a manifest: those within its box, that the view shows, and
    /// that are then within the grid and this job's part of it.
    fn carried(&self, view: &BaseView, input: &ManifestRef) -> Option<Vec<Range<u32>>> {
        let (part, grid, boxed) = (self.part.as_ref()?, &self.grid, input.extents.ranges());
        let rank = grid.len();
        if [boxed.len(), view.seen().len(), part.len()] != [rank; 3] {
            return None;
        }
        let axis = |axis: usize| {
            let by = view.offset()[axis];
            let (boxed, seen, part) = (&boxed[axis], &view.seen()[axis], &part[axis]);
            let first = boxed.start.max(seen.start);
            let end = boxed.end.min(seen.end);
            let placed_end = i64::from(part.end.min(grid[axis]));
            let first = i64::from(first).max(i64::from(part.start) - by);
            let end = i64::from(end).min(placed_end - by);
            // A number that does not fit lies beyond every coordinate, so that the range is empty.
            Some(u32::try_from(first).ok()?..u32::try_from(end).ok()?)
        };
        (0..rank).map(axis).collect()
    }
}

#[cfg(test)]
mod tests;
