//! Types and fill values of arrays, and what they are in `zarr.json`.

use serde::Deserialize;
use serde_json::{Number, Value, json};

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DataType {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    RawBits(u64),
}

impl DataType {
    /// Its name in `zarr.json`.
    pub(crate) fn name(self) -> String {
        match self {
            Self::RawBits(bits) => format!("r{bits}"),
            other => format!("{other:?}").to_ascii_lowercase(),
        }
    }
}

/// The value of elements that are in no chunk.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) enum FillValue {
    Bool(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    UInt8(u8),
    UInt16(u16),
    UInt32(u32),
    UInt64(u64),
    Float16(f32),
    Float32(f32),
    Float64(f64),
    Complex64(f32, f32),
    Complex128(f64, f64),
    RawBits(Vec<u8>),
}

impl FillValue {
    /// Tells whether an array of this type can have it.
    pub(crate) fn is_of(&self, data_type: DataType) -> bool {
        let own = match self {
            Self::Bool(_) => DataType::Bool,
            Self::Int8(_) => DataType::Int8,
            Self::Int16(_) => DataType::Int16,
            Self::Int32(_) => DataType::Int32,
            Self::Int64(_) => DataType::Int64,
            Self::UInt8(_) => DataType::UInt8,
            Self::UInt16(_) => DataType::UInt16,
            Self::UInt32(_) => DataType::UInt32,
            Self::UInt64(_) => DataType::UInt64,
            Self::Float16(_) => DataType::Float16,
            Self::Float32(_) => DataType::Float32,
            Self::Float64(_) => DataType::Float64,
            Self::Complex64(..) => DataType::Complex64,
            Self::Complex128(..) => DataType::Complex128,
            Self::RawBits(_) => return matches!(data_type, DataType::RawBits(_)),
        };
        own == data_type
    }

    /// The value in `zarr.json`.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Bool(it) => json!(it),
            Self::Int8(it) => json!(it),
            Self::Int16(it) => json!(it),
            Self::Int32(it) => json!(it),
            Self::Int64(it) => json!(it),
            Self::UInt8(it) => json!(it),
            Self::UInt16(it) => json!(it),
            Self::UInt32(it) => json!(it),
            Self::UInt64(it) => json!(it),
            Self::Float16(it) | Self::Float32(it) => float(widened(*it)),
            Self::Float64(it) => float(*it),
            Self::Complex64(re, im) => json!([float(widened(*re)), float(widened(*im))]),
            Self::Complex128(re, im) => json!([float(*re), float(*im)]),
            Self::RawBits(bytes) => json!(bytes),
        }
    }
}

/// The number with the digits that single precision needs: `0.1`, not `0.10000000149011612`.
fn widened(value: f32) -> f64 {
    let digits = value.to_string();
    digits.parse().unwrap_or_else(|_| f64::from(value))
}

fn float(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => json!("NaN"),
        None if value > 0.0 => json!("Infinity"),
        None => json!("-Infinity"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_has_its_json() {
        let (inf, nan) = (f64::INFINITY, f64::NAN);
        for (value, expected) in [
            (FillValue::Bool(true), json!(true)),
            (FillValue::Int8(-8), json!(-8)),
            (FillValue::Int64(i64::MIN), json!(i64::MIN)),
            (FillValue::UInt64(u64::MAX), json!(u64::MAX)),
            (FillValue::Float16(0.1), json!(0.1)),
            (FillValue::Float32(f32::MAX), json!(3.4028235e38)),
            (FillValue::Float32(f32::NAN), json!("NaN")),
            (FillValue::Float32(-1.0), json!(-1.0)),
            (FillValue::Float64(-0.0), json!(-0.0)),
            (FillValue::Float64(inf), json!("Infinity")),
            (FillValue::Float64(-inf), json!("-Infinity")),
            (
                FillValue::Complex64(0.5, f32::NEG_INFINITY),
                json!([0.5, "-Infinity"]),
            ),
            (FillValue::Complex128(nan, 2.0), json!(["NaN", 2.0])),
            (FillValue::RawBits(vec![0, 255]), json!([0, 255])),
        ] {
            assert_eq!(value.to_json(), expected, "{value:?}");
        }
    }

    #[test]
    fn types_have_the_names_of_zarr_and_belong_to_their_values() {
        for (json, name) in [
            ("\"bool\"", "bool"),
            ("\"uint16\"", "uint16"),
            ("\"complex128\"", "complex128"),
            ("{\"rawbits\": 24}", "r24"),
        ] {
            let read: DataType = serde_json::from_str(json).unwrap();
            assert_eq!(read.name(), name);
        }
        assert!(FillValue::RawBits(vec![]).is_of(DataType::RawBits(8)));
        assert!(!FillValue::Int32(0).is_of(DataType::Float32));
        assert!(!FillValue::Float16(0.0).is_of(DataType::Float32));
    }
}
