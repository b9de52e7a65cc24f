//! The tip that an amended snapshot takes the place of.
//!
//! The log of such a snapshot tells what the old tip did and what the session did. Lists of nodes and chunks are unions, as
//! other writers of the format make them: a node that the tip created and the session deleted is in both lists. Moves are
//! net.

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_format::{
    ChunkIndex, FormatError, MovedNode, NodeId, NodePath, NodeRecord, Snapshot, SnapshotId,
    SpecVersion, TransactionLog,
};
use icefield_refs::{FetchError, RefsError, SnapshotInfo, Tip};
use icefield_storage::Bytes;
use serde_json::Value;

use super::outcome::CommitOutcome;
use super::properties::{MERGED_SNAPSHOT, note_earlier_shifts};
use crate::file_writer::FileWriter;
use crate::grid::within;
use crate::objects::Objects;
use crate::session::{Base, Session};
use crate::{CommitError, Repository, RepositoryError, SessionError};

/// The snapshot that an amended one replaces.
#[derive(Clone, Debug)]
pub(super) struct Replaced {
    /// The snapshot that is the parent of both.
    parent: SnapshotId,
    /// Where the nodes were that were there before the log: its moves lead on from there.
    before: BTreeMap<NodeId, NodePath>,
    info: SnapshotInfo,
    log: Arc<TransactionLog>,
}

/// Refuses to amend where that is never possible, whatever the session holds.
///
/// # Errors
/// [`RepositoryError::NeedsSpecVersion2`], [`RefsError::NoAmendOfFirst`].
pub(super) fn check(session: &Session, tip: &Tip) -> Result<(), CommitError> {
    let found = session.shared().ledger.spec_version();
    if found < SpecVersion::V2 {
        let what = "amending a commit";
        return Err(RepositoryError::NeedsSpecVersion2 { what, found }.into());
    }
    match tip.snapshot {
        SnapshotId::INITIAL => Err(RefsError::NoAmendOfFirst(tip.snapshot).into()),
        _ => Ok(()),
    }
}

impl Replaced {
    /// Reads what the tip did.
    async fn read(session: &Session, tip: &Tip) -> Result<Self, CommitError> {
        let shared = session.shared();
        let info = shared.ledger.snapshot(tip.snapshot).await?;
        // Some programs give the first snapshot another id.
        let parent = info.parent_id.ok_or(RefsError::NoAmendOfFirst(info.id))?;
        // Where ancestors expired, their logs tell what was between the parent and the log of the tip.
        let is_whole = info.pruned_logs.is_empty();
        let (log, before) = futures::join!(
            shared.objects.log_of(tip.snapshot, Some(parent)),
            shared
                .objects
                .snapshot(if is_whole { parent } else { info.id }),
        );
        let log = match log {
            Ok(log) => log,
            // Written by a tool without logs: the snapshots tell.
            Err(FetchError::Missing { .. }) => {
                let repository = Repository::of(shared);
                Arc::new(repository.log_from_snapshots(&info, parent).await?)
            }
            Err(error) => return Err(error.into()),
        };
        let before = match before? {
            parent if is_whole => paths(&parent),
            tip => undone(paths(&tip), &log),
        };
        Ok(Self {
            parent,
            before,
            info,
            log,
        })
    }

    /// Reads what is to be replaced; or the outcome, where the branch has gone on from it and nothing lists it any more.
    pub(super) async fn of_tip(
        session: &Session,
        tip: &Tip,
    ) -> Result<Result<Self, CommitOutcome>, CommitError> {
        let error = match Self::read(session, tip).await {
            Ok(replaced) => return Ok(Ok(replaced)),
            Err(error) => error,
        };
        let CommitError::Session(SessionError::Fetch(
            FetchError::Missing { .. } | FetchError::NotListed { .. },
        )) = &error
        else {
            return Err(error);
        };
        let branch = session.branch().ok_or(SessionError::ReadOnly)?;
        let found = session.shared().ledger.branch_of(branch, tip).await?;
        if found.as_ref() == Some(tip) {
            return Err(error);
        }
        Ok(Err(CommitOutcome::BranchMoved {
            expected: tip.snapshot,
            found: found.map(|tip| tip.snapshot),
        }))
    }

    pub(super) fn parent(&self) -> SnapshotId {
        self.parent
    }

