//! The statements of a Zarr v3 document about an array, in netCDF's terms.

use serde_json::{Map, Value};

use crate::{DataType, Endian, Filter, Storage, Values, base64, filter, json};

/// Reads a `data_type`: truth values are bytes, texts of a fixed length strings, of one byte chars.
pub(super) fn data_type(value: &Value) -> Option<DataType> {
    let name = name_of(value)?;
    let length = value.pointer("/configuration/length_bytes");
    Some(match name {
        "bool" | "uint8" => DataType::UByte,
        "int8" => DataType::Byte,
        "int16" => DataType::Short,
        "uint16" => DataType::UShort,
        "int32" => DataType::Int,
        "uint32" => DataType::UInt,
        "int64" => DataType::Int64,
        "uint64" => DataType::UInt64,
        "float32" => DataType::Float,
        "float64" => DataType::Double,
        "null_terminated_bytes" if length == Some(&Value::from(1)) => DataType::Char,
        "null_terminated_bytes" | "fixed_length_utf32" | "string" => DataType::String,
        _ => return None,
    })
}

/// The name of an extension: a text, or an object with one.
pub(super) fn name_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("name")?.as_str())
}

/// Reads a list of lengths.
pub(super) fn lengths(value: Option<&Value>) -> Option<Vec<u64>> {
    value?.as_array()?.iter().map(Value::as_u64).collect()
}

/// Reads a `fill_value`.
pub(super) fn fill_value(document: &Map<String, Value>, data_type: DataType) -> Option<Values> {
    let value = document.get("fill_value")?;
    let in_bytes =
        || name_of(document.get("data_type")?).filter(|it| *it == "null_terminated_bytes");
    match (data_type, value) {
        (DataType::Char, Value::String(text)) => {
            let bytes = base64::decoded(text)?;
            Some(Values::Char(vec![bytes.first().copied().unwrap_or(0)]))
        }
        (DataType::String, Value::String(text)) if in_bytes().is_some() => {
            let bytes = base64::decoded(text)?;
            let text = String::from_utf8_lossy(&bytes);
            Some(Values::String(vec![text.trim_end_matches('\0').to_owned()]))
        }
        (DataType::UByte, Value::Bool(value)) => Some(Values::UByte(vec![u8::from(*value)])),
        (DataType::Float, Value::String(text)) if text.starts_with("0x") => {
            let bits = u32::from_str_radix(text.get(2..)?, 16).ok()?;
            Some(Values::Float(vec![f32::from_bits(bits)]))
        }
        (DataType::Double, Value::String(text)) if text.starts_with("0x") => {
            let bits = u64::from_str_radix(text.get(2..)?, 16).ok()?;
            Some(Values::Double(vec![f64::from_bits(bits)]))
        }
        _ => json::typed(value, data_type).ok(),
    }
}

/// Reads how an array is stored.
pub(super) fn storage(document: &Map<String, Value>) -> Storage {
    let grid = document.get("chunk_grid");
    let chunk_shape = grid.and_then(|grid| lengths(grid.pointer("/configuration/chunk_shape")));
    let codecs = document.get("codecs").and_then(Value::as_array);
    let mut storage = Storage {
        chunk_shape: chunk_shape.unwrap_or_default(),
        ..Storage::default()
    };
    for codec in codecs.into_iter().flatten() {
        let configuration = codec.get("configuration");
        let configuration = configuration.and_then(Value::as_object).cloned();
        let mut configuration = configuration.unwrap_or_default();
        match name_of(codec) {
            Some("bytes") => {
                let is_big = configuration.get("endian").and_then(Value::as_str) == Some("big");
                storage.endian = if is_big { Endian::Big } else { Endian::Little };
            }
            Some(name) => {
                let id = name.strip_prefix("numcodecs.").unwrap_or(name);
                configuration.insert("id".to_owned(), id.into());
                let found = filter(&Value::Object(configuration));
                // A filter that is none of netCDF's is known by its codec.
                storage.filters.push(match found {
                    Filter::Other(_) => Filter::Other(codec.clone()),
                    known => known,
                });
            }
            None => {}
        }
    }
    storage
}
