//! Marking: what the refs reach.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt, TryStreamExt, stream};
use icefield_core::{Interrupt, RefList, Repository, RepositoryError, micros_of_time};
use icefield_format::layout::{self, IdKey};
use icefield_format::{ChunkId, ChunkRef, ManifestId, SnapshotId, SpecVersion};
use icefield_refs::{FetchError, Graph, HistoryWalk, Node, Pace, PutBackMark};
use icefield_storage::{
    Key, ListOptions, ObjectMeta, PlantedBug, Prefix, StorageError, StorageExt, planted,
};

use super::error::CollectError;
use super::lock::Lock;
use super::remembered::{MarkedSnapshot, Remembered};
use super::report::CollectReport;
use super::settings::Collect;
use super::table::{Held, Parts, TableBuilder, bytes_of};

/// Snapshots or manifests that are read at a time.
const READS: usize = 8;
/// The store's times may be cut to the second.
pub(super) const SECOND: u64 = 1_000_000;
/// Manifests after which what was counted is remembered, so that a collection that is stopped need not begin anew.
const CHECKPOINT: usize = 20_000;

/// The result of marking.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) remembered: Remembered,
    /// Where the new runs of the table lie.
    pub(super) folder: String,
    /// How many runs of the table are of this marking.
    pub(super) new_runs: usize,
    /// Whether some chunks have fewer references than before.
    pub(super) some_fell: bool,
    /// Objects that were written before this time are there because they were reachable, or were reached since: an earlier
    /// collection has deleted the rest. In microseconds.
    pub(super) settled: Option<u64>,
    pub(super) parts: Parts,
    /// All snapshots that are stored.
    pub(super) stored: BTreeMap<SnapshotId, ObjectMeta>,
    /// Those that are marked because they are young, although no ref reaches them.
    pub(super) young: BTreeSet<SnapshotId>,
}

/// A snapshot, as far as marking needs it.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    pub(super) parent: Option<SnapshotId>,
    pub(super) manifests: Vec<ManifestId>,
}

impl Node for Reached {
    fn parent(&self) -> Option<SnapshotId> {
        self.parent
    }
}

/// Returns what all refs point to.
pub(super) fn tips(refs: RefList) -> Result<BTreeSet<SnapshotId>, CollectError> {
    let most = match planted(PlantedBug::OneRefFollowed) {
        true => 1,
        false => usize::MAX,
    };
    let refs = refs.require_understood()?;
    let tips: BTreeSet<SnapshotId> = refs.targets().take(most).collect();
    match tips.is_empty() {
        true => Err(CollectError::NoRefs),
        false => Ok(tips),
    }
}

/// Reads all refs, and returns what they point to, unless `repo` is a backup that was put back, and what came later is not settled.
pub(super) async fn settled_tips(
    repository: &Repository,
) -> Result<BTreeSet<SnapshotId>, CollectError> {
    let tips = tips(repository.refs().await?)?;
    let is_v2 = repository.spec_version() != SpecVersion::V1;
    // Asked after the refs are read: the mark is there before the backup takes the place of `repo`.
    if is_v2 && PutBackMark::is_set(&**repository.storage()).await? {
        return Err(CollectError::PutBack);
    }
    Ok(tips)
}

/// Reads one snapshot.
pub(super) async fn reach(
    repository: &Repository,
    id: SnapshotId,
) -> Result<Reached, CollectError> {
    let unreadable = |source: RepositoryError| CollectError::Snapshot {
        snapshot: id,
        source: Box::new(source),
    };
    // As it is stored: expiration gives snapshots other parents.
    repository.forget_snapshot(id);
    let parent = match repository.snapshot_info(id).await {
        Ok(info) => info.parent_id,
        // Of a commit that is being written, only the writer knows what came before.
        Err(RepositoryError::Fetch(FetchError::NotListed { .. })) => None,
        Err(error) => return Err(unreadable(error)),
    };
    let snapshot = repository.snapshot(id).await.map_err(unreadable)?;
    let listed = snapshot.manifest_files().map(|file| file.id);
    let arrays = snapshot.nodes().filter_map(|node| node.array());
    // Manifests that an array refers to and the list leaves out are needed all the same.
    let referred = arrays.flat_map(|array| array.manifests().map(|it| it.id()).collect::<Vec<_>>());
    let manifests: BTreeSet<ManifestId> = listed.chain(referred).collect();
    Ok(Reached {
        parent,
        manifests: manifests.into_iter().collect(),
    })
}

