//! Planning a commit and writing its objects.
//!
//! Ids are drawn here, on one task, in the order of node paths, so that equal histories with equal sources
//! of ids give equal bytes. Then manifests are merged and encoded in parallel, and all objects go to the store
//! at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{
    Extents, ManifestFileInfo, ManifestId, ManifestRef, NewSnapshot, NodeId, NodeKind, NodePath,
    SnapshotId, layout,
};
use icefield_refs::{FetchError, SnapshotInfo, Tip, micros_of_time, time_of_micros};
use icefield_storage::{Bytes, Key};
use serde_json::Value;

use super::amend::Replaced;
use super::arrays::{ArrayPlan, HeldManifest, Rewrite, Split};
use super::encode::{encode_log, encode_snapshot};
use super::manifests::NewManifest;
use super::run::run_jobs;
use super::shifted::{self, Before, MovedChunks};
use crate::change_set::{BaseView, ChangeSet};
use crate::metadata::{ArrayMetadata, NodeMetadata};
use crate::objects::{Fresh, StoredManifest};
use crate::session::{Base, Session};
use crate::{CommitError, SessionError};

/// Arrays whose edits are sorted at a time.
const SORTERS: usize = 4;

/// Edits of an array that are sorted into cells in about the time that the way to another thread and back takes.
const EDITS_AT_ONCE: usize = 4096;

/// Moved chunks whose log is encoded in about that time, and worth to be remembered.
const LOG_AT_ONCE: usize = 4096;

/// Edits whose log is encoded beside the manifests. That of more takes memory that is better there after them.
const LOG_BESIDE: usize = 1 << 16;

/// The log of a commit, to be encoded.
struct NewLog<F> {
    /// Whether it is kept in memory for those who come next.
    remembered: bool,
    file: F,
}

/// All objects of a commit are stored, and no branch points at them yet. Dropping this leaves garbage, never
/// damage.
#[derive(Debug)]
#[must_use = "nothing is visible until it is published"]
pub(super) struct PreparedCommit {
    snapshot: SnapshotInfo,
    fresh: Fresh,
}

impl PreparedCommit {
    pub(super) fn snapshot(&self) -> &SnapshotInfo {
        &self.snapshot
    }

    /// What was written, for those who come next.
    pub(super) fn into_fresh(self) -> Fresh {
        self.fresh
    }
}

/// What came of writing.
#[derive(Debug)]
pub(super) enum Written {
    Prepared(PreparedCommit),
    /// The branch was seen elsewhere before anything was published.
    BranchMoved {
        found: Option<SnapshotId>,
    },
}

/// A node of the new snapshot, before its manifests are known.
pub(super) struct PlannedNode {
    pub(super) source: NodeSource,
    pub(super) manifests: PlannedManifests,
}

pub(super) enum NodeSource {
    /// As the base has it.
    Base { position: usize },
    /// As the session wrote it.
    Written { path: icefield_format::NodePath },
}

pub(super) enum PlannedManifests {
    /// A group, or an array without references.
    None,
    /// Those of the base at this position.
    Keep { position: usize },
    /// What comes of a plan, by its number.
    Change { array: usize },
}

/// The manifests of an array of which some changed.
#[derive(Debug, Default)]
pub(super) struct ArrayManifests {
    kept: Vec<ManifestRef>,
    new: Vec<NewManifest>,
}

impl ArrayManifests {
    /// The array's pointers to them, in the order of their boxes.
    pub(super) fn references(&self) -> Vec<ManifestRef> {
        let new = self.new.iter().map(|new| new.reference.clone());
        let mut all: Vec<ManifestRef> = self.kept.iter().cloned().chain(new).collect();
        let start = |it: &ManifestRef| -> Vec<u32> {
            let ranges = it.extents.ranges().iter();
            ranges.map(|range| range.start).collect()
        };
        all.sort_by_cached_key(start);
        all
    }
}

/// What the new snapshot says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Description<'a> {
    pub(super) message: &'a str,
    pub(super) metadata: &'a BTreeMap<String, Value>,
    pub(super) allow_empty: bool,
    pub(super) rewrite: Rewrite,
    /// Manifests of the base that are not read and not carried over.
    pub(super) lost: &'a BTreeSet<ManifestId>,
    /// Where references of an array lie in a manifest of the base, if the base says something else.
    pub(super) extents: &'a BTreeMap<(NodePath, ManifestId), Extents>,
    /// The tip whose place the new snapshot takes.
    pub(super) replaced: Option<&'a Replaced>,
}

