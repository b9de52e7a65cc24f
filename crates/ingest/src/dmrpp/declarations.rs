//! Declarations of a document that hold for all of its variables.

use std::collections::HashMap;

use icefield_core::NodePath;
use serde_json::{Map, Value};

use super::places::Places;
use super::types::Number;

/// Declarations of a document that hold for all of its variables.
pub(super) struct Declarations {
    /// Whether the document says which version it is.
    pub(super) is_versioned: bool,
    pub(super) places: Places,
    /// The integers and names of enumerations by path.
    pub(super) enumerations: HashMap<NodePath, (Number, Map<String, Value>)>,
}

impl Declarations {
    /// Returns the integers and the names of an enumeration that a variable refers to.
    pub(super) fn enumeration(
        &self,
        variable: &NodePath,
        name: &str,
    ) -> Option<(Number, &Map<String, Value>)> {
        let group = variable.parent().unwrap_or_else(NodePath::root);
        let (number, members) = find(&self.enumerations, &group, name)?;
        Some((*number, members))
    }
}

/// Finds what a name stands for: a path from the root, or a name in a group or one above it.
pub(super) fn find<'m, T>(
    all: &'m HashMap<NodePath, T>,
    group: &NodePath,
    name: &str,
) -> Option<&'m T> {
    if name.starts_with('/') {
        return all.get(&NodePath::parse(name).ok()?);
    }
    let mut group = Some(group.clone());
    while let Some(here) = group {
        if let Some(found) = here.join(name).ok().and_then(|path| all.get(&path)) {
            return Some(found);
        }
        group = here.parent();
    }
    None
}