/// Reads the ids of the chunks of a manifest.
pub(super) async fn chunks_of(
    repository: &Repository,
    id: ManifestId,
) -> Result<Vec<[u8; 12]>, CollectError> {
    let manifest = repository.manifest(id).await;
    let manifest = manifest.map_err(|source| CollectError::Manifest(Box::new(source)))?;
    let mut chunks = Vec::new();
    for array in manifest.arrays() {
        for position in 0..array.len() {
            let chunk = array.record_at(position).chunk_ref();
            if let ChunkRef::Native { id, .. } = chunk.map_err(CollectError::Reference)? {
                chunks.push(bytes_of(id));
            }
        }
    }
    Ok(chunks)
}

/// Lists the stored snapshots.
async fn stored_snapshots(
    repository: &Repository,
    interrupt: &Interrupt,
) -> Result<BTreeMap<SnapshotId, ObjectMeta>, CollectError> {
    let prefix = Prefix::parse(layout::SNAPSHOTS).map_err(StorageError::from)?;
    let options = ListOptions::prefix(prefix);
    let mut listed = repository.storage().list_objects(options);
    let mut stored = BTreeMap::new();
    while let Some(object) = interrupt.unless(listed.try_next()).await?? {
        if let Some(IdKey::Snapshot(id)) = layout::parse_id_key(object.key.as_str()) {
            stored.insert(id, object);
        }
    }
    Ok(stored)
}

/// Marks everything that the refs reach.
pub(super) async fn mark(
    repository: &Repository,
    lock: &mut Lock,
    collect: &Collect,
    report: &mut CollectReport,
) -> Result<Marked, CollectError> {
    let storage = Arc::clone(repository.storage());
    let held = collect.dry_run.then(Held::default);
    let parts = Parts { storage, held };
    let remembered = match collect.whole {
        true => None,
        false => Remembered::read(&**repository.storage()).await?,
    };
    let there = match &remembered {
        Some(before) => parts.are_there(&before.table).await?,
        None => false,
    };
    if let Some(before) = remembered.filter(|_| there) {
        let marked = mark_on(repository, lock, collect, report, &parts, before).await;
        match marked {
            // The remembered marks do not fit any more: they only save time.
            Err(error) if does_not_fit(&error) => {
                tracing::warn!("what an earlier collection remembered is of no use: marking anew");
            }
            marked => {
                report.marking.incremental = true;
                return marked;
            }
        }
    }
    report.marking = Default::default();
    let before = Remembered::default();
    let marked = mark_on(repository, lock, collect, report, &parts, before).await;
    if let Err(error) = &marked
        && error.is_of_an_object()
    {
        // It will be the same tomorrow: what this attempt has written is of no use.
        let remembered = Remembered::read(&**repository.storage()).await?;
        let table = remembered.unwrap_or_default().table;
        parts.delete_others(&table).await?;
    }
    marked
}

/// Whether an error may come of what was remembered: a snapshot or manifest that another process has deleted since, or a part of the
/// table that is gone or damaged.
fn does_not_fit(error: &CollectError) -> bool {
    match error {
        CollectError::Manifest(_) | CollectError::Snapshot { .. } => error.is_of_an_object(),
        CollectError::Marks { .. } => true,
        _ => false,
    }
}

