//! The log of a commit whose predecessors expire.
//!
//! A snapshot that gets another parent is the result of several commits, while its log names what the last one did. Who
//! rebases from the new parent would see less than there is: so its log is made to tell all before the parent changes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{
    ChunkIndex, FileKind, NodeId, NodePath, Snapshot, SnapshotId, TransactionLog,
    TransactionLogEncoder, layout,
};
use icefield_refs::{EditOutcome, FetchError, RefsError, Refusal, SnapshotSource};
use icefield_storage::{Key, KeyError, PutMode, PutOptions, PutOutcome, StorageError, StorageExt};

use crate::change_set::within;
use crate::rebase::Changes;
use crate::session::Base;
use crate::{Diff, Repository, RepositoryError};

/// Logs read at a time.
const LOGS_AHEAD: usize = 8;

impl Repository {
    /// Makes the transaction log of `id` tell all that changed since `parent`, which is about to become its parent.
    ///
    /// What the log says already it goes on saying, so that it is right for the old parent, too. A snapshot without a log
    /// needs none: who looks for it compares the snapshots.
    ///
    /// Where a manifest of an array is lost, so that the two cannot be compared, the log takes over what the logs of all
    /// commits in between say of that array.
    ///
    /// # Errors
    /// Objects that cannot be read; [`RepositoryError::ChangesLost`] if manifests are lost and logs in between, too;
    /// [`RepositoryError::Format`] if the log would be too large; what the store says. Nothing was changed.
    pub async fn absorb_into_log(
        &self,
        id: SnapshotId,
        parent: SnapshotId,
    ) -> Result<EditOutcome, RepositoryError> {
        let shared = self.shared();
        let objects = &shared.objects;
        let key = Key::parse(&layout::transaction_log_key(id))
            .map_err(|error: KeyError| StorageError::from(error))?;
        let Some((bytes, version)) = shared.storage.try_read(&key).await? else {
            return Ok(EditOutcome::Done(None));
        };
        let limits = &shared.settings.decode_limits;
        let own = TransactionLog::decode(&bytes, id, limits)?;
        let (before, after) = futures::try_join!(objects.snapshot(parent), objects.snapshot(id))?;
        let (diff, lost) = Diff::between_but_for_lost(objects, &before, &after).await?;
        let (before, after) = (Base::new(before), Base::new(after));
        let mut chunks = Changes::of_diff(&diff, &before, &after).chunks;
        if let Some((_, source)) = lost.first_key_value() {
            tracing::warn!(%id, error = %source, "logs are believed where manifests are lost");
            let told = match self.logs_between(id, parent).await? {
                Between::Told(told) => told,
                Between::Overtaken { found } => {
                    return Ok(EditOutcome::Refused(Refusal::ParentChanged { found }));
                }
                Between::Lost => {
                    let source = lost.into_values().next().map(Box::new);
                    let source = source.unwrap_or_else(|| unreachable!("BUG: it was just there"));
                    return Err(RepositoryError::ChangesLost {
                        snapshot: id,
                        parent,
                        source,
                    });
                }
            };
            for path in lost.keys() {
                let (Some(at), Some(grid)) = (after.position(path), after.grid(path)) else {
                    continue;
                };
                let node = after.record(at).id();
                let named = told
                    .iter()
                    .filter_map(|log| log.chunks.get(&node))
                    .flatten();
                let inside = named.filter(|index| within(index, &grid)).cloned();
                chunks.entry(node).or_default().extend(inside);
            }
        }
        let log = encoded(&diff, chunks, &own, &before, &after)?.finish(objects.writer())?;
        let all = TransactionLog::decode(&log, id, limits)?;
        if Changes::of_log(&all) == Changes::of_log(&own) {
            return Ok(EditOutcome::Done(None));
        }
        let mut options = PutOptions::mode(PutMode::Update(version))
            .with_content_type("application/octet-stream");
        for (name, value) in objects.writer().object_metadata(FileKind::TransactionLog) {
            options = options.with_user_metadata(name, &value);
        }
        let outcome = shared.storage.put(&key, log.clone().into(), options).await;
        objects.forget(id);
        Ok(match outcome? {
            PutOutcome::Written(written) => EditOutcome::Done(Some(written.version)),
            PutOutcome::Refused => match shared.storage.try_read(&key).await? {
                Some((now, version)) if now == log => EditOutcome::Done(Some(version)),
                // Somebody else makes it tell more: look again.
                _ => EditOutcome::Refused(Refusal::AlreadyExists),
            },
            PutOutcome::Unknown(source) => match shared.storage.try_read(&key).await {
                Ok(Some((now, version))) if now == log => EditOutcome::Done(Some(version)),
                _ => EditOutcome::Unknown(source),
            },
        })
    }

