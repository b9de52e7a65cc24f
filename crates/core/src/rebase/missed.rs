//! The commits between a session's base and the tip of its branch.
//!
//! In spec version 1 the id of the parent is inside each snapshot file, so that a history is walked one round
//! at a time. After a number of steps a listing of the snapshots is taken as a hint for what to fetch in
//! parallel; parent ids alone decide what belongs to the history.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use futures::future::join_all;
use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{Snapshot, SnapshotId, TransactionLog};
use icefield_refs::{FetchError, SnapshotInfo};

use super::{Changes, RebaseError};
use crate::Diff;
use crate::commit::shifted_arrays;
use crate::repository::Shared;
use crate::session::Base;

/// Steps taken one by one before the snapshots are listed.
const SINGLE_STEPS: usize = 16;
/// Snapshots fetched in one round after that.
const STRIDE: usize = 16;

/// One commit of the way, with its log if there is one.
#[derive(Debug)]
pub(super) struct MissedCommit {
    pub(super) id: SnapshotId,
    pub(super) snapshot: Arc<Snapshot>,
    log: Option<Arc<TransactionLog>>,
}

impl MissedCommit {
    /// Says what the commit did: its log does, or a comparison of its snapshot with the one before.
    ///
    /// Expiration puts a snapshot behind the first one of the repository without a word in its log on what was in
    /// between. The first one has no nodes, so that a log which names all nodes names all chunks, too; any other is not
    /// believed. Behind any other snapshot, expiration has made the log tell everything.
    pub(super) async fn changes(
        &self,
        shared: &Shared,
        before: &Base,
        after: &Base,
    ) -> Result<Changes, RebaseError> {
        let is_first = SnapshotInfo::of(before.snapshot())?.parent_id.is_none();
        let shifted = shifted_arrays(&SnapshotInfo::of(&self.snapshot)?);
        let log = self.log.as_deref().map(Changes::of_log);
        let believed =
            |log: &Changes| !is_first || log.names_all_of(before.snapshot(), after.snapshot());
        match log.filter(believed) {
            Some(changes) => Ok(Changes { shifted, ..changes }),
            None => {
                let ids = (before.snapshot().id(), after.snapshot().id());
                let diff = Diff::between(&shared.objects, ids.0, ids.1).await?;
                let changes = Changes::of_diff(&diff, before, after);
                Ok(Changes { shifted, ..changes })
            }
        }
    }
}

/// Returns the commits after `base` up to `tip`, oldest first.
///
/// The log of a snapshot is asked for only when that has been read: an expiration makes a log tell more before it gives
/// the snapshot another parent, so that a log read before could be one that tells less than this parent needs. Logs ride
/// in the round of the next snapshots; only the last ones take one of their own.
pub(super) async fn missed(
    shared: &Arc<Shared>,
    base: SnapshotId,
    tip: SnapshotId,
) -> Result<Vec<MissedCommit>, RebaseError> {
    let mut way: Vec<Arc<Snapshot>> = Vec::new();
    let mut logs = Vec::new();
    let mut seen = HashSet::new();
    let mut fetched: HashMap<SnapshotId, Arc<Snapshot>> = HashMap::new();
    let mut hints: Option<VecDeque<SnapshotId>> = None;
    let mut next = tip;
    let mut rounds = 0;
    while next != base {
        seen.insert(next);
        if let Some(snapshot) = shared.objects.held_snapshot(next) {
            fetched.insert(next, snapshot);
        }
        if !fetched.contains_key(&next) {
            let mut wanted = vec![next];
            rounds += 1;
            if rounds > SINGLE_STEPS {
                let hints = match &mut hints {
                    Some(hints) => hints,
                    none => none.insert(newest_first(shared, base).await?),
                };
                while wanted.len() < STRIDE
                    && let Some(id) = hints.pop_front()
                {
                    if !seen.contains(&id) && !fetched.contains_key(&id) {
                        wanted.push(id);
                    }
                }
            }
            let behind = fetch_logs(shared, way[logs.len()..].to_vec());
            let round = futures::join!(fetch(shared, wanted, next, &mut fetched), behind);
            round.0?;
            logs.extend(round.1?);
        }
        let Some(found) = fetched.remove(&next) else {
            break;
        };
        let parent = SnapshotInfo::of(&found)?.parent_id;
        way.push(found);
        match parent {
            Some(parent) if !seen.contains(&parent) => next = parent,
            _ => return Err(RebaseError::BaseNotInHistory { base, tip }),
        }
    }
    let behind = way[logs.len()..].to_vec();
    logs.extend(fetch_logs(shared, behind).await?);
    let commits = way
        .into_iter()
        .zip(logs)
        .map(|(snapshot, log)| MissedCommit {
            id: snapshot.id(),
            snapshot,
            log,
        });
    Ok(commits.rev().collect())
}

/// Fetches snapshots in one round. Only `needed` must be there: the others are a guess.
async fn fetch(
    shared: &Shared,
    wanted: Vec<SnapshotId>,
    needed: SnapshotId,
    fetched: &mut HashMap<SnapshotId, Arc<Snapshot>>,
) -> Result<(), RebaseError> {
    let objects = &shared.objects;
    let round = wanted
        .into_iter()
        .map(|id| async move { (id, objects.snapshot(id).await) });
    for (id, snapshot) in join_all(round).await {
        match snapshot {
            Ok(snapshot) => drop(fetched.insert(id, snapshot)),
            Err(_) if id != needed => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Fetches the logs of snapshots that have been read, in one round for as many as one reads snapshots.
async fn fetch_logs(
    shared: &Shared,
    snapshots: Vec<Arc<Snapshot>>,
) -> Result<Vec<Option<Arc<TransactionLog>>>, RebaseError> {
    let objects = &shared.objects;
    let logs = stream::iter(snapshots).map(|snapshot| async move {
        match objects.log_of(&snapshot).await {
            Ok(log) => Ok(Some(log)),
            // Expired, or written by a tool without logs: the snapshots themselves tell.
            Err(FetchError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    });
    logs.buffered(STRIDE).try_collect().await
}

/// The ids of stored snapshots, those written last first, back to the base.
async fn newest_first(
    shared: &Shared,
    base: SnapshotId,
) -> Result<VecDeque<SnapshotId>, RebaseError> {
    let mut listed = shared.objects.list_snapshots().await?;
    listed.sort_by_key(|(id, time)| (std::cmp::Reverse(*time), *id));
    let end = listed
        .iter()
        .position(|(id, _)| *id == base)
        .unwrap_or(listed.len());
    Ok(listed[..end].iter().map(|(id, _)| *id).collect())
}
