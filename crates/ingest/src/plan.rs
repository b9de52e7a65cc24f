//! What an import will do, decided before anything is written: pure functions of the source's nodes and of
//! what the repository has at the same paths.

mod append;
mod create;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodeKind, NodeMetadata, NodePath};
use serde::{Deserialize, Serialize};

use crate::document::PLAIN_GROUP;
use crate::names::DOCUMENT;
use crate::{Difference, Hierarchy, ImportError, PlanError, SourceNode};

pub(crate) use append::append;
pub(crate) use create::create;

/// What messages call what sources are put behind.
pub(crate) const REPOSITORY: &str = "the repository";

/// What the repository has where the import goes.
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
    fn length_along(&self, dimension: &str, near: &NodePath) -> Option<u64> {
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

/// What to do with the chunks of one array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Action {
    /// Copy each.
    Copy,
    /// Copy each of a part of the grid, somewhere else along an axis.
    Move(Shift),
    /// Compare each with the one that is there.
    Compare,
    /// Encode the elements in the layout that the array has in the repository, and compare that.
    CompareElements(Difference),
}

/// A part of a grid of chunks, cut across one axis, and where it goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Shift {
    pub(crate) axis: usize,
    /// Chunks along the axis, in the source.
    pub(crate) chunks: Range<u64>,
    /// Where the first of them goes.
    pub(crate) to: u64,
}

impl Shift {
    /// Returns where a chunk goes; `None` if it is not of the part.
    pub(crate) fn target(&self, index: &[u32]) -> Option<Vec<u32>> {
        let at = u64::from(*index.get(self.axis)?);
        if !self.chunks.contains(&at) {
            return None;
        }
        let mut target = index.to_vec();
        target[self.axis] = u32::try_from(at - self.chunks.start + self.to).ok()?;
        Some(target)
    }
}

/// What a source puts behind an array that grows along one axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Growth {
    /// The array in the source.
    pub(crate) from: NodePath,
    /// What the source says of it.
    pub(crate) array: ArrayMetadata,
    /// Its document in the source.
    pub(crate) document: Bytes,
    /// The array in the repository.
    pub(crate) to: NodePath,
    pub(crate) axis: usize,
    /// Elements along the axis that lie before.
    pub(crate) at: u64,
    /// The elements of the source that are put there.
    pub(crate) kept: Range<u64>,
    /// Why its chunks cannot be taken as they are, if they cannot.
    pub(crate) recoded: Option<Difference>,
}

impl Growth {
    /// Returns the whole of an array that is encoded anew.
    pub(crate) fn whole(transfer: &Transfer, recoded: Difference) -> Self {
        Self {
            from: transfer.from.clone(),
            kept: 0..transfer.array.shape.first().copied().unwrap_or(1),
            array: transfer.array.clone(),
            document: transfer.document.clone(),
            to: transfer.to.clone(),
            axis: 0,
            at: 0,
            recoded: Some(recoded),
        }
    }

    /// Returns the elements that are added.
    pub(crate) fn length(&self) -> u64 {
        self.kept.end - self.kept.start
    }
}

/// The dimension along which arrays grow, and which elements of the source are put there.
#[derive(Clone, Debug)]
pub(crate) struct Along<'a> {
    pub(crate) dimension: &'a str,
    /// The elements that are kept, and of how many; `None` for all.
    pub(crate) kept: Option<(Range<u64>, u64)>,
}

impl<'a> Along<'a> {
    /// All elements along a dimension.
    #[cfg(test)]
    pub(crate) fn all(dimension: &'a str) -> Self {
        Self {
            dimension,
            kept: None,
        }
    }

    /// Returns the axis of the dimension, `None` if the array does not have it.
    pub(crate) fn axis(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
    ) -> Result<Option<usize>, PlanError> {
        let names = array.dimension_names.as_deref().unwrap_or_default();
        let is_it = |axis: &usize| names[*axis].as_deref() == Some(self.dimension);
        let mut axes = (0..names.len()).filter(is_it);
        let axis = axes.next();
        match axes.next() {
            None => Ok(axis),
            Some(_) => Err(PlanError::DimensionTwice {
                path: path.clone(),
                dimension: self.dimension.to_owned(),
            }),
        }
    }

    /// Returns the elements of an array that are kept.
    fn kept_of(
        &self,
        path: &NodePath,
        array: &ArrayMetadata,
        axis: usize,
    ) -> Result<Range<u64>, PlanError> {
        let length = array.shape[axis];
        match &self.kept {
            None => Ok(0..length),
            Some((kept, of)) if *of == length => Ok(kept.clone()),
            Some((_, of)) => Err(PlanError::LengthDiffers {
                path: path.clone(),
                dimension: self.dimension.to_owned(),
                length,
                labels: *of,
            }),
        }
    }
}

/// The chunks of one array.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transfer {
    /// The array in the source.
    pub(crate) from: NodePath,
    /// What the source says of it.
    pub(crate) array: ArrayMetadata,
    /// Its document in the source.
    pub(crate) document: Bytes,
    /// The array in the repository.
    pub(crate) to: NodePath,
    pub(crate) action: Action,
}

/// Returns the only dimension of an array that has its name: everybody who opens the dataset reads it.
pub(crate) fn coordinate<'a>(path: &NodePath, array: &'a ArrayMetadata) -> Option<&'a str> {
    let [Some(name)] = array.dimension_names.as_deref()? else {
        return None;
    };
    let own = path.as_str().rsplit('/').next();
    (own == Some(name)).then_some(name)
}

/// Returns the length of an array along a dimension.
pub(crate) fn length_of(array: &ArrayMetadata, dimension: &str) -> Option<u64> {
    let mut names = array.dimension_names.as_deref()?.iter();
    let axis = names.position(|name| name.as_deref() == Some(dimension))?;
    array.shape.get(axis).copied()
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
    fn new_group(&mut self, path: NodePath, document: Bytes) {
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

/// Fails if a node would have the name of the documents of Zarr.
fn check_name(path: &NodePath) -> Result<(), PlanError> {
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
pub(crate) fn document_error(path: &NodePath) -> impl FnOnce(serde_json::Error) -> ImportError {
    move |source| ImportError::Document {
        path: path.clone(),
        source,
    }
}