/// Writes everything that a commit needs, all of it invisible. Without a tip, no branch is asked where it
/// stands, and the snapshot follows the session's base.
#[tracing::instrument(name = "commit.plan", level = "debug", skip_all)]
pub(super) async fn write(
    session: &Session,
    tip: Option<&Tip>,
    description: Description<'_>,
) -> Result<Written, CommitError> {
    let (base, changes, mut metadata, newer_than) = {
        let state = session.state()?;
        let (base, changes) = (Arc::clone(&state.base), Arc::clone(&state.changes));
        let newer_than = state.newer_than.max(base.snapshot().flushed_at());
        (base, changes, state.metadata.clone(), newer_than)
    };
    let rewrite = description.rewrite;
    if changes.is_empty() && !description.allow_empty && rewrite == Rewrite::No {
        return Err(CommitError::NothingToCommit);
    }
    metadata.extend(description.metadata.clone());
    shifted::note_shifts(&changes, &mut metadata);
    let replaced = description.replaced;
    if let Some(replaced) = replaced {
        replaced.note(&mut metadata);
    }
    let parent = replaced.map_or(base.snapshot().id(), Replaced::parent);
    let shared = session.shared();
    let mut arrays = Vec::new();
    let planner = Planner {
        session,
        base: &base,
        changes: &changes,
        rewrite,
        lost: description.lost,
        extents: description.extents,
    };
    let nodes = planner.nodes(&mut arrays)?;
    // The log does not list one by one which of their chunks are gone or can be seen again.
    let mended: BTreeSet<NodeId> = (arrays.iter())
        .filter(|array| array.mended)
        .map(|array| array.node)
        .collect();
    let snapshot_id = SnapshotId::from_bytes(session.random());
    let before = Arc::new(Before::default());
    let make = async {
        let splits = split(session, &changes, arrays).await?;
        let (kept, jobs): (Vec<_>, Vec<_>) =
            splits.into_iter().map(|it| (it.kept, it.jobs)).unzip();
        if rewrite != Rewrite::No
            && changes.is_empty()
            && !description.allow_empty
            && jobs.iter().all(Vec::is_empty)
        {
            return Err(CommitError::NothingToCommit);
        }
        let new = run_jobs(session, &changes, &before, jobs.iter().flatten()).await?;
        Ok((kept, jobs, new))
    };
    let edits: usize = changes.chunks().values().map(|it| it.len()).sum();
    let is_shifted = changes.views().values().any(BaseView::is_shifted);
    let early_log = async {
        if is_shifted || edits > LOG_BESIDE || replaced.is_some() {
            return Ok(None);
        }
        let (writer, changes) = (shared.objects.writer().clone(), Arc::clone(&changes));
        let (base, mended) = (Arc::clone(&base), mended.clone());
        let none = BTreeMap::new();
        let encode = move || encode_log(&writer, snapshot_id, (&base, &changes), mended, &none);
        let file = run_blocking(edits <= EDITS_AT_ONCE, encode).await?;
        Ok(Some(file.map_err(SessionError::from)?))
    };
    let ((kept, jobs, new), early_log) = futures::try_join!(make, early_log)?;
    let moved = shifted::moved_chunks(session, &base, &changes, &before).await?;
    let mut results = new.iter();
    let arrays: Vec<ArrayManifests> = (kept.into_iter().zip(&jobs))
        .map(|(kept, jobs)| {
            let new = results.by_ref().take(jobs.len()).flatten().cloned();
            let new = new.collect();
            ArrayManifests { kept, new }
        })
        .collect();
    let flushed_at = micros_of_time(shared.clock.now()).max(newer_than.saturating_add(1));
    let snapshot = encode_snapshot(
        session,
        &base,
        &changes,
        &nodes,
        &arrays,
        NewSnapshot {
            id: snapshot_id,
            parent_id: Some(parent),
            flushed_at,
            message: description.message,
            metadata: &metadata,
            manifest_files: &manifest_files(&base, &nodes, &arrays)?,
        },
    )?;
    let files: Vec<StoredManifest> = (arrays.into_iter())
        .flat_map(|array| array.new)
        .filter_map(|new| Some((new.info.id, new.file?, new.decoded)))
        .collect();
    let moved_most = moved.values().map(MovedChunks::most).sum::<usize>();
    let log = {
        let (writer, changes) = (shared.objects.writer().clone(), Arc::clone(&changes));
        let base = Arc::clone(&base);
        let objects = Arc::clone(&shared.objects);
        let amended = replaced.map(|it| (it.clone(), snapshot.clone()));
        let encode = move || {
            let own = encode_log(&writer, snapshot_id, (&base, &changes), mended, &moved)?;
            match amended {
                Some((replaced, snapshot)) => {
                    replaced.log(&writer, (snapshot_id, &snapshot, &own), &objects)
                }
                None => Ok(own),
            }
        };
        NewLog {
            remembered: moved_most <= LOG_AT_ONCE,
            file: async move {
                match early_log {
                    Some(file) => Ok(file),
                    None => Ok(run_blocking(moved_most <= LOG_AT_ONCE, encode).await??),
                }
            },
        }
    };
    let info = SnapshotInfo {
        id: snapshot_id,
        parent_id: Some(parent),
        written_at: time_of_micros(flushed_at),
        message: description.message.to_owned(),
        metadata,
        pruned_logs: Vec::new(),
    };
    let written = store(session, (info, parent), snapshot, log, files, tip).await?;
    session.note_written(|stored| {
        for (job, manifests) in jobs.iter().flatten().zip(&new) {
            stored.note(job, &changes, manifests);
        }
    })?;
    Ok(written)
}

