//! The changes of one commit, or of a stretch of history: *theirs*.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use icefield_format::{ChunkIndex, NodeId, NodeKind, NodePath, Snapshot, TransactionLog};

use crate::diff::Diff;
use crate::grid::within;
use crate::session::Base;

/// The changes of one commit by node id, as its transaction log records them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) created: BTreeSet<NodeId>,
    pub(crate) deleted_groups: BTreeSet<NodeId>,
    pub(crate) deleted_arrays: BTreeSet<NodeId>,
    pub(crate) updated: BTreeSet<NodeId>,
    /// Nodes that got another path, with the old and the new one. In version 1, they are among those that were deleted and
    /// those that were created.
    pub(crate) moved: BTreeMap<NodeId, (NodePath, NodePath)>,
    /// Arrays whose chunks were shifted, as far as the snapshot says it.
    pub(crate) shifted: BTreeSet<NodeId>,
    pub(crate) chunks: BTreeMap<NodeId, BTreeSet<ChunkIndex>>,
}

impl Changes {
    pub(crate) fn of_log(log: &TransactionLog) -> Self {
        Self {
            created: log.new_groups().chain(log.new_arrays()).collect(),
            deleted_groups: log.deleted_groups().collect(),
            deleted_arrays: log.deleted_arrays().collect(),
            updated: log.updated_groups().chain(log.updated_arrays()).collect(),
            moved: (log.moved_nodes().map(|it| it.moved()))
                .map(|it| (it.id, (it.from, it.to)))
                .collect(),
            shifted: BTreeSet::new(),
            chunks: log
                .updated_chunks()
                .map(|array| (array.node_id(), array.chunks().collect()))
                .filter(|(_, chunks): &(_, BTreeSet<_>)| !chunks.is_empty())
                .collect(),
        }
    }

    /// The same from a comparison of two snapshots, where there is no log.
    pub(crate) fn of_diff(diff: &Diff, before: &Base, after: &Base) -> Self {
        let id = |base: &Base, path: &NodePath| -> Option<NodeId> {
            base.position(path)
                .map(|position| base.record(position).id())
        };
        let ids = |base: &Base, paths: &BTreeSet<NodePath>| -> BTreeSet<NodeId> {
            paths.iter().filter_map(|path| id(base, path)).collect()
        };
        let mut created = ids(after, &diff.new_groups);
        created.extend(ids(after, &diff.new_arrays));
        let mut updated = ids(after, &diff.updated_groups);
        updated.extend(ids(after, &diff.updated_arrays));
        Self {
            created,
            deleted_groups: ids(before, &diff.deleted_groups),
            deleted_arrays: ids(before, &diff.deleted_arrays),
            updated,
            moved: (diff.moved_nodes.iter())
                .filter_map(|(from, to)| Some((id(after, to)?, (from.clone(), to.clone()))))
                .collect(),
            shifted: BTreeSet::new(),
            chunks: diff
                .updated_chunks
                .iter()
                .filter_map(|(path, chunks)| {
                    // A log does not name the chunks that went with a resize.
                    let grid = after.grid(path)?;
                    let inside = chunks.iter().filter(|index| within(index, &grid));
                    Some((id(after, path)?, inside.cloned().collect()))
                })
                .filter(|(_, chunks): &(_, BTreeSet<_>)| !chunks.is_empty())
                .collect(),
        }
    }

    /// Whether they name every node that one snapshot has and the other lacks. A log does not if it is that of a commit
    /// whose parent has expired, so that `before` is not what the commit was made on.
    pub(crate) fn names_all_of(&self, before: &Snapshot, after: &Snapshot) -> bool {
        let ids = |snapshot: &Snapshot| -> HashSet<NodeId> {
            snapshot.nodes().map(|node| node.id()).collect()
        };
        let (old, new) = (ids(before), ids(after));
        new.difference(&old).all(|id| self.created.contains(id))
            && (old.difference(&new)).all(|id| self.deleted(id).is_some())
    }

    pub(crate) fn deleted(&self, node: &NodeId) -> Option<NodeKind> {
        if self.deleted_arrays.contains(node) {
            Some(NodeKind::Array)
        } else if self.deleted_groups.contains(node) {
            Some(NodeKind::Group)
        } else {
            None
        }
    }
}
