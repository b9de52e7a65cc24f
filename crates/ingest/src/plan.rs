//! What an import will do, decided before anything is written: pure functions of the source's nodes and of
//! what the repository has at the same paths.

mod append;
mod create;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodeKind, NodePath};
use serde_json::Value;

use crate::document::PLAIN_GROUP;
use crate::{Hierarchy, ImportError, PlanError, SourceNode};

pub(crate) use append::append;
pub(crate) use create::create;

/// What the repository has where the import goes.
#[derive(Debug, Default)]
pub(crate) struct Existing {
    /// Every node above, at and below the group of the import.
    pub(crate) kinds: BTreeMap<NodePath, NodeKind>,
    /// The documents of those that the source has too.
    pub(crate) documents: BTreeMap<NodePath, Bytes>,
}

/// What to do with the chunks of one array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Copy each, so many chunks further along each axis.
    Copy { offset: Vec<u32> },
    /// Compare each with the one that is there.
    Compare,
}

/// An array of one dimension whose elements are put behind others, within a chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Join {
    /// The array in the source.
    pub(crate) from: NodePath,
    /// What the source says of it.
    pub(crate) array: ArrayMetadata,
    /// The array in the repository.
    pub(crate) to: NodePath,
    pub(crate) dimension: String,
    /// Elements that are there.
    pub(crate) length: u64,
    /// Elements of a chunk.
    pub(crate) chunk: u64,
}

/// The chunks of one array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transfer {
    /// The array in the source.
    pub(crate) from: NodePath,
    /// What the source says of it.
    pub(crate) array: ArrayMetadata,
    /// The array in the repository.
    pub(crate) to: NodePath,
    pub(crate) action: Action,
}

/// An array of one dimension that says where its elements are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Label {
    /// The array in the repository.
    pub(crate) path: NodePath,
    /// The first of its new elements.
    pub(crate) first: u64,
    pub(crate) units: Option<String>,
}

impl Label {
    /// Returns whether it says times, as the CF conventions write them: `hours since 2000-01-01`.
    pub(crate) fn is_time(&self) -> bool {
        self.units.as_ref().is_some_and(|it| it.contains(" since "))
    }
}

fn units(document: &[u8]) -> Option<String> {
    let document: Value = serde_json::from_slice(document).ok()?;
    document["attributes"]["units"].as_str().map(str::to_owned)
}

/// Returns the only dimension of an array that has its name: everybody who opens the dataset reads it.
pub(crate) fn coordinate<'a>(path: &NodePath, array: &'a ArrayMetadata) -> Option<&'a str> {
    let [Some(name)] = array.dimension_names.as_deref()? else {
        return None;
    };
    let own = path.as_str().rsplit('/').next();
    (own == Some(name)).then_some(name)
}

/// Everything that an import will do.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Documents to write, parents before children.
    pub(crate) documents: BTreeMap<NodePath, Bytes>,
    pub(crate) transfers: Vec<Transfer>,
    pub(crate) joins: Vec<Join>,
    /// Groups that stay as they are though the source says something else of them.
    pub(crate) kept_groups: Vec<NodePath>,
    pub(crate) new_groups: u64,
    pub(crate) new_arrays: u64,
    pub(crate) extended_arrays: Vec<NodePath>,
}

impl Plan {
    /// Writes a group that does not exist yet.
    fn new_group(&mut self, path: NodePath, document: Bytes) {
        self.new_groups += 1;
        self.documents.insert(path, document);
    }

    /// Returns the arrays that label a dimension along which they grow: its coordinate, and if that has no units, as one
    /// that only stands in for others, the times along it.
    pub(crate) fn labels(&self, dimension: &str) -> Vec<Label> {
        let copied = self.transfers.iter().filter_map(|it| match &it.action {
            Action::Copy { offset } => {
                let chunks = u64::from(offset.first().copied().unwrap_or(0));
                let elements = it.array.chunk_shape.first().copied().unwrap_or(0);
                Some((&it.from, &it.array, &it.to, chunks * elements))
            }
            Action::Compare => None,
        });
        let joined = self.joins.iter();
        let joined = joined.map(|it| (&it.from, &it.array, &it.to, it.length));
        let along = copied.chain(joined).filter_map(|(from, array, to, first)| {
            let [Some(name)] = array.dimension_names.as_deref()? else {
                return None;
            };
            let document = self.documents.get(to)?;
            let label = Label {
                path: to.clone(),
                first,
                units: units(document),
            };
            let is_coordinate = coordinate(from, array).is_some();
            (name == dimension).then_some((is_coordinate, label))
        });
        let (coordinates, others): (Vec<_>, Vec<_>) = along.partition(|it| it.0);
        let stands_in = |it: &(bool, Label)| it.1.units.is_none();
        let times = others.into_iter().filter(|it| it.1.is_time());
        let times = times
            .filter(|_| coordinates.iter().any(stands_in))
            .collect::<Vec<_>>();
        let labels = coordinates.into_iter().chain(times);
        labels.map(|(_, label)| label).collect()
    }

    /// Adds the groups that are implied by the nodes of the plan and exist nowhere.
    fn fill_in_groups(&mut self, group: &NodePath, existing: &Existing) {
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
fn targets<'a>(
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
fn check_above(path: &NodePath, existing: &Existing) -> Result<(), PlanError> {
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

fn kind_word(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Group => "a group",
        NodeKind::Array => "an array",
    }
}

fn check_kind(path: &NodePath, existing: NodeKind, node: &SourceNode) -> Result<(), PlanError> {
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
fn document_error(path: &NodePath) -> impl FnOnce(serde_json::Error) -> ImportError {
    move |source| ImportError::Document {
        path: path.clone(),
        source,
    }
}
