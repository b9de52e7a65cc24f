//! Folding the edits of a fork back into those of the session that it was forked from. Pure: the caller finds
//! out beforehand which doubly written chunks are equal.
//!
//! Both sides have edits on one base, and both began with the edits of the *origin*. What one side changed since
//! and the other did not is taken; what both changed alike is taken once; anything else is a conflict. The rules
//! prefer neither side, so that forks may be folded in any order and grouping.

mod chunks;

use std::collections::BTreeSet;

use icefield_format::{NodeId, NodeKind, NodePath};

use crate::change_set::{ChangeSet, Entry, Unified, WrittenNode};
use crate::metadata::document::{Reach, reach};
use crate::rebase::{ChunkSets, Conflict, VersionSelection};
use crate::session::Base;

/// The edits that are folded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fold<'a> {
    pub(crate) base: &'a Base,
    pub(crate) origin: &'a ChangeSet,
    pub(crate) ours: &'a ChangeSet,
    pub(crate) theirs: &'a ChangeSet,
}

impl<'a> Fold<'a> {
    /// Folds; `equal` are those of the double writes that hold equal bytes.
    ///
    /// # Errors
    /// The conflicts, sorted.
    pub(crate) fn run(
        &self,
        equal: &ChunkSets,
        policy: VersionSelection,
    ) -> Result<ChangeSet, Vec<Conflict>> {
        let mut conflicts = Vec::new();
        let mut folded = self.ours.clone();
        for node in self.theirs.followers() {
            folded.follow_shifts(*node);
        }
        let mut unified = Unified::new();
        let mut paths: BTreeSet<&NodePath> = self.theirs.paths().collect();
        paths.extend(self.origin.paths());
        for path in paths {
            self.fold_node(path, &mut folded, &mut unified, &mut conflicts);
        }
        folded.unify(&unified);
        self.check_places(&folded, &mut conflicts);
        self.check_shifts(&mut conflicts);
        self.fold_limits(&unified, &mut folded);
        self.fold_chunks(equal, policy, &unified, &mut folded, &mut conflicts);
        if conflicts.is_empty() {
            return Ok(folded);
        }
        conflicts.sort();
        conflicts.dedup();
        Err(conflicts)
    }

    fn fold_node(
        &self,
        path: &NodePath,
        folded: &mut ChangeSet,
        unified: &mut Unified,
        conflicts: &mut Vec<Conflict>,
    ) {
        let (was, ours, theirs) = (
            self.origin.entry(path),
            self.ours.entry(path),
            self.theirs.entry(path),
        );
        if theirs == was || theirs == ours {
            return;
        }
        if ours == was {
            if let Some(node) = was.id_in(self.base, path)
                && theirs.id_in(self.base, path) != Some(node)
                && self.theirs.moved_from(&node).is_none()
                && self.changed_chunks(self.ours, path).is_some()
            {
                let kind = NodeKind::Array;
                conflicts.push(deleted_and_updated(path, node, kind, false));
                return;
            }
            self.check_reach(path, was, theirs, self.ours, false, conflicts);
            folded.take_entry(path, self.theirs);
            return;
        }
        match (ours.created, theirs.created, ours.updated, theirs.updated) {
            (Some(a), Some(b), ..)
                if was.created.is_none()
                    && ours.moved_from.is_none()
                    && theirs.moved_from.is_none()
                    && alike(a, b) =>
            {
                let (kept, other) = match a.id < b.id {
                    true => (a, b),
                    false => (b, a),
                };
                unified.insert(other.id, kept.id);
                let replaced = self.theirs.deleted().get(path).copied();
                folded.create_in_place(path, kept.clone(), replaced);
            }
            (Some(a), Some(b), ..) if a.id != b.id => {
                conflicts.push(Conflict::NewNodeConflictsWithExistingNode {
                    path: path.clone(),
                    node: a.id,
                    theirs: b.id,
                });
            }
            (_, _, Some(a), Some(b)) | (Some(a), Some(b), ..) if alike(a, b) => {
                if b.document < a.document {
                    folded.replace_metadata(path, b.clone());
                }
            }
            (None, None, Some(a), None) => {
                conflicts.push(deleted_and_updated(path, a.id, a.kind(), true));
            }
            (None, None, None, Some(b)) => {
                conflicts.push(deleted_and_updated(path, b.id, b.kind(), false));
            }
            _ => {
                let ids = [ours.id_in(self.base, path), theirs.id_in(self.base, path)];
                let gone = [ours.deleted, theirs.deleted];
                if let Some(node) = ids.into_iter().chain(gone).flatten().next() {
                    let path = path.clone();
                    conflicts.push(Conflict::ZarrMetadataDoubleUpdate { path, node });
                }
            }
        }
    }

