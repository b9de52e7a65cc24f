//! A fork as bytes, for other processes.
//!
//! ```text
//! 8 bytes   "ICEFORK\0"
//! 1 byte    version, 5; 4 is read, too
//! rest      a zstd frame with a checksum: MessagePack of base, its time in microseconds,
//!           family, origin id, origin, changes, lease: its id, the age of the session in
//!           microseconds, when that was, and when the session began by the store's clock
//!           or 0; ids of snapshots whose chunks were taken over
//! ```
//! Both change sets are columns, as in memory: per array one byte string for each of coordinates, kinds, chunk
//! ids, offsets, lengths, inline bytes and the numbers of foreign objects, which are told once; since version 5, the boxes
//! that were erased, and what is spared of them. Of the changes, only
//! rows that are not in the origin are kept. A
//! reader refuses versions that it does not know; fields at the end of a list that it does not know, too.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{NodeId, NodeKind, NodePath, SnapshotId};
use serde::{Deserialize, Serialize};

use super::blob_error::invalid;
use super::columns::Columns;
use super::frame::{
    ANSWER, FORK, PackedLease, fixed, opened, packed_ids, packed_lease, sealed, unpacked_ids,
    unpacked_lease,
};
use super::{BaseView, ChangeSet, ForkBlobError, WrittenNode};
use crate::metadata::NodeMetadata;
use crate::session::{Base, SentLease};

/// All that a fork consists of.
#[derive(Debug)]
pub(crate) struct ForkBlob {
    pub(crate) base: SnapshotId,
    /// When the base was written: the first snapshots of all repositories have one id.
    pub(crate) base_time: u64,
    pub(crate) family: [u8; 12],
    pub(crate) origin_id: [u8; 12],
    pub(crate) origin: ChangeSet,
    pub(crate) changes: ChangeSet,
    pub(crate) lease: SentLease,
    pub(crate) taken: BTreeSet<SnapshotId>,
}

#[derive(Serialize, Deserialize)]
struct Body(
    Bytes,
    u64,
    Bytes,
    Bytes,
    Edits,
    Edits,
    PackedLease,
    Vec<Bytes>,
);

/// A change set.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Edits {
    pub(super) created: Vec<(String, Bytes, Bytes)>,
    pub(super) updated: Vec<(String, Bytes, Bytes)>,
    pub(super) deleted: Vec<(String, Bytes, bool)>,
    pub(super) moved: Vec<(Bytes, String)>,
    pub(super) views: Vec<View>,
    pub(super) arrays: Vec<Columns>,
}

/// The view of an array of the base: its node, its path there, the visible ends and starts and the offsets per
/// dimension, whether it was shifted.
#[derive(Serialize, Deserialize)]
pub(super) struct View(Bytes, String, Vec<u32>, Vec<u32>, Vec<i64>, bool);

impl ForkBlob {
    pub(crate) fn encode(&self) -> Result<Bytes, ForkBlobError> {
        let body = Body(
            Bytes::copy_from_slice(self.base.as_bytes()),
            self.base_time,
            Bytes::copy_from_slice(&self.family),
            Bytes::copy_from_slice(&self.origin_id),
            Edits::of(&self.origin, &ChangeSet::default()),
            Edits::of(&self.changes, &self.origin),
            packed_lease(&self.lease),
            packed_ids(&self.taken),
        );
        sealed(FORK, &body)
    }

    /// Returns whether bytes are meant as a serialised fork, sound or not.
    pub(crate) fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(FORK)
    }

    pub(crate) fn decode(bytes: &[u8], metadata_limit: usize) -> Result<Self, ForkBlobError> {
        if bytes.starts_with(ANSWER) {
            return Err(ForkBlobError::Answer);
        }
        let Body(base, base_time, family, origin_id, origin, changes, lease, taken) =
            opened(FORK, bytes)?;
        let origin = origin.change_set(&ChangeSet::default(), metadata_limit)?;
        let changes = changes.change_set(&origin, metadata_limit)?;
        Ok(Self {
            base: SnapshotId::from_bytes(fixed(&base)?),
            base_time,
            family: fixed(&family)?,
            origin_id: fixed(&origin_id)?,
            origin,
            changes,
            lease: unpacked_lease(&lease)?,
            taken: unpacked_ids(&taken)?,
        })
    }
}

