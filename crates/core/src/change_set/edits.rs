//! The edits of nodes, and the data of a change set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{NodeId, NodeKind, NodePath};

use super::{BaseView, ChunkTable};
use crate::grid::within_grid;
use crate::metadata::NodeMetadata;

/// A node whose metadata this session wrote.
#[derive(Clone, Debug)]
pub(crate) struct WrittenNode {
    pub(crate) id: NodeId,
    /// The document, byte for byte.
    pub(crate) document: Bytes,
    pub(crate) metadata: Arc<NodeMetadata>,
}

impl WrittenNode {
    pub(crate) fn kind(&self) -> NodeKind {
        match *self.metadata {
            NodeMetadata::Group => NodeKind::Group,
            NodeMetadata::Array(_) => NodeKind::Array,
        }
    }
}

/// The state of a path in the change set.
#[derive(Debug)]
pub(crate) enum NodeChange<'a> {
    /// The session created or updated the node.
    Written(&'a WrittenNode),
    /// The session deleted the base's node, and nothing took its place.
    Deleted,
    /// The base decides.
    Unchanged,
}

/// All uncommitted edits of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeSet {
    pub(super) created: BTreeMap<NodePath, WrittenNode>,
    /// Created nodes that are nodes of the base under another path, with that path: they keep their id, and
    /// with it their chunks.
    pub(super) moved: BTreeMap<NodeId, NodePath>,
    pub(super) updated: BTreeMap<NodePath, WrittenNode>,
    pub(super) deleted: BTreeMap<NodePath, (NodeId, NodeKind)>,
    /// Each is shared with the change sets that this one was cloned from or merged with, until one of them writes to that
    /// array.
    pub(super) chunks: BTreeMap<NodeId, Arc<ChunkTable>>,
    /// Where the arrays with a table are.
    pub(super) array_paths: BTreeMap<NodeId, NodePath>,
    /// Base arrays whose metadata this session wrote, or whose chunks it shifted.
    pub(super) views: BTreeMap<NodeId, BaseView>,
    /// Arrays whose chunks are addressed by what they hold: where others shift them, ours move along.
    pub(super) followers: BTreeSet<NodeId>,
    /// The highest revision of a table that was dropped: a new one goes on from there, so that equal revisions
    /// of one array's tables always mean equal content.
    pub(super) dropped_revision: u64,
}

impl ChangeSet {
    pub(crate) fn is_empty(&self) -> bool {
        self.created.is_empty()
            && self.updated.is_empty()
            && self.deleted.is_empty()
            && self.chunks.values().all(|table| table.is_empty())
            && !self.views.values().any(BaseView::is_shifted)
    }

    pub(crate) fn created(&self) -> &BTreeMap<NodePath, WrittenNode> {
        &self.created
    }

    /// Returns whether the session created this very node.
    pub(crate) fn has_created(&self, path: &NodePath, node: &NodeId) -> bool {
        self.created
            .get(path)
            .is_some_and(|created| created.id == *node)
    }

    /// Returns where the base has a node that the session moved.
    pub(crate) fn moved_from(&self, node: &NodeId) -> Option<&NodePath> {
        self.moved.get(node)
    }

    /// Nodes of the base that have another path now: where each was, and where it is.
    pub(crate) fn moves(&self) -> impl Iterator<Item = (&NodePath, &NodePath, &WrittenNode)> {
        let created = self.created.iter();
        created.filter_map(|(to, node)| Some((self.moved.get(&node.id)?, to, node)))
    }

    pub(crate) fn updated(&self) -> &BTreeMap<NodePath, WrittenNode> {
        &self.updated
    }

    pub(crate) fn deleted(&self) -> &BTreeMap<NodePath, (NodeId, NodeKind)> {
        &self.deleted
    }

