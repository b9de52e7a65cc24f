//! Sweeping: deleting what was not marked.

mod chunks;
mod delete;

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use icefield_core::{Interrupt, Repository, collection, micros_of_time};
use icefield_format::layout::{self, IdKey};
use icefield_format::{ManifestId, SnapshotId, SpecVersion};
use icefield_refs::{Edit, EditOutcome};
use icefield_storage::{
    Deletion, Key, ListOptions, ObjectMeta, PlantedBug, Prefix, StorageError, StorageExt, planted,
};

use super::error::CollectError;
use super::lock::Lock;
use super::mark::{Marked, SECOND};
use super::report::{CollectReport, Swept};
use super::settings::Collect;
use super::table::bytes_of;
use crate::Progress;

/// Objects that are deleted after one look at the refs.
const BATCH: usize = 1000;

/// An object that was created to ask for the time, and is so many microseconds old, was left behind.
const LEFT_AFTER: u64 = 3_600_000_000;

/// A sweep.
pub(super) struct Sweep<'a> {
    pub(super) repository: &'a Repository,
    pub(super) collect: &'a Collect,
    pub(super) lock: &'a mut Lock,
    pub(super) marked: Marked,
    /// Snapshots that are gone from histories, and whose logs are not.
    pub(super) pruned: BTreeSet<SnapshotId>,
    pub(super) report: &'a mut CollectReport,
}

/// Objects that refs began to reach after marking.
#[derive(Debug, Default)]
struct Spared {
    snapshots: HashSet<SnapshotId>,
    manifests: HashSet<ManifestId>,
    chunks: HashSet<[u8; 12]>,
    /// Manifests whose chunks are too many to be held.
    large: Vec<ManifestId>,
    /// Whether an old chunk was spared for them.
    old_chunks: bool,
}

/// The kinds of objects, in the order in which they are swept: what refers goes before what is referred to, so that a
/// collection that is stopped leaves nothing behind that refers to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SweptKind {
    Snapshots,
    TransactionLogs,
    Manifests,
    Chunks,
}

impl SweptKind {
    fn prefix(self) -> &'static str {
        match self {
            Self::Snapshots => layout::SNAPSHOTS,
            Self::TransactionLogs => layout::TRANSACTIONS,
            Self::Manifests => layout::MANIFESTS,
            Self::Chunks => layout::CHUNKS,
        }
    }

    fn stage(self) -> &'static str {
        match self {
            Self::Snapshots => "sweeping snapshots",
            Self::TransactionLogs => "sweeping transaction logs",
            Self::Manifests => "sweeping manifests",
            Self::Chunks => "sweeping chunks",
        }
    }
}

/// Whether an object was written before a time in microseconds, also if the store's times are rounded.
fn is_before(object: &ObjectMeta, time: u64) -> bool {
    let modified = object.last_modified.map_or(u64::MAX, micros_of_time);
    modified.saturating_add(SECOND) <= time
}

fn chunk_of(object: &ObjectMeta) -> Option<[u8; 12]> {
    match layout::parse_id_key(object.key.as_str()) {
        Some(IdKey::Chunk(id)) => Some(bytes_of(id)),
        _ => None,
    }
}

/// A list of objects that have an id.
struct Listed {
    kind: SweptKind,
    listed: BoxStream<'static, Result<ObjectMeta, StorageError>>,
    last: Option<Key>,
    progress: Arc<dyn Progress>,
    interrupt: Interrupt,
}

impl Listed {
    async fn next(&mut self) -> Result<Option<(IdKey, ObjectMeta)>, CollectError> {
        while let Some(object) = self.interrupt.unless(self.listed.try_next()).await?? {
            self.progress.advance(1, object.size);
            let Some(id) = layout::parse_id_key(object.key.as_str()) else {
                continue;
            };
            // Both this and the marks are in order, or everything would look like garbage.
            if self.last.as_ref().is_some_and(|last| *last >= object.key) {
                return Err(StorageError::Failed {
                    action: "list",
                    target: self.kind.prefix().to_owned(),
                    source: format!("{} is not in the order of keys", object.key).into(),
                }
                .into());
            }
            self.last = Some(object.key.clone());
            return Ok(Some((id, object)));
        }
        Ok(None)
    }
}