async fn mark_on(
    repository: &Repository,
    lock: &mut Lock,
    collect: &Collect,
    report: &mut CollectReport,
    parts: &Parts,
    before: Remembered,
) -> Result<Marked, CollectError> {
    let progress = &collect.progress;
    // Listed before the refs are read: a snapshot that is written later is younger than any cutoff.
    let stored = stored_snapshots(repository, &collect.interrupt).await?;
    let tips = settled_tips(repository).await?;
    // A session that has made sure, while this collection began, that refs reach what it is about to publish, may have relied on
    // a ref that was deleted since. It holds collections back since before it looked.
    lock.lower().await?;
    (report.cutoff, report.held_back_by) = (lock.cutoff(), lock.held_back_by().map(Key::to_string));
    // Times that were settled by a clock that stood ahead are not.
    let settled = (before.settled).filter(|settled| *settled <= lock.opened_at());
    progress.stage("reading snapshots", Some(stored.len() as u64));
    let marking = Marking {
        known: Some((&before, &stored)),
        ..Marking::anew(repository)
    };
    let mut walk = HistoryWalk::new(&marking, Pace::together(READS));
    let mut reached = HashMap::new();
    follow(&mut walk, tips, true, &mut reached, lock, collect).await?;
    let strict: BTreeSet<ManifestId> = manifests(&reached);
    // Snapshots that were committed, flushed or left by a deleted branch a while ago may yet be wanted: each stays whole as long as
    // its snapshot is young. Of a commit that is being written, not everything is there.
    let is_young = |object: &ObjectMeta| modified(object).saturating_add(SECOND) > lock.cutoff();
    let young: BTreeSet<SnapshotId> = (stored.iter())
        .filter(|(id, object)| is_young(object) && !reached.contains_key(id))
        .map(|(id, _)| *id)
        .collect();
    let of_refs: BTreeSet<SnapshotId> = reached.keys().copied().collect();
    follow(&mut walk, young, false, &mut reached, lock, collect).await?;
    report.marking.snapshots_read = marking.read.load(Ordering::Relaxed);
    let mut live = manifests(&reached);
    let young: BTreeSet<SnapshotId> = (reached.keys())
        .filter(|id| !of_refs.contains(id))
        .copied()
        .collect();
    let counted: BTreeSet<ManifestId> = (before.manifests.iter())
        .map(|id| ManifestId::from_bytes(*id))
        .collect();
    let gone: Vec<ManifestId> = counted.difference(&live).copied().collect();
    let new: Vec<ManifestId> = live.difference(&counted).copied().collect();
    report.marking.snapshots = of_refs.len() as u64;
    report.marking.manifests = strict.len() as u64;
    report.marking.manifests_read = (gone.len() + new.len()) as u64;
    progress.stage("reading manifests", Some(report.marking.manifests_read));
    // Of this attempt alone: another one of the same collection counts other manifests first.
    let mut attempt = [0; 12];
    repository.entropy().fill(&mut attempt);
    let attempt = ChunkId::from_bytes(attempt);
    let folder = format!("icefield/gc/marks/{}-{attempt}", lock.run());
    let mut builder = TableBuilder::new(
        parts.clone(),
        before.table.clone(),
        folder.clone(),
        collect.buffered,
    );
    let changes: Vec<(ManifestId, i32)> = (gone.iter().map(|id| (*id, -1)))
        .chain(new.iter().map(|id| (*id, 1)))
        .collect();
    let strict = &strict;
    let mut reads = stream::iter(changes)
        .map(|(id, change)| async move {
            match chunks_of(repository, id).await {
                Err(error) if change > 0 && !strict.contains(&id) && error.is_of_an_object() => {
                    Ok((id, change, None))
                }
                chunks => Ok::<_, CollectError>((id, change, Some(chunks?))),
            }
        })
        .buffered(READS);
    let mut counted = counted;
    let mut unread = BTreeSet::new();
    let mut since = 0;
    while let Some((id, change, chunks)) = collect.interrupt.unless(reads.try_next()).await?? {
        progress.advance(1, 0);
        let Some(chunks) = chunks else {
            unread.insert(id);
            continue;
        };
        builder.count(chunks, change, lock).await?;
        match change {
            1 => drop(counted.insert(id)),
            _ => drop(counted.remove(&id)),
        }
        since += 1;
        if since == CHECKPOINT && !collect.dry_run {
            since = 0;
            let (table, _) = builder.table(lock).await?;
            let so_far = remember(&HashMap::new(), &stored, &counted, table);
            so_far.write(&*parts.storage).await?;
            parts.delete_others(&so_far.table).await?;
        }
        lock.beat().await?;
    }
    drop(reads);
    // A snapshot is marked with all that it needs, or not at all: a ref that is put onto it is noticed then.
    live.retain(|id| !unread.contains(id));
    reached.retain(|_, reached| reached.manifests.iter().all(|id| live.contains(id)));
    let (table, new_runs) = builder.table(lock).await?;
    let mut remembered = remember(&reached, &stored, &live, table);
    // Settled times stay so until this collection deletes by other marks.
    remembered.settled = settled.filter(|_| gone.is_empty());
    if !collect.dry_run && remembered != before {
        // Before anything is deleted: what is no longer counted may be.
        remembered.write(&*parts.storage).await?;
        parts.delete_others(&remembered.table).await?;
    }
    Ok(Marked {
        remembered,
        folder,
        new_runs,
        some_fell: !gone.is_empty(),
        settled,
        parts: parts.clone(),
        stored,
        young,
    })
}

