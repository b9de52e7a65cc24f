//! The state of one path in a change set, for merges of change sets.

use std::collections::BTreeMap;
use std::sync::Arc;

use icefield_format::{NodeId, NodeKind, NodePath};

use super::{BaseView, ChangeSet, WrittenNode};
use crate::session::Base;

/// The state of one path in a change set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) created: Option<&'a WrittenNode>,
    pub(crate) updated: Option<&'a WrittenNode>,
    pub(crate) deleted: Option<NodeId>,
    pub(crate) moved_from: Option<&'a NodePath>,
}

impl PartialEq for Entry<'_> {
    fn eq(&self, other: &Self) -> bool {
        let key = |node: Option<&WrittenNode>| node.map(|node| (node.id, node.document.clone()));
        key(self.created) == key(other.created)
            && key(self.updated) == key(other.updated)
            && self.deleted == other.deleted
            && self.moved_from == other.moved_from
    }
}

impl<'a> Entry<'a> {
    pub(crate) fn written(&self) -> Option<&'a WrittenNode> {
        self.created.or(self.updated)
    }

    /// The id of the node that stands at the path, if there is one.
    pub(crate) fn id_in(&self, base: &Base, path: &NodePath) -> Option<NodeId> {
        match (self.written(), self.deleted) {
            (Some(node), _) => Some(node.id),
            (None, Some(_)) => None,
            (None, None) => base.position(path).map(|it| base.record(it).id()),
        }
    }
}

/// Nodes that both sides created alike under ids of their own, by their other id; the smaller id stays.
pub(crate) type Unified = BTreeMap<NodeId, NodeId>;

impl ChangeSet {
    pub(crate) fn entry(&self, path: &NodePath) -> Entry<'_> {
        let created = self.created.get(path);
        Entry {
            created,
            updated: self.updated.get(path),
            deleted: self.deleted.get(path).map(|(id, _)| *id),
            moved_from: created.and_then(|node| self.moved.get(&node.id)),
        }
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &NodePath> {
        let written = self.created.keys().chain(self.updated.keys());
        written.chain(self.deleted.keys())
    }

    /// Takes over what another change set says of a path.
    pub(crate) fn take_entry(&mut self, path: &NodePath, other: &Self) {
        if let Some(gone) = self.created.remove(path)
            && other
                .created
                .get(path)
                .is_none_or(|node| node.id != gone.id)
            && !other.moved.contains_key(&gone.id)
        {
            self.drop_table(&gone.id);
            self.views.remove(&gone.id);
            self.moved.remove(&gone.id);
        }
        self.updated.remove(path);
        match other.deleted.get(path) {
            Some((id, kind)) => {
                if !other.moved.contains_key(id) {
                    self.drop_table(id);
                    self.views.remove(id);
                }
                self.deleted.insert(path.clone(), (*id, *kind));
            }
            None => drop(self.deleted.remove(path)),
        }
        if let Some(node) = other.updated.get(path) {
            self.updated.insert(path.clone(), node.clone());
        }
        if let Some(node) = other.created.get(path) {
            if let Some(home) = other.moved.get(&node.id) {
                self.moved.insert(node.id, home.clone());
                if let Some(at) = self.array_paths.get_mut(&node.id) {
                    *at = path.clone();
                }
            }
            self.created.insert(path.clone(), node.clone());
        }
    }

    /// Gives the chunks of nodes that both sides created the id that stays.
    pub(crate) fn unify(&mut self, unified: &Unified) {
        for (from, to) in unified {
            if let Some(mut table) = self.chunks.remove(from) {
                self.drop_table(to);
                self.dropped_revision = self.dropped_revision.max(table.revision()) + 1;
                Arc::make_mut(&mut table).advance_to(self.dropped_revision);
                self.chunks.insert(*to, table);
            }
            if let Some(path) = self.array_paths.remove(from) {
                self.array_paths.insert(*to, path);
            }
        }
    }

    /// Records a node that the session created, `replaced` being the node of the base at its path.
    pub(crate) fn create_in_place(
        &mut self,
        path: &NodePath,
        node: WrittenNode,
        replaced: Option<(NodeId, NodeKind)>,
    ) {
        if let Some(replaced) = replaced {
            self.deleted.insert(path.clone(), replaced);
        }
        self.created.insert(path.clone(), node);
    }

    /// Restricts the view of an array to what another view shows, too, or puts that in its place.
    pub(crate) fn restrict_view(&mut self, node: NodeId, view: &BaseView, replaces: bool) {
        match self.views.get_mut(&node) {
            Some(ours) if !replaces => ours.intersect(view),
            _ => drop(self.views.insert(node, view.clone())),
        }
    }
}
