//! The content of the snapshot of a commit: its nodes, and which manifests of each array are kept or written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use icefield_format::{
    Extents, ManifestFileInfo, ManifestId, ManifestRef, NodeId, NodeKind, NodePath, layout,
};
use icefield_refs::FetchError;
use icefield_storage::Key;
use serde_json::Value;

use super::arrays::{ArrayPlan, HeldManifest, ManifestRewrite};
use super::manifests::NewManifest;
use super::replaced::Replaced;
use crate::SessionError;
use crate::change_set::{BaseView, ChangeSet};
use crate::metadata::{ArrayMetadata, NodeMetadata};
use crate::relocation::Relocations;
use crate::session::{Base, Session};

/// A node of the new snapshot, before its manifests are known.
pub(super) struct PlannedNode {
    pub(super) source: NodeSource,
    pub(super) manifests: PlannedManifests,
}

pub(super) enum NodeSource {
    /// As the base has it.
    Base { position: usize },
    /// As the session wrote it.
    Written { path: NodePath },
}

pub(super) enum PlannedManifests {
    /// A group, or an array without references.
    None,
    /// Those of the base at this position.
    Keep { position: usize },
    /// The result of the plan with this number.
    Change { array: usize },
}

/// The manifests of an array of which some changed.
#[derive(Debug, Default)]
pub(super) struct ArrayManifests {
    pub(super) kept: Vec<ManifestRef>,
    pub(super) new: Vec<NewManifest>,
}

impl ArrayManifests {
    /// The array's pointers to them, in the order of their boxes.
    pub(super) fn references(&self) -> Vec<ManifestRef> {
        let new = self.new.iter().map(|new| new.reference.clone());
        let mut all: Vec<ManifestRef> = self.kept.iter().cloned().chain(new).collect();
        let start = |it: &ManifestRef| -> Vec<u32> {
            let ranges = it.extents.ranges().iter();
            ranges.map(|range| range.start).collect()
        };
        all.sort_by_cached_key(start);
        all
    }
}

/// The description of the new snapshot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Description<'a> {
    pub(super) message: &'a str,
    pub(super) metadata: &'a BTreeMap<String, Value>,
    pub(super) allow_empty: bool,
    pub(super) rewrite: ManifestRewrite,
    /// Manifests of the base that are not read and not carried over.
    pub(super) lost: &'a BTreeSet<ManifestId>,
    /// Where references of an array lie in a manifest of the base, if the base says something else.
    pub(super) extents: &'a BTreeMap<(NodePath, ManifestId), Extents>,
    /// The tip whose place the new snapshot takes.
    pub(super) replaced: Option<&'a Replaced>,
}

/// The inputs of the plan for the manifests of an array.
#[derive(Clone, Copy)]
pub(super) struct Planner<'a> {
    pub(super) session: &'a Session,
    pub(super) base: &'a Base,
    pub(super) changes: &'a ChangeSet,
    pub(super) rewrite: ManifestRewrite,
    pub(super) relocations: &'a Arc<Relocations>,
    pub(super) lost: &'a BTreeSet<ManifestId>,
    pub(super) extents: &'a BTreeMap<(NodePath, ManifestId), Extents>,
}

