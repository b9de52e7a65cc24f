//! The types of values.

use serde_json::{Value, json};

use crate::archive::values::number;

/// A type of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExternalType {
    Byte,
    Char,
    Short,
    Int,
    Float,
    Double,
    UByte,
    UShort,
    UInt,
    Int64,
    UInt64,
}

impl ExternalType {
    /// Returns the type of a number in the header. CDF-5 has more of them.
    pub(super) fn of(number: u32, version: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Byte),
            2 => Some(Self::Char),
            3 => Some(Self::Short),
            4 => Some(Self::Int),
            5 => Some(Self::Float),
            6 => Some(Self::Double),
            _ if version != 5 => None,
            7 => Some(Self::UByte),
            8 => Some(Self::UShort),
            9 => Some(Self::UInt),
            10 => Some(Self::Int64),
            11 => Some(Self::UInt64),
            _ => None,
        }
    }

    /// Returns the bytes of a value.
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Byte | Self::Char | Self::UByte => 1,
            Self::Short | Self::UShort => 2,
            Self::Int | Self::UInt | Self::Float => 4,
            Self::Double | Self::Int64 | Self::UInt64 => 8,
        }
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::Float | Self::Double)
    }

    /// Returns the `data_type` of the Zarr document.
    pub(super) fn data_type(self) -> Value {
        match self {
            Self::Byte => "int8".into(),
            Self::Char => {
                json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 1}})
            }
            Self::Short => "int16".into(),
            Self::Int => "int32".into(),
            Self::Float => "float32".into(),
            Self::Double => "float64".into(),
            Self::UByte => "uint8".into(),
            Self::UShort => "uint16".into(),
            Self::UInt => "uint32".into(),
            Self::Int64 => "int64".into(),
            Self::UInt64 => "uint64".into(),
        }
    }

    /// Returns the codec of the data.
    pub(super) fn bytes_codec(self) -> Value {
        match self.bytes() {
            1 => json!({"name": "bytes"}),
            _ => json!({"name": "bytes", "configuration": {"endian": "big"}}),
        }
    }

    /// Returns what the library of the format fills a variable with, as the `fill_value` of the Zarr document.
    pub(super) fn default_fill(self) -> Value {
        match self {
            Self::Byte => (-127).into(),
            // A text without a character.
            Self::Char => "".into(),
            Self::Short => (-32767).into(),
            Self::Int => (-2147483647).into(),
            Self::Float | Self::Double => 9.969_209_968_386_869e36.into(),
            Self::UByte => 255.into(),
            Self::UShort => 65535.into(),
            Self::UInt => 4294967295_u32.into(),
            Self::Int64 => (-9223372036854775806_i64).into(),
            Self::UInt64 => 18446744073709551614_u64.into(),
        }
    }

    /// Reads a value; `None` if there are not as many bytes as it has.
    pub(super) fn value(self, bytes: &[u8]) -> Option<Value> {
        fn be<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
            bytes.try_into().ok()
        }
        Some(match self {
            Self::Byte => i8::from_be_bytes(be(bytes)?).into(),
            Self::Char | Self::UByte => u8::from_be_bytes(be(bytes)?).into(),
            Self::Short => i16::from_be_bytes(be(bytes)?).into(),
            Self::Int => i32::from_be_bytes(be(bytes)?).into(),
            Self::Float => number(f32::from_be_bytes(be(bytes)?).into()),
            Self::Double => number(f64::from_be_bytes(be(bytes)?)),
            Self::UShort => u16::from_be_bytes(be(bytes)?).into(),
            Self::UInt => u32::from_be_bytes(be(bytes)?).into(),
            Self::Int64 => i64::from_be_bytes(be(bytes)?).into(),
            Self::UInt64 => u64::from_be_bytes(be(bytes)?).into(),
        })
    }

    /// Reads a number as one that may have a fraction.
    pub(super) fn float(self, bytes: &[u8]) -> Option<f64> {
        match self {
            Self::Float => Some(f32::from_be_bytes(bytes.try_into().ok()?).into()),
            Self::Double => Some(f64::from_be_bytes(bytes.try_into().ok()?)),
            _ => None,
        }
    }

    /// Returns whether a whole number is one of the type.
    pub(super) fn holds(self, value: i128) -> bool {
        let range = match self {
            Self::Byte => i128::from(i8::MIN)..=i128::from(i8::MAX),
            Self::Short => i128::from(i16::MIN)..=i128::from(i16::MAX),
            Self::Int => i128::from(i32::MIN)..=i128::from(i32::MAX),
            Self::UByte | Self::Char => 0..=i128::from(u8::MAX),
            Self::UShort => 0..=i128::from(u16::MAX),
            Self::UInt => 0..=i128::from(u32::MAX),
            Self::Int64 => i128::from(i64::MIN)..=i128::from(i64::MAX),
            Self::UInt64 => 0..=i128::from(u64::MAX),
            Self::Float | Self::Double => return false,
        };
        range.contains(&value)
    }
}