    /// What the logs say of the commits that are about to go: those after `parent`, up to the parent of `id`.
    async fn logs_between(
        &self,
        id: SnapshotId,
        parent: SnapshotId,
    ) -> Result<Between, RepositoryError> {
        let shared = self.shared();
        // As the store has it: what is in memory may have another parent.
        let found = shared.refs.stored_snapshot(id).await?.parent_id;
        let (mut way, mut seen) = (Vec::new(), HashSet::new());
        let mut next = found;
        while next != Some(parent) {
            let Some(id) = next else {
                return Ok(Between::Overtaken { found });
            };
            if !seen.insert(id) {
                return Err(RefsError::Cycle(id).into());
            }
            way.push(id);
            next = shared.refs.stored_snapshot(id).await?.parent_id;
        }
        let logs = stream::iter(way).map(|id| shared.objects.stored_log(id));
        let told = logs
            .buffered(LOGS_AHEAD)
            .map_ok(|log| Changes::of_log(&log));
        match told.try_collect().await {
            Ok(told) => Ok(Between::Told(told)),
            Err(FetchError::Missing { .. } | FetchError::Format(_)) => Ok(Between::Lost),
            Err(error) => Err(error.into()),
        }
    }

    /// Fails if what came before a snapshot has expired, so that its parent does not tell what the commit changed.
    pub(super) async fn check_parent(
        &self,
        after: &Snapshot,
        parent: SnapshotId,
    ) -> Result<(), RepositoryError> {
        let (objects, commit) = (&self.shared().objects, after.id());
        let log = match objects.log_of(after).await {
            Ok(log) => log,
            // Nobody can tell; spec version 1 leaves no other trace.
            Err(FetchError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let before = objects.snapshot(parent).await?;
        match Changes::of_log(&log).names_all_of(&before, after) {
            true => Ok(()),
            false => Err(RepositoryError::ParentExpired { snapshot: commit }),
        }
    }
}

/// What is known of the commits between two snapshots.
enum Between {
    /// What each of them did.
    Told(Vec<Changes>),
    /// One of their logs is lost.
    Lost,
    /// The older one does not come before the newer one any more.
    Overtaken { found: Option<SnapshotId> },
}

/// A log with all that differs between two snapshots, and what the newer one's own log says of chunks and metadata.
fn encoded(
    diff: &Diff,
    mut chunks: BTreeMap<NodeId, BTreeSet<ChunkIndex>>,
    own: &TransactionLog,
    before: &Base,
    after: &Base,
) -> Result<TransactionLogEncoder, RepositoryError> {
    let ids = |base: &Base, paths: &BTreeSet<NodePath>| -> Vec<NodeId> {
        let positions = paths.iter().filter_map(|path| base.position(path));
        positions.map(|at| base.record(at).id()).collect()
    };
    let nodes = after.snapshot().nodes();
    let ranks: BTreeMap<NodeId, usize> = nodes
        .filter_map(|node| Some((node.id(), node.array()?.shape().len())))
        .collect();
    let created: BTreeSet<NodeId> = (ids(after, &diff.new_arrays).into_iter())
        .chain(ids(after, &diff.new_groups))
        .collect();
    let there: BTreeSet<NodeId> = after.snapshot().nodes().map(|node| node.id()).collect();
    // What was created is named as that alone.
    let changed = |id: &NodeId| there.contains(id) && !created.contains(id);
    let mut log = TransactionLogEncoder::new(after.snapshot().id());
    log.new_groups(ids(after, &diff.new_groups));
    log.new_arrays(ids(after, &diff.new_arrays));
    log.deleted_groups(ids(before, &diff.deleted_groups));
    log.deleted_arrays(ids(before, &diff.deleted_arrays));
    // For whoever stands on the old parent, or meets the old parent with this log, what it said stays true.
    log.new_groups(own.new_groups().filter(|id| there.contains(id)));
    log.new_arrays(own.new_arrays().filter(|id| there.contains(id)));
    log.deleted_groups(own.deleted_groups());
    log.deleted_arrays(own.deleted_arrays());
    log.updated_groups(ids(after, &diff.updated_groups));
    log.updated_arrays(ids(after, &diff.updated_arrays));
    log.updated_groups(own.updated_groups().filter(changed));
    log.updated_arrays(own.updated_arrays().filter(changed));
    for (id, more) in Changes::of_log(own).chunks {
        chunks.entry(id).or_default().extend(more);
    }
    for (id, chunks) in chunks {
        // A rank that the array does not have any more has no chunks either.
        let Some(rank) = ranks.get(&id) else { continue };
        log.begin_chunks(id)?;
        for chunk in chunks.iter().filter(|it| it.len() == *rank) {
            log.push_chunk(chunk)?;
        }
    }
    Ok(log)
}