/// What is needed to plan the manifests of an array.
#[derive(Clone, Copy)]
struct Planner<'a> {
    session: &'a Session,
    base: &'a Base,
    changes: &'a ChangeSet,
    rewrite: Rewrite,
    lost: &'a BTreeSet<ManifestId>,
    extents: &'a BTreeMap<(NodePath, ManifestId), Extents>,
}

impl Planner<'_> {
    /// Lists the nodes of the new snapshot in the order of their paths, and the manifests to write.
    fn nodes(&self, arrays: &mut Vec<ArrayPlan>) -> Result<Vec<PlannedNode>, SessionError> {
        let (base, changes) = (self.base, self.changes);
        let snapshot = base.snapshot();
        let mut nodes = Vec::with_capacity(snapshot.node_count() + changes.created().len());
        let mut created = changes.created().iter().peekable();
        let mut position = 0;
        loop {
            let record = (position < snapshot.node_count()).then(|| snapshot.node_at(position));
            let take_created = match (&record, created.peek()) {
                (None, None) => break,
                (Some(record), Some((path, _))) => path.as_str() <= record.path(),
                (None, Some(_)) => true,
                (Some(_), None) => false,
            };
            if take_created && let Some((path, node)) = created.next() {
                let has_chunks = changes.chunks_of(&node.id).is_some_and(|it| !it.is_empty());
                let moved_from = changes
                    .moved_from(&node.id)
                    .and_then(|it| base.position(it));
                let manifests = match (node.metadata.array(), has_chunks, moved_from) {
                    (Some(_), _, Some(position)) => {
                        self.existing(position, path, &node.metadata, arrays)?
                    }
                    (Some(array), true, None) => {
                        arrays.push(self.array(node.id, path, array, None, Vec::new()));
                        let array = arrays.len() - 1;
                        PlannedManifests::Change { array }
                    }
                    _ => PlannedManifests::None,
                };
                nodes.push(PlannedNode {
                    source: NodeSource::Written { path: path.clone() },
                    manifests,
                });
            } else if let Some(record) = record {
                let path = record.node_path();
                if !changes.deleted().contains_key(&path) {
                    let updated = changes.updated().get(&path);
                    let manifests = match updated.map(|node| Arc::clone(&node.metadata)) {
                        _ if record.kind() == NodeKind::Group => PlannedManifests::None,
                        Some(metadata) => self.existing(position, &path, &metadata, arrays)?,
                        None if self.rewrite != Rewrite::No
                            || !self.lost.is_empty()
                            || !self.extents.is_empty()
                            || changes.chunks().contains_key(&record.id())
                            || changes.view_of(&record.id()).is_some() =>
                        {
                            let metadata = base.metadata(record)?;
                            self.existing(position, &path, &metadata, arrays)?
                        }
                        None => PlannedManifests::Keep { position },
                    };
                    let source = match updated {
                        Some(_) => NodeSource::Written { path },
                        None => NodeSource::Base { position },
                    };
                    nodes.push(PlannedNode { source, manifests });
                }
                position += 1;
            }
        }
        Ok(nodes)
    }

    /// Plans an array that exists in the base, at a position.
    fn existing(
        &self,
        position: usize,
        path: &NodePath,
        metadata: &NodeMetadata,
        arrays: &mut Vec<ArrayPlan>,
    ) -> Result<PlannedManifests, SessionError> {
        let (base, changes) = (self.base, self.changes);
        let node = base.record(position).id();
        let (Some(array), Some(record)) = (metadata.array(), base.array(position)) else {
            return Ok(PlannedManifests::None);
        };
        let table = changes.chunks_of(&node);
        let written = table.is_some_and(|it| !it.is_empty());
        let view = changes.view_of(&node);
        let is_shifted = view.is_some_and(BaseView::is_shifted);
        let mut held = Vec::new();
        let mut mended = false;
        for manifest in record.manifests() {
            if self.lost.contains(&manifest.id()) {
                mended = true;
                continue;
            }
            let mut extents = manifest.extents();
            if let Some(right) = self.extents.get(&(path.clone(), manifest.id())) {
                mended |= *right != extents;
                extents = right.clone();
            }
            let placed = match view {
                Some(view) => view.place_box(extents.ranges()),
                None => Some(extents.ranges().to_vec()),
            };
            let erased = table.filter(|it| it.has_boxes()).zip(placed.as_ref());
            let cut = manifest.rank() != array.rank()
                || placed.as_deref() != Some(extents.ranges())
                || erased.is_some_and(|(table, placed)| table.erases_some_of(placed))
                || (extents.ranges().iter().zip(&array.chunk_counts))
                    .any(|(range, count)| range.end > *count);
            let info = manifest_file(base, manifest.id())?;
            held.push(HeldManifest {
                reference: ManifestRef {
                    id: manifest.id(),
                    extents,
                },
                bytes: info.size_bytes,
                refs: u64::from(info.num_chunk_refs),
                cut,
            });
        }
        let untouched = !written && !mended && !is_shifted && !held.iter().any(|it| it.cut);
        if untouched && (self.rewrite == Rewrite::No || held.is_empty()) {
            return Ok(PlannedManifests::Keep { position });
        }
        let before = base.metadata(base.record(position)).ok();
        let before = before.and_then(|it| Some(it.array()?.chunk_counts.clone()));
        arrays.push(ArrayPlan {
            mended,
            ..self.array(node, path, array, before, held)
        });
        let array = arrays.len() - 1;
        Ok(PlannedManifests::Change { array })
    }

    fn array(
        &self,
        node: NodeId,
        path: &NodePath,
        array: &ArrayMetadata,
        before: Option<Vec<u32>>,
        held: Vec<HeldManifest>,
    ) -> ArrayPlan {
        ArrayPlan {
            node,
            path: path.clone(),
            dimensions: array.dimension_names.clone(),
            grid: array.chunk_counts.clone(),
            before,
            held,
            rewrite: self.rewrite,
            mended: false,
            entropy: self.session.derive_entropy(),
        }
    }
}

