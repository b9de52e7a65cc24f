//! Numbers of stored elements, decoded by the CF conventions as xarray decodes them.

#[cfg(feature = "codecs")]
use std::cmp::Ordering;

use serde_json::Value;

use crate::archive::values::{base64_bytes, number};

/// A number of an array: exact if it is an integer that nothing scales.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// An integer.
    Integer(i128),
    /// A float, or an integer that was scaled. Never NaN.
    Real(f64),
}

impl Number {
    /// Returns the nearest floating-point number.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Integer(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    #[cfg(feature = "codecs")]
    fn order(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => a.cmp(&b),
            (a, b) => a.to_f64().total_cmp(&b.to_f64()),
        }
    }

    #[cfg(feature = "codecs")]
    pub(crate) fn min(self, other: Self) -> Self {
        if other.order(self).is_lt() {
            other
        } else {
            self
        }
    }

    #[cfg(feature = "codecs")]
    pub(crate) fn max(self, other: Self) -> Self {
        if other.order(self).is_gt() {
            other
        } else {
            self
        }
    }
}

/// The kind of the numbers of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberType {
    Boolean,
    Signed,
    Unsigned,
    Float,
}

/// Makes numbers of stored elements.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NumberDecoder {
    kind: NumberType,
    /// The `data_type` is one of signed integers, whatever they are read as.
    is_stored_signed: bool,
    /// Bytes of an element.
    width: usize,
    /// Stored numbers that stand for "missing".
    missing: Vec<Number>,
    /// The stored value of a missing number: the first of those that the attributes name, or NaN.
    missing_element: Option<Vec<u8>>,
    scale: Option<f64>,
    offset: Option<f64>,
}

