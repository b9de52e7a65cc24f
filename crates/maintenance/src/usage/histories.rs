//! The snapshots that some refs reach.

use std::sync::Arc;

use icefield_core::Repository;
use icefield_format::{Snapshot, SnapshotId};

use super::UsageError;
use crate::copy::plan::{Walk, snapshot};

/// Snapshots with their parents, parents first.
#[derive(Debug)]
pub(super) struct Histories {
    steps: Vec<(SnapshotId, Option<SnapshotId>)>,
    ids: Vec<SnapshotId>,
}

impl Histories {
    pub(super) async fn of(
        repository: &Repository,
        tips: impl IntoIterator<Item = SnapshotId>,
    ) -> Result<Self, UsageError> {
        let mut walk = Walk::new(repository, None, |_: &SnapshotId| false);
        for tip in tips {
            walk.follow(tip).await?;
        }
        let plan = walk.finish();
        let steps: Vec<_> = plan
            .steps
            .iter()
            .map(|step| (step.id, step.parent))
            .collect();
        let ids = steps.iter().map(|(id, _)| *id).collect();
        Ok(Self { steps, ids })
    }

    pub(super) fn steps(&self) -> &[(SnapshotId, Option<SnapshotId>)] {
        &self.steps
    }

    pub(super) fn ids(&self) -> &[SnapshotId] {
        &self.ids
    }

    /// Returns the ids, ascending.
    pub(super) fn sorted(&self) -> Vec<[u8; 12]> {
        let mut ids: Vec<_> = self.ids.iter().map(|id| *id.as_bytes()).collect();
        ids.sort_unstable();
        ids
    }
}

pub(super) async fn read_snapshot(
    repository: &Repository,
    id: SnapshotId,
) -> Result<Arc<Snapshot>, UsageError> {
    Ok(snapshot(repository, id).await?)
}
