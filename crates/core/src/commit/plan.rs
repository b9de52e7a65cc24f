//! Planning a commit and writing its objects.
//!
//! Ids are drawn here, on one task, in the order of node paths, so that equal histories with equal sources
//! of ids give equal bytes. Then manifests are merged and encoded in parallel, and all objects go to the store
//! at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{
    DimensionShape, ManifestFileInfo, ManifestId, ManifestRef, NewNode, NewNodeData, NewSnapshot,
    NodeId, NodeKind, SnapshotEncoder, SnapshotId, TransactionLogEncoder, layout,
};
use icefield_refs::{FetchError, Tip, micros_of_time};
use icefield_storage::{Bytes, Key, StorageError, StorageExt};
use serde_json::Value;

use super::manifests::{ManifestJob, NewManifest};
use crate::change_set::ChangeSet;
use crate::metadata::{ArrayMetadata, NodeMetadata};
use crate::objects::Fresh;
use crate::session::{Base, Session};
use crate::{CommitError, SessionError};

/// Manifests merged and encoded at a time.
const ENCODERS: usize = 4;

/// Bytes of references whose merge takes about as long as the way to another thread and back.
const AT_ONCE: usize = 64 << 10;

/// All objects of a commit are stored, and no branch points at them yet. Dropping this leaves garbage, never
/// damage.
#[derive(Debug)]
#[must_use = "nothing is visible until it is published"]
pub(super) struct PreparedCommit {
    snapshot: SnapshotId,
    fresh: Fresh,
}