/// Runs what may take long without waiting, away from the tasks that others wait for.
pub(super) async fn run_blocking<T: Send + 'static>(
    small: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, SessionError> {
    if small {
        return Ok(work());
    }
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => (runtime.spawn_blocking(work).await)
            .map_err(|error| SessionError::Aborted(error.to_string())),
        // Polled outside of any runtime: no other task waits.
        Err(_) => Ok(work()),
    }
}

/// Decides what of each array is rewritten.
async fn split(
    session: &Session,
    changes: &Arc<ChangeSet>,
    arrays: Vec<ArrayPlan>,
) -> Result<Vec<Split>, SessionError> {
    let shared = session.shared();
    stream::iter(arrays)
        .map(|array| async move {
            let edits = changes.chunks_of(&array.node).map_or(0, |it| it.len());
            let (changes, configs) = (Arc::clone(changes), shared.configs.in_force());
            let writer = shared.objects.writer().clone();
            let split = move || array.split(&changes, &configs.splits, writer.writer());
            Ok(run_blocking(edits <= EDITS_AT_ONCE, split).await??)
        })
        .buffered(SORTERS)
        .try_collect()
        .await
}

/// What the base says of a manifest file.
fn manifest_file(base: &Base, id: ManifestId) -> Result<ManifestFileInfo, SessionError> {
    base.snapshot().manifest_file(&id).ok_or_else(|| {
        SessionError::Fetch(FetchError::Missing {
            what: "the base snapshot's entry of manifest",
            id: id.to_string(),
            key: Key::parse(&layout::manifest_key(id))
                .unwrap_or_else(|_| unreachable!("BUG: ids make valid keys")),
        })
    })
}

