//! Attributes with their types.

use serde_json::{Map, Value};

use super::tree::{Tree, key};
use crate::generation::{PROPERTIES, RESERVED, SCALAR, XARRAY};
use crate::{Attribute, DataType, NczarrError, Values, dtype, json};

/// The attribute with the fill value, of the type of its variable.
pub(crate) const FILL_VALUE: &str = "_FillValue";

/// Returns whether an attribute is part of the conventions and none of the user's.
pub(crate) fn is_reserved(name: &str, value: &Value) -> bool {
    let starts = name.get(..RESERVED.len());
    starts.is_some_and(|start| start.eq_ignore_ascii_case(RESERVED))
        || name == PROPERTIES
        || name == XARRAY && value.is_array()
}

impl Tree<'_> {
    /// The user's attributes of a node; of a variable, `data_type` is that of its fill value.
    pub(super) fn attributes(
        &self,
        path: &str,
        data_type: Option<DataType>,
    ) -> Result<Vec<Attribute>, NczarrError> {
        let Some(found) = self.document(path, ".zattrs")? else {
            return Ok(Vec::new());
        };
        let types = self.types(path)?;
        let users = found
            .iter()
            .filter(|(name, value)| !is_reserved(name, value));
        let read = |(name, value): (&String, &Value)| {
            let values = self.values(name, value, types, data_type);
            let values = values.map_err(|problem| {
                let problem = format!("its attribute {name:?}: {problem}");
                NczarrError::new(key(path, ".zattrs"), problem)
            })?;
            Ok(Attribute {
                name: name.clone(),
                values,
            })
        };
        users.map(read).collect()
    }

    fn values(
        &self,
        name: &str,
        value: &Value,
        types: Option<&Map<String, Value>>,
        data_type: Option<DataType>,
    ) -> Result<Values, String> {
        if let (FILL_VALUE, Some(data_type)) = (name, data_type) {
            // A value that is none of its elements masks nothing, and stays as it is.
            return Ok(json::typed(value, data_type).unwrap_or_else(|_| json::untyped(value)));
        }
        let Some(named) = types.and_then(|types| types.get(name)) else {
            return Ok(json::untyped(value));
        };
        let text = match named {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match dtype::of_attribute(&text) {
            Some(data_type) => json::typed(value, data_type),
            None => Err(format!("the type {text:?} is none of netCDF's")),
        }
    }

    /// xarray's names of the dimensions of an array, as far as they are asked for.
    pub(super) fn xarray_names(&self, path: &str) -> Result<Option<Vec<String>>, NczarrError> {
        let attributes = self.document(path, ".zattrs")?;
        let Some(Value::Array(names)) = attributes.and_then(|fields| fields.get(XARRAY)) else {
            return Ok(None);
        };
        let names: Option<Vec<String>> = names
            .iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect();
        let names = names.ok_or_else(|| {
            let problem = format!("its attribute {XARRAY} is no list of names");
            NczarrError::new(key(path, ".zattrs"), problem)
        })?;
        Ok(Some(names))
    }

    /// Whether the names say that an array of one element is a scalar.
    pub(super) fn is_scalar_by_name(&self, path: &str) -> Result<bool, NczarrError> {
        let names = self.xarray_names(path)?;
        Ok(names.is_some_and(|names| names == [SCALAR] || names.is_empty()))
    }
}
