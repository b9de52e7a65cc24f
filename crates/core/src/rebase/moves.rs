//! Their moves: what of our edits is at nodes that a commit gave other paths, and how it follows them there.
//!
//! A commit with moves is taken for two, one after the other: the first one moves nodes and does nothing else, the second one
//! does the rest. Past the first, our edits are settled here; past the second, they go as past any other commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{
    DecodeLimits, FormatError, NewSnapshot, NodeId, NodePath, Snapshot, SnapshotEncoder, Writer,
};
use icefield_storage::{PlantedBug, planted};

use super::changes::Changes;
use super::conflict::Conflict;
use super::solve::{NotPossible, Resolution};
use crate::change_set::{ChangeSet, WrittenNode};
use crate::commit::{manifest_refs, push_node};
use crate::session::Base;

/// The moves of one commit, as far as the snapshots around it confirm them.
#[derive(Debug)]
pub(super) struct Moves<'a> {
    before: &'a Base,
    moved: BTreeMap<NodeId, (NodePath, NodePath)>,
    /// Nodes that the commit deleted.
    deleted: BTreeSet<NodeId>,
}

impl<'a> Moves<'a> {
    pub(super) fn of(theirs: &Changes, before: &'a Base, after: &Base) -> Self {
        let has = |base: &Base, path: &NodePath, id: &NodeId| {
            let position = base.position(path);
            position.is_some_and(|position| base.record(position).id() == *id)
        };
        let moved = theirs
            .moved
            .iter()
            .filter(|(id, (from, to))| from != to && has(before, from, id) && has(after, to, id));
        let deleted = theirs.deleted_arrays.union(&theirs.deleted_groups);
        Self {
            before,
            moved: moved.map(|(id, paths)| (*id, paths.clone())).collect(),
            deleted: deleted.copied().collect(),
        }
    }

    /// The snapshot before the commit with its moves alone.
    pub(super) fn carried_out(&self, limits: &DecodeLimits) -> Result<Base, FormatError> {
        let snapshot = self.before.snapshot();
        let targets: BTreeSet<&str> = self.moved.values().map(|(_, to)| to.as_str()).collect();
        let mut nodes = BTreeMap::new();
        for record in snapshot.nodes() {
            match self.moved.get(&record.id()) {
                Some((_, to)) => drop(nodes.insert(to.as_str(), record)),
                // It made room for another one.
                None if targets.contains(record.path()) && self.deleted.contains(&record.id()) => {}
                None => drop(nodes.entry(record.path()).or_insert(record)),
            }
        }
        let files: Vec<_> = snapshot.manifest_files().collect();
        let header = NewSnapshot {
            id: snapshot.id(),
            // Only its nodes are read.
            parent_id: None,
            flushed_at: snapshot.flushed_at(),
            message: "",
            metadata: &BTreeMap::new(),
            manifest_files: &files,
        };
        let mut encoder = SnapshotEncoder::for_version(snapshot.spec_version(), header);
        for (path, record) in nodes {
            let array = record.array();
            let manifests = array.map(|it| manifest_refs(&it)).unwrap_or_default();
            push_node(&mut encoder, record, path, &manifests)?;
        }
        let file = encoder.finish(&Writer::default())?;
        let moved = Snapshot::decode(&file, snapshot.id(), limits)?;
        Ok(Base::new(Arc::new(moved)))
    }