    /// Checks that chunks which `writer` wrote keep their place and meaning under metadata that the other
    /// side changed.
    fn check_reach(
        &self,
        path: &NodePath,
        was: Entry<'_>,
        now: Entry<'_>,
        writer: &'a ChangeSet,
        ours_changed_metadata: bool,
        conflicts: &mut Vec<Conflict>,
    ) {
        let (Some(after), Some(mut chunks)) = (now.written(), self.changed_chunks(writer, path))
        else {
            return;
        };
        let before = was.written().map(|node| node.document.clone());
        let before = before.or_else(|| {
            let record = self.base.record(self.base.position(path)?);
            Some(bytes::Bytes::copy_from_slice(record.user_data()))
        });
        let Some(before) = before else { return };
        match (reach(&before, &after.document), after.metadata.array()) {
            (Reach::Nothing | Reach::Attributes, _) => chunks.clear(),
            (Reach::Shape, Some(array)) => chunks.retain(|index| !array.contains(index)),
            _ => {}
        }
        if chunks.is_empty() {
            return;
        }
        let (path, node) = (path.clone(), after.id);
        conflicts.push(match ours_changed_metadata {
            true => Conflict::ZarrMetadataUpdateOfUpdatedChunks { path, node, chunks },
            false => Conflict::ChunksUpdatedInUpdatedArray { path, node, chunks },
        });
    }

    /// Checks that no new node is below an array, or below a group that the other side deleted.
    fn check_places(&self, folded: &ChangeSet, conflicts: &mut Vec<Conflict>) {
        for (path, node) in folded.created() {
            for above in path.ancestors() {
                if let Some(written) = folded.entry(&above).written() {
                    if written.kind() == NodeKind::Array {
                        conflicts.push(Conflict::NewNodeInInvalidGroup {
                            path: path.clone(),
                            node: node.id,
                            array: above,
                        });
                    }
                    break;
                }
                let is_gone = folded.deleted().contains_key(&above)
                    || self.origin.created().contains_key(&above);
                // One side may have deleted the group and then made a node where it was: groups need not be written. The
                // groups above that one may still be gone on the other side.
                let one_side_has_both = [self.ours, self.theirs].into_iter().any(|side| {
                    side.created().contains_key(path) && side.entry(&above) == folded.entry(&above)
                });
                if is_gone && one_side_has_both {
                    continue;
                }
                if is_gone {
                    conflicts.push(Conflict::NewNodeInDeletedGroup {
                        path: path.clone(),
                        node: node.id,
                        group: above,
                    });
                    break;
                }
                if self.base.position(&above).is_some() {
                    break;
                }
            }
        }
    }

    /// Chunks that a resize cut off on either side stay cut off.
    fn fold_limits(&self, unified: &Unified, folded: &mut ChangeSet) {
        for (node, view) in self.theirs.views() {
            if self.origin.view_of(node) == Some(view) {
                continue;
            }
            let node = unified.get(node).unwrap_or(node);
            // Only one side may have shifted an array, and the other has left it alone.
            folded.restrict_view(*node, view, self.is_shifted(self.theirs, node));
        }
    }

    /// Whether a side shifted an array of the base since the origin.
    fn is_shifted(&self, side: &ChangeSet, node: &NodeId) -> bool {
        let of = |side: &ChangeSet| {
            let view = side.view_of(node);
            view.map_or((false, Vec::new()), |view| {
                (view.is_shifted(), view.offset().to_vec())
            })
        };
        let (was, is) = (of(self.origin), of(side));
        is.0 && is != was
    }

    /// An array that one side shifted must be as it was on the other.
    fn check_shifts(&self, conflicts: &mut Vec<Conflict>) {
        let nodes: BTreeSet<&NodeId> = (self.ours.views().keys())
            .chain(self.theirs.views().keys())
            .collect();
        for node in nodes {
            let sides = [(self.ours, self.theirs), (self.theirs, self.ours)];
            for (one, other) in sides {
                let Some(view) = one.view_of(node) else {
                    continue;
                };
                let path = one.array_path(node).unwrap_or(&view.home);
                let is_touched = other.view_of(node) != self.origin.view_of(node)
                    || self.changed_chunks(other, path).is_some();
                if self.is_shifted(one, node) && is_touched {
                    conflicts.push(Conflict::ShiftOfUpdatedArray {
                        path: path.clone(),
                        node: *node,
                    });
                }
            }
        }
    }
}

fn alike(a: &WrittenNode, b: &WrittenNode) -> bool {
    a.kind() == b.kind() && reach(&a.document, &b.document) == Reach::Nothing
}

fn deleted_and_updated(path: &NodePath, node: NodeId, kind: NodeKind, by_them: bool) -> Conflict {
    let path = path.clone();
    match (kind, by_them) {
        (NodeKind::Array, true) => Conflict::ZarrMetadataUpdateOfDeletedArray { path, node },
        (NodeKind::Group, true) => Conflict::ZarrMetadataUpdateOfDeletedGroup { path, node },
        (NodeKind::Array, false) => Conflict::DeleteOfUpdatedArray { path, node },
        (NodeKind::Group, false) => Conflict::DeleteOfUpdatedGroup {
            path,
            node,
            child: None,
        },
    }
}
