//! Elements as JSON: attributes and fill values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value, json};

use super::datatype::{DataType, ElementKind};
use super::heap::GlobalHeaps;
use super::parsed::{Parsed, invalid};
use super::text::{long_text, shown, trimmed};

/// Elements of a list in an attribute.
const LONGEST: usize = 1 << 16;

/// Returns an integer of up to 8 bytes, exactly.
pub(super) fn integer(bytes: &[u8], big: bool, signed: bool) -> Value {
    let mut magnitude = 0u64;
    let mut add = |byte: &u8| magnitude = magnitude << 8 | u64::from(*byte);
    match big {
        true => bytes.iter().for_each(&mut add),
        false => bytes.iter().rev().for_each(&mut add),
    }
    let unused = 64u32.saturating_sub(8 * bytes.len() as u32).min(63);
    match signed {
        true => json!((magnitude << unused) as i64 >> unused),
        false => json!(magnitude),
    }
}

/// Returns a float of 2, 4 or 8 bytes, exactly.
fn float(bytes: &[u8], big: bool) -> Parsed<f64> {
    let mut bytes = bytes.to_vec();
    if big {
        bytes.reverse();
    }
    match *bytes.as_slice() {
        [a, b] => Ok(half(u16::from_le_bytes([a, b]))),
        [a, b, c, d] => Ok(f64::from(f32::from_le_bytes([a, b, c, d]))),
        [a, b, c, d, e, f, g, h] => Ok(f64::from_le_bytes([a, b, c, d, e, f, g, h])),
        _ => Err(invalid("a float has neither 2 nor 4 nor 8 bytes")),
    }
}

