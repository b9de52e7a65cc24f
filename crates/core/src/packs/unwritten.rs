//! Packs that are not stored yet, to be found by the references of any session of an open repository.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use bytes::Bytes;
use icefield_format::ChunkId;

use super::state::Packs;

/// Where the bytes of each pack are.
#[derive(Debug, Default)]
pub(crate) struct Unwritten(RwLock<HashMap<ChunkId, Weak<Packs>>>);

impl Unwritten {
    /// Returns bytes of a pack, if it is in memory.
    pub(crate) fn read(&self, id: ChunkId, range: Range<u64>) -> Option<Bytes> {
        self.find(id)?.read(id, range)
    }

    /// Keeps what has been written to a pack at its place from now on, whether it is overwritten or not: references to it are in
    /// other hands.
    pub(crate) fn pin(&self, id: ChunkId) {
        if let Some(packs) = self.find(id) {
            packs.pin();
        }
    }

    /// Returns the first of some objects that is a pack in memory, and so is not known to be stored.
    pub(crate) fn first_of(&self, ids: impl IntoIterator<Item = ChunkId>) -> Option<ChunkId> {
        let is_here = |id: &ChunkId| self.find(*id).is_some_and(|packs| packs.holds(*id));
        ids.into_iter().find(is_here)
    }

    /// Returns whether no pack is in memory.
    pub(crate) fn is_empty(&self) -> bool {
        self.packs().is_empty()
    }

    fn find(&self, id: ChunkId) -> Option<std::sync::Arc<Packs>> {
        self.packs().get(&id)?.upgrade()
    }

    pub(super) fn add(&self, id: ChunkId, packs: Weak<Packs>) {
        self.packs_mut().insert(id, packs);
    }

    pub(super) fn remove(&self, id: ChunkId) {
        self.packs_mut().remove(&id);
    }

    fn packs(&self) -> RwLockReadGuard<'_, HashMap<ChunkId, Weak<Packs>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn packs_mut(&self) -> RwLockWriteGuard<'_, HashMap<ChunkId, Weak<Packs>>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