impl ForkBlob {
    /// Checks that the edits are edits of this base: what is not checked here would be committed as it is.
    pub(crate) fn check(&self, base: &Base) -> Result<(), ForkBlobError> {
        if self.base_time != base.snapshot().flushed_at() {
            return Err(ForkBlobError::OtherRepository);
        }
        self.origin.check(base)?;
        self.changes.check(base)
    }
}

impl ChangeSet {
    pub(super) fn check(&self, base: &Base) -> Result<(), ForkBlobError> {
        let at = |path: &NodePath| base.position(path).map(|it| base.record(it).id());
        let known: BTreeSet<NodeId> = base.snapshot().nodes().map(|node| node.id()).collect();
        let mut created = BTreeSet::new();
        for node in self.created.values() {
            let moved = self.moved.contains_key(&node.id);
            if !created.insert(node.id) || known.contains(&node.id) != moved {
                return Err(invalid("two nodes of one id"));
            }
        }
        self.check_kinds(base)?;
        let here = |(path, node): (&NodePath, &NodeId)| at(path) == Some(*node);
        let homes = self.moved.iter().map(|(node, home)| (home, node));
        let updated = self.updated.iter().map(|(path, node)| (path, &node.id));
        let deleted = self.deleted.iter().map(|(path, (node, _))| (path, node));
        let views = self.views.iter().map(|(node, view)| (&view.home, node));
        if !homes.chain(updated).chain(deleted).chain(views).all(here) {
            return Err(invalid("it edits nodes that its snapshot does not have"));
        }
        for (node, table) in self.chunks.iter().filter(|(_, table)| !table.is_empty()) {
            let path = self.array_paths.get(node);
            let path = path.ok_or_else(|| invalid("chunks without an array"))?;
            let written = self.created.get(path).or_else(|| self.updated.get(path));
            let grid = match written.filter(|written| written.id == *node) {
                Some(written) => written.metadata.array().map(|it| it.chunk_counts.clone()),
                None => base.grid_of(node, path),
            };
            let grid = grid.ok_or_else(|| invalid("chunks of what is no array"))?;
            if table.rank() != grid.len() || !table.lies_within(&grid) {
                return Err(invalid("chunks outside the grid of their array"));
            }
        }
        Ok(())
    }
}

impl ChangeSet {
    /// Checks that nodes stay what they are, and that each has a place.
    fn check_kinds(&self, base: &Base) -> Result<(), ForkBlobError> {
        let kind = |path: &NodePath| base.position(path).map(|it| base.record(it).kind());
        if self
            .updated
            .iter()
            .any(|(path, node)| kind(path) != Some(node.kind()))
            || self
                .deleted
                .iter()
                .any(|(path, (_, was))| kind(path) != Some(*was))
        {
            return Err(invalid("it turns groups into arrays"));
        }
        let deleted = |path: &NodePath| self.deleted.contains_key(path);
        if !self.moved.values().all(deleted) {
            return Err(invalid("a node is in two places"));
        }
        for path in self.created.keys() {
            if kind(path).is_some() && !deleted(path) {
                return Err(invalid("two nodes in one place"));
            }
            for above in path.ancestors() {
                let stays = kind(&above).filter(|_| !deleted(&above));
                let above = self.created.get(&above).map(WrittenNode::kind).or(stays);
                if above == Some(NodeKind::Array) {
                    return Err(invalid("a node below an array"));
                }
            }
        }
        let gone = self
            .deleted
            .iter()
            .filter(|(_, (_, kind))| *kind == NodeKind::Group);
        for (group, _) in gone.filter(|(path, _)| !self.created.contains_key(*path)) {
            if base
                .records_below(group)
                .any(|record| !deleted(&record.node_path()))
            {
                return Err(invalid("a deleted group with nodes in it"));
            }
        }
        Ok(())
    }
}

