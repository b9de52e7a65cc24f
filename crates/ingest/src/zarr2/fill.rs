//! Fill values: what an array has where it has no chunk, and what xarray masks.

use serde_json::{Value, json};

use super::data_type::{DataType, Element};
use crate::archive::values::{base64_bytes, base64_text, float_fill_attribute, number};

/// The value that NumPy takes for no time.
const NOT_A_TIME: i64 = i64::MIN;

/// Returns the `fill_value` of format 3. `null`, which leaves the elements undefined, becomes zero or its like.
pub(super) fn fill_value(kind: &DataType, value: &Value) -> Result<Value, String> {
    let refuse = || {
        let kind = kind.document();
        format!("its fill value {value} is not one of the type {kind}: correct it")
    };
    known(kind, value).ok_or_else(refuse)
}

fn known(kind: &DataType, value: &Value) -> Option<Value> {
    let is_zero = value.is_null() || value.as_f64() == Some(0.0);
    match &kind.element {
        Element::Bool => match value {
            Value::Bool(value) => Some((*value).into()),
            value if is_zero => Some(value.is_boolean().into()),
            value => (value.as_f64() == Some(1.0)).then_some(true.into()),
        },
        Element::Int(size) => {
            let half = 1_i128 << (u32::from(*size) * 8 - 1);
            whole(value, -half, half - 1)
        }
        Element::UInt(size) => whole(value, 0, (1_i128 << (u32::from(*size) * 8)) - 1),
        Element::Float(size) => float(value, *size).map(number),
        Element::Complex(size) => {
            let of = |value: &Value| float(value, size / 2).map(number);
            match value {
                Value::Array(parts) => match parts.as_slice() {
                    [real, imaginary] => Some(json!([of(real)?, of(imaginary)?])),
                    _ => None,
                },
                value => Some(json!([of(value)?, 0.0])),
            }
        }
        Element::Time { .. } => match value {
            Value::Null => Some(NOT_A_TIME.into()),
            Value::String(text) if text == "NaT" => Some(NOT_A_TIME.into()),
            value => whole(value, i64::MIN.into(), i64::MAX.into()),
        },
        Element::Bytes(length) => {
            bytes(value, is_zero, *length).map(|bytes| base64_text(&bytes).into())
        }
        Element::Raw(length) => {
            let bytes = bytes(value, is_zero, *length)?;
            match bytes.len() as u64 == u64::from(*length) {
                true => Some(base64_text(&bytes).into()),
                // Long elements of nothing but zeros would be a long text for nothing.
                false if bytes.is_empty() && *length <= 1 << 16 => {
                    Some(base64_text(&vec![0; *length as usize]).into())
                }
                false => None,
            }
        }
        Element::Text(_) | Element::Object => match value {
            Value::String(text) => Some(text.as_str().into()),
            _ => is_zero.then_some("".into()),
        },
    }
}

/// A number without a fraction, from `least` to `most`.
fn whole(value: &Value, least: i128, most: i128) -> Option<Value> {
    let number = match value {
        Value::Null => 0,
        Value::Bool(value) => i128::from(*value),
        Value::Number(number) if !number.is_f64() => number.as_i128()?,
        value => {
            let float = value.as_f64().filter(|float| float.fract() == 0.0)?;
            // Beyond the range the cast stays at its end, which no type here reaches.
            float as i128
        }
    };
    if number < least || number > most {
        return None;
    }
    match i64::try_from(number) {
        Ok(number) => Some(number.into()),
        Err(_) => u64::try_from(number).ok().map(Value::from),
    }
}

/// A number of so many bytes.
fn float(value: &Value, size: u8) -> Option<f64> {
    let float = match value {
        Value::Null => 0.0,
        Value::String(text) => match text.as_str() {
            "NaN" | "nan" => f64::NAN,
            "Infinity" | "inf" => f64::INFINITY,
            "-Infinity" | "-inf" => f64::NEG_INFINITY,
            _ => return None,
        },
        value => value.as_f64()?,
    };
    Some(match size {
        // Elements are compared with a number of their width.
        4 => f64::from(float as f32),
        _ => float,
    })
}

fn bytes(value: &Value, is_zero: bool, length: u32) -> Option<Vec<u8>> {
    match value {
        // As netCDF-C has a char; base64 is longer.
        Value::String(text) if text.len() == 1 && length == 1 => Some(text.clone().into_bytes()),
        Value::String(text) => {
            let bytes = base64_bytes(text)?;
            (bytes.len() as u64 <= u64::from(length)).then_some(bytes)
        }
        _ => is_zero.then(Vec::new),
    }
}

/// Returns the attribute `_FillValue` that says the same as a `fill_value` of format 3, where xarray reads one: with
/// format 2 it masks by the fill value, with format 3 by this attribute alone.
pub(super) fn attribute(kind: &DataType, fill_value: &Value) -> Option<Value> {
    let encoded = |value: &Value| Some(float_fill_attribute(float(value, 8)?));
    match &kind.element {
        Element::Bool | Element::Int(_) | Element::UInt(_) => Some(fill_value.clone()),
        Element::Float(_) => encoded(fill_value),
        Element::Complex(_) => {
            let parts = fill_value.as_array()?;
            parts
                .iter()
                .map(encoded)
                .collect::<Option<Vec<_>>>()
                .map(Value::Array)
        }
        _ => None,
    }
}

/// Returns what an attribute `_FillValue` says: a number, also alone in a list, or the encoded form.
pub(super) fn of_attribute(kind: &DataType, value: &Value) -> Option<Value> {
    let value = match value {
        Value::Array(list) if !matches!(kind.element, Element::Complex(_)) => match list.as_slice()
        {
            [one] => one,
            _ => return None,
        },
        value => value,
    };
    if let (Element::Float(_), Value::String(text)) = (&kind.element, value)
        && let Some(Ok(bytes)) = base64_bytes(text).map(<[u8; 8]>::try_from)
    {
        return known(kind, &number(f64::from_le_bytes(bytes)));
    }
    known(kind, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: &str, value: Value) -> Option<Value> {
        known(&DataType::of_text(kind).expect("a type"), &value)
    }

    #[test]
    fn values_are_those_of_the_type() {
        assert_eq!(of("<i2", json!(-9999.0)), Some(json!(-9999)));
        assert_eq!(of("<i2", json!(40000)), None);
        assert_eq!(of("<i2", json!(0.5)), None);
        assert_eq!(of("<u8", json!(u64::MAX)), Some(json!(u64::MAX)));
        assert_eq!(of("<i8", json!(i64::MIN)), Some(json!(i64::MIN)));
        assert_eq!(of("<i8", json!(1e30)), None);
        assert_eq!(of("<f4", json!("NaN")), Some("NaN".into()));
        assert_eq!(of("<f4", json!(0.1)), Some(json!(f64::from(0.1_f32))));
        assert_eq!(of("<f8", json!("12")), None);
        assert_eq!(of("<c8", json!(["NaN", 1])), Some(json!(["NaN", 1.0])));
        assert_eq!(of("|b1", json!(true)), Some(json!(true)));
        assert_eq!(of("|b1", json!(0)), Some(json!(false)));
        assert_eq!(of("|S3", json!("YWJj")), Some("YWJj".into()));
        assert_eq!(of("|S2", json!("YWJj")), None);
        assert_eq!(of("|V3", json!(null)), Some("AAAA".into()));
        assert_eq!(of("<M8[s]", json!("NaT")), Some(json!(i64::MIN)));
        assert_eq!(of("<U2", json!(0)), Some("".into()));
    }
}
