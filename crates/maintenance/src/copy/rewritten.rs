//! Files that an expiration at the source has rewritten since a stopped copy left them at the destination.
//!
//! An expiration gives a snapshot another parent, and makes its log tell more before that. No ref at the destination
//! reached what is to be copied when that was decided; but another copy may be at work, and may have read the source
//! earlier or later. So both edits are such that they are right in whatever order they come: a log is only ever replaced
//! by one that tells all that it told, and goes before its snapshot; of a snapshot nothing is replaced but the parent,
//! and whichever of two parents it has, that one was copied before, and the log tells enough for both.

use std::collections::BTreeSet;

use icefield_format::{ChunkIndex, DecodeLimits, NodeId, SnapshotId, TransactionLog};
use icefield_refs::differ_in_parent;
use icefield_storage::{Bytes, Key, Storage, StorageExt, Version};

use super::CopyError;
use super::objects::replace_bytes;
use crate::listing::ObjectKind;

/// The object at the destination in the place of a file of the source.
async fn there(
    destination: &dyn Storage,
    kind: ObjectKind,
    id: [u8; 12],
    limits: &DecodeLimits,
) -> Result<(Key, Bytes, Version), CopyError> {
    let key = kind.key(id).map_err(CopyError::Destination)?;
    let read = destination.try_read_at_most(&key, limits.max_file()).await;
    match read.map_err(CopyError::Destination)? {
        Some((bytes, version)) => Ok((key, bytes, version)),
        // It was there a moment ago.
        None => Err(CopyError::OtherBytes { key }),
    }
}

/// Replaces a transaction log at the destination by one that tells more. Returns whether it was, or would be.
pub(super) async fn renew_log(
    destination: &dyn Storage,
    id: SnapshotId,
    ours: Bytes,
    limits: &DecodeLimits,
    dry_run: bool,
) -> Result<bool, CopyError> {
    let (kind, name) = (ObjectKind::TransactionLog, *id.as_bytes());
    let (key, theirs, version) = there(destination, kind, name, limits).await?;
    if theirs == ours {
        return Ok(false);
    }
    let other = |ours: &Bytes| differs(key.clone(), &theirs, ours);
    let decode = |file: &[u8]| TransactionLog::decode(file, id, limits);
    let (ours_told, theirs_told) = match (decode(&ours), decode(&theirs)) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(error), _) => return Err(error.into()),
        // It is damaged; a check finds it, and says what to do.
        (Ok(_), Err(_)) => return Err(other(&ours)),
    };
    if tells_all_of(&ours_told, &theirs_told) {
        if !dry_run {
            replace_bytes(destination, kind, name, ours, version).await?;
        }
        return Ok(true);
    }
    match tells_all_of(&theirs_told, &ours_told) {
        // Another run has copied it after a later expiration.
        true => Ok(false),
        false => Err(other(&ours)),
    }
}

fn differs(key: Key, theirs: &Bytes, ours: &Bytes) -> CopyError {
    let (found, expected) = (theirs.len() as u64, ours.len() as u64);
    match found == expected {
        true => CopyError::OtherBytes { key },
        false => CopyError::OtherSize {
            key,
            found,
            expected,
        },
    }
}

/// Replaces a snapshot at the destination, if it differs in nothing but its parent.
pub(super) async fn renew_snapshot(
    destination: &dyn Storage,
    id: SnapshotId,
    ours: Bytes,
    limits: &DecodeLimits,
) -> Result<(), CopyError> {
    let (kind, name) = (ObjectKind::Snapshot, *id.as_bytes());
    let (key, theirs, version) = there(destination, kind, name, limits).await?;
    match differ_in_parent(&ours, &theirs, id, limits) {
        Ok(true) => replace_bytes(destination, kind, name, ours, version).await,
        Ok(false) | Err(_) => Err(CopyError::OtherBytes { key }),
    }
}

/// Returns whether one log names everything that another one does.
fn tells_all_of(new: &TransactionLog, old: &TransactionLog) -> bool {
    fn within(old: impl Iterator<Item = NodeId>, new: impl Iterator<Item = NodeId>) -> bool {
        let new: BTreeSet<NodeId> = new.collect();
        old.into_iter().all(|id| new.contains(&id))
    }
    let chunks = |log: &TransactionLog, node: NodeId| -> BTreeSet<ChunkIndex> {
        let arrays = log.updated_chunks().filter(|it| it.node_id() == node);
        arrays
            .flat_map(|it| it.chunks().collect::<Vec<_>>())
            .collect()
    };
    // A node that a commit in between has created is named as new alone.
    let touched_groups = new.updated_groups().chain(new.new_groups());
    let touched_arrays = new.updated_arrays().chain(new.new_arrays());
    let mut arrays = old.updated_chunks();
    within(old.new_groups(), new.new_groups())
        && within(old.new_arrays(), new.new_arrays())
        && within(old.deleted_groups(), new.deleted_groups())
        && within(old.deleted_arrays(), new.deleted_arrays())
        && within(old.updated_groups(), touched_groups)
        && within(old.updated_arrays(), touched_arrays)
        && arrays.all(|array| {
            let told = chunks(new, array.node_id());
            array.chunks().all(|index| told.contains(&index))
        })
}
