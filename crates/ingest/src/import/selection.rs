//! The selection of the nodes of a source, and their names in the repository.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodePath};
use serde_json::Value;

use super::derived::{ArrayAt, ChunkStream, Derived, DerivedArray, digest_of};
use crate::plan::coordinate;
use crate::source::References;
use crate::{Hierarchy, PlanError, Source, SourceError, SourceNode, Unsupported};

/// Attributes whose words are names of other variables (CF conventions 1.11, appendix A).
const NAMING: [&str; 10] = [
    "coordinates",
    "bounds",
    "climatology",
    "grid_mapping",
    "formula_terms",
    "cell_measures",
    "cell_methods",
    "ancillary_variables",
    "compress",
    "geometry",
];
/// Those of them in which a word with a colon is a variable, too, or a dimension; in others it is a term or a measure.
const WITH_COLONS: [&str; 2] = ["grid_mapping", "cell_methods"];
/// Those of them without which a variable cannot be placed: a selection of variables brings them along.
const PLACING: [&str; 5] = [
    "coordinates",
    "bounds",
    "climatology",
    "grid_mapping",
    "formula_terms",
];

/// The nodes of each source that are imported, and their names. Paths are those of the source.
///
/// ```
/// use icefield_ingest::Selection;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The sea surface temperature and its coordinates, under another name.
/// let selection = Selection::all().variables(["/sst".parse()?]).rename("/sst".parse()?, "temperature");
/// # let _ = selection;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    variables: Option<BTreeSet<NodePath>>,
    dropped: BTreeSet<NodePath>,
    renamed: BTreeMap<NodePath, String>,
}

impl Selection {
    /// Selects everything.
    pub fn all() -> Self {
        Self::default()
    }

    /// Keeps only these arrays, all arrays of these groups, and the arrays that their dimensions and attributes name:
    /// coordinates, their bounds, grid mappings, the terms of formulas.
    pub fn variables(mut self, paths: impl IntoIterator<Item = NodePath>) -> Self {
        self.variables.get_or_insert_default().extend(paths);
        self
    }

    /// Leaves out these nodes, and all nodes below them.
    pub fn without(mut self, paths: impl IntoIterator<Item = NodePath>) -> Self {
        self.dropped.extend(paths);
        self
    }

    /// Gives a node another name within its group. The name of a coordinate is that of its dimension, too. Attributes
    /// that name the node follow.
    pub fn rename(mut self, path: NodePath, name: impl Into<String>) -> Self {
        self.renamed.insert(path, name.into());
        self
    }

    /// Returns all paths that it names and a source should have, each with what was asked for it.
    pub(super) fn named(&self) -> Vec<(&NodePath, &'static str)> {
        let variables = self.variables.iter().flatten().map(|it| (it, "selected"));
        let dropped = self.dropped.iter().map(|it| (it, "left out"));
        variables.chain(dropped).collect()
    }

    /// Returns all paths that are renamed, which a source should have once the rest is left out.
    pub(super) fn renamed(&self) -> Vec<(&NodePath, &'static str)> {
        self.renamed.keys().map(|it| (it, "renamed")).collect()
    }

    /// Leaves out of the nodes of one source what is not to be imported.
    pub(super) fn chosen(&self, mut hierarchy: Hierarchy) -> Hierarchy {
        if let Some(variables) = &self.variables {
            let kept = with_companions(&hierarchy, variables);
            hierarchy.nodes.retain(|path, _| kept.contains(path));
            // A wish may also lie in a group that cannot be had.
            let is_wished = |it: &Unsupported| {
                let is_meant = |wish| is_within(&it.path, wish) || is_within(wish, &it.path);
                kept.contains(&it.path) || variables.iter().any(is_meant)
            };
            hierarchy.unsupported.retain(is_wished);
        }
        let is_dropped = |path: &NodePath| self.dropped.iter().any(|it| is_within(path, it));
        hierarchy.nodes.retain(|path, _| !is_dropped(path));
        hierarchy.unsupported.retain(|it| !is_dropped(&it.path));
        hierarchy
    }

    /// Gives nodes of one source their new names.
    pub(super) fn named_anew(
        &self,
        source: Arc<dyn Source>,
        hierarchy: Hierarchy,
    ) -> Result<(Arc<dyn Source>, Hierarchy), PlanError> {
        if !self.renamed.keys().any(|it| has(&hierarchy, it)) {
            return Ok((source, hierarchy));
        }
        let (hierarchy, originals) = self.renamed_in(&hierarchy)?;
        let originals = originals.into_iter();
        let originals = originals.map(|(path, original)| (path, OriginalPath(original)));
        let source = Derived::of(source, hierarchy.clone(), originals.collect());
        Ok((source, hierarchy))
    }

