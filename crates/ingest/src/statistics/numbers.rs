//! Numbers of stored elements, decoded by the CF conventions as xarray decodes them.

use std::cmp::Ordering;

use serde_json::Value;

use crate::archive::values::base64_bytes;

/// A number of an array: exact if it is an integer that nothing scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// A float, or an integer that was scaled. Never NaN.
    Real(f64),
}

impl Number {
    /// Returns the nearest float.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b),
            (a, b) => a.to_f64().total_cmp(&b.to_f64()),
        }
    }

    pub(super) fn min(self, other: Self) -> Self {
        if other.order(self).is_lt() {
            other
        } else {
            self
        }
    }

    pub(super) fn max(self, other: Self) -> Self {
        if other.order(self).is_gt() {
            other
        } else {
            self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberType {
    Boolean,
    Signed,
    Unsigned,
    Float,
}

/// Makes numbers of stored elements.
#[derive(Debug)]
pub(super) struct NumberDecoder {
    kind: NumberType,
    /// Bytes of an element.
    width: usize,
    /// Stored numbers that stand for "missing".
    missing: Vec<Number>,
    scale: Option<f64>,
    offset: Option<f64>,
}

impl NumberDecoder {
    /// Reads the document of an array.
    ///
    /// # Errors
    /// The reason why it holds no numbers.
    pub(super) fn new(document: &Value) -> Result<Self, String> {
        let data_type = &document["data_type"];
        let (kind, width) = data_type.as_str().and_then(number_type).ok_or_else(|| {
            let name = data_type.as_str().or_else(|| data_type["name"].as_str());
            format!(
                "its elements are of type {}, and only real numbers have statistics",
                name.unwrap_or("unknown")
            )
        })?;
        let attributes = &document["attributes"];
        let mut decoder = Self {
            kind: match (kind, attributes["_Unsigned"].as_str()) {
                (NumberType::Signed, Some("true")) => NumberType::Unsigned,
                (NumberType::Unsigned, Some("false")) => NumberType::Signed,
                (kind, _) => kind,
            },
            width,
            missing: Vec::new(),
            scale: single(attributes, "scale_factor")?,
            offset: single(attributes, "add_offset")?,
        };
        for name in ["_FillValue", "missing_value"] {
            let values = match &attributes[name] {
                Value::Null => continue,
                Value::Array(values) => values.as_slice(),
                value => std::slice::from_ref(value),
            };
            for value in values {
                let missing = decoder.missing_value(value).ok_or_else(|| {
                    format!("its attribute {name} is {value}, which is no number of its type")
                })?;
                decoder.missing.extend(missing);
            }
        }
        Ok(decoder)
    }

    /// Bytes of an element.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the number that an element stands for; `None` for a missing one.
    pub(super) fn number(&self, element: &[u8]) -> Option<Number> {
        let stored = self.stored(element)?;
        if self.missing.contains(&stored) {
            return None;
        }
        if self.scale.is_none() && self.offset.is_none() {
            return Some(stored);
        }
        let scaled = stored.to_f64() * self.scale.unwrap_or(1.0) + self.offset.unwrap_or(0.0);
        (!scaled.is_nan()).then_some(Number::Real(scaled))
    }

    /// The number as it is stored; `None` for NaN.
    fn stored(&self, element: &[u8]) -> Option<Number> {
        let mut bytes = [0; 8];
        bytes[..self.width].copy_from_slice(element.get(..self.width)?);
        let bits = u64::from_le_bytes(bytes);
        let unused = 64 - 8 * self.width as u32;
        let real = match (self.kind, self.width) {
            (NumberType::Boolean, _) => return Some(Number::Integer(i128::from(bits != 0))),
            (NumberType::Unsigned, _) => return Some(Number::Integer(bits.into())),
            (NumberType::Signed, _) => {
                let number = (bits << unused).cast_signed() >> unused;
                return Some(Number::Integer(number.into()));
            }
            (NumberType::Float, 2) => half(bits as u16),
            (NumberType::Float, 4) => f32::from_bits(bits as u32).into(),
            (NumberType::Float, _) => f64::from_bits(bits),
        };
        (!real.is_nan()).then_some(Number::Real(real))
    }

    /// A stored number that an attribute names; the inner `None` for NaN, which is always missing.
    fn missing_value(&self, value: &Value) -> Option<Option<Number>> {
        if self.kind == NumberType::Float {
            let number = match value {
                Value::String(text) => match text.as_str() {
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    // xarray writes a float of Zarr format 3 as the base64 of a float64.
                    text => f64::from_le_bytes(base64_bytes(text)?.try_into().ok()?),
                },
                value => value.as_f64()?,
            };
            // Compared as the elements are: a float32 holds the nearest number to 1e20.
            let number = match self.width {
                2 => rounded_half(number),
                4 => f64::from(number as f32),
                _ => number,
            };
            return Some((!number.is_nan()).then_some(Number::Real(number)));
        }
        let number = match (value.as_i64(), value.as_u64(), value.as_f64()) {
            (Some(number), ..) => i128::from(number),
            (_, Some(number), _) => i128::from(number),
            (.., Some(number)) if number.fract() == 0.0 => number as i128,
            // A number between two integers stands for none of them.
            (.., Some(_)) => return Some(None),
            _ => i128::from(value.as_bool()?),
        };
        // `_FillValue` is of the stored type: -1 is 255 where a byte is unsigned.
        let range = 1_i128 << (8 * self.width);
        Some(Some(Number::Integer(match self.kind {
            NumberType::Unsigned if number < 0 => number + range,
            NumberType::Signed if number >= range / 2 => number - range,
            _ => number,
        })))
    }
}

fn number_type(name: &str) -> Option<(NumberType, usize)> {
    Some(match name {
        "bool" => (NumberType::Boolean, 1),
        "int8" => (NumberType::Signed, 1),
        "int16" => (NumberType::Signed, 2),
        "int32" => (NumberType::Signed, 4),
        "int64" => (NumberType::Signed, 8),
        "uint8" => (NumberType::Unsigned, 1),
        "uint16" => (NumberType::Unsigned, 2),
        "uint32" => (NumberType::Unsigned, 4),
        "uint64" => (NumberType::Unsigned, 8),
        "float16" => (NumberType::Float, 2),
        "float32" => (NumberType::Float, 4),
        "float64" => (NumberType::Float, 8),
        _ => return None,
    })
}

/// An attribute that is one number.
fn single(attributes: &Value, name: &str) -> Result<Option<f64>, String> {
    let value = match &attributes[name] {
        Value::Null => return Ok(None),
        Value::Array(values) if values.len() == 1 => &values[0],
        value => value,
    };
    match value.as_f64() {
        Some(number) => Ok(Some(number)),
        None => Err(format!(
            "its attribute {name} is {value}, which is no number"
        )),
    }
}

/// A float of 16 bits: 1 sign, 5 exponent, 10 fraction.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction / 1024.0) * 2_f64.powi(exponent - 15),
    }
}