impl NumberDecoder {
    /// Reads the document of an array.
    ///
    /// # Errors
    /// The reason why it holds no numbers.
    pub(crate) fn new(document: &Value) -> Result<Self, String> {
        let data_type = &document["data_type"];
        let (kind, width) = data_type.as_str().and_then(number_type).ok_or_else(|| {
            let name = data_type.as_str().or_else(|| data_type["name"].as_str());
            format!(
                "its elements are of type {}, which holds no real numbers",
                name.unwrap_or("unknown")
            )
        })?;
        let attributes = &document["attributes"];
        let mut decoder = Self {
            is_stored_signed: kind == NumberType::Signed,
            kind: match (kind, attributes["_Unsigned"].as_str()) {
                (NumberType::Signed, Some("true")) => NumberType::Unsigned,
                (NumberType::Unsigned, Some("false")) => NumberType::Signed,
                (kind, _) => kind,
            },
            width,
            missing: Vec::new(),
            missing_element: None,
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
                if decoder.missing_element.is_none() {
                    let named = missing.unwrap_or(Number::Real(f64::NAN));
                    decoder.missing_element = decoder.element(named);
                }
                if let Some(missing) = missing.filter(|it| !decoder.missing.contains(it)) {
                    decoder.missing.push(missing);
                }
            }
        }
        if decoder.kind == NumberType::Float && decoder.missing_element.is_none() {
            decoder.missing_element = decoder.element(Number::Real(f64::NAN));
        }
        Ok(decoder)
    }

    /// Returns the kind of the numbers as they are stored, and the bytes of each.
    pub(crate) fn stored_type(&self) -> (NumberType, usize) {
        (self.kind, self.width)
    }

    /// Returns what a stored number is multiplied by, and what is added to it then; `None` each if nothing is.
    pub(crate) fn packing(&self) -> (Option<f64>, Option<f64>) {
        (self.scale, self.offset)
    }

    /// Returns what is stored for a missing number; `None` if the type has none and no attribute names one.
    pub(crate) fn missing_element(&self) -> Option<&[u8]> {
        self.missing_element.as_deref()
    }

    /// Returns the `fill_value` of a document whose unwritten elements are missing.
    pub(crate) fn missing_fill(&self) -> Option<Value> {
        let element = self.missing_element()?;
        Some(match self.stored(element) {
            None => "NaN".into(),
            Some(Number::Integer(stored)) if self.kind == NumberType::Boolean => {
                (stored != 0).into()
            }
            Some(Number::Integer(stored)) => {
                let range = 1_i128 << (8 * self.width);
                let is_signed = self.is_stored_signed;
                let stored = match stored {
                    stored if is_signed && stored >= range / 2 => stored - range,
                    stored if !is_signed && stored < 0 => stored + range,
                    stored => stored,
                };
                match i64::try_from(stored) {
                    Ok(stored) => stored.into(),
                    Err(_) => u64::try_from(stored).ok()?.into(),
                }
            }
            Some(Number::Real(stored)) => number(stored),
        })
    }

    /// Writes the element that holds a number as it is stored, or the one nearest to it. Returns whether there is one: not if
    /// the type ends before it, or has none for NaN.
    pub(crate) fn put(&self, stored: Number, into: &mut [u8]) -> bool {
        if into.len() != self.width {
            return false;
        }
        if self.kind == NumberType::Float {
            let real = stored.to_f64();
            match self.width {
                2 => into.copy_from_slice(&half_bits(real).to_le_bytes()),
                4 => into.copy_from_slice(&(real as f32).to_le_bytes()),
                _ => into.copy_from_slice(&real.to_le_bytes()),
            }
            return true;
        }
        let whole = match stored {
            Number::Integer(whole) => whole,
            // Far beyond every type of integers, and well within this one.
            Number::Real(real) if real.abs() < 1e30 => real.round_ties_even() as i128,
            Number::Real(_) => return false,
        };
        let range = 1_i128 << (8 * self.width);
        let within = match self.kind {
            NumberType::Boolean => 0..2,
            NumberType::Signed => -range / 2..range / 2,
            _ => 0..range,
        };
        if within.contains(&whole) {
            into.copy_from_slice(&whole.to_le_bytes()[..self.width]);
        }
        within.contains(&whole)
    }

    fn element(&self, stored: Number) -> Option<Vec<u8>> {
        let mut element = vec![0; self.width];
        self.put(stored, &mut element).then_some(element)
    }

    /// Bytes of an element.
    #[cfg(any(feature = "codecs", test))]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the number that an element stands for; `None` for a missing one.
    pub(crate) fn number(&self, element: &[u8]) -> Option<Number> {
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
    pub(crate) fn stored(&self, element: &[u8]) -> Option<Number> {
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

/// The bits of the float of 16 bits that is nearest, ties to even.
fn half_bits(number: f64) -> u16 {
    let sign = u16::from(number.is_sign_negative()) << 15;
    let rounded = rounded_half(number).abs();
    let bits = match rounded {
        rounded if rounded.is_nan() => 0x7e00,
        rounded if rounded.is_infinite() => 0x7c00,
        rounded if rounded < 2_f64.powi(-14) => (rounded * 2_f64.powi(24)) as u16,
        rounded => {
            let exponent = rounded.log2().floor() as i32;
            let fraction = (rounded / 2_f64.powi(exponent) - 1.0) * 1024.0;
            ((exponent + 15) as u16) << 10 | fraction as u16
        }
    };
    sign | bits
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

    #[test]
    fn elements_hold_what_was_read_of_them() {
        for bits in 0..=u16::MAX {
            let element = bits.to_le_bytes();
            for data_type in ["float16", "int16", "uint16"] {
                let short = decoder(data_type, json!({}));
                let Some(number) = short.number(&element) else {
                    continue;
                };
                let found = short.element(number).expect("of the type");
                assert_eq!(found, element, "{data_type} {number:?}");
            }
        }
        let byte = decoder("int8", json!({}));
        assert_eq!(byte.element(Number::Real(126.5)), Some(vec![126]));
        assert_eq!(byte.element(Number::Real(128.0)), None);
        assert_eq!(byte.element(Number::Real(f64::NAN)), None);
        let long = decoder("uint64", json!({}));
        assert_eq!(long.element(Number::Integer(-1)), None);
        assert_eq!(
            long.element(Number::Integer(u64::MAX.into())),
            Some(vec![0xff; 8])
        );
    }

    #[test]
    fn missing_numbers_are_stored_as_the_first_that_is_named() {
        for (data_type, attributes, fill) in [
            ("int8", json!({ "missing_value": [7, 8] }), json!(7)),
            (
                "int16",
                json!({ "_FillValue": -1, "missing_value": 8 }),
                json!(-1),
            ),
            (
                "int8",
                json!({ "_FillValue": -1, "_Unsigned": "true" }),
                json!(-1),
            ),
            ("float32", json!({ "_FillValue": 0.5 }), json!(0.5)),
            ("float64", json!({}), json!("NaN")),
            ("uint64", json!({ "_FillValue": u64::MAX }), json!(u64::MAX)),
        ] {
            let found = decoder(data_type, attributes);
            assert_eq!(found.missing_fill(), Some(fill), "{data_type}");
            let element = found.missing_element().expect("there is one");
            assert_eq!(found.number(element), None, "{data_type}");
        }
        let none = decoder("int32", json!({ "missing_value": 0.5 }));
        assert_eq!((none.missing_fill(), none.missing_element()), (None, None));
    }
}
