//! The commits between a session's base and the tip of its branch.
//!
//! In spec version 1 the id of the parent is inside each snapshot file, so that a history is walked one round
//! at a time. After a number of steps a listing of the snapshots is taken as a hint for what to fetch in
//! parallel; parent ids alone decide what belongs to the history.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use futures::future::join_all;
use icefield_format::{Snapshot, SnapshotId, TransactionLog};
use icefield_refs::{FetchError, SnapshotInfo};

use super::{Changes, RebaseError};
use crate::Diff;
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
        let log = self.log.as_deref().map(Changes::of_log);
        let believed =
            |log: &Changes| !is_first || log.names_all_of(before.snapshot(), after.snapshot());
        match log.filter(believed) {
            Some(changes) => Ok(changes),
            None => {
                let ids = (before.snapshot().id(), after.snapshot().id());
                let diff = Diff::between(&shared.objects, ids.0, ids.1).await?;
                Ok(Changes::of_diff(&diff, before, after))
            }
        }
    }
}

struct Fetched {
    snapshot: Arc<Snapshot>,
    log: Option<Arc<TransactionLog>>,
}

/// Returns the commits after `base` up to `tip`, oldest first.
pub(super) async fn missed(
    shared: &Arc<Shared>,
    base: SnapshotId,
    tip: SnapshotId,
) -> Result<Vec<MissedCommit>, RebaseError> {
    let mut way = Vec::new();
    let mut seen = HashSet::new();
    let mut fetched: HashMap<SnapshotId, Fetched> = HashMap::new();
    let mut hints: Option<VecDeque<SnapshotId>> = None;
    let mut next = tip;
    let mut rounds = 0;
    while next != base {
        seen.insert(next);
        if let Some((snapshot, log)) = shared.objects.held_commit(next) {
            let log = Some(log);
            fetched.insert(next, Fetched { snapshot, log });
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
            fetch(shared, wanted, next, &mut fetched).await?;
        }
        let Some(found) = fetched.remove(&next) else {
            break;
        };
        let parent = SnapshotInfo::of(&found.snapshot)?.parent_id;
        way.push(MissedCommit {
            id: next,
            snapshot: found.snapshot,
            log: found.log,
        });
        match parent {
            Some(parent) if !seen.contains(&parent) => next = parent,
            _ => return Err(RebaseError::BaseNotInHistory { base, tip }),
        }
    }
    way.reverse();
    Ok(way)
}

/// Fetches snapshots and their logs in one round. Only `needed` must be there: the others are a guess.
async fn fetch(
    shared: &Shared,
    wanted: Vec<SnapshotId>,
    needed: SnapshotId,
    fetched: &mut HashMap<SnapshotId, Fetched>,
) -> Result<(), RebaseError> {
    let round = join_all(wanted.into_iter().map(|id| async move {
        let objects = &shared.objects;
        (
            id,
            futures::join!(objects.snapshot(id), objects.transaction_log(id)),
        )
    }))
    .await;
    for (id, (snapshot, log)) in round {
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(_) if id != needed => continue,
            Err(error) => return Err(error.into()),
        };
        let log = match log {
            Ok(log) => Some(log),
            // Expired, or written by a tool without logs: the snapshots themselves tell.
            Err(FetchError::Missing { .. }) => None,
            Err(_) if id != needed => continue,
            Err(error) => return Err(error.into()),
        };
        fetched.insert(id, Fetched { snapshot, log });
    }
    Ok(())
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