    /// Returns the nodes under their new paths, and for each new path the one in the source.
    fn renamed_in(
        &self,
        hierarchy: &Hierarchy,
    ) -> Result<(Hierarchy, BTreeMap<NodePath, NodePath>), PlanError> {
        self.check_dimensions(hierarchy)?;
        let mut nodes = BTreeMap::new();
        let mut originals = BTreeMap::new();
        for (path, node) in &hierarchy.nodes {
            let to = self.target(path)?;
            let node = match node.array() {
                Some(array) => self.retold(hierarchy, path, array, node)?,
                None => node.clone(),
            };
            if let Some(other) = originals.insert(to.clone(), path.clone()) {
                return Err(PlanError::SameName {
                    path: to,
                    one: other,
                    other: path.clone(),
                });
            }
            nodes.insert(to, node);
        }
        let hierarchy = Hierarchy {
            nodes,
            ignored: hierarchy.ignored.clone(),
            warnings: hierarchy.warnings.clone(),
            unsupported: hierarchy.unsupported.clone(),
        };
        Ok((hierarchy, originals))
    }

    /// Fails if a new name of a coordinate is that of another dimension, or a variable is called like a dimension that it is
    /// no coordinate of: arrays would share a dimension that are not alike.
    fn check_dimensions(&self, hierarchy: &Hierarchy) -> Result<(), PlanError> {
        let arrays = || {
            let nodes = hierarchy.nodes.iter();
            nodes.filter_map(|(path, node)| Some((path, node.array()?)))
        };
        for (path, name) in &self.renamed {
            let Some(array) = hierarchy.nodes.get(path).and_then(SourceNode::array) else {
                continue;
            };
            let dimensions: Vec<&String> =
                array.dimension_names.iter().flatten().flatten().collect();
            if dimensions == [name] {
                // It becomes the coordinate of its dimension.
                continue;
            }
            let lies_in = path.parent().unwrap_or_else(NodePath::root);
            let in_scope = arrays().filter(|(other, _)| is_within(other, &lies_in));
            for (other, shape) in in_scope {
                let mut names = shape.dimension_names.iter().flatten().flatten();
                let is_there = names.any(|it| it == name);
                // The dimension of that name may itself be renamed away.
                let leaves = lies_in
                    .join(name)
                    .is_ok_and(|it| self.renamed.contains_key(&it));
                if is_there && !leaves {
                    return Err(PlanError::DimensionTaken {
                        path: path.clone(),
                        name: name.clone(),
                        other: other.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// Returns where a node goes: it and each group above it may have another name.
    pub(super) fn target(&self, path: &NodePath) -> Result<NodePath, PlanError> {
        let mut at = NodePath::root();
        let mut to = NodePath::root();
        for segment in path.as_str().split('/').filter(|it| !it.is_empty()) {
            let join = |group: &NodePath, name: &str| {
                group.join(name).map_err(|source| PlanError::Path {
                    path: path.clone(),
                    group: group.clone(),
                    source,
                })
            };
            at = join(&at, segment)?;
            let name = self.renamed.get(&at).map_or(segment, |name| name);
            if name.contains('/') {
                return Err(PlanError::NameOfTwo {
                    path: at,
                    name: name.to_owned(),
                });
            }
            to = join(&to, name)?;
        }
        Ok(to)
    }

    /// Returns an array whose dimensions and attributes name others as they are called now.
    fn retold(
        &self,
        hierarchy: &Hierarchy,
        path: &NodePath,
        array: &ArrayMetadata,
        node: &SourceNode,
    ) -> Result<SourceNode, PlanError> {
        let name_now = |name: &str| {
            let meant = nearest(hierarchy, path, name)?;
            self.renamed.get(&meant).cloned()
        };
        let refused = |reason: String| PlanError::NotRenamed {
            path: path.clone(),
            reason,
        };
        let mut document: Value =
            serde_json::from_slice(node.document()).map_err(|error| refused(error.to_string()))?;
        let before = document.clone();
        for (axis, name) in array.dimension_names.iter().flatten().enumerate() {
            // A dimension is called like its coordinate; other variables of that name are none of it.
            let is_coordinate = |name: &String| {
                let meant = nearest(hierarchy, path, name)?;
                let found = hierarchy.nodes.get(&meant)?.array()?;
                let is_as_long = found.shape.first() == array.shape.get(axis);
                coordinate(&meant, found).filter(|_| is_as_long)
            };
            if let Some(name) = name
                && is_coordinate(name).is_some()
                && let Some(now) = name_now(name)
            {
                document["dimension_names"][axis] = now.into();
            }
        }
        for attribute in NAMING {
            if let Some(text) = document["attributes"][attribute].as_str() {
                let has_colons = WITH_COLONS.contains(&attribute);
                let retold = retold_words(text, |word| match word.strip_suffix(':') {
                    Some(name) if has_colons => Some(format!("{}:", name_now(name)?)),
                    Some(_) => None,
                    // The words of cell methods may also be names.
                    None if attribute == "cell_methods" => None,
                    None => name_now(word),
                });
                document["attributes"][attribute] = retold.into();
            }
        }
        if document == before {
            return Ok(node.clone());
        }
        SourceNode::of_value(&document).map_err(refused)
    }
}

/// Returns a text with some of its words replaced; what is between them stays.
fn retold_words(text: &str, now: impl Fn(&str) -> Option<String>) -> String {
    let mut retold = String::with_capacity(text.len());
    for piece in text.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        match now(word) {
            Some(now) => retold.push_str(&now),
            None => retold.push_str(word),
        }
        retold.push_str(&piece[word.len()..]);
    }
    retold
}

/// Whether a path is that of a node, or of one below it.
fn is_within(path: &NodePath, node: &NodePath) -> bool {
    path == node || node.is_ancestor_of(path)
}

/// Whether a source has a node, or one below it.
pub(super) fn has(hierarchy: &Hierarchy, node: &NodePath) -> bool {
    let unsupported = hierarchy.unsupported.iter().map(|it| &it.path);
    let mut paths = hierarchy.nodes.keys().chain(unsupported);
    paths.any(|path| is_within(path, node))
}

/// Returns the array of a name that is seen from another array: in its group, or in the nearest group above
/// (CF conventions 1.11, §2.7). It may be one that cannot be imported.
pub(super) fn nearest(hierarchy: &Hierarchy, from: &NodePath, name: &str) -> Option<NodePath> {
    let mut group = from.parent();
    while let Some(at) = group {
        let is_there = |path: &NodePath| match hierarchy.nodes.get(path) {
            Some(node) => node.array().is_some(),
            None => hierarchy.unsupported.iter().any(|it| it.path == *path),
        };
        if let Some(path) = at.join(name).ok().filter(is_there) {
            return Some(path);
        }
        group = at.parent();
    }
    None
}

/// Returns these arrays and all below these groups, what they name, and the groups above. What they name may be a node that
/// cannot be imported.
fn with_companions(hierarchy: &Hierarchy, wished: &BTreeSet<NodePath>) -> BTreeSet<NodePath> {
    let is_wished = |path: &NodePath| wished.iter().any(|it| is_within(path, it));
    let mut kept: BTreeSet<NodePath> = BTreeSet::new();
    let mut open: Vec<NodePath> = hierarchy
        .nodes
        .keys()
        .filter(|it| is_wished(it))
        .cloned()
        .collect();
    while let Some(path) = open.pop() {
        if !kept.insert(path.clone()) {
            continue;
        }
        let node = hierarchy.nodes.get(&path);
        let Some((node, array)) = node.and_then(|node| Some((node, node.array()?))) else {
            continue;
        };
        let document: Option<Value> = serde_json::from_slice(node.document()).ok();
        let attributes = document.as_ref().map(|it| &it["attributes"]);
        let words = attributes.into_iter().flat_map(|attributes| {
            let texts = PLACING.iter().filter_map(|name| attributes[*name].as_str());
            texts.flat_map(str::split_whitespace)
        });
        let dimensions = array.dimension_names.iter().flatten().flatten();
        let names = words
            .map(|word| word.trim_end_matches(':'))
            .chain(dimensions.map(String::as_str));
        open.extend(names.filter_map(|name| nearest(hierarchy, &path, name)));
    }
    let above: Vec<NodePath> = kept.iter().flat_map(|path| path.ancestors()).collect();
    kept.extend(above);
    kept
}

/// The path in the source of a node that has another name.
#[derive(Debug)]
struct OriginalPath(NodePath);

#[async_trait]
impl DerivedArray for OriginalPath {
    fn chunks(&self, at: ArrayAt<'_>) -> ChunkStream {
        at.first().chunks(&self.0, at.array)
    }

    async fn read_chunk(
        &self,
        at: ArrayAt<'_>,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        let source = at.first();
        source.read_chunk(&self.0, at.array, index, length).await
    }

    fn references<'a>(
        &'a self,
        parts: &'a [Arc<dyn Source>],
        _: &NodePath,
    ) -> Result<References<'a>, String> {
        parts[0].references(&self.0)
    }

    fn is_at_hand(&self, parts: &[Arc<dyn Source>], _: &NodePath) -> bool {
        parts[0].is_at_hand(&self.0)
    }

    fn chunk_name(&self, at: ArrayAt<'_>, index: &[u32]) -> String {
        at.first().chunk_name(&self.0, at.array, index)
    }

    fn state(parts: &[Arc<dyn Source>], arrays: &BTreeMap<NodePath, Self>) -> Option<String> {
        let digest = arrays
            .iter()
            .fold(digest_of(parts)?, |digest, (path, Self(original))| {
                digest.text(path.as_str()).text(original.as_str())
            });
        Some(digest.hex())
    }
}
