//! Transaction logs of spec version 2 written anew in version 1.
//!
//! Version 1 has no moves: a node that moved is recorded as deleted and created, under the id that it keeps. And it has no list of the
//! logs of commits that expired: their changes go into the log of the one that stays, as an expiration of version 1 does it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{
    ChunkIndex, FormatError, FormatFile, Header, NodeId, NodeKind, Snapshot, TransactionLog,
    TransactionLogEncoder, Writer,
};
use icefield_storage::Bytes;

/// The changes that some logs tell together.
#[derive(Default)]
struct LoggedChanges {
    new: BTreeMap<NodeId, NodeKind>,
    deleted: BTreeMap<NodeId, NodeKind>,
    updated: BTreeMap<NodeId, NodeKind>,
    chunks: BTreeMap<NodeId, Vec<ChunkIndex>>,
}

impl LoggedChanges {
    fn add(&mut self, log: &TransactionLog) {
        let groups = |id| (id, NodeKind::Group);
        let arrays = |id| (id, NodeKind::Array);
        self.new.extend(log.new_groups().map(groups));
        self.new.extend(log.new_arrays().map(arrays));
        self.deleted.extend(log.deleted_groups().map(groups));
        self.deleted.extend(log.deleted_arrays().map(arrays));
        self.updated.extend(log.updated_groups().map(groups));
        self.updated.extend(log.updated_arrays().map(arrays));
        let moved: Vec<_> = log.moved_nodes().map(|it| (it.id(), it.kind())).collect();
        self.new.extend(moved.iter().copied());
        self.deleted.extend(moved);
        for array in log.updated_chunks() {
            let chunks = self.chunks.entry(array.node_id()).or_default();
            chunks.extend(array.chunks());
        }
    }

    /// Leaves of what several commits did what differs between the first and the last state.
    fn keep_net(&mut self, before: &Snapshot, after: &Snapshot) {
        let paths = |snapshot: &Snapshot| -> BTreeMap<NodeId, (String, NodeKind)> {
            let nodes = snapshot.nodes();
            let of = nodes.map(|it| (it.id(), (it.path().to_owned(), it.kind())));
            of.collect()
        };
        let (before, after) = (paths(before), paths(after));
        let touched: BTreeSet<_> = self
            .new
            .keys()
            .chain(self.deleted.keys())
            .copied()
            .collect();
        self.new.clear();
        self.deleted.clear();
        for id in touched {
            let (was, is) = (before.get(&id), after.get(&id));
            if was == is {
                continue;
            }
            self.new.extend(is.map(|(_, kind)| (id, *kind)));
            self.deleted.extend(was.map(|(_, kind)| (id, *kind)));
        }
        let stays = |id: &NodeId| before.contains_key(id) && after.contains_key(id);
        self.updated.retain(|id, _| stays(id));
        self.chunks.retain(|id, _| after.contains_key(id));
    }

    fn write(self, own: &TransactionLog, writer: &Writer) -> Result<Bytes, FormatError> {
        let of = |nodes: &BTreeMap<NodeId, NodeKind>, kind| {
            let nodes = nodes.iter().filter(move |(_, it)| **it == kind);
            nodes.map(|(id, _)| *id).collect::<Vec<_>>()
        };
        let (group, array) = (NodeKind::Group, NodeKind::Array);
        let mut log = TransactionLogEncoder::new(own.id());
        log.new_groups(of(&self.new, group))
            .new_arrays(of(&self.new, array))
            .deleted_groups(of(&self.deleted, group))
            .deleted_arrays(of(&self.deleted, array))
            .updated_groups(of(&self.updated, group))
            .updated_arrays(of(&self.updated, array));
        for (id, mut chunks) in self.chunks {
            chunks.sort_unstable();
            chunks.dedup();
            log.begin_chunks(id)?;
            for index in &chunks {
                log.push_chunk(index)?;
            }
        }
        log.finish(writer)
    }
}

/// The logs of commits that expired before a snapshot, the oldest first, with the snapshot that is its parent now and itself.
pub(super) struct Expired {
    pub(super) logs: Vec<Arc<TransactionLog>>,
    pub(super) before: Arc<Snapshot>,
    pub(super) after: Arc<Snapshot>,
}

/// Returns the log of a snapshot in spec version 1.
pub(super) fn rewritten(
    file: &[u8],
    own: &TransactionLog,
    expired: Option<&Expired>,
) -> Result<Bytes, FormatError> {
    let header = Header::decode(file, FormatFile::TransactionLog(own.id()))?;
    let mut changes = LoggedChanges::default();
    for log in expired.iter().flat_map(|it| &it.logs) {
        changes.add(log);
    }
    changes.add(own);
    if let Some(expired) = expired {
        changes.keep_net(&expired.before, &expired.after);
    }
    let writer = Writer {
        implementation: header.implementation(),
        ..Writer::default()
    };
    changes.write(own, &writer)
}