impl PreparedCommit {
    pub(super) fn snapshot(&self) -> SnapshotId {
        self.snapshot
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
struct PlannedNode {
    source: NodeSource,
    manifests: PlannedManifests,
}

enum NodeSource {
    /// As the base has it.
    Base { position: usize },
    /// As the session wrote it.
    Written { path: icefield_format::NodePath },
}

enum PlannedManifests {
    /// A group, or an array without references.
    None,
    /// Those of the base at this position.
    Keep { position: usize },
    /// The result of a job, by its number.
    Rewrite { job: usize },
}

/// What the new snapshot says of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Description<'a> {
    pub(super) message: &'a str,
    pub(super) metadata: &'a BTreeMap<String, Value>,
    pub(super) allow_empty: bool,
    /// Manifests of the base that are not read and not carried over.
    pub(super) lost: &'a BTreeSet<ManifestId>,
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
    if changes.is_empty() && !description.allow_empty {
        return Err(CommitError::NothingToCommit);
    }
    metadata.extend(description.metadata.clone());
    let shared = session.shared();
    let mut jobs = Vec::new();
    let nodes = plan_nodes(session, &base, &changes, description.lost, &mut jobs)?;
    let snapshot_id = SnapshotId::from_bytes(session.random());
    let new_manifests = run_jobs(session, &changes, &jobs).await?;
    let flushed_at = micros_of_time(shared.clock.now()).max(newer_than.saturating_add(1));
    let snapshot = encode_snapshot(
        session,
        &base,
        &changes,
        &nodes,
        &new_manifests,
        NewSnapshot {
            id: snapshot_id,
            parent_id: Some(base.snapshot().id()),
            flushed_at,
            message: description.message,
            metadata: &metadata,
            manifest_files: &manifest_files(&base, &nodes, &new_manifests)?,
        },
    )?;
    let robbed = arrays_that_name(&base, &changes, description.lost);
    let log = encode_log(session, snapshot_id, &changes, robbed)?;
    let files: Vec<(ManifestId, Bytes)> = new_manifests
        .iter()
        .flatten()
        .filter_map(|new| Some((new.info.id, new.file.clone()?)))
        .collect();
    let written = store(session, snapshot_id, snapshot, log, files, tip).await?;
    session.note_written(|stored| {
        for (job, manifest) in jobs.iter().zip(&new_manifests) {
            stored.note(job, &changes, manifest.as_ref());
        }
    })?;
    Ok(written)
}

/// Lists the nodes of the new snapshot in the order of their paths, and the manifests to write.
fn plan_nodes(
    session: &Session,
    base: &Base,
    changes: &ChangeSet,
    lost: &BTreeSet<ManifestId>,
    jobs: &mut Vec<ManifestJob>,
) -> Result<Vec<PlannedNode>, SessionError> {
    let snapshot = base.snapshot();
    let plan_manifests = |position, metadata: &NodeMetadata, jobs: &mut Vec<ManifestJob>| {
        plan_manifests(session, base, changes, lost, position, metadata, jobs)
    };
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
            let has_chunks = changes
                .chunks()
                .get(&node.id)
                .is_some_and(|it| !it.is_empty());
            let moved_from = changes
                .moved_from(&node.id)
                .and_then(|it| base.position(it));
            let manifests = match (node.metadata.array(), has_chunks, moved_from) {
                (Some(_), _, Some(position)) => plan_manifests(position, &node.metadata, jobs),
                (Some(array), true, None) => new_job(session, jobs, node.id, array, Vec::new()),
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
                    Some(metadata) => plan_manifests(position, &metadata, jobs),
                    None if changes.chunks().contains_key(&record.id())
                        || names_any(base, position, lost) =>
                    {
                        let metadata = base.metadata(record)?;
                        plan_manifests(position, &metadata, jobs)
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

/// Whether a node of the base is an array that names one of these manifests.
fn names_any(base: &Base, position: usize, lost: &BTreeSet<ManifestId>) -> bool {
    let array = (!lost.is_empty()).then(|| base.array(position)).flatten();
    array.is_some_and(|array| array.manifests().any(|it| lost.contains(&it.id())))
}

/// Decides about the manifests of an array that exists in the base.
fn plan_manifests(
    session: &Session,
    base: &Base,
    changes: &ChangeSet,
    lost: &BTreeSet<ManifestId>,
    position: usize,
    metadata: &NodeMetadata,
    jobs: &mut Vec<ManifestJob>,
) -> PlannedManifests {
    let node = base.record(position).id();
    let (Some(array), Some(record)) = (metadata.array(), base.array(position)) else {
        return PlannedManifests::None;
    };
    let written = changes.chunks().get(&node).is_some_and(|it| !it.is_empty());
    let seen = changes.visible_grid(&node);
    let cut = record.manifests().any(|manifest| {
        manifest.rank() != array.rank()
            || seen.is_some_and(|seen| seen.len() != array.rank())
            || manifest
                .extents()
                .ranges()
                .iter()
                .enumerate()
                .any(|(axis, range)| {
                    let seen = seen.and_then(|grid| grid.get(axis));
                    let count = array.chunk_counts.get(axis);
                    range.end > seen.copied().unwrap_or(u32::MAX)
                        || range.end > count.copied().unwrap_or(0)
                })
    });
    if !written && !cut && !names_any(base, position, lost) {
        return PlannedManifests::Keep { position };
    }
    let inputs = record.manifests().map(|it| it.id());
    let inputs = inputs.filter(|id| !lost.contains(id)).collect();
    new_job(session, jobs, node, array, inputs)
}

fn new_job(
    session: &Session,
    jobs: &mut Vec<ManifestJob>,
    node: NodeId,
    array: &ArrayMetadata,
    inputs: Vec<ManifestId>,
) -> PlannedManifests {
    jobs.push(ManifestJob {
        id: ManifestId::from_bytes(session.random()),
        node,
        grid: array.chunk_counts.clone(),
        inputs,
    });
    PlannedManifests::Rewrite {
        job: jobs.len() - 1,
    }
}

async fn run_jobs(
    session: &Session,
    changes: &Arc<ChangeSet>,
    jobs: &[ManifestJob],
) -> Result<Vec<Option<NewManifest>>, SessionError> {
    let shared = session.shared();
    let earlier = session.written_manifests()?;
    let jobs: Vec<_> = jobs
        .iter()
        .map(|job| (job.clone(), earlier.find(job, changes)))
        .collect();
    stream::iter(jobs)
        .map(|(job, earlier)| async move {
            if let Some(manifest) = earlier {
                return Ok(manifest);
            }
            let objects = &shared.objects;
            let mut inputs = Vec::with_capacity(job.inputs.len());
            let mut loading = stream::iter(job.inputs.clone())
                .map(|id| objects.manifest(id))
                .buffered(8);
            while let Some(manifest) = loading.try_next().await? {
                inputs.push(manifest);
            }
            let small = job.bytes(changes, &inputs) <= AT_ONCE;
            let (changes, writer) = (Arc::clone(changes), objects.writer().clone());
            let merge = move || job.run(&changes, &inputs, &writer);
            if small {
                return Ok(merge()?);
            }
            let merged = match tokio::runtime::Handle::try_current() {
                Ok(runtime) => runtime
                    .spawn_blocking(merge)
                    .await
                    .map_err(|error| SessionError::Aborted(error.to_string()))?,
                // Polled outside of any runtime: there is nobody to keep waiting.
                Err(_) => merge(),
            };
            merged.map_err(SessionError::from)
        })
        .buffered(ENCODERS)
        .try_collect()
        .await
}

/// Every manifest that a node of the new snapshot refers to, once.
fn manifest_files(
    base: &Base,
    nodes: &[PlannedNode],
    new_manifests: &[Option<NewManifest>],
) -> Result<Vec<ManifestFileInfo>, SessionError> {
    let mut files = BTreeMap::new();
    for node in nodes {
        match node.manifests {
            PlannedManifests::None => {}
            PlannedManifests::Keep { position } => {
                let array = base.array(position);
                for manifest in array.iter().flat_map(|array| array.manifests()) {
                    let id = manifest.id();
                    let info = base.snapshot().manifest_file(&id).ok_or_else(|| {
                        SessionError::Fetch(FetchError::Missing {
                            what: "the base snapshot's entry of manifest",
                            id: id.to_string(),
                            key: Key::parse(&layout::manifest_key(id))
                                .unwrap_or_else(|_| unreachable!("BUG: ids make valid keys")),
                        })
                    })?;
                    files.insert(id, info);
                }
            }
            PlannedManifests::Rewrite { job } => {
                if let Some(new) = &new_manifests[job] {
                    files.insert(new.info.id, new.info);
                }
            }
        }
    }
    Ok(files.into_values().collect())
}

fn encode_snapshot(
    session: &Session,
    base: &Base,
    changes: &ChangeSet,
    nodes: &[PlannedNode],
    new_manifests: &[Option<NewManifest>],
    header: NewSnapshot<'_>,
) -> Result<Bytes, CommitError> {
    let mut encoder = SnapshotEncoder::new(header);
    for node in nodes {
        let manifests: Vec<ManifestRef> = match node.manifests {
            PlannedManifests::None => Vec::new(),
            PlannedManifests::Keep { position } => base
                .array(position)
                .iter()
                .flat_map(|array| array.manifests())
                .map(|it| ManifestRef {
                    id: it.id(),
                    extents: it.extents(),
                })
                .collect(),
            PlannedManifests::Rewrite { job } => new_manifests[job]
                .iter()
                .map(|new| new.reference.clone())
                .collect(),
        };
        match &node.source {
            NodeSource::Base { position } => {
                push_base_node(&mut encoder, base, *position, &manifests)?;
            }
            NodeSource::Written { path } => {
                let written = changes
                    .created()
                    .get(path)
                    .or_else(|| changes.updated().get(path));
                let Some(written) = written else { continue };
                let shape = written.metadata.array().map(dimension_shapes);
                encoder.push(NewNode {
                    id: written.id,
                    path: path.as_str(),
                    user_data: &written.document,
                    data: match (&*written.metadata, &shape) {
                        (NodeMetadata::Array(array), Some(shape)) => NewNodeData::Array {
                            shape,
                            dimension_names: array.dimension_names.as_deref(),
                            manifests: &manifests,
                        },
                        _ => NewNodeData::Group,
                    },
                })?;
            }
        }
    }
    Ok(encoder.finish(session.shared().objects.writer())?)
}

fn dimension_shapes(array: &ArrayMetadata) -> Vec<DimensionShape> {
    array
        .shape
        .iter()
        .zip(&array.chunk_shape)
        .map(|(length, chunk)| DimensionShape {
            array_length: *length,
            chunk_length: *chunk,
        })
        .collect()
}

fn push_base_node(
    encoder: &mut SnapshotEncoder<'_>,
    base: &Base,
    position: usize,
    manifests: &[ManifestRef],
) -> Result<(), CommitError> {
    let record = base.record(position);
    let array = record.array();
    let shape: Vec<DimensionShape> = array.iter().flat_map(|array| array.shape()).collect();
    let names: Option<Vec<Option<String>>> = array.and_then(|array| {
        Some(
            array
                .dimension_names()?
                .map(|name| name.map(str::to_owned))
                .collect(),
        )
    });
    encoder.push(NewNode {
        id: record.id(),
        path: record.path(),
        user_data: record.user_data(),
        data: match array {
            None => NewNodeData::Group,
            Some(_) => NewNodeData::Array {
                shape: &shape,
                dimension_names: names.as_deref(),
                manifests,
            },
        },
    })?;
    Ok(())
}

/// The arrays that stay and name one of these manifests: which of their chunks are gone, nobody can say any more.
fn arrays_that_name(
    base: &Base,
    changes: &ChangeSet,
    lost: &BTreeSet<ManifestId>,
) -> BTreeSet<NodeId> {
    let positions = 0..base.snapshot().node_count();
    let named = positions.filter(|position| names_any(base, *position, lost));
    let records = named.map(|position| base.record(position));
    let stay = records.filter(|record| !changes.deleted().contains_key(&record.node_path()));
    stay.map(|record| record.id()).collect()
}

fn encode_log(
    session: &Session,
    id: SnapshotId,
    changes: &ChangeSet,
    mut updated_arrays: BTreeSet<NodeId>,
) -> Result<Bytes, CommitError> {
    let mut log = TransactionLogEncoder::new(id);
    let of_kind = |nodes: &BTreeMap<_, crate::change_set::WrittenNode>, kind| -> Vec<NodeId> {
        nodes
            .values()
            .filter(|node| node.kind() == kind)
            .map(|node| node.id)
            .collect()
    };
    let deleted = |wanted| -> Vec<NodeId> {
        changes
            .deleted()
            .values()
            .filter(|(_, kind)| *kind == wanted)
            .map(|(id, _)| *id)
            .collect()
    };
    log.new_groups(of_kind(changes.created(), NodeKind::Group));
    log.new_arrays(of_kind(changes.created(), NodeKind::Array));
    log.deleted_groups(deleted(NodeKind::Group));
    log.deleted_arrays(deleted(NodeKind::Array));
    log.updated_groups(of_kind(changes.updated(), NodeKind::Group));
    updated_arrays.extend(of_kind(changes.updated(), NodeKind::Array));
    log.updated_arrays(updated_arrays);
    for (node, table) in changes.chunks() {
        if table.is_empty() {
            continue;
        }
        log.begin_chunks(*node)?;
        for row in table.sorted_rows() {
            log.push_chunk(table.index(row))?;
        }
    }
    Ok(log.finish(session.shared().objects.writer())?)
}

/// Sends all objects at once, and in the same round looks whether the commit still has a chance.
#[tracing::instrument(name = "commit.write", level = "debug", skip_all, fields(%snapshot_id, manifests = manifests.len()))]
async fn store(
    session: &Session,
    snapshot_id: SnapshotId,
    snapshot: Bytes,
    log: Bytes,
    manifests: Vec<(ManifestId, Bytes)>,
    tip: Option<&Tip>,
) -> Result<Written, CommitError> {
    let shared = session.shared();
    let objects = &shared.objects;
    let branch = tip.and(session.branch());
    let look = async {
        match branch {
            Some(branch) => shared.refs.branch(branch).await,
            None => Ok(None),
        }
    };
    let repo_key = Key::parse(layout::REPO).map_err(StorageError::from)?;
    let put_manifests = stream::iter(manifests.clone())
        .map(|(id, file)| objects.put_manifest(id, file))
        .buffer_unordered(shared.settings.max_requests.max(1))
        .try_collect::<()>();
    let (stored_manifests, stored_snapshot, stored_log, upgraded, found) = futures::join!(
        put_manifests,
        objects.put_snapshot(snapshot_id, snapshot.clone()),
        objects.put_transaction_log(snapshot_id, log.clone()),
        shared.storage.exists(&repo_key),
        look,
    );
    stored_manifests?;
    if let Some(store_time) = stored_snapshot? {
        shared.compare_clocks(store_time);
    }
    stored_log?;
    if upgraded? {
        return Err(CommitError::Upgraded);
    }
    let found = found?;
    if let Some(branch) = branch
        && found.as_ref() != tip
    {
        shared.note_lost_race(branch);
        return Ok(Written::BranchMoved {
            found: found.map(|tip| tip.snapshot),
        });
    }
    // The session goes on reading this snapshot, and the next one begins with it: no need to fetch it.
    let fresh = objects.remember((snapshot_id, &snapshot), &log, &manifests)?;
    Ok(Written::Prepared(PreparedCommit {
        snapshot: snapshot_id,
        fresh,
    }))
}
