//! The log of a commit whose predecessors expire.
//!
//! A snapshot that gets another parent is the result of several commits, while its log names the changes of the last one.
//! A rebase from the new parent would miss the others: so the log is completed before the parent changes.

use std::collections::{BTreeMap, BTreeSet};

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{
    ChunkIndex, FileKind, FormatError, MovedNode, NodeId, NodePath, SnapshotId, TransactionLog,
    TransactionLogEncoder, layout,
};
use icefield_refs::{
    EditOutcome, FetchError, Graph, RefsError, Refusal, SnapshotInfo, SnapshotSource, way,
};
use icefield_storage::{
    Bytes, Compared, Key, KeyError, PutMode, PutOptions, PutOutcome, StorageError, StorageExt,
    Version,
};

use crate::diff::Evidence;
use crate::grid::within;
use crate::rebase::Changes;
use crate::session::Base;
use crate::{Diff, Repository, RepositoryError};

/// Logs read at a time.
const LOGS_AHEAD: usize = 8;
/// How often a log is mended again because its snapshot has got another parent meanwhile.
const PARENTS: usize = 10;

/// Where nodes are.
type Paths = BTreeMap<NodeId, NodePath>;

impl Repository {
    /// Makes the transaction log of `id` tell all that changed since `parent`, which is about to become its parent.
    ///
    /// The log keeps the changes that it names already, so that it is right for the old parent, too. A snapshot without a
    /// log needs none: readers then compare the snapshots.
    ///
    /// Where a manifest of an array is lost, so that the two cannot be compared, the log takes over what the logs of all
    /// commits in between say of that array.
    ///
    /// # Errors
    /// Objects that cannot be read; [`RepositoryError::ChangesLost`] if manifests are lost and logs in between, too;
    /// [`RepositoryError::Format`] if the log would be too large; the errors of the store. Nothing was changed.
    pub async fn absorb_into_log(
        &self,
        id: SnapshotId,
        parent: SnapshotId,
    ) -> Result<EditOutcome, RepositoryError> {
        let stored = self.stored_log(id).await?;
        let Some((bytes, version)) = stored else {
            return Ok(EditOutcome::Done(None));
        };
        let limits = self.shared().objects.decode_limits();
        let own = TransactionLog::decode(&bytes, id, limits)?;
        let mode = PutMode::Update(version);
        self.tell_more((id, parent, None), Evidence::Logs, Some(own), mode)
            .await
    }

    /// Writes the transaction log of a snapshot anew, from what differs from its parent, if it is missing or cannot be
    /// decoded as it is now; one that can be decoded is made to tell all, and goes on telling what it told. In version 2, its
    /// moves lead on from where the logs of expired ancestors leave the nodes.
    ///
    /// # Errors
    /// [`RepositoryError::Fetch`] and others for objects that cannot be read, logs of expired ancestors among them;
    /// [`RepositoryError::Format`] if the log would be too large; the errors of the store. Nothing was changed.
    pub async fn mend_log(&self, id: SnapshotId) -> Result<EditOutcome, RepositoryError> {
        let objects = &self.shared().objects;
        let limits = self.shared().objects.decode_limits();
        let mut outcome = EditOutcome::Done(None);
        // Expiration gives snapshots other parents meanwhile, and finds no log to make tell more where there is none.
        for _ in 0..PARENTS {
            objects.forget(id);
            let info = self.snapshot_info(id).await?;
            let Some(parent) = info.parent_id else {
                return Ok(outcome);
            };
            let (own, mode) = match self.stored_log(id).await? {
                None => (None, PutMode::Create),
                Some((bytes, version)) => {
                    let own = match TransactionLog::decode(&bytes, id, limits) {
                        Ok(own) => Some(own),
                        Err(error) if may_be_sound(&error) => return Err(error.into()),
                        Err(_) => None,
                    };
                    (own, PutMode::Update(version))
                }
            };
            let left = self.left_by_pruned_logs(&info).await?;
            let between = (id, parent, left.as_ref());
            // A log cannot name the changes that it omits.
            let mended = self.tell_more(between, Evidence::Bytes, own, mode);
            outcome = mended.await?;
            objects.forget(id);
            let now = self.snapshot_info(id).await?.parent_id;
            if !matches!(outcome, EditOutcome::Done(_)) || now == Some(parent) {
                return Ok(outcome);
            }
        }
        Ok(EditOutcome::Refused(Refusal::AlreadyExists))
    }

