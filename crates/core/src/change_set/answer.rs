//! The changes of a fork since it was forked, as bytes for a holder of the state that it began with.
//!
//! ```text
//! 8 bytes   "ICEANSW\0"
//! 1 byte    the version of serialised forks
//! rest      as of a serialised fork, without the origin: MessagePack of base, its time, family, origin id, changes that
//!           are not in the origin, what of the origin is gone, lease, ids of snapshots whose chunks were taken over
//! ```
//! Its length is that of the changes, whatever the origin holds.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use icefield_format::{NodeId, NodePath, SnapshotId};
use serde::{Deserialize, Serialize};

use super::blob::{Edits, ForkBlob};
use super::columns::Columns;
use super::frame::{
    ANSWER, PackedLease, fixed, opened, packed_ids, packed_lease, sealed, unpacked_ids,
    unpacked_lease,
};
use super::{ChangeSet, ForkBlobError, WrittenNode};
use crate::session::{Base, SentLease};

/// The contents of an answer, its changes still packed.
pub(crate) struct Answer {
    pub(crate) base: SnapshotId,
    pub(crate) base_time: u64,
    pub(crate) family: [u8; 12],
    pub(crate) origin_id: [u8; 12],
    pub(crate) lease: SentLease,
    pub(crate) taken: BTreeSet<SnapshotId>,
    changes: Edits,
    gone: Gone,
}

#[derive(Serialize, Deserialize)]
struct Body(
    Bytes,
    u64,
    Bytes,
    Bytes,
    Edits,
    Gone,
    PackedLease,
    Vec<Bytes>,
);

/// The parts of the origin that the fork lacks.
#[derive(Serialize, Deserialize)]
struct Gone {
    created: Vec<String>,
    updated: Vec<String>,
    deleted: Vec<String>,
    moved: Vec<Bytes>,
    views: Vec<Bytes>,
    arrays: Vec<Bytes>,
}

impl Answer {
    /// An answer with `changes`, for a receiver that has `origin`.
    pub(crate) fn new(
        (base, family, origin_id): (&Base, [u8; 12], [u8; 12]),
        origin: &ChangeSet,
        changes: &ChangeSet,
        lease: SentLease,
        taken: BTreeSet<SnapshotId>,
    ) -> Self {
        Self {
            base: base.snapshot().id(),
            base_time: base.snapshot().flushed_at(),
            family,
            origin_id,
            lease,
            taken,
            changes: own_edits(changes, origin),
            gone: Gone::of(changes, origin),
        }
    }