/// Snapshots as a collection sees them: what it remembers of those whose objects are as they were, else as they are stored.
pub(super) struct Marking<'a> {
    pub(super) repository: &'a Repository,
    known: Option<(&'a Remembered, &'a BTreeMap<SnapshotId, ObjectMeta>)>,
    read: AtomicU64,
}

impl<'a> Marking<'a> {
    /// Nothing is remembered.
    pub(super) fn anew(repository: &'a Repository) -> Self {
        Self {
            repository,
            known: None,
            read: AtomicU64::new(0),
        }
    }
}

impl Graph for Marking<'_> {
    type Node = Reached;
    type Error = CollectError;

    async fn read(&self, id: SnapshotId) -> Result<Reached, CollectError> {
        self.read.fetch_add(1, Ordering::Relaxed);
        reach(self.repository, id).await
    }

    fn held(&self, id: SnapshotId) -> Option<Reached> {
        let (before, stored) = self.known?;
        let known = known(before, stored, id)?;
        match self.repository.ledger().spec_version() {
            SpecVersion::V1 => Some(known),
            // The parent is not in the file, which says nothing of its changes.
            _ => Some(Reached {
                parent: self.repository.ledger().graph().held(id)?.parent_id,
                ..known
            }),
        }
    }
}

/// Goes from snapshots to all that came before them. Unless it is strict, what cannot be read is passed over.
async fn follow(
    walk: &mut HistoryWalk<&Marking<'_>>,
    start: impl IntoIterator<Item = SnapshotId>,
    strict: bool,
    reached: &mut HashMap<SnapshotId, Reached>,
    lock: &mut Lock,
    collect: &Collect,
) -> Result<(), CollectError> {
    for id in start {
        walk.go(id);
    }
    while let Some((id, found)) = collect.interrupt.unless(walk.next()).await? {
        collect.progress.advance(1, 0);
        lock.beat().await?;
        match found {
            Ok(found) => {
                let parent = found
                    .parent
                    .filter(|_| !planted(PlantedBug::ParentsNotFollowed));
                parent.map(|parent| walk.go(parent));
                reached.insert(id, found);
            }
            Err(error) if !strict && error.is_of_an_object() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn manifests(reached: &HashMap<SnapshotId, Reached>) -> BTreeSet<ManifestId> {
    let all = reached.values().flat_map(|it| it.manifests.iter().copied());
    all.collect()
}

/// Returns the remembered record of a snapshot, if its object is still the one that was read.
fn known(
    before: &Remembered,
    stored: &BTreeMap<SnapshotId, ObjectMeta>,
    id: SnapshotId,
) -> Option<Reached> {
    let marked = before.snapshots.get(id.as_bytes())?;
    let object = stored.get(&id)?;
    if (marked.size, marked.modified) != (object.size, modified(object)) {
        return None;
    }
    let manifest = |at: &u32| before.manifests.get(*at as usize).copied();
    let manifests: Option<Vec<[u8; 12]>> = marked.manifests.iter().map(manifest).collect();
    Some(Reached {
        parent: marked.parent.map(SnapshotId::from_bytes),
        manifests: manifests?.into_iter().map(ManifestId::from_bytes).collect(),
    })
}

fn modified(object: &ObjectMeta) -> u64 {
    object.last_modified.map_or(u64::MAX, micros_of_time)
}

fn remember(
    reached: &HashMap<SnapshotId, Reached>,
    stored: &BTreeMap<SnapshotId, ObjectMeta>,
    manifests: &BTreeSet<ManifestId>,
    table: super::table::Table,
) -> Remembered {
    let manifests: Vec<[u8; 12]> = manifests.iter().map(|id| *id.as_bytes()).collect();
    let snapshots = (reached.iter())
        .map(|(id, reached)| {
            let object = stored.get(id);
            let position = |id: &ManifestId| {
                let found = manifests.binary_search(id.as_bytes());
                found.map_or(u32::MAX, |at| at as u32)
            };
            let marked = MarkedSnapshot {
                parent: reached.parent.map(|id| *id.as_bytes()),
                size: object.map_or(0, |it| it.size),
                modified: object.map_or(0, modified),
                manifests: reached.manifests.iter().map(position).collect(),
            };
            (*id.as_bytes(), marked)
        })
        .collect();
    Remembered {
        snapshots,
        manifests,
        table,
        settled: None,
    }
}
