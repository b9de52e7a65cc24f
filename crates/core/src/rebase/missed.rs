//! The commits between a session's base and the tip of its branch.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::stream::TryStreamExt;
use icefield_format::{NodeId, Snapshot, SnapshotId, SpecVersion, TransactionLog};
use icefield_refs::{FetchError, RefsError, SnapshotInfo, meeting_point, way};

use super::Changes;
use crate::Diff;
use crate::RebaseError;
use crate::commit::shifted_arrays;
use crate::repository::Shared;
use crate::session::Base;

/// Commits whose objects are fetched at a time: twice as many as a walk reads in one round, so that it goes on meanwhile.
const TOGETHER: usize = 32;

/// One commit of the way, with its log if there is one.
#[derive(Debug)]
pub(super) struct MissedCommit {
    info: SnapshotInfo,
    pub(super) snapshot: Arc<Snapshot>,
    log: Option<Arc<TransactionLog>>,
    /// Whether its parent is the first snapshot of the repository.
    on_first: bool,
    /// Arrays whose chunks were shifted by commits that the branch has no more.
    shifted_before: BTreeSet<NodeId>,
}

impl MissedCommit {
    async fn read(shared: &Shared, info: SnapshotInfo) -> Result<Self, RebaseError> {
        let (objects, id) = (&shared.objects, info.id);
        let log = async {
            match objects.log_of(id, info.parent_id).await {
                Ok(log) => Ok(Some(log)),
                // Expired, or written by a tool without logs: the snapshots themselves tell.
                Err(FetchError::Missing { .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let (snapshot, log) = futures::try_join!(objects.snapshot(id), log)?;
        Ok(Self {
            info,
            snapshot,
            log,
            on_first: false,
            shifted_before: BTreeSet::new(),
        })
    }

    pub(super) fn id(&self) -> SnapshotId {
        self.info.id
    }

    /// Says what the commit did: its log does, or a comparison of its snapshot with the one before.
    ///
    /// Expiration puts a snapshot behind the first one of the repository without a word in its log on what was in
    /// between. The first one has no nodes, so that a log which names all nodes names all chunks, too; any other is not
    /// believed. Behind any other snapshot, expiration has made the log tell everything. In version 2 it names the logs of
    /// what was in between, and these are not read either: the snapshots tell the net effect.
    pub(super) async fn changes(
        &self,
        shared: &Shared,
        before: &Base,
        after: &Base,
    ) -> Result<Changes, RebaseError> {
        let mut shifted = shifted_arrays(&self.info);
        shifted.extend(&self.shifted_before);
        let log = self.log.as_deref().map(Changes::of_log);
        let is_whole = self.info.pruned_logs.is_empty();
        let believed = |log: &Changes| {
            is_whole && (!self.on_first || log.names_all_of(before.snapshot(), after.snapshot()))
        };
        match log.filter(believed) {
            Some(changes) => Ok(Changes { shifted, ..changes }),
            None => {
                let ids = (before.snapshot().id(), after.snapshot().id());
                let diff = Diff::between(shared, ids.0, ids.1).await?;
                let changes = Changes::of_diff(&diff, before, after);
                Ok(Changes { shifted, ..changes })
            }
        }
    }
}

/// Returns the commits after `base` up to `tip`, oldest first.
///
/// In version 2, `base` may have been amended, or the branch reset to what was before it: then the first one is compared with
/// `base`, snapshot with snapshot, and the others are those that follow it.
///
/// # Errors
/// [`RebaseError::BaseNotInHistory`], objects that cannot be read.
pub(super) async fn missed(
    shared: &Arc<Shared>,
    base: SnapshotId,
    tip: SnapshotId,
) -> Result<Vec<MissedCommit>, RebaseError> {
    let lost = match since(shared, base, tip).await {
        Err(lost @ RebaseError::BaseNotInHistory { .. }) => lost,
        commits => return commits,
    };
    if shared.ledger.spec_version() == SpecVersion::V1 {
        return Err(lost);
    }
    let graph = shared.ledger.graph();
    let Some(met) = meeting_point(graph.clone(), base, tip, |_| Vec::new()).await? else {
        return Err(lost);
    };
    let mut commits = since(shared, met, tip).await?;
    if commits.is_empty() {
        let info = shared.ledger.snapshot(met).await?;
        commits.push(MissedCommit::read(shared, info).await?);
    }
    let gone: Vec<SnapshotInfo> = way(&graph, base, met).try_collect().await?;
    if let Some(first) = commits.first_mut() {
        first.log = None;
        first.shifted_before = gone.iter().flat_map(shifted_arrays).collect();
    }
    Ok(commits)
}

/// Returns the commits after `base`, which is in the history of `tip`, oldest first.
///
/// The log of a snapshot is asked for only when the graph has told its parent: an expiration makes a log tell more before it
/// gives the snapshot another parent, so that a log read before could be one that tells less than this parent needs. Logs
/// ride in the round of the next snapshots; only the last ones take one of their own.
async fn since(
    shared: &Arc<Shared>,
    base: SnapshotId,
    tip: SnapshotId,
) -> Result<Vec<MissedCommit>, RebaseError> {
    let graph = shared.ledger.graph();
    let commits = way(&graph, tip, base).map_err(|error| match error {
        RefsError::NotInHistory { base, tip } => RebaseError::BaseNotInHistory { base, tip },
        error => error.into(),
    });
    let commits = commits.map_ok(|info| MissedCommit::read(shared, info));
    let mut commits: Vec<_> = commits.try_buffered(TOGETHER).try_collect().await?;
    commits.reverse();
    if let Some(oldest) = commits.first_mut() {
        // In memory: the session stands there.
        oldest.on_first = shared.ledger.snapshot(base).await?.parent_id.is_none();
    }
    Ok(commits)
}
