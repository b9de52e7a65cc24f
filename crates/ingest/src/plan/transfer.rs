//! Where the chunks of a source go.

use std::ops::Range;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodePath};
use serde::{Deserialize, Serialize};

use crate::Difference;

/// The action for the chunks of one array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Copy each.
    Copy,
    /// Copy each of a part of the grid, somewhere else along an axis.
    Move(Shift),
    /// Compare each with the one that is there.
    Compare,
    /// Encode the elements in the layout that the array has in the repository, and compare that.
    CompareElements(Difference),
}

/// A part of a grid of chunks, cut across one axis, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shift {
    pub(crate) axis: usize,
    /// Chunks along the axis, in the source.
    pub(crate) chunks: Range<u64>,
    /// Where the first of them goes.
    pub(crate) to: u64,
}

impl Shift {
    /// Returns where a chunk goes; `None` if it is not of the part.
    pub(crate) fn target(&self, index: &[u32]) -> Option<Vec<u32>> {
        let at = u64::from(*index.get(self.axis)?);
        if !self.chunks.contains(&at) {
            return None;
        }
        let mut target = index.to_vec();
        target[self.axis] = u32::try_from(at - self.chunks.start + self.to).ok()?;
        Some(target)
    }
}

/// The elements that a source appends to an array that grows along one axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Growth {
    /// The array in the source.
    pub(crate) from: NodePath,
    /// The array as the source describes it.
    pub(crate) array: ArrayMetadata,
    /// Its document in the source.
    pub(crate) document: Bytes,
    /// The array in the repository.
    pub(crate) to: NodePath,
    pub(crate) axis: usize,
    /// Elements along the axis that lie before.
    pub(crate) at: u64,
    /// The elements of the source that are put there.
    pub(crate) kept: Range<u64>,
    /// Why its chunks cannot be taken as they are, if they cannot.
    pub(crate) recoded: Option<Difference>,
}

impl Growth {
    /// Returns the whole of an array that is encoded anew.
    pub(crate) fn whole(transfer: &Transfer, recoded: Difference) -> Self {
        Self {
            from: transfer.from.clone(),
            kept: 0..transfer.array.shape.first().copied().unwrap_or(1),
            array: transfer.array.clone(),
            document: transfer.document.clone(),
            to: transfer.to.clone(),
            axis: 0,
            at: 0,
            recoded: Some(recoded),
        }
    }

    /// Returns the elements that are added.
    pub(crate) fn length(&self) -> u64 {
        self.kept.end - self.kept.start
    }
}

/// The chunks of one array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transfer {
    /// The array in the source.
    pub(crate) from: NodePath,
    /// The array as the source describes it.
    pub(crate) array: ArrayMetadata,
    /// Its document in the source.
    pub(crate) document: Bytes,
    /// The array in the repository.
    pub(crate) to: NodePath,
    pub(crate) action: Action,
}