    pub(crate) fn node(&self, path: &NodePath) -> NodeChange<'_> {
        if let Some(node) = self.created.get(path).or_else(|| self.updated.get(path)) {
            NodeChange::Written(node)
        } else if self.deleted.contains_key(path) {
            NodeChange::Deleted
        } else {
            NodeChange::Unchanged
        }
    }

    /// Records a node that exists neither in the base nor in the session.
    pub(crate) fn create_node(&mut self, path: NodePath, node: WrittenNode) {
        self.created.insert(path, node);
    }

    /// Records new metadata of a node that exists, in the base or in the session.
    ///
    /// Chunk references outside the new grid are dropped at once, the session's and, through what is
    /// grid, the base's.
    pub(crate) fn update_node(
        &mut self,
        path: &NodePath,
        node: WrittenNode,
        previous: Option<&NodeMetadata>,
    ) {
        let id = node.id;
        if let Some(array) = node.metadata.array() {
            let counts = &array.chunk_counts;
            let previous = previous.and_then(NodeMetadata::array);
            // Of an array that only grew, nothing is outside; there may be millions of rows, and thousands of appends.
            let grew = previous.is_some_and(|it| within_grid(&it.chunk_counts, counts));
            if let Some(table) = self.chunks.get_mut(&id)
                && !grew
            {
                Arc::make_mut(table).retain_within(counts);
            }
            if let Some(previous) = previous
                && (!self.created.contains_key(path) || self.moved.contains_key(&id))
            {
                self.view(path, id, &previous.chunk_counts).resize(counts);
            }
        }
        if let Some(created) = self.created.get_mut(path) {
            *created = node;
        } else {
            self.updated.insert(path.clone(), node);
        }
    }

    /// Returns the view of an array of the base: all of its `grid` unless a limit is known.
    pub(super) fn view(&mut self, path: &NodePath, id: NodeId, grid: &[u32]) -> &mut BaseView {
        let home = self.moved.get(&id).unwrap_or(path);
        let whole = || BaseView::whole(home.clone(), grid);
        self.views.entry(id).or_insert_with(whole)
    }

    /// Records the deletion of one node; `base` is its id and kind if the base snapshot has it under this
    /// path (also where the session has put another node in its place).
    pub(crate) fn delete_node(&mut self, path: &NodePath, base: Option<(NodeId, NodeKind)>) {
        self.forget_created(path);
        if let Some((id, kind)) = base
            && !self.moved.contains_key(&id)
        {
            self.note_deleted(path.clone(), id, kind);
        }
    }

    /// Records that a node has another path from now on. `node` is what stands there now, `base` its path in
    /// the base if it is one of the base's nodes and was not moved before.
    pub(crate) fn move_node(
        &mut self,
        from: &NodePath,
        to: &NodePath,
        node: WrittenNode,
        base: Option<&NodePath>,
    ) {
        let (id, kind) = (node.id, node.kind());
        self.updated.remove(from);
        self.created.remove(from);
        if let Some(base) = base {
            self.deleted.insert(base.clone(), (id, kind));
            self.moved.insert(id, base.clone());
        }
        if let Some(path) = self.array_paths.get_mut(&id) {
            *path = to.clone();
        }
        self.created.insert(to.clone(), node);
    }

    /// Records a node of the base under another path; what the base has at its old path is recorded apart.
    pub(crate) fn insert_moved(&mut self, home: &NodePath, to: NodePath, node: WrittenNode) {
        self.moved.insert(node.id, home.clone());
        self.created.insert(to, node);
    }

    /// Gives a node that the session created another id.
    pub(crate) fn change_id(&mut self, path: &NodePath, id: NodeId) {
        let Some(node) = self.created.get_mut(path) else {
            return;
        };
        let old = std::mem::replace(&mut node.id, id);
        if let Some(table) = self.chunks.remove(&old) {
            self.chunks.insert(id, table);
        }
        if let Some(path) = self.array_paths.remove(&old) {
            self.array_paths.insert(id, path);
        }
        if self.followers.remove(&old) {
            self.followers.insert(id);
        }
    }

    /// Records that a moved node is back where the base has it; `changed` if its metadata is another.
    pub(crate) fn move_back(&mut self, from: &NodePath, node: WrittenNode, changed: bool) {
        let Some(home) = self.moved.remove(&node.id) else {
            return;
        };
        self.created.remove(from);
        self.deleted.remove(&home);
        if let Some(path) = self.array_paths.get_mut(&node.id) {
            *path = home.clone();
        }
        if changed {
            self.updated.insert(home, node);
        }
    }

    /// Forgets a node that the session created: the base has it now.
    pub(crate) fn forget_created(&mut self, path: &NodePath) {
        if let Some(node) = self.created.remove(path) {
            self.drop_table(&node.id);
            self.views.remove(&node.id);
            self.moved.remove(&node.id);
        }
    }

    /// Forgets that the session created a node: the base has an equal one now, whose id it has from now on.
    pub(crate) fn adopt_equal(&mut self, path: &NodePath, id: NodeId) {
        self.change_id(path, id);
        self.adopt_created(path);
    }

    /// Forgets that the session created a node: the base has this very node now. The chunks written to it stay.
    pub(crate) fn adopt_created(&mut self, path: &NodePath) {
        if let Some(node) = self.created.remove(path) {
            self.views.remove(&node.id);
        }
    }

    /// Forgets new metadata: the base has it now.
    pub(crate) fn forget_updated(&mut self, path: &NodePath) {
        self.updated.remove(path);
    }

    /// Forgets all that the session did to a node of the base that it has not moved.
    pub(crate) fn forget_node(&mut self, path: &NodePath, id: &NodeId) {
        self.updated.remove(path);
        self.deleted.remove(path);
        self.views.remove(id);
        self.drop_table(id);
    }

    /// Forgets a deletion: the base has no such node any more, or it stays.
    pub(crate) fn forget_deleted(&mut self, path: &NodePath) {
        self.deleted.remove(path);
    }

    /// Puts other metadata in the place of the session's, which changes no shape.
    pub(crate) fn replace_metadata(&mut self, path: &NodePath, node: WrittenNode) {
        match self.created.get_mut(path) {
            Some(created) => *created = node,
            None => drop(self.updated.insert(path.clone(), node)),
        }
    }

    /// Records the deletion of a node of the base, whatever stands in its place.
    pub(crate) fn note_deleted(&mut self, path: NodePath, id: NodeId, kind: NodeKind) {
        self.updated.remove(&path);
        self.drop_table(&id);
        self.views.remove(&id);
        self.deleted.insert(path, (id, kind));
    }

    /// Forgets that the session ever made an array smaller.
    pub(crate) fn see_whole_base(&mut self, node: &NodeId) {
        self.views.remove(node);
    }

    /// Base arrays of which not all is seen where the base has it, as far as the session may have changed that.
    pub(crate) fn views(&self) -> &BTreeMap<NodeId, BaseView> {
        &self.views
    }

    /// Follows a resize of the base: what the session never cut off is seen as far as the new base has it.
    pub(crate) fn see_resized_base(&mut self, node: &NodeId, before: &[u32], after: &[u32]) {
        if let Some(view) = self.views.get_mut(node) {
            view.follow_base(before, after);
        }
    }

    /// Returns whether something of a grid that the base has is not seen.
    pub(crate) fn cuts(&self, node: &NodeId, grid: &[u32]) -> bool {
        self.views.get(node).is_some_and(|view| view.cuts(grid))
    }

    /// Returns what is seen of an array of the base, if that may not be all of it.
    pub(crate) fn view_of(&self, node: &NodeId) -> Option<&BaseView> {
        self.views.get(node)
    }
}