/// Every manifest that a node of the new snapshot refers to, once.
fn manifest_files(
    base: &Base,
    nodes: &[PlannedNode],
    arrays: &[ArrayManifests],
) -> Result<Vec<ManifestFileInfo>, SessionError> {
    let mut files = BTreeMap::new();
    let mut keep = |id: ManifestId| -> Result<(), SessionError> {
        files.insert(id, manifest_file(base, id)?);
        Ok(())
    };
    for node in nodes {
        match node.manifests {
            PlannedManifests::None => {}
            PlannedManifests::Keep { position } => {
                let array = base.array(position);
                for manifest in array.iter().flat_map(|array| array.manifests()) {
                    keep(manifest.id())?;
                }
            }
            PlannedManifests::Change { array } => {
                for kept in &arrays[array].kept {
                    keep(kept.id)?;
                }
            }
        }
    }
    for new in arrays.iter().flat_map(|array| &array.new) {
        files.insert(new.info.id, new.info);
    }
    Ok(files.into_values().collect())
}

/// Sends all objects at once, and in the same round looks whether the commit still has a chance.
#[tracing::instrument(name = "commit.write", level = "debug", skip_all, fields(snapshot_id = %info.id, manifests = manifests.len()))]
async fn store(
    session: &Session,
    (info, parent): (SnapshotInfo, SnapshotId),
    snapshot: Bytes,
    log: NewLog<impl Future<Output = Result<Bytes, SessionError>>>,
    manifests: Vec<StoredManifest>,
    tip: Option<&Tip>,
) -> Result<Written, CommitError> {
    let shared = session.shared();
    let objects = &shared.objects;
    let snapshot_id = info.id;
    let stand = session.branch().zip(tip);
    let look = async {
        match stand {
            Some((branch, tip)) => shared.ledger.branch_of(branch, tip).await,
            None => Ok(None),
        }
    };
    let prepare = async {
        if let Some((branch, tip)) = stand {
            shared.ledger.prepare(branch, tip).await;
        }
    };
    let files: Vec<(ManifestId, Bytes)> = manifests
        .iter()
        .map(|(id, file, _)| (*id, file.clone()))
        .collect();
    let put_manifests = stream::iter(files)
        .map(|(id, file)| objects.put_manifest(id, file))
        .buffer_unordered(shared.settings.max_requests.max(1))
        .try_collect::<()>();
    let put_log = async {
        let file = log.file.await?;
        objects
            .put_transaction_log(snapshot_id, file.clone())
            .await?;
        Ok::<_, SessionError>(file)
    };
    let (stored_manifests, stored_snapshot, stored_log, upgraded, found, collection, ()) = futures::join!(
        put_manifests,
        objects.put_snapshot(snapshot_id, snapshot.clone()),
        put_log,
        shared.ledger.was_upgraded(),
        look,
        session.last_collection(),
        prepare,
    );
    stored_manifests?;
    if let Some(store_time) = stored_snapshot? {
        shared.compare_clocks(store_time);
        session.lease().note_written(store_time);
    }
    if let Some(collection) = collection? {
        session.note_collection(&collection);
    }
    let log_file = stored_log?;
    if upgraded? {
        return Err(CommitError::Upgraded);
    }
    let found = found?;
    if let Some((branch, _)) = stand
        && found.as_ref() != tip
    {
        shared.note_lost_race(branch);
        return Ok(Written::BranchMoved {
            found: found.map(|tip| tip.snapshot),
        });
    }
    // The session goes on reading this snapshot, and the next one begins with it: no need to fetch it.
    let log_file = log.remembered.then_some(&log_file);
    let fresh = objects.remember((snapshot_id, &snapshot), parent, log_file, &manifests)?;
    Ok(Written::Prepared(PreparedCommit {
        snapshot: info,
        fresh,
    }))
}
