//! Chunks that an earlier attempt has put together.

use std::collections::HashSet;
use std::sync::Arc;

use crate::import::{Journal, WorkKey};
use crate::regions::Region;

/// The chunks of one array that an earlier attempt has made.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) journal: Option<Arc<Journal>>,
    /// Of the documents of the array and of each part.
    pub(super) documents: Option<WorkKey>,
    /// The states of the parts; `None` of one that is not known.
    pub(super) states: Vec<Option<String>>,
    /// Places of chunks that are set already.
    pub(super) recalled: HashSet<Vec<u64>>,
}

impl Memory {
    /// Whether a chunk is set already.
    pub(super) fn has(&self, place: &[u64]) -> bool {
        !self.recalled.is_empty() && self.recalled.contains(place)
    }

    /// Whether all chunks in a box of the grid are.
    pub(super) fn has_all(&self, chunks: &Region) -> bool {
        !self.recalled.is_empty() && chunks.places().all(|place| self.has(&place))
    }
}
