//! The coordinates by which files are combined.

use std::collections::BTreeMap;

use icefield_core::NodePath;

use crate::Hierarchy;
use crate::plan::coordinate;

/// The coordinates of a source that lie nearest to the root, by their dimensions, those first that arrays have first.
pub(super) fn coordinates(hierarchy: &Hierarchy) -> Vec<(String, NodePath)> {
    let arrays = || {
        let nodes = hierarchy.nodes.iter();
        nodes.filter_map(|(path, node)| Some((path, node.array()?)))
    };
    let mut found: BTreeMap<&str, &NodePath> = BTreeMap::new();
    for (path, array) in arrays() {
        if let Some(dimension) = coordinate(path, array) {
            let depth = |path: &NodePath| path.segments().count();
            let nearest = found.entry(dimension).or_insert(path);
            if depth(path) < depth(nearest) {
                *nearest = path;
            }
        }
    }
    let place = |dimension: &str| {
        let axis = |names: &[Option<String>]| {
            let is_it = |name: &Option<String>| name.as_deref() == Some(dimension);
            names.iter().position(is_it)
        };
        let axes = arrays().filter_map(|(path, array)| {
            let names = array.dimension_names.as_deref()?;
            coordinate(path, array).is_none().then(|| axis(names))?
        });
        axes.max().unwrap_or(0)
    };
    let mut ordered: Vec<(String, NodePath)> = found
        .into_iter()
        .map(|(dimension, path)| (dimension.to_owned(), path.clone()))
        .collect();
    ordered.sort_by_key(|(dimension, _)| place(dimension));
    ordered
}
