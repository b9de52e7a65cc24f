//! The numbers of DAP4, and their spelling in text.

use serde_json::{Value, json};

use crate::archive::values::{number, whole_number};

/// A type of numbers, with the bytes of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Unsigned(u32),
    Signed(u32),
    Float(u32),
}

impl Number {
    /// Finds the type that an element or an attribute names. A `Char` in an attribute is a number, too.
    pub(super) fn of(name: &str) -> Option<Self> {
        Some(match name {
            "Byte" | "UInt8" => Self::Unsigned(1),
            "UInt16" => Self::Unsigned(2),
            "UInt32" => Self::Unsigned(4),
            "UInt64" => Self::Unsigned(8),
            "Int8" => Self::Signed(1),
            "Int16" => Self::Signed(2),
            "Int32" => Self::Signed(4),
            "Int64" => Self::Signed(8),
            "Float32" => Self::Float(4),
            "Float64" => Self::Float(8),
            _ => return None,
        })
    }

    /// Returns the bytes of a number.
    pub(super) fn bytes(self) -> u32 {
        match self {
            Self::Unsigned(bytes) | Self::Signed(bytes) | Self::Float(bytes) => bytes,
        }
    }

    /// Returns the `data_type` of Zarr.
    pub(super) fn data_type(self) -> Value {
        let bits = self.bytes() * 8;
        match self {
            Self::Unsigned(_) => format!("uint{bits}").into(),
            Self::Signed(_) => format!("int{bits}").into(),
            Self::Float(_) => format!("float{bits}").into(),
        }
    }

    /// Returns the codec that makes bytes of the numbers.
    pub(super) fn bytes_codec(self, is_big: bool) -> Value {
        match (self.bytes(), is_big) {
            (1, _) => json!({ "name": "bytes" }),
            (_, false) => json!({ "name": "bytes", "configuration": { "endian": "little" } }),
            (_, true) => json!({ "name": "bytes", "configuration": { "endian": "big" } }),
        }
    }

    /// Reads a number, as Zarr spells it in JSON; `None` if it is none of the type.
    pub(super) fn value(self, text: &str) -> Option<Value> {
        if let Self::Float(_) = self {
            return self.float(text).map(number);
        }
        let is_signed = matches!(self, Self::Signed(_));
        whole_number(text, is_signed, self.bytes() * 8)
    }

    /// Reads a number with a fraction, rounded to the type.
    pub(super) fn float(self, text: &str) -> Option<f64> {
        let text = text.trim();
        match self {
            Self::Float(4) => text.parse::<f32>().ok().map(f64::from),
            _ => text.parse().ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_their_type_has_them() {
        let value = |name: &str, text: &str| Number::of(name).and_then(|it| it.value(text));
        assert_eq!(value("Int8", "-128"), Some(json!(-128)));
        assert_eq!(value("Int8", "128"), None);
        assert_eq!(value("Byte", " 255 "), Some(json!(255)));
        assert_eq!(
            value("UInt64", "18446744073709551615"),
            Some(json!(u64::MAX))
        );
        assert_eq!(
            value("Int64", "-9223372036854775808"),
            Some(json!(i64::MIN))
        );
        assert_eq!(value("Int32", "-9999.0"), Some(json!(-9999)));
        assert_eq!(value("Int32", "0.5"), None);
        assert_eq!(value("Float32", "0.1"), Some(json!(f64::from(0.1_f32))));
        assert_eq!(value("Float64", "nan"), Some(json!("NaN")));
        assert_eq!(value("Float64", "-inf"), Some(json!("-Infinity")));
        assert_eq!(value("Float64", "none"), None);
        assert_eq!(value("String", "1"), None);
    }
}