    pub(crate) fn encode(self) -> Result<Bytes, ForkBlobError> {
        let body = Body(
            Bytes::copy_from_slice(self.base.as_bytes()),
            self.base_time,
            Bytes::copy_from_slice(&self.family),
            Bytes::copy_from_slice(&self.origin_id),
            self.changes,
            self.gone,
            packed_lease(&self.lease),
            packed_ids(&self.taken),
        );
        sealed(ANSWER, &body)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, ForkBlobError> {
        if ForkBlob::is_one(bytes) {
            return Err(ForkBlobError::WholeFork);
        }
        let Body(base, base_time, family, origin_id, changes, gone, lease, taken) =
            opened(ANSWER, bytes)?;
        Ok(Self {
            base: SnapshotId::from_bytes(fixed(&base)?),
            base_time,
            family: fixed(&family)?,
            origin_id: fixed(&origin_id)?,
            lease: unpacked_lease(&lease)?,
            taken: unpacked_ids(&taken)?,
            changes,
            gone,
        })
    }

    /// Returns all edits of the fork: those of its origin, and its own on top.
    pub(crate) fn changes_on(
        self,
        origin: &ChangeSet,
        base: &Base,
        metadata_limit: usize,
    ) -> Result<ChangeSet, ForkBlobError> {
        if self.base_time != base.snapshot().flushed_at() {
            return Err(ForkBlobError::OtherRepository);
        }
        let arrays: Vec<NodeId> = (self.changes.arrays.iter())
            .map(Columns::node)
            .collect::<Result<_, _>>()?;
        let own = self.changes.change_set(origin, metadata_limit)?;
        let mut changes = origin.clone();
        self.gone.forget(&mut changes)?;
        for node in arrays {
            changes.followers.remove(&node);
        }
        changes.created.extend(own.created);
        changes.updated.extend(own.updated);
        changes.deleted.extend(own.deleted);
        changes.moved.extend(own.moved);
        changes.views.extend(own.views);
        changes.chunks.extend(own.chunks);
        changes.array_paths.extend(own.array_paths);
        changes.followers.extend(own.followers);
        changes.check(base)?;
        Ok(changes)
    }
}

/// The edits that are not in the origin.
fn own_edits(changes: &ChangeSet, origin: &ChangeSet) -> Edits {
    let mut edits = Edits::of(changes, origin);
    let path = |text: &str| NodePath::parse(text).ok();
    let written = |of: &BTreeMap<NodePath, WrittenNode>, (at, id, document): &Node| {
        path(at)
            .and_then(|at| of.get(&at))
            .is_some_and(|node| node.id.as_bytes()[..] == id[..] && node.document == *document)
    };
    edits.created.retain(|it| !written(&origin.created, it));
    edits.updated.retain(|it| !written(&origin.updated, it));
    edits.deleted.retain(|(at, id, _)| {
        let was = path(at).and_then(|at| origin.deleted.get(&at));
        was.is_none_or(|(was, _)| was.as_bytes()[..] != id[..])
    });
    let known = |node: &Bytes| fixed(node).ok().map(NodeId::from_bytes);
    edits.moved.retain(|(node, home)| {
        let was = known(node).and_then(|node| origin.moved.get(&node));
        was.is_none_or(|was| was.as_str() != home)
    });
    edits.views.retain(|view| {
        let node = known(view.node());
        node.is_none_or(|node| changes.views.get(&node) != origin.views.get(&node))
    });
    edits.arrays.retain(|columns| {
        !columns.node().is_ok_and(|node| {
            origin.chunks.get(&node).is_some_and(|was| {
                let path = origin.array_paths.get(&node);
                columns.says_nothing(was, path, origin.followers.contains(&node))
            })
        })
    });
    edits
}

/// A node as it is packed: its path, its id and its document.
type Node = (String, Bytes, Bytes);

impl Gone {
    fn of(changes: &ChangeSet, origin: &ChangeSet) -> Self {
        fn paths<T>(was: &BTreeMap<NodePath, T>, is: &BTreeMap<NodePath, T>) -> Vec<String> {
            let gone = was.keys().filter(|path| !is.contains_key(*path));
            gone.map(ToString::to_string).collect()
        }
        fn nodes<T>(was: &BTreeMap<NodeId, T>, is: &BTreeMap<NodeId, T>) -> Vec<Bytes> {
            let gone = was.keys().filter(|node| !is.contains_key(*node));
            gone.map(|node| Bytes::copy_from_slice(node.as_bytes()))
                .collect()
        }
        Self {
            created: paths(&origin.created, &changes.created),
            updated: paths(&origin.updated, &changes.updated),
            deleted: paths(&origin.deleted, &changes.deleted),
            moved: nodes(&origin.moved, &changes.moved),
            views: nodes(&origin.views, &changes.views),
            arrays: nodes(&origin.chunks, &changes.chunks),
        }
    }

    fn forget(self, changes: &mut ChangeSet) -> Result<(), ForkBlobError> {
        for path in self.created {
            changes.created.remove(&NodePath::parse(&path)?);
        }
        for path in self.updated {
            changes.updated.remove(&NodePath::parse(&path)?);
        }
        for path in self.deleted {
            changes.deleted.remove(&NodePath::parse(&path)?);
        }
        for node in self.moved {
            changes.moved.remove(&NodeId::from_bytes(fixed(&node)?));
        }
        for node in self.views {
            changes.views.remove(&NodeId::from_bytes(fixed(&node)?));
        }
        for node in self.arrays {
            let node = NodeId::from_bytes(fixed(&node)?);
            changes.chunks.remove(&node);
            changes.array_paths.remove(&node);
            changes.followers.remove(&node);
        }
        Ok(())
    }
}