impl Sweep<'_> {
    /// Deletes all garbage.
    pub(super) async fn run(mut self) -> Result<(), CollectError> {
        let mut spared = Spared::default();
        self.snapshots(&mut spared).await?;
        if self.report.snapshots.failed > 0 {
            // One that is still there must keep what it needs: a ref may yet be put onto it.
            self.report.stopped_early = true;
            return Ok(());
        }
        for kind in [SweptKind::TransactionLogs, SweptKind::Manifests] {
            self.listed(kind, &mut spared).await?;
        }
        self.chunks(&mut spared).await?;
        self.backups().await?;
        self.leases().await?;
        if let Err(error) = self.probes().await {
            tracing::debug!(%error, "objects that told the time stay until another collection");
        }
        Ok(())
    }

    /// Whether an object was written before the cutoff.
    fn is_old(&self, object: &ObjectMeta) -> bool {
        is_before(object, self.lock.cutoff())
    }

    fn swept(&mut self, kind: SweptKind) -> &mut Swept {
        match kind {
            SweptKind::Snapshots => &mut self.report.snapshots,
            SweptKind::TransactionLogs => &mut self.report.transaction_logs,
            SweptKind::Manifests => &mut self.report.manifests,
            SweptKind::Chunks => &mut self.report.chunks,
        }
    }

    /// Snapshots go youngest first, children before their parents but for those that expiration has rewritten.
    async fn snapshots(&mut self, spared: &mut Spared) -> Result<(), CollectError> {
        let kind = SweptKind::Snapshots;
        self.collect
            .progress
            .stage(kind.stage(), Some(self.marked.stored.len() as u64));
        let mut garbage = Vec::new();
        for (id, object) in std::mem::take(&mut self.marked.stored) {
            self.collect.progress.advance(1, 0);
            self.report.note_date(&object, self.lock);
            let kept = self.marked.remembered.has_snapshot(&id) || id == SnapshotId::INITIAL;
            if self.marked.young.contains(&id) {
                self.swept(kind).spare(object.size);
            } else if kept {
                self.swept(kind).keep(object.size);
            } else if self.is_old(&object) {
                garbage.push(object);
            } else {
                self.swept(kind).spare(object.size);
            }
        }
        self.unlist(&garbage).await?;
        garbage.sort_by_key(|object| Reverse(object.last_modified));
        for batch in garbage.chunks(BATCH) {
            self.delete(kind, batch.to_vec(), spared).await?;
            if self.report.snapshots.failed > 0 {
                // Its ancestors stay with it.
                break;
            }
        }
        Ok(())
    }

    /// Takes snapshots that are about to be deleted, and those that are gone, out of the list that spec version 2 has of them.
    /// No ref can be put onto them from then on. Logs that the change of a snapshot that stays is told by are kept.
    async fn unlist(&mut self, garbage: &[ObjectMeta]) -> Result<(), CollectError> {
        let ledger = self.repository.ledger();
        if ledger.spec_version() == SpecVersion::V1 {
            return Ok(());
        }
        let garbage: BTreeSet<SnapshotId> = (garbage.iter())
            .filter_map(|object| match layout::parse_id_key(object.key.as_str()) {
                Some(IdKey::Snapshot(id)) => Some(id),
                _ => None,
            })
            .collect();
        if self.lock.is_real() {
            self.lock.check_clock().await?;
            let listed = ledger.listed().await?;
            let drop = garbage.iter().filter(|id| listed.contains_key(*id));
            let edit = Edit::Collect {
                drop: drop.copied().collect(),
            };
            match ledger.apply(edit).await? {
                EditOutcome::Done(_) => {}
                EditOutcome::Unknown(source) => return Err(source.into()),
                // It expects nothing that could be otherwise.
                EditOutcome::Refused(refusal) => {
                    return Err(CollectError::Storage(StorageError::Failed {
                        action: "collection of the graph",
                        target: layout::OVERWRITTEN.to_owned(),
                        source: format!("{refusal:?}").into(),
                    }));
                }
            }
        }
        let listed = ledger.listed().await?;
        let stay = listed.into_iter().filter(|(id, _)| !garbage.contains(id));
        self.pruned = stay.flat_map(|(_, pruned)| pruned).collect();
        Ok(())
    }

    /// Earlier states of the object that holds all state of spec version 2.
    async fn backups(&mut self) -> Result<(), CollectError> {
        let backups = match self.repository.ledger().unneeded_backups().await {
            Ok(backups) => backups,
            // Any of them may be what mends the log.
            Err(error) if error.is_end_of_log() => {
                tracing::warn!("backups in overwritten/ are kept: {error}");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        };
        for batch in backups.chunks(BATCH) {
            self.throttle(batch.len()).await?;
            self.lock.beat_now().await?;
            if !self.lock.is_real() {
                for object in batch {
                    self.report.backups.delete(object.size);
                }
                continue;
            }
            self.delete_all(batch.to_vec(), |report| &mut report.backups)
                .await;
        }
        Ok(())
    }

    /// Lists the objects of one kind that have an id, in the order of their ids.
    fn list(&self, kind: SweptKind) -> Result<Listed, CollectError> {
        let prefix = Prefix::parse(kind.prefix()).map_err(StorageError::from)?;
        let options = ListOptions::prefix(prefix).without_versions();
        // A name that is no key has no id: the object is not ours, and stays.
        let listed = self.repository.storage().list_objects(options);
        Ok(Listed {
            kind,
            listed,
            last: None,
            progress: Arc::clone(&self.collect.progress),
            interrupt: self.collect.interrupt.clone(),
        })
    }

    /// Sweeps the logs or the manifests.
    async fn listed(&mut self, kind: SweptKind, spared: &mut Spared) -> Result<(), CollectError> {
        self.collect.progress.stage(kind.stage(), None);
        let mut objects = self.list(kind)?;
        let mut batch = Vec::new();
        while let Some((id, object)) = objects.next().await? {
            self.report.note_date(&object, self.lock);
            let kept = match id {
                IdKey::Snapshot(id) | IdKey::TransactionLog(id) => {
                    self.marked.remembered.has_snapshot(&id)
                        || id == SnapshotId::INITIAL
                        || self.pruned.contains(&id) && !planted(PlantedBug::PrunedLogsDeleted)
                }
                IdKey::Manifest(id) => self.marked.remembered.has_manifest(&id),
                // It is not below the prefix of another kind.
                IdKey::Chunk(_) => true,
            };
            if kept {
                self.swept(kind).keep(object.size);
            } else if self.is_old(&object) {
                batch.push(object);
            } else {
                self.swept(kind).spare(object.size);
            }
            if batch.len() == BATCH {
                self.delete(kind, std::mem::take(&mut batch), spared)
                    .await?;
            }
            self.lock.beat().await?;
        }
        match batch.is_empty() {
            true => Ok(()),
            false => self.delete(kind, batch, spared).await,
        }
    }

    /// Leases of sessions that ended without a commit.
    async fn leases(&mut self) -> Result<(), CollectError> {
        let dead: Vec<ObjectMeta> = self
            .lock
            .dead_leases()
            .map(|it| it.object.clone())
            .collect();
        if self.collect.dry_run {
            for lease in dead {
                self.report.leases.delete(lease.size);
            }
            return Ok(());
        }
        self.delete_all(dead, |report| &mut report.leases).await;
        Ok(())
    }

    /// Deletes objects that were created to ask for the time, where the program was stopped before it deleted them. They do no
    /// harm, and the report leaves them out.
    async fn probes(&self) -> Result<(), StorageError> {
        if self.collect.dry_run {
            return Ok(());
        }
        let storage = self.repository.storage();
        let prefix = Prefix::parse(&collection::probes())?;
        // An unreadable name is none of these.
        let listed = storage.list_objects(ListOptions::prefix(prefix).without_versions());
        let listed: Vec<ObjectMeta> = listed.try_collect().await?;
        let is_left = |object: &ObjectMeta| {
            let date = object.last_modified.map_or(u64::MAX, micros_of_time);
            self.lock.is_from_future(date)
                || date.saturating_add(LEFT_AFTER) < self.lock.opened_at()
        };
        let left = listed.into_iter().filter(is_left).map(|it| it.key.into());
        let left: Vec<Deletion> = left.collect();
        let deleted = storage.delete(stream::iter(left).boxed());
        deleted.for_each(|_| std::future::ready(())).await;
        Ok(())
    }
}