    /// Lists our edits of nodes that they moved, and what we created in groups that they moved, sorted by path.
    pub(super) fn detect(&self, ours: &ChangeSet) -> Vec<Conflict> {
        let mut conflicts = BTreeMap::new();
        let mut collide = |path: &NodePath, node: NodeId, (from, to): &(NodePath, NodePath)| {
            let conflict = || Conflict::EditOfMovedNode {
                path: path.clone(),
                node,
                from: from.clone(),
                to: to.clone(),
            };
            conflicts.entry(node).or_insert_with(conflict);
        };
        for (path, node) in ours.created() {
            match (ours.moved_from(&node.id), self.moved.get(&node.id)) {
                // Both moved it to one place.
                (Some(_), Some((_, to))) if to == path => {}
                (Some(_), Some(theirs)) => collide(path, node.id, theirs),
                _ => {
                    if let Some(group) = self.group_of(ours, path) {
                        collide(path, node.id, group);
                    }
                }
            }
        }
        for (node, theirs) in &self.moved {
            let is_ours = ours.moved_from(node).is_some();
            let is_written = ours.chunks_of(node).is_some_and(|table| !table.is_empty())
                || ours.view_of(node).is_some()
                || ours
                    .updated()
                    .get(&theirs.0)
                    .is_some_and(|it| it.id == *node)
                || ours
                    .deleted()
                    .get(&theirs.0)
                    .is_some_and(|(id, _)| id == node);
            if is_written && !is_ours {
                collide(&theirs.0, *node, theirs);
            }
        }
        let mut conflicts: Vec<_> = conflicts.into_values().collect();
        conflicts.sort();
        conflicts
    }

    /// The group nearest above a path that the snapshot before has, if they moved it.
    fn group_of(&self, ours: &ChangeSet, path: &NodePath) -> Option<&(NodePath, NodePath)> {
        for group in path.ancestors() {
            if ours.created().contains_key(&group) {
                continue;
            }
            let Some(position) = self.before.position(&group) else {
                continue;
            };
            let id = self.before.record(position).id();
            if ours
                .deleted()
                .get(&group)
                .is_some_and(|(gone, _)| *gone == id)
            {
                continue;
            }
            return self.moved.get(&id);
        }
        None
    }

    /// Carries out an answer: edits that are given up are forgotten; all others are left to follow.
    pub(super) fn settle(
        &self,
        conflict: &Conflict,
        answer: &Resolution,
        changes: &mut ChangeSet,
    ) -> Result<(), NotPossible> {
        let Conflict::EditOfMovedNode { path, node, .. } = conflict else {
            return Err(NotPossible);
        };
        let is_deleted = changes
            .deleted()
            .get(path)
            .is_some_and(|(id, _)| id == node);
        match answer {
            Resolution::Ours if is_deleted && !self.goes_with_its_group(changes, path, node) => {
                // It was taken out of what we deleted.
                Err(NotPossible)
            }
            Resolution::Ours if planted(PlantedBug::MoveDropsEdits) => {
                changes.forget_node(path, node);
                Ok(())
            }
            Resolution::Ours => Ok(()),
            Resolution::Theirs if changes.moved_from(node).is_some() => {
                changes.come_home(path, |node| self.is_changed(node));
                Ok(())
            }
            Resolution::Theirs if changes.has_created(path, node) => {
                changes.forget_created(path);
                Ok(())
            }
            Resolution::Theirs => {
                changes.forget_node(path, node);
                Ok(())
            }
            Resolution::Fail | Resolution::Merged(_) => Err(NotPossible),
        }
    }

    /// Whether a node that we deleted is the topmost one, or has moved along with the one above it.
    fn goes_with_its_group(&self, ours: &ChangeSet, path: &NodePath, node: &NodeId) -> bool {
        let Some(group) = path.parent() else {
            return true;
        };
        let Some((above, _)) = ours.deleted().get(&group) else {
            return true;
        };
        let (Some((_, to)), Some((_, group))) = (self.moved.get(node), self.moved.get(above))
        else {
            return false;
        };
        to.parent().as_ref() == Some(group) && to.name() == path.name()
    }

    fn is_changed(&self, node: &WrittenNode) -> bool {
        let mut records = self.before.snapshot().nodes();
        let record = records.find(|record| record.id() == node.id);
        record.is_none_or(|record| record.user_data() != node.document)
    }

    /// Our edits against the snapshot with the moves carried out.
    pub(super) fn followed(&self, ours: &ChangeSet) -> Result<ChangeSet, NotPossible> {
        let place = |path: &NodePath| {
            let (from, to) = self.group_of(ours, path)?;
            let tail = &path.as_str()[from.as_str().len()..];
            NodePath::parse(&format!("{to}{tail}")).ok()
        };
        let followed = ours.follow_base(&self.moved, place, |node| self.is_changed(node));
        followed.ok_or(NotPossible)
    }
}