    /// Makes a log of what differs between a snapshot that has none and its parent. Its moves lead on from where the logs of
    /// expired ancestors leave the nodes.
    ///
    /// # Errors
    /// Objects that cannot be read; [`RepositoryError::Format`] if the log would be too large.
    pub(crate) async fn log_from_snapshots(
        &self,
        info: &SnapshotInfo,
        parent: SnapshotId,
    ) -> Result<TransactionLog, RepositoryError> {
        let id = info.id;
        let objects = &self.shared().objects;
        let left = self.left_by_pruned_logs(info).await?;
        let (before, after) = futures::try_join!(objects.snapshot(parent), objects.snapshot(id))?;
        let diff = Diff::between(self.shared(), parent, id).await?;
        let (before, after) = (Base::new(before), Base::new(after));
        let chunks = Changes::of_diff(&diff, &before, &after).chunks;
        let (writer, limits) = (objects.writer(), objects.decode_limits());
        let nothing = writer.log(id).finish(writer.writer())?;
        let nothing = TransactionLog::decode(&nothing, id, limits)?;
        let mut log = writer.log(id);
        log.moved_nodes(moves(&diff, &nothing, left.as_ref(), &after));
        tell(&mut log, &diff, chunks, &nothing, &before, &after)?;
        let log = log.finish(writer.writer())?;
        Ok(TransactionLog::decode(&log, id, limits)?)
    }

    async fn stored_log(&self, id: SnapshotId) -> Result<Option<(Bytes, Version)>, StorageError> {
        let key = Key::parse(&layout::transaction_log_key(id))
            .map_err(|error: KeyError| StorageError::from(error))?;
        let limit = self.shared().objects.decode_limits().max_file();
        self.shared().storage.try_read_at_most(&key, limit).await
    }

    /// Returns where the logs of expired ancestors leave the nodes that they move; none if there are no such logs.
    async fn left_by_pruned_logs(
        &self,
        info: &SnapshotInfo,
    ) -> Result<Option<Paths>, RepositoryError> {
        let objects = &self.shared().objects;
        let logs = stream::iter(info.pruned_logs.clone()).map(|id| objects.stored_log(id));
        let logs: Vec<_> = logs.buffered(LOGS_AHEAD).try_collect().await?;
        let moves = logs.iter().flat_map(|log| log.moved_nodes());
        let left = moves.map(|it| it.moved()).map(|it| (it.id, it.to));
        Ok((!logs.is_empty()).then(|| left.collect()))
    }

