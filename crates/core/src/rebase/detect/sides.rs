//! The two sides of a rebase, and the facts about both that the rules ask for.

use std::collections::{BTreeMap, BTreeSet};

use icefield_format::{ChunkIndex, NodeId, NodePath};

use crate::change_set::{BaseView, ChangeSet, ChunkTable, WrittenNode};
use crate::metadata::document::{Reach, merge, reach};
use crate::rebase::changes::Changes;
use crate::session::Base;

/// The rules that decide which edits collide with a commit that landed since the session began. As a
/// [`ConflictSolver`](crate::ConflictSolver), a detector settles nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detector {
    /// Refuses every unsound combination, such as a chunk written to an array whose chunk grid changed, and accepts
    /// every combination that is provably harmless.
    #[default]
    Strict,
    /// The rules of the reference implementation, its unsound cases included. Choose it where both programs must agree
    /// on the result.
    Compatible,
}

/// Chunks by array.
pub(crate) type ChunkSets = BTreeMap<NodeId, BTreeSet<ChunkIndex>>;

/// All that the decision depends on.
#[derive(Debug)]
pub(crate) struct Sides<'a> {
    /// The session's edits.
    pub(crate) ours: &'a ChangeSet,
    /// The changes of the commit.
    pub(crate) theirs: &'a Changes,
    /// The snapshot that both started from.
    pub(crate) before: &'a Base,
    /// The commit's snapshot.
    pub(crate) after: &'a Base,
    /// Chunks that both wrote with equal content.
    pub(crate) equal: &'a ChunkSets,
    /// Arrays of which our chunks have moved along with theirs already.
    pub(crate) followed: &'a BTreeSet<NodeId>,
}

/// Whether the node that we created is in their snapshot under the same id, with equal metadata: ids are drawn at
/// random, so both sides took it over from one commit. Its chunks are compared one by one.
pub(crate) fn is_one_node(ours: &ChangeSet, after: &Base, path: &NodePath, node: &NodeId) -> bool {
    let (Some(created), Some(position)) = (ours.created().get(path), after.position(path)) else {
        return false;
    };
    let theirs = after.record(position);
    theirs.id() == *node
        && created.id == *node
        && ours.moved_from(node).is_none()
        && reach(&created.document, theirs.user_data()) == Reach::Nothing
}

impl Sides<'_> {
    /// Where the snapshots have a node that our edits have at `path`.
    pub(crate) fn home<'a>(&'a self, path: &'a NodePath, node: &NodeId) -> &'a NodePath {
        self.ours.moved_from(node).unwrap_or(path)
    }

    pub(super) fn document<'a>(
        &self,
        base: &'a Base,
        path: &NodePath,
        node: NodeId,
    ) -> Option<&'a [u8]> {
        let record = base.record(base.position(self.home(path, &node))?);
        (record.id() == node).then(|| record.user_data())
    }

    pub(crate) fn is_one_node(&self, path: &NodePath, node: &NodeId) -> bool {
        is_one_node(self.ours, self.after, path, node)
    }

    /// Whether the node that they created is the one that we created: equal groups, or equal arrays without
    /// chunks. That we erased some says nothing else.
    pub(crate) fn equal_to_existing(&self, path: &NodePath, ours: &WrittenNode) -> bool {
        let Some(position) = self.after.position(path) else {
            return false;
        };
        let theirs = self.after.record(position);
        let no_chunks = self
            .ours
            .chunks_of(&ours.id)
            .is_none_or(ChunkTable::sets_nothing)
            && self
                .after
                .array(position)
                .is_none_or(|array| array.manifest_count() == 0);
        theirs.kind() == ours.kind()
            && self.ours.moved_from(&ours.id).is_none()
            && no_chunks
            && reach(&ours.document, theirs.user_data()) == Reach::Nothing
    }

    /// Our and their new metadata of a node in one document, if the two edits are independent.
    pub(crate) fn merged(&self, path: &NodePath, node: &WrittenNode) -> Option<Vec<u8>> {
        let before = self.document(self.before, path, node.id)?;
        let after = self.document(self.after, path, node.id)?;
        merge(before, &node.document, after)
    }

    /// The grids of an array before and after their commit.
    pub(crate) fn grids(&self, node: &NodeId, path: &NodePath) -> Option<(Vec<u32>, Vec<u32>)> {
        Some((
            self.before.grid_of(node, path)?,
            self.after.grid_of(node, path)?,
        ))
    }

    /// The part of their snapshot's array that our edits leave visible; `None`: all of it.
    pub(crate) fn view_after(&self, path: &NodePath, node: &NodeId) -> Option<BaseView> {
        let mut view = self.ours.view_of(node)?.clone();
        let (before, after) = self.grids(node, self.home(path, node))?;
        view.follow_base(&before, &after);
        Some(view)
    }

    /// How the chunks of an array move that we shift. Those that they wrote before we do move along with the others, and
    /// are dropped with the others: that is what one after the other means.
    pub(crate) fn moves_along(&self, node: &NodeId) -> Option<&BaseView> {
        self.ours.view_of(node).filter(|view| view.is_shifted())
    }
}
