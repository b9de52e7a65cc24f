//! The documents of a dataset in the newest generation of NCZarr.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::generation::{NEWEST, SCALAR, XARRAY};
use crate::{
    Attribute, DataType, Dataset, Endian, Fill, Group, NczarrError, Values, Variable, base64,
    dtype, json as values,
};

/// The version of NCZarr that is written.
const VERSION: &str = "2.0.0";
/// The type of a record among the attributes.
const JSON: &str = "|J0";

/// Returns the documents of a dataset by key, those of a group before those of the groups below it. `arrays` holds the
/// `.zarray` of each variable by path, as Zarr format 2 has it (a scalar without dimensions, chars as `|S1`).
///
/// # Errors
/// A variable without such a document.
pub fn write(
    dataset: &Dataset,
    arrays: &BTreeMap<String, Value>,
) -> Result<Vec<(String, Value)>, NczarrError> {
    let mut documents = Vec::new();
    for (path, group) in dataset.groups() {
        let directory = path.trim_start_matches('/');
        let put = |name: &str| match directory {
            "" => name.to_owned(),
            directory => format!("{directory}/{name}"),
        };
        documents.push((put(".zgroup"), json!({ "zarr_format": 2 })));
        documents.push((put(".zattrs"), group_attributes(group, path == "/")));
        for variable in &group.variables {
            let whole = format!("/{}", put(&variable.name));
            let document = arrays.get(&whole).ok_or_else(|| {
                NczarrError::new(&whole, "there is no document that says how it is stored")
            })?;
            let document = array(variable, document);
            documents.push((put(&format!("{}/.zarray", variable.name)), document));
            let attributes = array_attributes(variable);
            documents.push((put(&format!("{}/.zattrs", variable.name)), attributes));
        }
    }
    Ok(documents)
}

/// Attributes in the making, with their types.
#[derive(Default)]
struct Typed {
    attributes: Map<String, Value>,
    types: Map<String, Value>,
}

impl Typed {
    fn add(&mut self, attribute: &Attribute) {
        let written = match &attribute.values {
            Values::String(list) if list.len() == 1 => list[0].as_str().into(),
            // Zarr's attributes are Unicode: what is not, is taken as Latin-1.
            Values::Char(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => text.into(),
                Err(_) => bytes
                    .iter()
                    .copied()
                    .map(char::from)
                    .collect::<String>()
                    .into(),
            },
            other => values::written(other),
        };
        let longest = match &attribute.values {
            Values::String(list) => list.iter().map(String::len).max().unwrap_or(1),
            _ => 1,
        };
        let data_type = match attribute.values.data_type() {
            // In small letters with an order, as netCDF-C has them among types of attributes.
            DataType::Byte => "<i1".to_owned(),
            DataType::UByte => "<u1".to_owned(),
            other => dtype::of(other, Endian::Little, longest),
        };
        self.attributes.insert(attribute.name.clone(), written);
        self.types.insert(attribute.name.clone(), data_type.into());
    }

    fn record(&mut self, name: &str, record: Value) {
        self.attributes.insert(name.to_owned(), record);
        self.types.insert(name.to_owned(), JSON.into());
    }

    fn finish(mut self) -> Value {
        self.types.insert(NEWEST.attributes.to_owned(), JSON.into());
        let types = json!({ "types": self.types });
        self.attributes.insert(NEWEST.attributes.to_owned(), types);
        self.attributes.into()
    }
}

fn group_attributes(group: &Group, is_root: bool) -> Value {
    let mut typed = Typed::default();
    group.attributes.iter().for_each(|it| typed.add(it));
    let dimensions = values::dimensions(&group.dimensions);
    let arrays: Vec<&str> = group.variables.iter().map(|it| it.name.as_str()).collect();
    let groups: Vec<&str> = group.groups.iter().map(|it| it.name.as_str()).collect();
    let record = json!({ "dimensions": dimensions, "arrays": arrays, "groups": groups });
    typed.record(NEWEST.group, record);
    if is_root {
        typed.record(NEWEST.superblock, json!({ "version": VERSION }));
    }
    typed.finish()
}

fn array_attributes(variable: &Variable) -> Value {
    let mut typed = Typed::default();
    variable.attributes.iter().for_each(|it| typed.add(it));
    let paths: Vec<&str> = variable.dimensions.iter().map(|it| it.as_str()).collect();
    let mut names: Vec<&str> = variable.dimensions.iter().map(|it| it.name()).collect();
    let mut record = json!({ "dimension_references": paths, "storage": "chunked" });
    if variable.dimensions.is_empty() {
        record["scalar"] = 1.into();
        names.push(SCALAR);
    }
    // The names go without a type: netCDF-C knows them.
    typed.attributes.insert(XARRAY.to_owned(), json!(names));
    typed.record(NEWEST.array, record);
    typed.finish()
}

/// The document of an array as netCDF-C has it.
fn array(variable: &Variable, document: &Value) -> Value {
    let mut document = document.clone();
    if variable.dimensions.is_empty() {
        document["shape"] = json!([1]);
        document["chunks"] = json!([1]);
    }
    match variable.data_type {
        DataType::Char => {
            document["dtype"] = ">S1".into();
            document["fill_value"] = text_fill(&document);
        }
        DataType::String => document["fill_value"] = text_fill(&document),
        _ => {}
    }
    if variable.fill == Fill::Off {
        document["fill_value"] = Value::Null;
    }
    document
}

/// netCDF-C takes texts as they are, where Zarr has base64.
fn text_fill(document: &Value) -> Value {
    let text = document.get("fill_value").and_then(Value::as_str);
    let bytes = text.and_then(base64::decoded).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.trim_end_matches('\0').into()
}
