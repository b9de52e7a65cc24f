//! The destination of a copy: whether it is another place, and what is there.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{CollectionHold, FetchError, RefsError, Repository, RepositoryError, Settings};
use icefield_format::SnapshotId;
use icefield_refs::{Histories, Pace, Parents};
use icefield_storage::Storage;

use super::error::CopyError;
use super::plan::{Plan, repository_error};
use super::refs::{CopiedRef, RefAction};
use crate::listing::{ObjectKind, listed};

/// Bytes of cached metadata in the handle on a destination: every object is looked at once.
const CACHE: u64 = 16 << 20;

/// Lets collections at the destination go on, unless a ref may yet land.
pub(crate) async fn release<T>(hold: Option<CollectionHold>, copied: &Result<T, CopyError>) {
    if let Some(hold) = hold
        && !matches!(copied, Err(CopyError::RefUnknown { .. }))
    {
        hold.release().await;
    }
}

/// Refuses a copy onto itself.
pub(crate) fn check_places(
    source: &Repository,
    destination: &dyn Storage,
) -> Result<(), CopyError> {
    match (source.storage().place(), destination.place()) {
        (Some(one), Some(other)) if one == other => Err(CopyError::SamePlace {
            location: destination.to_string(),
        }),
        _ => Ok(()),
    }
}

/// Returns the snapshots that refs of a destination reach, ascending. Others may be what a stopped copy or a collection has
/// left, and lack what they need.
pub(crate) async fn reachable(destination: &Repository) -> Result<Vec<[u8; 12]>, CopyError> {
    let ledger = destination.ledger();
    let list = ledger.list().await.map_err(CopyError::DestinationRefs)?;
    let mut histories = Histories::new(Parents(ledger.graph()), Pace::long());
    // A damaged ref reaches nothing: more is copied then, and the ref itself is refused or replaced by name.
    list.tips().for_each(|tip| histories.follow(tip));
    while let Some((_, read)) = histories.next().await {
        match read {
            Ok(_) | Err(RefsError::Fetch(FetchError::Missing { .. } | FetchError::Format(_))) => {}
            Err(error) => return Err(CopyError::DestinationRefs(error)),
        }
    }
    let mut reached = BTreeSet::new();
    for tip in list.tips() {
        // A history with a gap is not there.
        let (mut own, mut is_whole) = (Vec::new(), false);
        for (id, parent) in histories.of(tip) {
            is_whole = parent.is_none() || reached.contains(id.as_bytes());
            own.push(*id.as_bytes());
            if is_whole {
                break;
            }
        }
        if is_whole {
            reached.extend(own);
        }
    }
    reached.insert(*SnapshotId::INITIAL.as_bytes());
    Ok(reached.into_iter().collect())
}

/// Lists the snapshots of a destination, ascending.
pub(crate) async fn snapshots(destination: &dyn Storage) -> Result<Vec<[u8; 12]>, CopyError> {
    let list = async {
        let objects = listed(destination, ObjectKind::Snapshot, [0; 12])?;
        objects.map_ok(|(id, _)| id).try_collect().await
    };
    list.await.map_err(CopyError::Destination)
}

/// Opens the destination; none if it is not there yet.
pub(crate) async fn open(
    source: &Repository,
    destination: &Arc<dyn Storage>,
) -> Result<Option<Repository>, CopyError> {
    match builder(source, destination).open().await {
        Ok(there) => Ok(Some(there)),
        Err(RepositoryError::NotFound { .. }) => Ok(None),
        Err(error) => Err(CopyError::Open(error)),
    }
}

pub(super) fn builder(
    source: &Repository,
    destination: &Arc<dyn Storage>,
) -> icefield_core::RepositoryBuilder {
    Repository::builder(Arc::clone(destination))
        .settings(Settings::default().with_cache_bytes(CACHE))
        .clock(Arc::clone(source.clock()))
        .entropy(source.entropy().derive())
}

/// Main of a new repository was left at the initial snapshot, to be moved: that is part of its creation.
pub(crate) fn call_created(refs: &mut [CopiedRef]) {
    for said in refs
        .iter_mut()
        .filter(|said| said.action == RefAction::Moved)
    {
        said.action = RefAction::Created;
    }
}

/// Returns those of the snapshots that were passed over which have fewer ancestors here than in the source.
pub(super) async fn ends_at(
    source: &Repository,
    there: &Repository,
    plan: &Plan,
) -> Result<Vec<SnapshotId>, CopyError> {
    let mut ends = Vec::new();
    for id in plan.bases.iter().filter(|id| **id != SnapshotId::INITIAL) {
        let ours = source.snapshot_info(*id).await.map_err(repository_error)?;
        let theirs = there.snapshot_info(*id).await.map_err(CopyError::Open)?;
        if ours.parent_id != theirs.parent_id && theirs.parent_id == Some(SnapshotId::INITIAL) {
            ends.push(*id);
        }
    }
    Ok(ends)
}