/// Returns the value of a half-precision float.
fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    match exponent {
        0x1f if fraction == 0.0 => sign * f64::INFINITY,
        0x1f => f64::NAN,
        0 => sign * fraction * 2f64.powi(-14),
        _ => sign * (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

/// Returns a float as JSON. What JSON has no number for is a text, as in Zarr's fill values.
fn float_value(float: f64) -> Value {
    match Number::from_f64(float) {
        Some(number) => Value::Number(number),
        None if float.is_nan() => json!("NaN"),
        None if float > 0.0 => json!("Infinity"),
        None => json!("-Infinity"),
    }
}

/// Returns the floats that an element consists of: one, or two of a complex number.
fn floats(data_type: &DataType, bytes: &[u8]) -> Parsed<Vec<f64>> {
    let size = match data_type.kind {
        ElementKind::Complex => data_type.size / 2,
        _ => data_type.size,
    };
    let parts = bytes.chunks(size.max(1));
    parts.map(|part| float(part, data_type.big)).collect()
}

/// Returns an element as JSON; `None` if there is no way to write it.
pub(super) fn value(
    data_type: &DataType,
    bytes: &[u8],
    heaps: &GlobalHeaps<'_>,
) -> Parsed<Option<Value>> {
    Ok(Some(match &data_type.kind {
        ElementKind::Integer { signed } | ElementKind::Enum { signed, .. } => {
            integer(bytes, data_type.big, *signed)
        }
        ElementKind::Bool => json!(bytes.iter().any(|byte| *byte != 0)),
        ElementKind::Float => float_value(float(bytes, data_type.big)?),
        ElementKind::Complex => {
            let parts = floats(data_type, bytes)?;
            parts.into_iter().map(float_value).collect()
        }
        ElementKind::Text(padding) => {
            let text = trimmed(bytes, *padding);
            heaps.hold(text.len())?;
            json!(shown(text))
        }
        ElementKind::LongText => {
            let text = long_text(bytes, heaps)?;
            heaps.hold(text.len())?;
            json!(shown(&text))
        }
        ElementKind::Narrow(narrow) => {
            let mut bytes = bytes.to_vec();
            narrow.widen(&mut bytes);
            integer(&bytes, data_type.big, narrow.signed)
        }
        ElementKind::List(element) => return list(element, bytes, heaps),
        ElementKind::Compound(_)
        | ElementKind::Array(..)
        | ElementKind::Reference
        | ElementKind::Other(_) => return Ok(None),
    }))
}

/// Returns a list of variable length.
fn list(element: &DataType, reference: &[u8], heaps: &GlobalHeaps<'_>) -> Parsed<Option<Value>> {
    // A list of lists could be longer than the file.
    if matches!(element.kind, ElementKind::List(_)) {
        return Ok(None);
    }
    let (count, bytes) = heaps.read(reference)?;
    if count > LONGEST {
        return Ok(None);
    }
    let length = count.checked_mul(element.size);
    let Some(bytes) = length.and_then(|length| bytes.get(..length)) else {
        return Err(invalid("a list is shorter than its length says"));
    };
    let elements = bytes.chunks_exact(element.size);
    heaps.hold(elements.len().saturating_mul(size_of::<Value>()))?;
    elements.map(|bytes| value(element, bytes, heaps)).collect()
}

/// Returns the `fill_value` of Zarr for an element; of no bytes, zero.
pub(super) fn fill_value(
    data_type: &DataType,
    bytes: Option<&[u8]>,
    heaps: &GlobalHeaps<'_>,
) -> Parsed<Value> {
    let zeros = match &data_type.kind {
        // Bounded where the type is read.
        ElementKind::Compound(_) => vec![0; data_type.size],
        _ => vec![0; data_type.size.min(16)],
    };
    let bytes = match bytes {
        Some(bytes) if bytes.len() == data_type.size => bytes,
        Some(_) => return Err(invalid("the fill value is not as long as an element")),
        None if matches!(data_type.kind, ElementKind::Text(_)) => &[],
        None => &zeros,
    };
    match data_type.kind {
        ElementKind::Text(padding) if data_type.size == 1 => {
            Ok(json!(STANDARD.encode(trimmed(bytes, padding))))
        }
        ElementKind::Compound(_) => Ok(json!(STANDARD.encode(bytes))),
        _ => Ok(value(data_type, bytes, heaps)?.unwrap_or(Value::Null)),
    }
}

/// Returns what NetCDF fills arrays of a type with that have no fill value of their own; `None` of types that it lacks,
/// and where that is zero.
pub(super) fn netcdf_fill(data_type: &DataType) -> Option<Value> {
    Some(match (&data_type.kind, data_type.size) {
        (ElementKind::Integer { signed: true } | ElementKind::Enum { signed: true, .. }, size) => {
            match size {
                1 => json!(-127),
                2 => json!(-32767),
                4 => json!(-2_147_483_647),
                _ => json!(-9_223_372_036_854_775_806_i64),
            }
        }
        (ElementKind::Integer { .. } | ElementKind::Enum { .. }, size) => match size {
            1 => json!(u8::MAX),
            2 => json!(u16::MAX),
            4 => json!(u32::MAX),
            _ => json!(u64::MAX - 1),
        },
        (ElementKind::Float, 4 | 8) => json!(9.969_209_968_386_869e36),
        _ => return None,
    })
}

/// Returns what xarray expects in the attribute `_FillValue` of a Zarr array: floats as base64 of 8 bytes. `None` if it
/// could not decode any.
pub(super) fn masked_value(
    array: &DataType,
    data_type: &DataType,
    bytes: &[u8],
    heaps: &GlobalHeaps<'_>,
) -> Parsed<Option<Value>> {
    let encoded = |float: f64| json!(STANDARD.encode(float.to_le_bytes()));
    match (&array.kind, &data_type.kind) {
        (ElementKind::Float, ElementKind::Float) => Ok(Some(encoded(float(bytes, data_type.big)?))),
        (ElementKind::Float, ElementKind::Integer { .. }) => {
            let number = value(data_type, bytes, heaps)?.and_then(|value| value.as_f64());
            Ok(number.map(encoded))
        }
        (ElementKind::Complex, ElementKind::Complex) => {
            let parts = floats(data_type, bytes)?;
            Ok(Some(parts.into_iter().map(encoded).collect()))
        }
        (
            ElementKind::Integer { .. }
            | ElementKind::Narrow(_)
            | ElementKind::Enum { .. }
            | ElementKind::Bool,
            _,
        ) => {
            let value = value(data_type, bytes, heaps)?;
            Ok(value.filter(|value| value.is_number() || value.is_boolean()))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_exact_in_both_orders() {
        assert_eq!(integer(&[0xff, 0xfe], true, true), json!(-2));
        assert_eq!(integer(&[0xfe, 0xff], false, false), json!(0xfffe));
        let largest = [0xff; 8];
        assert_eq!(integer(&largest, false, false), json!(u64::MAX));
        assert_eq!(integer(&largest, false, true), json!(-1));
        let smallest = i64::MIN.to_be_bytes();
        assert_eq!(integer(&smallest, true, true), json!(i64::MIN));
    }

    #[test]
    fn half_precision_covers_all_kinds() {
        for (bits, expected) in [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 2f64.powi(-24)),
            (0x8000, -0.0),
            (0xfc00, f64::NEG_INFINITY),
        ] {
            assert_eq!(half(bits), expected, "{bits:#x}");
        }
        assert!(half(0x7e00).is_nan());
    }
}
