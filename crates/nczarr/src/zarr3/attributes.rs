//! Attributes as JSON, and the types that JSON does not tell.

use serde_json::{Map, Value};

use crate::read::{FILL_VALUE, is_reserved};
use crate::{Attribute, DataType, Values, base64, json};

/// The attribute that holds the parts of a dataset which Zarr v3 cannot express.
pub const RECORD: &str = "_netcdf";

/// The type of a char attribute whose bytes are no text.
const BYTES: &str = "bytes";

/// The elements of an array, for its fill value.
#[derive(Clone, Copy, Debug)]
pub(super) struct OfArray {
    pub(super) data_type: DataType,
    /// Whether texts have a number of bytes; xarray encodes the fill values of those.
    pub(super) is_bytes: bool,
}

/// Writes attributes, of a group without `array`; returns the types that have to be recorded.
pub(super) fn written(
    attributes: &[Attribute],
    array: Option<OfArray>,
) -> (Map<String, Value>, Map<String, Value>) {
    let (mut found, mut types) = (Map::new(), Map::new());
    for Attribute { name, values } in attributes {
        let array = array.filter(|array| array.data_type == values.data_type());
        if name == FILL_VALUE
            && let Some(array) = array
        {
            found.insert(name.clone(), fill(values, array.is_bytes));
            continue;
        }
        let written = json::written(values);
        if matches!(values, Values::Char(bytes) if std::str::from_utf8(bytes).is_err()) {
            types.insert(name.clone(), BYTES.into());
        } else if !is_same(&json::untyped(&written), values) {
            types.insert(name.clone(), values.data_type().name().into());
        }
        found.insert(name.clone(), written);
    }
    (found, types)
}

/// Reads attributes, of a group without `array`.
pub(super) fn read(
    attributes: &Map<String, Value>,
    record: &Map<String, Value>,
    array: Option<OfArray>,
) -> Result<Vec<Attribute>, String> {
    let types = json::object(record, "attributes");
    // An attribute that has the record's name and is none is the user's.
    let users = attributes.iter().filter(|(name, value)| {
        (*name != RECORD || record.is_empty()) && !is_reserved(name, value)
    });
    let read = |(name, value): (&String, &Value)| {
        let array = array.filter(|_| name == FILL_VALUE);
        let fill = array.and_then(|array| read_fill(value, array));
        let known = types.and_then(|types| types.get(name)?.as_str());
        let values = match (fill, known) {
            (Some(values), _) => Ok(values),
            (None, None) => Ok(json::untyped(value)),
            (None, Some(BYTES)) => bytes(value),
            // A type of another program, or an attribute that changed since: its present value counts.
            (None, Some(known)) => Ok(of_name(known)
                .and_then(|data_type| json::typed(value, data_type).ok())
                .unwrap_or_else(|| json::untyped(value))),
        };
        let values = values.map_err(|problem| format!("its attribute {name:?}: {problem}"))?;
        Ok(Attribute {
            name: name.clone(),
            values,
        })
    };
    users.map(read).collect()
}

pub(super) fn of_name(name: &str) -> Option<DataType> {
    DataType::ALL.into_iter().find(|it| it.name() == name)
}

fn bytes(value: &Value) -> Result<Values, String> {
    match json::typed(value, DataType::UByte) {
        Ok(Values::UByte(bytes)) => Ok(Values::Char(bytes)),
        _ => Ok(json::untyped(value)),
    }
}

/// The fill value as xarray has it in a Zarr v3 document: floats as base64 of a little-endian `float64`, chars and
/// strings as base64 of their bytes.
fn fill(values: &Values, is_bytes: bool) -> Value {
    let float = |value: f64| base64::encoded(&value.to_le_bytes()).into();
    match values {
        Values::Float(list) => list.first().map_or(Value::Null, |it| float(f64::from(*it))),
        Values::Double(list) => list.first().map_or(Value::Null, |it| float(*it)),
        Values::Char(bytes) => base64::encoded(bytes).into(),
        Values::String(texts) => {
            let text = texts.first().map_or("", String::as_str);
            match is_bytes {
                true => base64::encoded(text.as_bytes()).into(),
                false => text.into(),
            }
        }
        other => json::written(other),
    }
}

/// Reads a fill value; `None` if it is no element of the array's type.
fn read_fill(value: &Value, array: OfArray) -> Option<Values> {
    let data_type = array.data_type;
    let encoded = value.as_str().and_then(base64::decoded);
    Some(match (data_type, encoded) {
        (DataType::Float | DataType::Double, Some(bytes)) if bytes.len() == 8 => {
            let value = f64::from_le_bytes(bytes.try_into().ok()?);
            match data_type {
                DataType::Float => Values::Float(vec![value as f32]),
                _ => Values::Double(vec![value]),
            }
        }
        (DataType::Char, Some(bytes)) if bytes.len() == 1 => Values::Char(bytes),
        (DataType::String, Some(bytes)) if array.is_bytes => {
            Values::String(vec![String::from_utf8_lossy(&bytes).into_owned()])
        }
        _ => json::typed(value, data_type).ok()?,
    })
}

/// Equal, every NaN equal to every other.
pub(super) fn is_same(one: &Values, other: &Values) -> bool {
    match (one, other) {
        (Values::Float(one), Values::Float(other)) => {
            let same = |(one, other): (&f32, &f32)| {
                one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
            };
            one.len() == other.len() && one.iter().zip(other).all(same)
        }
        (Values::Double(one), Values::Double(other)) => {
            let same = |(one, other): (&f64, &f64)| {
                one.to_bits() == other.to_bits() || one.is_nan() && other.is_nan()
            };
            one.len() == other.len() && one.iter().zip(other).all(same)
        }
        (one, other) => one == other,
    }
}