    /// Writes a log that tells all that differs from a parent, and what the one that is there tells, unless that tells
    /// all of it. The paths are where logs between the two leave the nodes that they move.
    async fn tell_more(
        &self,
        (id, parent, left): (SnapshotId, SnapshotId, Option<&Paths>),
        evidence: Evidence,
        own: Option<TransactionLog>,
        mode: PutMode,
    ) -> Result<EditOutcome, RepositoryError> {
        let shared = self.shared();
        let objects = &shared.objects;
        let writer = objects.writer();
        let key = Key::parse(&layout::transaction_log_key(id))
            .map_err(|error: KeyError| StorageError::from(error))?;
        let limits = objects.decode_limits();
        let (before, after) = futures::try_join!(objects.snapshot(parent), objects.snapshot(id))?;
        let (diff, lost) = Diff::between_but_for_lost(shared, (&before, &after), evidence).await?;
        let (before, after) = (Base::new(before), Base::new(after));
        let mut chunks = Changes::of_diff(&diff, &before, &after).chunks;
        if let Some((_, source)) = lost.first_key_value() {
            tracing::warn!(%id, error = %source, "logs are believed where manifests are lost");
            if own.is_none() {
                // No log says what the commit itself did.
                return Err(changes_lost(id, parent, lost));
            }
            let told = match self.logs_between(id, parent).await? {
                Between::Told(told) => told,
                Between::Overtaken { found } => {
                    return Ok(EditOutcome::Refused(Refusal::ParentChanged { found }));
                }
                Between::Lost => return Err(changes_lost(id, parent, lost)),
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
        let said = match &own {
            Some(own) => own.clone(),
            None => {
                let nothing = writer.log(id).finish(writer.writer())?;
                TransactionLog::decode(&nothing, id, limits)?
            }
        };
        let mut log = writer.log(id);
        log.moved_nodes(moves(&diff, &said, left, &after));
        tell(&mut log, &diff, chunks, &said, &before, &after)?;
        let log = log.finish(writer.writer())?;
        let all = TransactionLog::decode(&log, id, limits)?;
        if own.is_some_and(|own| Changes::of_log(&all) == Changes::of_log(&own)) {
            return Ok(EditOutcome::Done(None));
        }
        let mut options = PutOptions::mode(mode).with_content_type("application/octet-stream");
        for (name, value) in writer.object_metadata(FileKind::TransactionLog) {
            options = options.with_user_metadata(name, &value);
        }
        let outcome = shared.storage.put(&key, log.clone().into(), options).await;
        objects.forget(id);
        Ok(match outcome? {
            PutOutcome::Written(written) => EditOutcome::Done(Some(written.version)),
            PutOutcome::Refused => match shared.storage.compare(&key, &log).await? {
                Compared::Same(version) => EditOutcome::Done(Some(version)),
                // Another program makes it tell more: look again.
                Compared::Absent | Compared::Other => EditOutcome::Refused(Refusal::AlreadyExists),
            },
            PutOutcome::Unknown(source) => match shared.storage.compare(&key, &log).await {
                Ok(Compared::Same(version)) => EditOutcome::Done(Some(version)),
                _ => EditOutcome::Unknown(source),
            },
        })
    }

    /// Reads the logs of the commits that are about to go: those after `parent`, up to the parent of `id`.
    async fn logs_between(
        &self,
        id: SnapshotId,
        parent: SnapshotId,
    ) -> Result<Between, RepositoryError> {
        let shared = self.shared();
        // As the store has it: what is in memory may have another parent.
        let graph = shared.ledger.stored_graph();
        let way: Result<Vec<_>, _> = way(&graph, id, parent).try_collect().await;
        let parents = match way {
            Ok(way) => way.into_iter().map(|told| told.parent),
            Err(RefsError::NotInHistory { .. }) => {
                let found = graph.held(id).and_then(|told| told.parent);
                return Ok(Between::Overtaken { found });
            }
            Err(error) => return Err(error.into()),
        };
        let between = parents.flatten().filter(|id| *id != parent);
        let logs = stream::iter(between).map(|id| shared.objects.stored_log(id));
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
        commit: SnapshotId,
        parent: SnapshotId,
    ) -> Result<(), RepositoryError> {
        let objects = &self.shared().objects;
        let log = match objects.log_of(commit, Some(parent)).await {
            Ok(log) => log,
            // Not known; spec version 1 leaves no other trace.
            Err(FetchError::Missing { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let (before, after) =
            futures::try_join!(objects.snapshot(parent), objects.snapshot(commit))?;
        match Changes::of_log(&log).names_all_of(&before, &after) {
            true => Ok(()),
            false => Err(RepositoryError::ParentExpired { snapshot: commit }),
        }
    }
}

/// The knowledge about the commits between two snapshots.
enum Between {
    /// The changes of each of them.
    Told(Vec<Changes>),
    /// One of their logs is lost.
    Lost,
    /// The older one does not come before the newer one any more.
    Overtaken { found: Option<SnapshotId> },
}

/// The error where neither two snapshots nor logs tell what changed.
fn changes_lost(
    snapshot: SnapshotId,
    parent: SnapshotId,
    lost: BTreeMap<NodePath, RepositoryError>,
) -> RepositoryError {
    let source = lost.into_values().next().map(Box::new);
    let source = source.unwrap_or_else(|| unreachable!("BUG: something is lost"));
    RepositoryError::ChangesLost {
        snapshot,
        parent,
        source,
    }
}

/// Whether another program, or one with other limits, may be able to read a file that cannot be decoded here.
fn may_be_sound(error: &FormatError) -> bool {
    matches!(
        error,
        FormatError::NewerSpecVersion { .. }
            | FormatError::UnknownCompression { .. }
            | FormatError::DictionaryFrame { .. }
            | FormatError::TooLarge { .. }
            | FormatError::OutOfMemory { .. }
            | FormatError::MetadataTooLarge { .. }
    )
}

/// Returns the moves that a log tells of: those between two snapshots, but from where the logs in between leave a node, if there
/// are any. Where a node was that these create, only the newer snapshot's own log says.
fn moves(diff: &Diff, own: &TransactionLog, left: Option<&Paths>, after: &Base) -> Vec<MovedNode> {
    let id_at = |path: &NodePath| Some(after.record(after.position(path)?).id());
    let moved = diff.moved_nodes.iter();
    let mut before: Paths = moved
        .filter_map(|(from, to)| Some((id_at(to)?, from.clone())))
        .collect();
    if let Some(left) = left {
        let new = diff.new_groups.iter().chain(&diff.new_arrays);
        let new: BTreeSet<NodeId> = new.filter_map(id_at).collect();
        let told = own.moved_nodes().map(|it| it.moved());
        before.extend(
            told.filter(|it| new.contains(&it.id))
                .map(|it| (it.id, it.from)),
        );
        before.extend(left.clone());
    }
    let nodes = after.snapshot().nodes();
    let moved = nodes.filter_map(|node| {
        let (from, to) = (before.remove(&node.id())?, node.node_path());
        let (id, kind) = (node.id(), node.kind());
        (from != to).then_some(MovedNode { from, to, id, kind })
    });
    moved.collect()
}

/// Puts all that differs between two snapshots into a log, but for moves, and what the newer one's own log says of chunks and
/// metadata.
fn tell(
    log: &mut TransactionLogEncoder,
    diff: &Diff,
    mut chunks: BTreeMap<NodeId, BTreeSet<ChunkIndex>>,
    own: &TransactionLog,
    before: &Base,
    after: &Base,
) -> Result<(), RepositoryError> {
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
    // A created node is named as created, and not as changed.
    let changed = |id: &NodeId| there.contains(id) && !created.contains(id);
    log.new_groups(ids(after, &diff.new_groups));
    log.new_arrays(ids(after, &diff.new_arrays));
    log.deleted_groups(ids(before, &diff.deleted_groups));
    log.deleted_arrays(ids(before, &diff.deleted_arrays));
    // For a reader on the old parent, or one that meets the old parent with this log, what it said stays true.
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
    Ok(())
}