    /// Puts what the old tip says of itself, and its successor must go on saying, into metadata.
    pub(super) fn note(&self, metadata: &mut BTreeMap<String, Value>) {
        note_earlier_shifts(&self.info, metadata);
        if let Some(merged) = self.info.metadata.get(MERGED_SNAPSHOT) {
            let merged = || merged.clone();
            metadata
                .entry(MERGED_SNAPSHOT.to_owned())
                .or_insert_with(merged);
        }
    }

    /// Returns the log of the snapshot that takes the place of the tip, `own` being what the session did.
    pub(super) fn log(
        &self,
        writer: &FileWriter,
        (id, snapshot, own): (SnapshotId, &[u8], &[u8]),
        objects: &Objects,
    ) -> Result<Bytes, FormatError> {
        let limits = objects.decode_limits();
        let after = Base::new(Arc::new(Snapshot::decode(snapshot, id, limits)?));
        let own = TransactionLog::decode(own, id, limits)?;
        union(writer, [&self.log, &own], (&self.before, &after))
    }
}

fn paths(snapshot: &Snapshot) -> BTreeMap<NodeId, NodePath> {
    let nodes = snapshot.nodes();
    nodes.map(|node| (node.id(), node.node_path())).collect()
}

/// Takes back what a log tells of paths. A node that it deleted is not among them: the log does not say where it was, and one
/// that a later session brings back is named as deleted and created.
fn undone(
    mut paths: BTreeMap<NodeId, NodePath>,
    log: &TransactionLog,
) -> BTreeMap<NodeId, NodePath> {
    for created in log.new_groups().chain(log.new_arrays()) {
        paths.remove(&created);
    }
    for moved in log.moved_nodes() {
        if let (Some(path), Ok(from)) = (paths.get_mut(&moved.id()), NodePath::parse(moved.from()))
        {
            *path = from;
        }
    }
    paths
}

/// Joins what two commits in a row did, which lead from some paths of nodes to a snapshot.
fn union(
    writer: &FileWriter,
    logs: [&TransactionLog; 2],
    (before, after): (&BTreeMap<NodeId, NodePath>, &Base),
) -> Result<Bytes, FormatError> {
    let [_, later] = logs;
    let nodes = after.snapshot().nodes();
    let there: BTreeMap<NodeId, NodeRecord<'_>> = nodes.map(|node| (node.id(), node)).collect();
    let stays = |id: &NodeId| before.contains_key(id) && there.contains_key(id);
    let came = |id: &NodeId| !stays(id);
    let mut log = writer.log(later.id());
    for it in logs {
        log.new_groups(it.new_groups().filter(came));
        log.new_arrays(it.new_arrays().filter(came));
        log.deleted_groups(it.deleted_groups().filter(came));
        log.deleted_arrays(it.deleted_arrays().filter(came));
        // A node that came or went is named as that alone, and one that went and came back as updated.
        let groups = it.updated_groups().chain(it.new_groups());
        let arrays = it.updated_arrays().chain(it.new_arrays());
        log.updated_groups(groups.filter(stays));
        log.updated_arrays(arrays.filter(stays));
    }
    let moved = there.values().filter_map(|node| {
        let (from, to) = (before.get(&node.id())?.clone(), node.node_path());
        let (id, kind) = (node.id(), node.kind());
        (from != to).then_some(MovedNode { from, to, id, kind })
    });
    log.moved_nodes(moved);
    let mut chunks: BTreeMap<NodeId, Vec<ChunkIndex>> = BTreeMap::new();
    for array in logs.iter().flat_map(|log| log.updated_chunks()) {
        let node = there.get(&array.node_id());
        let Some(grid) = node.and_then(|node| after.grid(&node.node_path())) else {
            continue;
        };
        // As in any log, chunks that went with a resize are not named.
        let inside = array.chunks().filter(|index| within(index, &grid));
        chunks.entry(array.node_id()).or_default().extend(inside);
    }
    for (node, mut chunks) in chunks {
        chunks.sort_unstable();
        chunks.dedup();
        if !chunks.is_empty() {
            log.begin_chunks(node)?;
        }
        for index in chunks {
            log.push_chunk(&index)?;
        }
    }
    log.finish(writer.writer())
}
