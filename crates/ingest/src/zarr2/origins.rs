//! Where the arrays of one group begin along the dimensions that they share.

use std::collections::HashMap;

use icefield_core::NodePath;

use super::offset::{OFFSET, read};
use crate::SourceError;
use crate::archive::KeyedNodes;
use crate::names::ORIGIN;

/// Refuses arrays of one group that begin at different places along one dimension: a window that is being moved, array
/// by array.
pub(super) fn check(nodes: &KeyedNodes, name: &str) -> Result<(), SourceError> {
    let mut known: HashMap<(NodePath, &str), (&NodePath, i64)> = HashMap::new();
    for (path, array) in nodes
        .arrays()
        .filter(|(_, array)| array.attributes.contains_key(ORIGIN))
    {
        let origin = array.attributes.get(ORIGIN).and_then(read);
        let names = array.dimension_names.iter().zip(origin.unwrap_or_default());
        for (dimension, origin) in names {
            let Some(dimension) = dimension else { continue };
            let group = path.parent().unwrap_or_else(NodePath::root);
            let (other, expected) = known.entry((group, dimension)).or_insert((path, origin));
            if *expected != origin {
                let reason = format!(
                    "by its {OFFSET} it begins at element {origin} of {dimension}, and {other} at {expected}: one of them has been moved and the other one not; import it when both have"
                );
                return Err(SourceError::variable(name, path, reason));
            }
        }
    }
    Ok(())
}
