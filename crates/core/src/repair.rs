//! Access to a repository that only checks and repairs need: ordinary callers never leave stored parts out of a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{Extents, ManifestId, NodePath};
use icefield_storage::{Key, Storage};

use crate::commit::Commit;
use crate::repository::Repository;
use crate::virtual_chunks::VirtualChunkError;

pub use crate::moved::{ComparedChunks, MovedBytes, MovedChunk, compare_moved};

/// The manifests of the base that the new snapshot of a repair does not take over as they are.
#[derive(Clone, Debug, Default)]
pub struct ManifestRepair {
    /// Lost manifests, which are left out without being read. The manifests of an array that names one are replaced by a
    /// manifest of the refs in its other manifests and the session's edits.
    pub lost: BTreeSet<ManifestId>,
    /// The extents of manifests whose recorded extents are wrong, by the array to which they apply, in chunks. They must hold
    /// every ref of the array. The manifests themselves are neither read nor written.
    pub extents: BTreeMap<(NodePath, ManifestId), Extents>,
}

/// Adds a repair of manifests to a commit. The arrays that it touches count as updated in the transaction log, so that a
/// commit that does nothing else is not empty.
pub fn with_manifest_repair(mut commit: Commit, repair: ManifestRepair) -> Commit {
    commit.allow_empty |= !repair.lost.is_empty() || !repair.extents.is_empty();
    commit.lost = repair.lost;
    commit.extents = repair.extents;
    commit
}

/// Finds the store and the key of the object at the location of a virtual chunk, if a container of the configuration in force
/// and a grant cover that location. Sends no request for the object.
///
/// # Errors
/// [`VirtualChunkError`] without those about the object itself.
pub async fn foreign_object(
    repository: &Repository,
    location: &str,
) -> Result<(Arc<dyn Storage>, Key), VirtualChunkError> {
    let shared = repository.shared();
    let in_force = shared.configs.in_force();
    let target = shared.virtual_stores.find(&in_force.containers, location);
    let target = target.await?;
    Ok((target.storage, target.key))
}