impl Edits {
    /// The edits of a change set; of its rows, those that are not in `origin`.
    pub(super) fn of(changes: &ChangeSet, origin: &ChangeSet) -> Self {
        let id = |node: &NodeId| Bytes::copy_from_slice(node.as_bytes());
        let written = |(path, node): (&NodePath, &WrittenNode)| {
            (path.to_string(), id(&node.id), node.document.clone())
        };
        let deleted = changes.deleted.iter();
        let arrays = changes.chunks.iter().filter_map(|(node, table)| {
            let was_empty = origin.chunks.get(node).is_none_or(|was| was.is_empty());
            if table.is_empty() && was_empty {
                return None;
            }
            let path = changes.array_paths.get(node)?;
            let follows = changes.followers.contains(node);
            let was = origin.chunks.get(node);
            Some(Columns::of((node, path), table, follows, was))
        });
        Self {
            created: changes.created.iter().map(written).collect(),
            updated: changes.updated.iter().map(written).collect(),
            deleted: deleted
                .map(|(path, (node, kind))| (path.to_string(), id(node), *kind == NodeKind::Array))
                .collect(),
            moved: changes
                .moved
                .iter()
                .map(|(node, from)| (id(node), from.to_string()))
                .collect(),
            views: changes
                .views
                .iter()
                .map(|(node, view)| View::of(node, view))
                .collect(),
            arrays: arrays.collect(),
        }
    }

    pub(super) fn change_set(
        self,
        origin: &ChangeSet,
        metadata_limit: usize,
    ) -> Result<ChangeSet, ForkBlobError> {
        let mut changes = ChangeSet::default();
        let written = |(path, id, document): (String, Bytes, Bytes)| -> Result<_, ForkBlobError> {
            let metadata = Arc::new(NodeMetadata::parse_new(&document, metadata_limit)?);
            let id = NodeId::from_bytes(fixed(&id)?);
            let node = WrittenNode {
                id,
                document,
                metadata,
            };
            Ok((NodePath::parse(&path)?, node))
        };
        for node in self.created {
            let (path, node) = written(node)?;
            changes.created.insert(path, node);
        }
        for node in self.updated {
            let (path, node) = written(node)?;
            changes.updated.insert(path, node);
        }
        for (path, node, is_array) in self.deleted {
            let kind = match is_array {
                true => NodeKind::Array,
                false => NodeKind::Group,
            };
            let node = NodeId::from_bytes(fixed(&node)?);
            changes
                .deleted
                .insert(NodePath::parse(&path)?, (node, kind));
        }
        for (node, from) in self.moved {
            let node = NodeId::from_bytes(fixed(&node)?);
            changes.moved.insert(node, NodePath::parse(&from)?);
        }
        for view in self.views {
            let (node, view) = view.read()?;
            changes.views.insert(node, view);
        }
        for columns in self.arrays {
            let (node, path) = (columns.node()?, columns.path()?);
            let table = columns.table(origin.chunks.get(&node))?;
            if columns.follow() {
                changes.followers.insert(node);
            }
            changes.array_paths.insert(node, path);
            changes.chunks.insert(node, table);
        }
        Ok(changes)
    }
}

impl View {
    pub(super) fn node(&self) -> &Bytes {
        &self.0
    }

    fn of(node: &NodeId, view: &BaseView) -> Self {
        let seen = view.seen().iter();
        Self(
            Bytes::copy_from_slice(node.as_bytes()),
            view.home.to_string(),
            seen.clone().map(|range| range.end).collect(),
            seen.map(|range| range.start).collect(),
            view.offset().to_vec(),
            view.is_shifted(),
        )
    }

    fn read(self) -> Result<(NodeId, BaseView), ForkBlobError> {
        let Self(node, home, ends, starts, offset, is_shifted) = self;
        if starts.len() != ends.len() || offset.len() != ends.len() {
            return Err(invalid("a view of an array with two ranks"));
        }
        let seen = starts.into_iter().zip(ends).map(|(start, end)| start..end);
        let view = BaseView::of(NodePath::parse(&home)?, seen.collect(), offset, is_shifted);
        Ok((NodeId::from_bytes(fixed(&node)?), view))
    }
}
