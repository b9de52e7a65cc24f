//! Edits that follow nodes of the base to other paths.

use std::collections::BTreeMap;

use icefield_format::{NodeId, NodePath};

use super::{ChangeSet, WrittenNode};

impl ChangeSet {
    /// Follows a base in which nodes have other paths: `moved` has the old and the new path of each. What the session created
    /// goes where `place` says, and may not meet there; a node that both moved to one place was moved by the base alone, and
    /// is an updated node if `is_changed` says so.
    ///
    /// Returns none if two nodes would have one path.
    pub(crate) fn follow_base(
        &self,
        moved: &BTreeMap<NodeId, (NodePath, NodePath)>,
        place: impl Fn(&NodePath) -> Option<NodePath>,
        is_changed: impl Fn(&WrittenNode) -> bool,
    ) -> Option<Self> {
        let now = |id: &NodeId, path: &NodePath| match moved.get(id) {
            Some((from, to)) if from == path => to.clone(),
            _ => path.clone(),
        };
        let mut changes = self.clone();
        let placed = |path: &NodePath| place(path).unwrap_or_else(|| path.clone());
        changes.created = self
            .created
            .iter()
            .map(|(path, node)| (placed(path), node.clone()))
            .collect();
        if changes.created.len() < self.created.len() {
            return None;
        }
        for (id, path) in &mut changes.array_paths {
            *path = match self.has_created(path, id) {
                true => placed(path),
                false => now(id, path),
            };
        }
        let updated = self.updated.iter();
        changes.updated = updated
            .map(|(path, node)| (now(&node.id, path), node.clone()))
            .collect();
        let deleted = self.deleted.iter();
        changes.deleted = deleted
            .map(|(path, (id, kind))| (now(id, path), (*id, *kind)))
            .collect();
        for (id, home) in &mut changes.moved {
            *home = now(id, home);
        }
        for (id, view) in &mut changes.views {
            view.home = now(id, &view.home);
        }
        let home: Vec<NodePath> = (changes.moves())
            .filter(|(home, to, _)| home == to)
            .map(|(_, to, _)| to.clone())
            .collect();
        for path in home {
            changes.come_home(&path, &is_changed);
        }
        Some(changes)
    }

    /// Takes back a move; all other edits of the node stay. Nothing is done of a node that was not moved.
    pub(crate) fn come_home(&mut self, path: &NodePath, is_changed: impl Fn(&WrittenNode) -> bool) {
        if let Some(node) = self.created.get(path).cloned() {
            let changed = is_changed(&node) || self.views.contains_key(&node.id);
            self.move_back(path, node, changed);
        }
    }
}
