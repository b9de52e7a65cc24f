//! A dataset from the documents of a hierarchy.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::attributes::RECORD;
use super::scope::Named;
use super::{array, attributes, scope};
use crate::read::FILL_VALUE;
use crate::{
    DataType, Dataset, Dimension, DimensionPath, Fill, Group, NczarrError, Variable, json,
};

/// Returns the dataset of a hierarchy: its `zarr.json` documents by path, such as `/` and `/g/v`. Groups that only
/// their children imply may be missing.
///
/// # Errors
/// An array whose type netCDF does not have, or whose dimensions contradict another's, by its path.
pub fn read_zarr3(documents: &BTreeMap<String, Value>) -> Result<Dataset, NczarrError> {
    let mut dataset = Dataset::default();
    let mut arrays = Vec::new();
    let mut orders = Vec::new();
    for (path, document) in documents {
        let refuse = |problem: String| NczarrError::new(path, problem);
        let fields = document
            .as_object()
            .ok_or_else(|| refuse("its document is not a JSON object".to_owned()))?;
        let empty = Map::new();
        let found = json::object(fields, "attributes").unwrap_or(&empty);
        let record = record(found);
        let is_array = fields.get("node_type").and_then(Value::as_str) == Some("array");
        if is_array {
            let (variable, named) = variable(path, fields, found, &record).map_err(refuse)?;
            let (parent, _) = path.rsplit_once('/').unwrap_or(("", path));
            group_of(&mut dataset, parent).variables.push(variable);
            arrays.push(named);
            continue;
        }
        let read = attributes::read(found, &record, None).map_err(refuse)?;
        let group = group_of(&mut dataset, path);
        group.attributes = read;
        group.dimensions = dimensions(&record);
        orders.push((path, record));
    }
    scope::resolve(&mut dataset, &arrays)
        .map_err(|(path, problem)| NczarrError::new(path, problem))?;
    for (path, record) in orders {
        let group = group_of(&mut dataset, path);
        let place = |list: &str, name: &str| {
            let names = record.get(list).and_then(Value::as_array);
            let place = names.and_then(|names| names.iter().position(|it| it == name));
            place.unwrap_or(usize::MAX)
        };
        group
            .variables
            .sort_by_key(|it| place("variables", &it.name));
        group.groups.sort_by_key(|it| place("groups", &it.name));
    }
    Ok(dataset)
}

/// The record of a node; `None` if it cannot be read, since any program may write attributes.
fn record(attributes: &Map<String, Value>) -> Map<String, Value> {
    let record = attributes.get(RECORD).and_then(parsed);
    record.unwrap_or_default()
}

fn parsed(value: &Value) -> Option<Map<String, Value>> {
    let record: Map<String, Value> = serde_json::from_str(value.as_str()?).ok()?;
    (!record.is_empty()).then_some(record)
}

/// Returns whether the value of an attribute [`RECORD`] is one of ours; any other is an attribute of the user's.
pub fn is_record(value: &Value) -> bool {
    parsed(value).is_some()
}

/// Whether a type can be another one because elements of both are the same bytes.
fn is_stored_alike(natural: DataType, recorded: DataType) -> bool {
    let is_byte = |it: DataType| it.bytes() == Some(1);
    match natural {
        DataType::Char => is_byte(recorded) || recorded == DataType::String,
        natural => is_byte(natural) && is_byte(recorded) || natural == recorded,
    }
}

/// A dimension that an array of a group names from there: `x` of the group, `../x` of the one above.
fn resolved(group: &str, text: &str) -> Option<DimensionPath> {
    let (mut group, mut text) = (group, text);
    if text.starts_with('/') {
        return DimensionPath::parse(text);
    }
    while let Some(rest) = text.strip_prefix("../") {
        group = group.rsplit_once('/')?.0;
        text = rest;
    }
    DimensionPath::parse(&format!("{group}/{text}"))
}

/// The group of a path, made if it is not there yet.
fn group_of<'a>(dataset: &'a mut Dataset, path: &str) -> &'a mut Group {
    let mut group = &mut dataset.root;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        let at = match group.groups.iter().position(|it| it.name == name) {
            Some(at) => at,
            None => {
                let name = name.to_owned();
                group.groups.push(Group {
                    name,
                    ..Group::default()
                });
                group.groups.len() - 1
            }
        };
        group = &mut group.groups[at];
    }
    group
}

fn dimensions(record: &Map<String, Value>) -> Vec<Dimension> {
    let found = json::object(record, "dimensions");
    let read = |(name, size): (&String, &Value)| {
        let length = size.as_u64().or_else(|| size.get("size")?.as_u64())?;
        Some(Dimension {
            name: name.clone(),
            length,
            is_unlimited: size.get("unlimited").is_some(),
        })
    };
    found.into_iter().flatten().filter_map(read).collect()
}

fn variable(
    path: &str,
    fields: &Map<String, Value>,
    found: &Map<String, Value>,
    record: &Map<String, Value>,
) -> Result<(Variable, Named), String> {
    let stored = fields.get("data_type").unwrap_or(&Value::Null);
    let natural = array::data_type(stored).ok_or_else(|| {
        format!("its data_type is {stored}, which netCDF has no type for; leave the array out, or convert it")
    })?;
    let recorded = record.get("type").and_then(Value::as_str);
    let data_type = match recorded.and_then(attributes::of_name) {
        // Only what is stored alike can be another type.
        Some(recorded) if is_stored_alike(natural, recorded) => recorded,
        _ => natural,
    };
    let shape = array::lengths(fields.get("shape")).ok_or("its shape is no list of lengths")?;
    let names = fields.get("dimension_names").and_then(Value::as_array);
    let names = names.into_iter().flatten();
    let names = names.map(|name| name.as_str().map(str::to_owned)).collect();
    let paths = record.get("dimensions").and_then(Value::as_array);
    let group = path.rsplit_once('/').map_or("", |(group, _)| group);
    let paths: Option<Vec<DimensionPath>> = paths.and_then(|paths| {
        let paths = paths.iter();
        paths.map(|it| resolved(group, it.as_str()?)).collect()
    });
    let of_array = attributes::OfArray {
        data_type,
        is_bytes: array::name_of(stored) == Some("null_terminated_bytes"),
    };
    let read = attributes::read(found, record, Some(of_array))?;
    let set = read.iter().find(|attribute| attribute.name == FILL_VALUE);
    let set = set.filter(|set| set.values.data_type() == data_type);
    let fill = match (record.get("fill"), set) {
        (Some(_), _) => Fill::Off,
        (None, Some(set)) => Fill::Value(set.values.clone()),
        (None, None) => match array::fill_value(fields, data_type) {
            Some(value) if !attributes::is_same(&value, &data_type.default_fill()) => {
                Fill::Value(value)
            }
            _ => Fill::Default,
        },
    };
    let variable = Variable {
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        data_type,
        dimensions: Vec::new(),
        attributes: read,
        fill,
        storage: array::storage(fields),
    };
    let named = Named {
        path: path.to_owned(),
        recorded: paths.filter(|paths| paths.len() == shape.len()),
        shape,
        names,
    };
    Ok((variable, named))
}
