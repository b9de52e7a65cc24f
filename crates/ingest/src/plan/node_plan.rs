//! The plan for the nodes of a source, and the nodes at their paths in the repository.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use icefield_core::{NodeKind, NodeMetadata, NodePath};

use super::along::length_of;
use super::transfer::{Action, Growth, Transfer};
use crate::document::PLAIN_GROUP;
use crate::names::DOCUMENT;
use crate::{Difference, Hierarchy, ImportError, PlanError, SourceNode};

/// The name in messages of the target that sources are appended to.
pub(crate) const REPOSITORY: &str = "the repository";

/// The nodes of the repository where the import goes.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    /// Every node above, at and below the group of the import.
    pub(crate) kinds: BTreeMap<NodePath, NodeKind>,
    /// The documents of those that the source has too.
    pub(crate) documents: BTreeMap<NodePath, Bytes>,
    /// Arrays that a source may lack.
    pub(crate) optional: BTreeSet<NodePath>,
    /// Whether a source may have arrays that are not there.
    pub(crate) takes_new: bool,
}

impl Existing {
    /// Notes a node as one source leaves it to the next.
    pub(crate) fn note(&mut self, path: &NodePath, document: &Bytes) {
        let metadata = NodeMetadata::parse(document);
        let kind = match metadata.as_ref().map(NodeMetadata::array) {
            Ok(Some(_)) => NodeKind::Array,
            _ => NodeKind::Group,
        };
        self.kinds.insert(path.clone(), kind);
        self.documents.insert(path.clone(), document.clone());
    }

    /// Returns how long the arrays are along a dimension that lie in the group of `near`, or others if none of those has it.
    pub(super) fn length_along(&self, dimension: &str, near: &NodePath) -> Option<u64> {
        let lengths = self.documents.iter().filter_map(|(path, document)| {
            let metadata = NodeMetadata::parse(document).ok()?;
            let length = length_of(metadata.array()?, dimension)?;
            Some((path.parent() != near.parent(), length))
        });
        lengths.min_by_key(|(is_far, _)| *is_far).map(|(_, it)| it)
    }

    /// Leaves only these arrays, and all groups.
    pub(crate) fn narrow(&mut self, ours: &BTreeSet<NodePath>) {
        let kinds = &mut self.kinds;
        let is_ours = |path: &NodePath, kind: Option<&NodeKind>| {
            kind != Some(&NodeKind::Array) || ours.contains(path)
        };
        self.documents
            .retain(|path, _| is_ours(path, kinds.get(path)));
        kinds.retain(|path, kind| is_ours(path, Some(kind)));
    }
}

/// Everything that an import will do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Documents to write, parents before children.
    pub(crate) documents: BTreeMap<NodePath, Bytes>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) growths: Vec<Growth>,
    /// Groups that stay as they are though the source says something else of them.
    pub(crate) kept_groups: Vec<NodePath>,
    pub(crate) new_groups: u64,
    pub(crate) new_arrays: u64,
    pub(crate) extended_arrays: Vec<NodePath>,
}

impl Plan {
    /// Writes a group that does not exist yet.
    pub(super) fn new_group(&mut self, path: NodePath, document: Bytes) {
        self.new_groups += 1;
        self.documents.insert(path, document);
    }

    /// Says why elements are put together or compared that were encoded otherwise in the source, by their paths there.
    pub(crate) fn explain(&mut self, differences: &BTreeMap<NodePath, Difference>) {
        for growth in &mut self.growths {
            if let Some(difference) = differences.get(&growth.from) {
                growth.recoded = Some(difference.clone());
            }
        }
        for transfer in &mut self.transfers {
            if let (Action::CompareElements(of), Some(difference)) =
                (&mut transfer.action, differences.get(&transfer.from))
            {
                *of = difference.clone();
            }
        }
    }

    /// Adds the groups that are implied by the nodes of the plan and exist nowhere.
    pub(super) fn fill_in_groups(&mut self, group: &NodePath, existing: &Existing) {
        let mut implied: BTreeSet<NodePath> = group.ancestors().collect();
        for path in self.documents.keys() {
            implied.extend(path.ancestors());
        }
        for path in implied {
            if !existing.kinds.contains_key(&path) && !self.documents.contains_key(&path) {
                self.new_group(path, Bytes::from_static(PLAIN_GROUP.as_bytes()));
            }
        }
    }
}

/// Where a node of the source goes.
pub(crate) fn target_path(group: &NodePath, path: &NodePath) -> Result<NodePath, PlanError> {
    if path.is_root() {
        return Ok(group.clone());
    }
    group
        .join(&path.as_str()[1..])
        .map_err(|source| PlanError::Path {
            path: path.clone(),
            group: group.clone(),
            source,
        })
}

/// The nodes of a source under the paths where they go, with the paths where they are.
pub(super) fn targets<'a>(
    hierarchy: &'a Hierarchy,
    group: &NodePath,
) -> Result<BTreeMap<NodePath, (&'a NodePath, &'a SourceNode)>, PlanError> {
    hierarchy
        .nodes
        .iter()
        .map(|(path, node)| Ok((target_path(group, path)?, (path, node))))
        .collect()
}

/// Fails if an array that exists has the new node somewhere below it.
pub(super) fn check_above(path: &NodePath, existing: &Existing) -> Result<(), PlanError> {
    match path
        .ancestors()
        .find(|above| existing.kinds.get(above) == Some(&NodeKind::Array))
    {
        Some(array) => Err(PlanError::BelowArray {
            path: path.clone(),
            array,
        }),
        None => Ok(()),
    }
}

/// Fails if a node would have the name of the documents of Zarr.
pub(super) fn check_name(path: &NodePath) -> Result<(), PlanError> {
    match path.segments().any(|name| name == DOCUMENT) {
        true => Err(PlanError::NameOfDocument { path: path.clone() }),
        false => Ok(()),
    }
}

fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Group => "a group",
        NodeKind::Array => "an array",
    }
}

pub(super) fn check_kind(
    path: &NodePath,
    existing: NodeKind,
    node: &SourceNode,
) -> Result<(), PlanError> {
    let source = match node.array() {
        Some(_) => NodeKind::Array,
        None => NodeKind::Group,
    };
    match source == existing {
        true => Ok(()),
        false => Err(PlanError::KindDiffers {
            path: path.clone(),
            existing: kind_word(existing),
            source_kind: kind_word(source),
        }),
    }
}

/// Turns a failure to read a document into the error that names its node.
pub(crate) fn document_error(path: &NodePath) -> impl FnOnce(serde_json::Error) -> ImportError {
    move |source| ImportError::Document {
        path: path.clone(),
        source,
    }
}