impl Planner<'_> {
    /// The manifests of an array that are rewritten although no edit touches them.
    fn rewrite(&self, node: &NodeId) -> ManifestRewrite {
        match self.relocations.concern(node) {
            true => ManifestRewrite::All,
            false => self.rewrite,
        }
    }

    /// Lists the nodes of the new snapshot in the order of their paths, and the manifests to write.
    pub(super) fn nodes(
        &self,
        arrays: &mut Vec<ArrayPlan>,
    ) -> Result<Vec<PlannedNode>, SessionError> {
        let (base, changes) = (self.base, self.changes);
        let snapshot = base.snapshot();
        let mut nodes = Vec::with_capacity(snapshot.node_count() + changes.created().len());
        let mut created = changes.created().iter().peekable();
        let mut position = 0;
        loop {
            let record = (position < snapshot.node_count()).then(|| snapshot.node_at(position));
            let take_created = match (&record, created.peek()) {
                (None, None) => break,
                (Some(record), Some((path, _))) => path.as_str() <= record.path(),
                (None, Some(_)) => true,
                (Some(_), None) => false,
            };
            if take_created && let Some((path, node)) = created.next() {
                let has_chunks = changes.chunks_of(&node.id).is_some_and(|it| !it.is_empty());
                let moved_from = changes
                    .moved_from(&node.id)
                    .and_then(|it| base.position(it));
                let manifests = match (node.metadata.array(), has_chunks, moved_from) {
                    (Some(_), _, Some(position)) => {
                        self.existing(position, path, &node.metadata, arrays)?
                    }
                    (Some(array), true, None) => {
                        arrays.push(self.array(node.id, path, array, None, Vec::new()));
                        let array = arrays.len() - 1;
                        PlannedManifests::Change { array }
                    }
                    _ => PlannedManifests::None,
                };
                nodes.push(PlannedNode {
                    source: NodeSource::Written { path: path.clone() },
                    manifests,
                });
            } else if let Some(record) = record {
                let path = record.node_path();
                if !changes.deleted().contains_key(&path) {
                    let updated = changes.updated().get(&path);
                    let manifests = match updated.map(|node| Arc::clone(&node.metadata)) {
                        _ if record.kind() == NodeKind::Group => PlannedManifests::None,
                        Some(metadata) => self.existing(position, &path, &metadata, arrays)?,
                        None if self.rewrite(&record.id()) != ManifestRewrite::No
                            || !self.lost.is_empty()
                            || !self.extents.is_empty()
                            || changes.chunks().contains_key(&record.id())
                            || changes.view_of(&record.id()).is_some() =>
                        {
                            let metadata = base.metadata(record)?;
                            self.existing(position, &path, &metadata, arrays)?
                        }
                        None => PlannedManifests::Keep { position },
                    };
                    let source = match updated {
                        Some(_) => NodeSource::Written { path },
                        None => NodeSource::Base { position },
                    };
                    nodes.push(PlannedNode { source, manifests });
                }
                position += 1;
            }
        }
        Ok(nodes)
    }

    /// Plans an array that exists in the base, at a position.
    fn existing(
        &self,
        position: usize,
        path: &NodePath,
        metadata: &NodeMetadata,
        arrays: &mut Vec<ArrayPlan>,
    ) -> Result<PlannedManifests, SessionError> {
        let (base, changes) = (self.base, self.changes);
        let node = base.record(position).id();
        let (Some(array), Some(record)) = (metadata.array(), base.array(position)) else {
            return Ok(PlannedManifests::None);
        };
        let table = changes.chunks_of(&node);
        let written = table.is_some_and(|it| !it.is_empty());
        let view = changes.view_of(&node);
        let is_shifted = view.is_some_and(BaseView::is_shifted);
        let mut held = Vec::new();
        let mut mended = false;
        for manifest in record.manifests() {
            if self.lost.contains(&manifest.id()) {
                mended = true;
                continue;
            }
            let mut extents = manifest.extents();
            if let Some(right) = self.extents.get(&(path.clone(), manifest.id())) {
                mended |= *right != extents;
                extents = right.clone();
            }
            let placed = match view {
                Some(view) => view.place_box(extents.ranges()),
                None => Some(extents.ranges().to_vec()),
            };
            let erased = table.filter(|it| it.has_boxes()).zip(placed.as_ref());
            let cut = manifest.rank() != array.rank()
                || placed.as_deref() != Some(extents.ranges())
                || erased.is_some_and(|(table, placed)| table.erases_some_of(placed))
                || (extents.ranges().iter().zip(&array.chunk_counts))
                    .any(|(range, count)| range.end > *count);
            let info = manifest_file(base, manifest.id())?;
            held.push(HeldManifest {
                reference: ManifestRef {
                    id: manifest.id(),
                    extents,
                },
                bytes: info.size_bytes,
                refs: u64::from(info.num_chunk_refs),
                cut,
            });
        }
        let untouched = !written && !mended && !is_shifted && !held.iter().any(|it| it.cut);
        if untouched && (self.rewrite(&node) == ManifestRewrite::No || held.is_empty()) {
            return Ok(PlannedManifests::Keep { position });
        }
        let before = base.metadata(base.record(position)).ok();
        let before = before.and_then(|it| Some(it.array()?.chunk_counts.clone()));
        arrays.push(ArrayPlan {
            mended,
            ..self.array(node, path, array, before, held)
        });
        let array = arrays.len() - 1;
        Ok(PlannedManifests::Change { array })
    }

    fn array(
        &self,
        node: NodeId,
        path: &NodePath,
        array: &ArrayMetadata,
        before: Option<Vec<u32>>,
        held: Vec<HeldManifest>,
    ) -> ArrayPlan {
        ArrayPlan {
            node,
            path: path.clone(),
            dimensions: array.dimension_names.clone(),
            grid: array.chunk_counts.clone(),
            before,
            held,
            rewrite: self.rewrite(&node),
            relocations: Arc::clone(self.relocations),
            mended: false,
            entropy: self.session.derive_entropy(),
        }
    }
}

/// The record of a manifest file in the base.
fn manifest_file(base: &Base, id: ManifestId) -> Result<ManifestFileInfo, SessionError> {
    base.snapshot().manifest_file(&id).ok_or_else(|| {
        SessionError::Fetch(FetchError::Missing {
            what: "the base snapshot's entry of manifest",
            id: id.to_string(),
            key: Key::parse(&layout::manifest_key(id))
                .unwrap_or_else(|_| unreachable!("BUG: ids make valid keys")),
        })
    })
}

/// Every manifest that a node of the new snapshot refers to, once.
pub(super) fn manifest_files(
    base: &Base,
    nodes: &[PlannedNode],
    arrays: &[ArrayManifests],
) -> Result<Vec<ManifestFileInfo>, SessionError> {
    let mut files = BTreeMap::new();
    let mut keep = |id: ManifestId| -> Result<(), SessionError> {
        files.insert(id, manifest_file(base, id)?);
        Ok(())
    };
    for node in nodes {
        match node.manifests {
            PlannedManifests::None => {}
            PlannedManifests::Keep { position } => {
                let array = base.array(position);
                for manifest in array.iter().flat_map(|array| array.manifests()) {
                    keep(manifest.id())?;
                }
            }
            PlannedManifests::Change { array } => {
                for kept in &arrays[array].kept {
                    keep(kept.id)?;
                }
            }
        }
    }
    for new in arrays.iter().flat_map(|array| &array.new) {
        files.insert(new.info.id, new.info);
    }
    Ok(files.into_values().collect())
}
