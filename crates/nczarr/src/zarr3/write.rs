//! The attributes and names of dimensions of a dataset, for the documents of a hierarchy.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::attributes::RECORD;
use super::scope::Named;
use super::{attributes, scope};
use crate::{Attribute, DataType, Dataset, DimensionPath, Fill, Group, ModelError, Variable, json};

/// The parts of netCDF in the Zarr v3 document of a group or array.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Zarr3Node {
    /// Its `attributes`.
    pub attributes: Map<String, Value>,
    /// Its `dimension_names`; empty for a group and a scalar.
    pub dimension_names: Vec<String>,
}

/// Returns the nodes of a dataset by path. `dtypes` tells the `dtype` of strings that are stored in a fixed number of bytes,
/// by the path of the variable; others are strings of any length.
///
/// # Errors
/// [`ModelError::NoDimension`], [`ModelError::Reserved`].
pub fn write_zarr3(
    dataset: &Dataset,
    dtypes: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, Zarr3Node>, ModelError> {
    let implied = implied(dataset)?;
    // One group's record changes what names mean below: all are written, or none.
    let has_dimensions = implied.as_ref().is_none_or(|implied| {
        let pairs = dataset.groups().into_iter().zip(implied.groups());
        pairs
            .into_iter()
            .any(|((_, one), (_, other))| one.dimensions != other.dimensions)
    });
    let mut nodes = BTreeMap::new();
    for (path, group) in dataset.groups() {
        refuse_record(&path, &group.attributes)?;
        nodes.insert(path, of_group(group, has_dimensions));
    }
    for (path, variable) in dataset.variables() {
        refuse_record(&path, &variable.attributes)?;
        let same = implied.as_ref().and_then(|implied| implied.variable(&path));
        let by_name = match has_dimensions {
            true => is_in_scope(dataset, &path, variable),
            false => same.is_some_and(|same| same.dimensions == variable.dimensions),
        };
        let dtype = dtypes.get(&path).map(String::as_str);
        let node = of_variable(&path, variable, !by_name, dtype);
        nodes.insert(path, node);
    }
    Ok(nodes)
}

/// Refuses an attribute that would be taken for a record, or be lost to one.
fn refuse_record(path: &str, attributes: &[Attribute]) -> Result<(), ModelError> {
    match attributes.iter().any(|attribute| attribute.name == RECORD) {
        false => Ok(()),
        true => Err(ModelError::Reserved {
            path: path.to_owned(),
            name: RECORD.to_owned(),
        }),
    }
}

/// The dataset that the arrays alone imply; `None` if they contradict each other without records.
fn implied(dataset: &Dataset) -> Result<Option<Dataset>, ModelError> {
    let mut bare = dataset.clone();
    for (path, _) in dataset.groups() {
        if let Some(group) = bare.group_mut(&path) {
            group.dimensions.clear();
            // As a reader lists them that knows no order.
            group
                .variables
                .sort_by(|one, other| one.name.cmp(&other.name));
        }
    }
    let mut arrays = Vec::new();
    for (path, variable) in dataset.variables() {
        arrays.push(Named {
            path,
            shape: dataset.shape(variable)?,
            names: variable
                .dimensions
                .iter()
                .map(|dimension| Some(dimension.name().to_owned()))
                .collect(),
            recorded: None,
        });
    }
    arrays.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(scope::resolve(&mut bare, &arrays).ok().map(|()| bare))
}

fn is_in_scope(dataset: &Dataset, path: &str, variable: &Variable) -> bool {
    let group = path.rsplit_once('/').map_or("", |(group, _)| group);
    variable
        .dimensions
        .iter()
        .all(|dimension| dataset.in_scope(group, dimension.name()).as_ref() == Some(dimension))
}

fn of_group(group: &Group, has_dimensions: bool) -> Zarr3Node {
    let (attributes, types) = attributes::written(&group.attributes, None);
    let mut record = Map::new();
    if has_dimensions && !group.dimensions.is_empty() {
        let dimensions = json::dimensions(&group.dimensions);
        record.insert("dimensions".to_owned(), dimensions.into());
    }
    let variables = group.variables.iter().map(|it| it.name.as_str());
    let groups = group.groups.iter().map(|it| it.name.as_str());
    order(&mut record, "variables", variables.collect());
    order(&mut record, "groups", groups.collect());
    node(attributes, types, record, Vec::new())
}

/// Records an order that is not that of the names.
fn order(record: &mut Map<String, Value>, list: &str, names: Vec<&str>) {
    if !names.is_sorted() {
        record.insert(list.to_owned(), json!(names));
    }
}

fn of_variable(path: &str, variable: &Variable, has_paths: bool, dtype: Option<&str>) -> Zarr3Node {
    let of_array = attributes::OfArray {
        data_type: variable.data_type,
        is_bytes: dtype.is_some_and(|dtype| dtype.starts_with("|S")),
    };
    let (attributes, types) = attributes::written(&variable.attributes, Some(of_array));
    let mut record = Map::new();
    if variable.data_type == DataType::String && dtype == Some("|S1") {
        record.insert("type".to_owned(), variable.data_type.name().into());
    }
    if has_paths {
        let group = path.rsplit_once('/').map_or("", |(group, _)| group);
        let paths = variable.dimensions.iter();
        let paths: Vec<String> = paths.map(|it| seen_from(group, it)).collect();
        record.insert("dimensions".to_owned(), json!(paths));
    }
    if variable.fill == Fill::Off {
        record.insert("fill".to_owned(), "off".into());
    }
    let names = variable.dimensions.iter();
    let names = names.map(|it| it.name().to_owned()).collect();
    node(attributes, types, record, names)
}

/// A dimension as a group names it: `../x` for one of the group above, so that a dataset may lie anywhere.
fn seen_from(group: &str, dimension: &DimensionPath) -> String {
    let (mut group, mut ups) = (group, String::new());
    let owner = dimension.group().trim_end_matches('/');
    while group != owner {
        let Some((above, _)) = group.rsplit_once('/') else {
            // Of no group above: netCDF has no such dimensions.
            return dimension.to_string();
        };
        group = above;
        ups.push_str("../");
    }
    format!("{ups}{}", dimension.name())
}

fn node(
    mut attributes: Map<String, Value>,
    types: Map<String, Value>,
    mut record: Map<String, Value>,
    dimension_names: Vec<String>,
) -> Zarr3Node {
    if !types.is_empty() {
        record.insert("attributes".to_owned(), types.into());
    }
    if !record.is_empty() {
        attributes.insert(RECORD.to_owned(), Value::Object(record).to_string().into());
    }
    Zarr3Node {
        attributes,
        dimension_names,
    }
}
