//! Arrays that others name as belonging to them: none of them may stay behind when a window moves.

use icefield_core::{ArrayMetadata, NodeKind, NodePath, Session};

use crate::RollingError;
use crate::dimension::{Dimension, Member};

/// Attributes whose texts name other arrays.
const ATTRIBUTES: [&str; 5] = [
    "coordinates",
    "bounds",
    "ancillary_variables",
    "cell_measures",
    "grid_mapping",
];

/// Checks that what the arrays of a dimension name has it and moves with them, or has nothing to do with it. Names that lead
/// nowhere are ignored.
///
/// # Errors
/// [`RollingError::LeftBehind`].
pub(crate) fn check(session: &Session, dimension: &Dimension) -> Result<(), RollingError> {
    for member in &dimension.members {
        for attribute in ATTRIBUTES {
            let text = member.text_attribute(attribute).unwrap_or_default();
            // `area: areacello` and `crs: x y` say the role of a name in front of it.
            let names = text.split_whitespace().map(|name| match attribute {
                "grid_mapping" => name.trim_end_matches(':'),
                _ => name,
            });
            for name in names.filter(|name| !name.ends_with(':')) {
                let Some((path, array)) = find(session, member, name)? else {
                    continue;
                };
                if dimension.members.iter().any(|other| other.path == path) {
                    continue;
                }
                if let Some(reason) = left_behind(dimension, member, attribute, &array) {
                    return Err(RollingError::LeftBehind {
                        path,
                        named_by: member.path.clone(),
                        attribute,
                        dimension: dimension.name.clone(),
                        reason,
                    });
                }
            }
        }
    }
    Ok(())
}

/// Looks for an array by the name that another one gives it: beside it, or in the nearest group above.
fn find(
    session: &Session,
    member: &Member,
    name: &str,
) -> Result<Option<(NodePath, ArrayMetadata)>, RollingError> {
    let mut group = member.path.parent();
    while let Some(here) = group {
        let path = match name.strip_prefix('/') {
            Some(_) => NodePath::parse(name),
            None => here.join(name),
        };
        let Ok(path) = path else {
            return Ok(None);
        };
        if session.node_kind(&path)? == Some(NodeKind::Array) {
            let array = session.array(&path)?;
            return Ok(Some((path, array)));
        }
        group = here.parent();
    }
    Ok(None)
}

/// Why an array that has not the dimension, or is of another group, would say something wrong then.
fn left_behind(
    dimension: &Dimension,
    member: &Member,
    attribute: &str,
    array: &ArrayMetadata,
) -> Option<&'static str> {
    let names = array.dimension_names.as_deref().unwrap_or_default();
    if names.iter().flatten().any(|name| *name == dimension.name) {
        return Some("it is not below the group: give one that holds both");
    }
    if attribute == "bounds" && member.array.rank() > 0 {
        return Some("bounds have the dimensions of what they bound: name them");
    }
    let length = dimension.window.length();
    let is_unnamed = |axis: usize| names.get(axis).is_none_or(Option::is_none);
    let mut axes = array.shape.iter().enumerate();
    axes.any(|(axis, other)| is_unnamed(axis) && *other == length)
        .then_some("a dimension of the same length has no name: name it")
}
