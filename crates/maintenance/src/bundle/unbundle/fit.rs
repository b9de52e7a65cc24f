//! Whether a bundle fits the destination: all is there which it builds on.

use std::collections::BTreeSet;

use icefield_core::{Repository, TagName};
use icefield_format::SnapshotId;
use icefield_refs::{Graph, RefsError};
use icefield_storage::Bytes;

use crate::bundle::file::bad;
use crate::bundle::inspected::Inspected;
use crate::copy::plan::manifests_of;
use crate::copy::refs::DeletedTags;
use crate::copy::{CopyError, reachable};
use crate::listing::{ObjectKind, sizes};

/// Checks that all is there which the bundle builds on, and returns the snapshots of the destination that are believed
/// to be whole: those that its refs reach, ascending.
pub(super) async fn check_fit(
    inspected: &Inspected,
    there: Option<&Repository>,
) -> Result<Vec<[u8; 12]>, CopyError> {
    let present = match there {
        Some(there) => reachable(there).await?,
        None => Vec::new(),
    };
    let is_there = |id: &SnapshotId| present.binary_search(id.as_bytes()).is_ok();
    let required = inspected.index.requires.iter();
    if let Some(snapshot) = required.copied().find(|id| !is_there(id)) {
        return Err(CopyError::BaseMissing { snapshot });
    }
    let branches = inspected.refs.branches.iter();
    let branches = branches.map(|(name, tip)| (format!("branch {name}"), *tip));
    let tags = inspected.refs.tags.iter();
    let tags = tags.map(|(name, target)| (format!("tag {name}"), *target));
    for (name, snapshot) in branches.chain(tags) {
        if !inspected.parents.contains_key(&snapshot) && !is_there(&snapshot) {
            return Err(CopyError::Dangling { name, snapshot });
        }
    }
    if let Some(there) = there {
        check_manifests(inspected, there).await?;
    }
    Ok(present)
}

/// Checks that the manifests that are not in the bundle are those of what it builds on: of others, it is not known whether
/// their chunks are there.
async fn check_manifests(inspected: &Inspected, there: &Repository) -> Result<(), CopyError> {
    let mut unknown: BTreeSet<[u8; 12]> = inspected.foreign_manifests.clone();
    let index = &inspected.index;
    for id in index.since.iter().chain(&index.requires) {
        if unknown.is_empty() {
            break;
        }
        if !index.requires.contains(id) {
            continue;
        }
        let base = there.snapshot(*id).await.map_err(CopyError::Open)?;
        for manifest in manifests_of(&base) {
            unknown.remove(&manifest);
        }
    }
    let foreign: Vec<_> = inspected.foreign_manifests.iter().copied().collect();
    let found = sizes(&**there.storage(), ObjectKind::Manifest, &foreign)
        .await
        .map_err(CopyError::Destination)?;
    let missing = foreign.iter().zip(found);
    let mut missing = missing.filter(|(id, size)| size.is_none() || unknown.contains(*id));
    match missing.next() {
        Some((id, _)) => Err(bad(format!(
            "{} is neither in it nor in what it builds on at the destination",
            ObjectKind::Manifest.named(*id).key()
        ))),
        None => Ok(()),
    }
}

/// Histories as the bundle tells them, and where it ends, the destination.
pub(super) struct BundledGraph<'a> {
    pub(super) inspected: &'a Inspected,
    pub(super) there: &'a Repository,
}

impl Graph for BundledGraph<'_> {
    type Node = Option<SnapshotId>;
    type Error = RefsError;

    async fn read(&self, id: SnapshotId) -> Result<Self::Node, RefsError> {
        Ok(self.there.ledger().snapshot(id).await?.parent_id)
    }

    fn held(&self, id: SnapshotId) -> Option<Self::Node> {
        self.inspected.parents.get(&id).copied()
    }
}

#[async_trait::async_trait]
impl DeletedTags for Inspected {
    async fn target(&self, tag: &TagName) -> Result<Option<Bytes>, CopyError> {
        Ok(self.deleted.get(tag).cloned())
    }
}
