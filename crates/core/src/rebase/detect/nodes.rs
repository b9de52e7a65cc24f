//! Rules for nodes: created, moved, updated and deleted ones.

use icefield_format::{NodeId, NodeKind, NodePath, NodeRecord};
use icefield_storage::{PlantedBug, planted};

use super::sides::{Detector, Sides};
use crate::change_set::WrittenNode;
use crate::rebase::conflict::Conflict;

impl Sides<'_> {
    pub(super) fn created(
        &self,
        detector: Detector,
        path: &NodePath,
        node: &WrittenNode,
        conflicts: &mut Vec<Conflict>,
    ) {
        if let Some(theirs) = self.taken(detector, path) {
            let equal = detector == Detector::Strict
                && (self.is_one_node(path, &node.id) || self.equal_to_existing(path, node));
            if !equal {
                conflicts.push(Conflict::NewNodeConflictsWithExistingNode {
                    path: path.clone(),
                    node: node.id,
                    theirs,
                });
            }
        }
        if detector == Detector::Strict
            && node.kind() == NodeKind::Array
            && let Some(child) = self.child_that_stays(path)
        {
            conflicts.push(Conflict::NewNodeConflictsWithExistingNode {
                path: path.clone(),
                node: node.id,
                theirs: child,
            });
        }
        for ancestor in path.ancestors() {
            if detector == Detector::Strict && self.ours.created().contains_key(&ancestor) {
                // Collisions of the ancestor itself are reported for the ancestor.
                break;
            }
            let now = self
                .after
                .position(&ancestor)
                .map(|it| self.after.record(it));
            let gone = self.ours.deleted().get(&ancestor).map(|(node, _)| *node);
            if gone.is_some() && now.as_ref().is_none_or(|record| Some(record.id()) == gone) {
                // We deleted it ourselves.
                continue;
            }
            if let Some(record) = now {
                if record.kind() == NodeKind::Array {
                    conflicts.push(Conflict::NewNodeInInvalidGroup {
                        path: path.clone(),
                        node: node.id,
                        array: ancestor,
                    });
                }
                break;
            }
            let was = self
                .before
                .position(&ancestor)
                .map(|it| self.before.record(it));
            if detector == Detector::Strict
                && was.is_some_and(|record| self.theirs.deleted(&record.id()).is_some())
            {
                conflicts.push(Conflict::NewNodeInDeletedGroup {
                    path: path.clone(),
                    node: node.id,
                    group: ancestor,
                });
                break;
            }
        }
    }

    /// A node below a path that will still be there.
    fn child_that_stays(&self, path: &NodePath) -> Option<NodeId> {
        self.after
            .records_below(path)
            .map(|record| (record.node_path(), record.id()))
            .find(|(path, node)| self.ours.deleted().get(path).map(|(gone, _)| gone) != Some(node))
            .map(|(_, node)| node)
    }

    /// The node that stands where we created one, unless it is the one that we deleted there.
    fn taken(&self, detector: Detector, path: &NodePath) -> Option<NodeId> {
        let existing = self.after.record(self.after.position(path)?).id();
        match (self.ours.deleted().get(path), detector) {
            (None, _) => Some(existing),
            (Some(_), Detector::Compatible) => None,
            (Some((deleted, _)), Detector::Strict) => (*deleted != existing).then_some(existing),
        }
    }

    pub(super) fn updated(
        &self,
        detector: Detector,
        path: &NodePath,
        node: &WrittenNode,
        conflicts: &mut Vec<Conflict>,
    ) {
        match self.theirs.deleted(&node.id) {
            Some(NodeKind::Array) => {
                conflicts.push(Conflict::ZarrMetadataUpdateOfDeletedArray {
                    path: path.clone(),
                    node: node.id,
                });
                return;
            }
            Some(NodeKind::Group) => {
                conflicts.push(Conflict::ZarrMetadataUpdateOfDeletedGroup {
                    path: path.clone(),
                    node: node.id,
                });
                return;
            }
            None => {}
        }
        let collides = || match detector {
            Detector::Strict => self.merged(path, node).is_none(),
            Detector::Compatible => !self.only_moves(path, node),
        };
        if self.theirs.updated.contains(&node.id) && collides() {
            conflicts.push(Conflict::ZarrMetadataDoubleUpdate {
                path: path.clone(),
                node: node.id,
            });
            return;
        }
        if detector == Detector::Strict
            && let Some(chunks) = self.theirs.chunks.get(&node.id)
        {
            let unfit = self.chunks_that_do_not_fit(path, node, chunks);
            if !unfit.is_empty() {
                conflicts.push(Conflict::ZarrMetadataUpdateOfUpdatedChunks {
                    path: path.clone(),
                    node: node.id,
                    chunks: unfit,
                });
            }
        }
    }

    /// Whether the node got another path from us, and kept its metadata.
    fn only_moves(&self, path: &NodePath, node: &WrittenNode) -> bool {
        self.ours.moved_from(&node.id).is_some()
            && self.document(self.before, path, node.id) == Some(&node.document[..])
    }

    pub(super) fn deleted(
        &self,
        detector: Detector,
        path: &NodePath,
        node: NodeId,
        kind: NodeKind,
        conflicts: &mut Vec<Conflict>,
    ) {
        // They gave it another path, where it would stay.
        let moved = detector == Detector::Strict && self.theirs.created.contains(&node);
        if self.theirs.deleted(&node).is_some() && !moved {
            return;
        }
        let updated = moved || self.theirs.updated.contains(&node);
        match kind {
            // It only has another path: what they did to it stays.
            NodeKind::Array if self.ours.moved_from(&node).is_some() => {}
            NodeKind::Array => {
                let touched = updated || self.theirs.chunks.contains_key(&node);
                if touched && !planted(PlantedBug::DeleteOfUpdatedAllowed) {
                    conflicts.push(Conflict::DeleteOfUpdatedArray {
                        path: path.clone(),
                        node,
                    });
                }
            }
            NodeKind::Group => {
                if updated && self.ours.moved_from(&node).is_none() {
                    conflicts.push(Conflict::DeleteOfUpdatedGroup {
                        path: path.clone(),
                        node,
                        child: None,
                    });
                } else if detector == Detector::Strict
                    && let Some(child) = self.child_that_they_touched(path)
                {
                    conflicts.push(Conflict::DeleteOfUpdatedGroup {
                        path: path.clone(),
                        node,
                        child: Some(child),
                    });
                }
            }
        }
    }

    /// The first node below a path that they created or changed.
    fn child_that_they_touched(&self, path: &NodePath) -> Option<NodePath> {
        let is_ours = |record: &NodeRecord<'_>| {
            let deleted = self.ours.deleted().get(&record.node_path());
            deleted.is_some_and(|(id, _)| *id == record.id())
        };
        let touched = |record: &NodeRecord<'_>| {
            let id = &record.id();
            self.ours.moved_from(id).is_none()
                && (self.theirs.created.contains(id)
                    || self.theirs.updated.contains(id)
                    || self.theirs.chunks.contains_key(id)
                    || self.theirs.moved.contains_key(id) && !is_ours(record))
        };
        self.after
            .records_below(path)
            .find(touched)
            .map(|record| record.node_path())
    }
}
