//! Datasets of netCDF's: NCZarr of every generation, as nodes of Zarr format 3.

use std::collections::BTreeMap;

use icefield_core::NodePath;
use icefield_nczarr as nczarr;
use serde_json::{Map, Value};

use super::{document, offset, origins};
use crate::SourceError;
use crate::archive::KeyedNodes;

/// Returns the nodes of a dataset. `file` is what messages call the place of the documents.
pub(super) fn nodes(
    documents: &nczarr::Documents,
    file: &str,
    options: nczarr::ReadOptions,
) -> Result<KeyedNodes, SourceError> {
    let damaged = |error: &dyn std::fmt::Display| SourceError::damaged(file, error.to_string());
    let opened = nczarr::read(documents, options).map_err(|error| damaged(&error))?;
    let mut dtypes = BTreeMap::new();
    for (path, array) in &opened.arrays {
        let dtype = array.get("dtype").and_then(Value::as_str);
        dtypes.insert(path.clone(), dtype.unwrap_or_default().to_owned());
    }
    let spelt = nczarr::write_zarr3(&opened.dataset, &dtypes).map_err(|error| damaged(&error))?;
    let mut nodes = KeyedNodes::default();
    for (path, node) in spelt {
        let parsed = NodePath::parse(&path).map_err(|source| SourceError::NodeName {
            name: format!("{file}{path}"),
            source: source.into(),
        })?;
        let Some(stored) = opened.arrays.get(&path) else {
            nodes.add_group(parsed, node.attributes);
            continue;
        };
        let refuse = |reason| SourceError::variable(file, &parsed, reason);
        let (mut array, keys) = document::array(stored, Map::new()).map_err(refuse)?;
        array.attributes = node.attributes;
        array.dimension_names = node.dimension_names.into_iter().map(Some).collect();
        let offset = offset::take(&mut array, keys).map_err(refuse)?;
        nodes.add_array(parsed, array, keys, offset);
    }
    for path in opened.suspects {
        nodes.warn(super::suspicion(&path));
    }
    origins::check(&nodes, file)?;
    Ok(nodes)
}
