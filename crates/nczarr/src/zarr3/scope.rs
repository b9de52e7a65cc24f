//! Which dimensions names mean, and which group owns those that no record names.

use std::collections::BTreeSet;

use crate::read::{ANONYMOUS, declare};
use crate::{Dataset, DimensionPath};

/// The dimensions of an array, as it states them.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// The path of the array.
    pub(super) path: String,
    pub(super) shape: Vec<u64>,
    /// As many as the shape has lengths.
    pub(super) names: Vec<Option<String>>,
    /// Paths, where they are recorded.
    pub(super) recorded: Option<Vec<DimensionPath>>,
}

/// Gives the variables of a dataset their dimensions, and groups those that they lack: a name means the dimension of the
/// nearest group above that has its length; there being none, the array's own group gets it. Lengths are those of the
/// arrays: a record is as old as the last import, and arrays grow.
pub(super) fn resolve(dataset: &mut Dataset, arrays: &[Named]) -> Result<(), (String, String)> {
    let mut used = BTreeSet::new();
    for array in arrays {
        let found = of(dataset, array, &mut used);
        let found = found.map_err(|problem| (array.path.clone(), problem))?;
        if let Some(variable) = dataset.variable_mut(&array.path) {
            variable.dimensions = found;
        }
    }
    Ok(())
}

fn of(
    dataset: &mut Dataset,
    array: &Named,
    used: &mut BTreeSet<DimensionPath>,
) -> Result<Vec<DimensionPath>, String> {
    let group = array.path.rsplit_once('/').map_or("", |(group, _)| group);
    let mut found = Vec::with_capacity(array.shape.len());
    for (at, length) in array.shape.iter().enumerate() {
        let recorded = array.recorded.as_ref().and_then(|paths| paths.get(at));
        let name = array.names.get(at).and_then(Option::as_ref);
        let known = match (recorded, name) {
            (Some(path), name)
                if name.is_none_or(|name| name == path.name())
                    && dataset.dimension(path).is_some() =>
            {
                Some(path.clone())
            }
            (_, Some(name)) => dataset.in_scope(group, name),
            _ => None,
        };
        let path = match known {
            Some(path) if takes(dataset, &path, *length, used) => path,
            _ => match name {
                Some(name) => declare(dataset, group, name, *length)?,
                None => declare(dataset, "", &format!("{ANONYMOUS}{length}"), *length)?,
            },
        };
        used.insert(path.clone());
        found.push(path);
    }
    Ok(found)
}

/// Whether a dimension has a length, or gets it from the first array that uses it.
fn takes(
    dataset: &mut Dataset,
    path: &DimensionPath,
    length: u64,
    used: &BTreeSet<DimensionPath>,
) -> bool {
    let group = dataset.group_mut(path.group());
    let dimension = group.and_then(|group| {
        let mut owned = group.dimensions.iter_mut();
        owned.find(|dimension| dimension.name == path.name())
    });
    match dimension {
        None => false,
        Some(dimension) if dimension.length == length => true,
        Some(_) if used.contains(path) => false,
        Some(dimension) => {
            dimension.length = length;
            true
        }
    }
}
