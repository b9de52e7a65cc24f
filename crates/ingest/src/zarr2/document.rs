//! The document of an array.

use icefield_core::ChunkKeyEncoding;
use icefield_format::MAX_RANK;
use icefield_zarr_store::ChunkKeys;
use serde_json::{Map, Value, json};

use super::codecs::codecs;
use super::data_type::{DataType, Element};
use super::fill;
use crate::archive::{ArchiveArray, ArchiveChunks, ChunkExtents};

/// The attribute with the names of the dimensions.
const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";
/// The name that netCDF-C gives the dimension of a scalar, which it stores as an array of one element.
const SCALAR: &str = "_scalar_";
const FILL_VALUE: &str = "_FillValue";

/// Translates an array; its chunks are still to come.
pub(super) fn array(
    document: &Value,
    mut attributes: Map<String, Value>,
) -> Result<(ArchiveArray, ChunkKeys), String> {
    let empty = Map::new();
    let fields = document.as_object().unwrap_or(&empty);
    if fields.get("zarr_format").and_then(Value::as_u64) != Some(2) {
        return Err("its zarr_format is not 2".to_owned());
    }
    let mut shape = lengths(fields, "shape")?;
    let mut chunk_shape = lengths(fields, "chunks")?;
    if shape == [1] && attributes.get(DIMENSIONS) == Some(&json!([SCALAR])) {
        attributes.insert(DIMENSIONS.to_owned(), json!([]));
        (shape, chunk_shape) = (Vec::new(), Vec::new());
    }
    let rank = shape.len();
    if chunk_shape.len() != rank {
        return Err(format!(
            "it has {rank} dimensions, and its chunks {}",
            chunk_shape.len()
        ));
    }
    if rank > MAX_RANK {
        return Err(format!(
            "it has {rank} dimensions, and an array at most {MAX_RANK}"
        ));
    }
    for (chunk, length) in chunk_shape.iter_mut().zip(&shape) {
        match (*chunk, *length) {
            (0, 0) => *chunk = 1,
            (0, _) => return Err("its chunks have the length 0".to_owned()),
            _ => {}
        }
    }
    let kind = DataType::parse(fields.get("dtype").unwrap_or(&Value::Null))?;
    let (codecs, data_type) = codecs(fields, &kind, rank)?;
    let stored = fields.get("fill_value").unwrap_or(&Value::Null);
    let fill_value = fill::fill_value(&kind, stored)?;
    let is_xarrays = attributes.contains_key(DIMENSIONS);
    let dimension_names = dimension_names(&mut attributes, rank)?;
    let masked = Some(&fill_value).filter(|_| is_xarrays && !stored.is_null());
    mask(&mut attributes, &kind, masked)?;
    let separator = match fields.get("dimension_separator").and_then(Value::as_str) {
        None | Some(".") => '.',
        Some("/") => '/',
        Some(other) => {
            return Err(format!(
                "its dimension_separator {other:?} is neither \".\" nor \"/\""
            ));
        }
    };
    let array = ArchiveArray {
        shape,
        chunk_shape,
        data_type,
        fill_value,
        codecs,
        dimension_names,
        attributes,
        chunks: ArchiveChunks::InFiles(ChunkExtents::new(rank)),
    };
    let keys = ChunkKeys::new(ChunkKeyEncoding::V2 { separator }, rank);
    Ok((array, keys))
}

/// Returns whether xarray, which reads format 2 by the fill value, masks elements of an array that are texts: of format 3
/// it knows no attribute for that.
pub(super) fn is_masked_text(document: &Value, attributes: &Map<String, Value>) -> bool {
    let kind = DataType::parse(document.get("dtype").unwrap_or(&Value::Null));
    let is_text = kind.is_ok_and(|kind| {
        matches!(
            kind.element,
            Element::Bytes(_) | Element::Text(_) | Element::Object
        )
    });
    is_text
        && attributes.contains_key(DIMENSIONS)
        && document.get("fill_value").is_some_and(|it| !it.is_null())
}

fn lengths(fields: &Map<String, Value>, field: &str) -> Result<Vec<u64>, String> {
    let list = fields.get(field).and_then(Value::as_array);
    let list = list.and_then(|list| list.iter().map(Value::as_u64).collect());
    list.ok_or_else(|| format!("its {field} is not a list of lengths"))
}

fn dimension_names(
    attributes: &mut Map<String, Value>,
    rank: usize,
) -> Result<Vec<Option<String>>, String> {
    let Some(value) = attributes.remove(DIMENSIONS) else {
        return Ok(Vec::new());
    };
    let name = |name: &Value| match name {
        Value::Null => Some(None),
        Value::String(name) => Some(Some(name.clone())),
        _ => None,
    };
    let names: Option<Vec<Option<String>>> = value
        .as_array()
        .and_then(|list| list.iter().map(name).collect());
    names.filter(|names| names.len() == rank).ok_or_else(|| {
        format!("its attribute {DIMENSIONS} is {value}, and it has {rank} dimensions")
    })
}

/// Puts the attribute by which xarray masks. It reads format 2 by the fill value of the array, which is `masked` where
/// that has the names of dimensions without which xarray cannot open it.
fn mask(
    attributes: &mut Map<String, Value>,
    kind: &DataType,
    masked: Option<&Value>,
) -> Result<(), String> {
    let found = attributes.remove(FILL_VALUE);
    let masked = match (masked, found) {
        (Some(fill_value), _) => Some(fill_value.clone()),
        (None, Some(value)) if kind.is_number() => {
            Some(fill::of_attribute(kind, &value).ok_or_else(|| {
                format!(
                    "its attribute {FILL_VALUE} is {value}, not one of its elements: correct it"
                )
            })?)
        }
        (None, _) => None,
    };
    let attribute = masked.and_then(|value| fill::attribute(kind, &value));
    if let Some(attribute) = attribute {
        attributes.insert(FILL_VALUE.to_owned(), attribute);
    }
    Ok(())
}