/// The float of 16 bits that is nearest, ties to even.
fn rounded_half(number: f64) -> f64 {
    if !number.is_finite() || number == 0.0 {
        return number;
    }
    let exponent = number.abs().log2().floor().max(-14.0) as i32;
    let step = 2_f64.powi(exponent - 10);
    let rounded = (number / step).round_ties_even() * step;
    match rounded.abs() >= 65_520.0 {
        true => f64::INFINITY.copysign(number),
        false => rounded,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decoder(data_type: &str, attributes: Value) -> NumberDecoder {
        let document = json!({ "data_type": data_type, "attributes": attributes });
        NumberDecoder::new(&document).expect("numbers")
    }

    #[test]
    fn packed_integers_are_scaled_and_their_fill_values_left_out() {
        let attributes = json!({ "scale_factor": 0.5, "add_offset": 10, "_FillValue": -1 });
        let packed = decoder("int16", attributes);
        assert_eq!(
            packed.number(&4_i16.to_le_bytes()),
            Some(Number::Real(12.0))
        );
        assert_eq!(packed.number(&(-1_i16).to_le_bytes()), None);
        let unsigned = decoder("int8", json!({ "_Unsigned": "true", "_FillValue": -1 }));
        assert_eq!(unsigned.number(&[0xfe]), Some(Number::Integer(254)));
        assert_eq!(unsigned.number(&[0xff]), None);
        let zero = decoder("int16", json!({ "scale_factor": 0.0, "add_offset": 7.0 }));
        assert_eq!(zero.number(&[1, 1]), Some(Number::Real(7.0)));
    }

    #[test]
    fn large_integers_keep_their_digits() {
        let large = decoder("uint64", json!({ "missing_value": [0, 1] }));
        let number = large.number(&u64::MAX.to_le_bytes()).expect("there");
        assert_eq!(number, Number::Integer(u64::MAX.into()));
        assert_eq!(number.max(Number::Integer((u64::MAX - 1).into())), number);
        assert_eq!(large.number(&1_u64.to_le_bytes()), None);
    }

    #[test]
    fn fill_values_of_floats_are_compared_in_their_width() {
        let single = decoder(
            "float32",
            json!({ "_FillValue": 1e20, "missing_value": "NaN" }),
        );
        assert_eq!(single.number(&1e20_f32.to_le_bytes()), None);
        assert_eq!(single.number(&f32::NAN.to_le_bytes()), None);
        assert_eq!(
            single.number(&0.5_f32.to_le_bytes()),
            Some(Number::Real(0.5))
        );
        // base64 of the little-endian float64 1e20.
        let encoded = decoder("float64", json!({ "_FillValue": "QIy1eB2vFUQ=" }));
        assert_eq!(encoded.number(&1e20_f64.to_le_bytes()), None);
        let short = decoder("float16", json!({ "_FillValue": 0.1 }));
        assert_eq!(
            short.number(&0x2e66_u16.to_le_bytes()),
            None,
            "the nearest to 0.1"
        );
        assert_eq!(
            short.number(&0x3c00_u16.to_le_bytes()),
            Some(Number::Real(1.0))
        );
        assert_eq!(
            short.number(&0x0001_u16.to_le_bytes()),
            Some(Number::Real(2_f64.powi(-24)))
        );
    }

    #[test]
    fn what_is_no_number_is_refused_by_name() {
        for data_type in [
            json!("string"),
            json!("complex64"),
            json!({ "name": "numpy.datetime64" }),
        ] {
            let refused = NumberDecoder::new(&json!({ "data_type": data_type }));
            assert!(
                refused.is_err_and(|problem| problem.contains("type")),
                "{data_type}"
            );
        }
        let attributes = json!({ "scale_factor": "two" });
        let refused = NumberDecoder::new(&json!({ "data_type": "int8", "attributes": attributes }));
        assert!(refused.is_err_and(|problem| problem.contains("scale_factor")));
    }
}
