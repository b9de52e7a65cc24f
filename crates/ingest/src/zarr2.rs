//! Documents of Zarr format 2 in the terms of format 3. The bytes of the chunks stay what they are.
//!
//! A feature that format 3, as zarr-python reads it, cannot express is refused by name: structured types, Python objects, filters
//! without a counterpart, filters in an order that no chain of codecs has.

mod codecs;
mod data_type;
mod dataset;
mod document;
mod fill;
pub(crate) mod offset;
mod origins;

use std::collections::BTreeMap;

use icefield_core::NodePath;
use serde_json::{Map, Value};

use crate::SourceError;
use crate::archive::KeyedNodes;

pub(crate) use icefield_nczarr::{has_large_integers, parse_json, quoted_json};

const GROUP: &str = ".zgroup";
const ARRAY: &str = ".zarray";
const ATTRIBUTES: &str = ".zattrs";

/// Documents of a hierarchy, by node.
#[derive(Debug, Default)]
pub(crate) struct Documents(BTreeMap<NodePath, NodeDocuments>);

/// The documents of a node.
#[derive(Debug, Default)]
struct NodeDocuments {
    array: Option<Value>,
    attributes: Map<String, Value>,
}

/// Returns whether a key is that of a document of a node.
pub(crate) fn is_document(key: &str) -> bool {
    icefield_nczarr::is_document(key)
}

/// Returns what an attribute `_FillValue` of a Zarr v3 array says, as a fill value of a `dtype`.
pub(crate) fn fill_of_attribute(dtype: &str, value: &Value) -> Option<Value> {
    fill::of_attribute(&data_type::DataType::of_text(dtype)?, value)
}

/// Returns the nodes of the documents of a tree, by NCZarr's records where it has some. `file` is what messages call it.
pub(crate) fn nodes(
    documents: Vec<(String, Value)>,
    file: &str,
    options: icefield_nczarr::ReadOptions,
) -> Result<KeyedNodes, SourceError> {
    let all: icefield_nczarr::Documents = documents.into_iter().collect();
    if !options.is_pure && icefield_nczarr::generation(&all) != icefield_nczarr::Generation::Pure {
        return dataset::nodes(&all, file, options);
    }
    // Under every mode, netCDF-C has stored chars as `<U1`, and of each one byte.
    let has_bytes = all
        .get(ATTRIBUTES)
        .is_some_and(|root| root.get("_NCProperties").is_some());
    let swaps = icefield_nczarr::may_swap(&all, options);
    let mut suspects = Vec::new();
    let mut documents = Documents::default();
    for (key, mut document) in all {
        if options.is_without_xarray
            && name_of(&key) == ATTRIBUTES
            && let Some(attributes) = document.as_object_mut()
        {
            attributes.remove("_ARRAY_DIMENSIONS");
        }
        if has_bytes && document.get("dtype").is_some_and(|dtype| dtype == "<U1") {
            document["dtype"] = "|S1".into();
        }
        if !matches!(name_of(&key), GROUP | ARRAY | ATTRIBUTES) {
            continue;
        }
        let dtype = document.get("dtype").and_then(Value::as_str);
        let dtype = dtype.filter(|dtype| swaps && icefield_nczarr::is_swappable(dtype));
        if let Some(dtype) = dtype.map(str::to_owned) {
            match options.has_legacy_endian {
                true => document["dtype"] = dtype.replacen('>', "<", 1).into(),
                false => suspects.push(format!(
                    "/{}",
                    key.trim_end_matches(ARRAY).trim_end_matches('/')
                )),
            }
        }
        documents.add(&key, &format!("{file}/{key}"), document)?;
    }
    let mut nodes = documents.nodes(file)?;
    suspects.iter().for_each(|path| nodes.warn(suspicion(path)));
    Ok(nodes)
}

/// The warning for an array whose writer may have swapped its numbers.
fn suspicion(path: &str) -> String {
    format!(
        "{path} says that its numbers are big-endian, and its writer, netCDF-C before 4.9.3, stored little-endian ones: if the values are wrong, import with --legacy-endian"
    )
}

/// Returns whether a key is that of the attributes of a node.
pub(crate) fn is_attributes(key: &str) -> bool {
    name_of(key) == ATTRIBUTES
}

fn name_of(key: &str) -> &str {
    key.rsplit('/').next().unwrap_or(key)
}

impl Documents {
    /// Adds the document of a key. `name` is what messages call it.
    pub(crate) fn add(
        &mut self,
        key: &str,
        name: &str,
        document: Value,
    ) -> Result<(), SourceError> {
        let directory = key.rsplit_once('/').map_or("", |(directory, _)| directory);
        let path =
            NodePath::parse(&format!("/{directory}")).map_err(|source| SourceError::NodeName {
                name: name.to_owned(),
                source: source.into(),
            })?;
        let Value::Object(fields) = document else {
            return Err(SourceError::damaged(name, "it is not a JSON object"));
        };
        let parts = self.0.entry(path).or_default();
        match name_of(key) {
            ARRAY => parts.array = Some(Value::Object(fields)),
            ATTRIBUTES => parts.attributes = fields,
            _ => {}
        }
        Ok(())
    }

    /// Returns the nodes. `file` is what messages call the place of the documents.
    pub(crate) fn nodes(self, file: &str) -> Result<KeyedNodes, SourceError> {
        let mut nodes = KeyedNodes::default();
        let mut unmasked = Vec::new();
        for (path, parts) in self.0 {
            match parts.array {
                None => nodes.add_group(path, parts.attributes),
                Some(array) => {
                    if document::is_masked_text(&array, &parts.attributes) {
                        unmasked.push(path.to_string());
                    }
                    let described =
                        document::array(&array, parts.attributes).and_then(|(mut array, keys)| {
                            let offset = offset::take(&mut array, keys)?;
                            Ok((array, keys, offset))
                        });
                    match described {
                        Ok((array, keys, offset)) => nodes.add_array(path, array, keys, offset),
                        Err(reason) => nodes.refuse(file, path, reason)?,
                    }
                }
            }
        }
        if !unmasked.is_empty() {
            nodes.warn(format!(
                "the texts in {} are shown by xarray as missing where they are the fill value, and no longer once they are imported: format 3 has no _FillValue for texts",
                unmasked.join(", ")
            ));
        }
        origins::check(&nodes, file)?;
        Ok(nodes)
    }
}
