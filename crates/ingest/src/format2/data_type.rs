//! Types of elements, as NumPy spells them, and fill values.

use serde_json::Value;

use super::vocabulary::{Reader, configured, name_of};
use crate::archive::values::{base64_bytes, base64_text, number};

/// How the elements of an array are stored in format 2.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    kind: StoredKind,
    /// Whether elements have the same bytes in both formats.
    pub(super) is_same: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum StoredKind {
    /// A letter and a number of bytes of a number whose bytes have an order.
    Number(char, u32),
    /// One byte, of `b`, `i` or `u`.
    Byte(char),
    /// Texts in so many bytes.
    Bytes(u32),
    /// Anything in so many bytes.
    Raw(u32),
    /// Texts in so many characters.
    Text(u32),
    /// A time, or a difference of two, with its unit.
    Time(char, String),
    /// Python's objects: texts, or bytes, of any length.
    Object { is_text: bool },
}

/// Returns whether a type is that of texts which netCDF does not store as they are.
pub(super) fn is_text(data_type: &Value) -> bool {
    matches!(name_of(data_type), "string" | "fixed_length_utf32")
}

impl Stored {
    pub(super) fn of(
        data_type: &Value,
        reader: Reader,
        longest: Option<usize>,
    ) -> Result<Self, String> {
        let kind = kind(data_type)
            .ok_or_else(|| format!("its data_type {data_type} has no counterpart in format 2"))?;
        if reader == Reader::Any {
            let is_same = true;
            return Ok(Self { kind, is_same });
        }
        let (kind, is_same) = match kind {
            StoredKind::Byte('b') => (StoredKind::Byte('u'), true),
            StoredKind::Object { is_text: true } | StoredKind::Text(_) => {
                let bytes = u32::try_from(longest.unwrap_or(1).max(1));
                let bytes = bytes.map_err(|_| "its texts are longer than 4 GiB".to_owned())?;
                (StoredKind::Bytes(bytes), false)
            }
            StoredKind::Number('i' | 'u', _)
            | StoredKind::Number('f', 4 | 8)
            | StoredKind::Byte(_)
            | StoredKind::Bytes(_) => (kind, true),
            _ => {
                return Err(format!(
                    "its data_type is {data_type}, which netCDF has no type for: convert the array, or export to format 2 without netCDF (zarr2)"
                ));
            }
        };
        Ok(Self { kind, is_same })
    }

    /// Whether elements are Python's objects.
    pub(super) fn is_object(&self) -> bool {
        matches!(self.kind, StoredKind::Object { .. })
    }

    /// The bytes of an element; of those of any length, those of a short one.
    pub(super) fn width(&self) -> u64 {
        match self.kind {
            StoredKind::Number(_, bytes) | StoredKind::Bytes(bytes) | StoredKind::Raw(bytes) => {
                bytes.into()
            }
            StoredKind::Byte(_) => 1,
            StoredKind::Text(characters) => u64::from(characters) * 4,
            StoredKind::Time(..) => 8,
            StoredKind::Object { .. } => 64,
        }
    }

    /// The bytes of a text.
    #[cfg(feature = "codecs")]
    pub(super) fn bytes(&self) -> Option<u32> {
        match self.kind {
            StoredKind::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The `dtype`.
    pub(super) fn dtype(&self, is_big: bool) -> String {
        let order = if is_big { '>' } else { '<' };
        match &self.kind {
            StoredKind::Number(letter, bytes) => format!("{order}{letter}{bytes}"),
            StoredKind::Byte(letter) => format!("|{letter}1"),
            StoredKind::Bytes(bytes) => format!("|S{bytes}"),
            StoredKind::Raw(bytes) => format!("|V{bytes}"),
            StoredKind::Text(characters) => format!("{order}U{characters}"),
            StoredKind::Time(letter, unit) => format!("{order}{letter}8{unit}"),
            StoredKind::Object { .. } => "|O".to_owned(),
        }
    }

    /// The `fill_value`, of that of format 3.
    pub(super) fn fill_value(&self, value: &Value) -> Result<Value, String> {
        let refuse = || format!("its fill_value {value} has no counterpart in format 2");
        let bits = |text: &str| u64::from_str_radix(text.strip_prefix("0x")?, 16).ok();
        Ok(match (&self.kind, value) {
            (StoredKind::Number('f', bytes), Value::String(text)) if text.starts_with("0x") => {
                let bits = bits(text).ok_or_else(refuse)?;
                match bytes {
                    4 => number(f64::from(f32::from_bits(bits as u32))),
                    8 => number(f64::from_bits(bits)),
                    // Of a half only those that all widths have.
                    _ if bits == 0x7e00 => number(f64::NAN),
                    _ => return Err(refuse()),
                }
            }
            (StoredKind::Byte('u'), Value::Bool(value)) => u8::from(*value).into(),
            (StoredKind::Bytes(_), Value::String(text)) if self.is_same => text.as_str().into(),
            (StoredKind::Bytes(bytes), Value::String(text)) => {
                let text = text.as_bytes();
                base64_text(text.get(..*bytes as usize).unwrap_or(text)).into()
            }
            (StoredKind::Raw(_), Value::Array(list)) => {
                let bytes: Option<Vec<u8>> = list
                    .iter()
                    .map(|it| u8::try_from(it.as_u64()?).ok())
                    .collect();
                base64_text(&bytes.ok_or_else(refuse)?).into()
            }
            (StoredKind::Object { is_text: false }, Value::String(text)) => {
                base64_bytes(text).ok_or_else(refuse)?;
                text.as_str().into()
            }
            (_, value) => value.clone(),
        })
    }
}

fn kind(data_type: &Value) -> Option<StoredKind> {
    let length = configured(data_type, "length_bytes").and_then(Value::as_u64);
    let length = length.and_then(|length| u32::try_from(length).ok());
    let raw = |name: &str| {
        let bits: u32 = name.strip_prefix('r')?.parse().ok()?;
        bits.is_multiple_of(8).then_some(StoredKind::Raw(bits / 8))
    };
    Some(match name_of(data_type) {
        "bool" => StoredKind::Byte('b'),
        "int8" => StoredKind::Byte('i'),
        "uint8" => StoredKind::Byte('u'),
        "int16" => StoredKind::Number('i', 2),
        "uint16" => StoredKind::Number('u', 2),
        "int32" => StoredKind::Number('i', 4),
        "uint32" => StoredKind::Number('u', 4),
        "int64" => StoredKind::Number('i', 8),
        "uint64" => StoredKind::Number('u', 8),
        "float16" => StoredKind::Number('f', 2),
        "float32" => StoredKind::Number('f', 4),
        "float64" => StoredKind::Number('f', 8),
        "complex64" => StoredKind::Number('c', 8),
        "complex128" => StoredKind::Number('c', 16),
        "null_terminated_bytes" => StoredKind::Bytes(length?),
        "raw_bytes" => StoredKind::Raw(length?),
        "fixed_length_utf32" => StoredKind::Text(length? / 4),
        "string" => StoredKind::Object { is_text: true },
        "variable_length_bytes" | "bytes" => StoredKind::Object { is_text: false },
        "numpy.datetime64" => StoredKind::Time('M', unit(data_type)?),
        "numpy.timedelta64" => StoredKind::Time('m', unit(data_type)?),
        other => return raw(other),
    })
}

/// `[s]`, `[10s]`; nothing for times without a unit.
fn unit(data_type: &Value) -> Option<String> {
    let unit = configured(data_type, "unit")?.as_str()?;
    let scale = configured(data_type, "scale_factor").and_then(Value::as_u64);
    Some(match (unit, scale.unwrap_or(1)) {
        ("generic", _) => String::new(),
        (unit, 1) => format!("[{unit}]"),
        (unit, scale) => format!("[{scale}{unit}]"),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dtype(data_type: Value) -> Option<String> {
        let stored = Stored::of(&data_type, Reader::Any, None).ok()?;
        Some(stored.dtype(true))
    }

    #[test]
    fn types_have_numpys_names() {
        assert_eq!(dtype(json!("int8")).as_deref(), Some("|i1"));
        assert_eq!(dtype(json!("float32")).as_deref(), Some(">f4"));
        assert_eq!(dtype(json!("r24")).as_deref(), Some("|V3"));
        assert_eq!(dtype(json!("string")).as_deref(), Some("|O"));
        let time =
            json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}});
        assert_eq!(dtype(time).as_deref(), Some(">M8[10s]"));
        assert_eq!(dtype(json!("int4")), None);
    }

    #[test]
    fn netcdf_has_fewer() {
        let of = |data_type: Value| Stored::of(&data_type, Reader::NetCdf, Some(7));
        assert_eq!(of(json!("bool")).expect("a byte").dtype(false), "|u1");
        let text = of(json!("string")).expect("of a length");
        assert_eq!((text.dtype(false).as_str(), text.is_same), ("|S7", false));
        for data_type in ["float16", "complex64", "r8", "variable_length_bytes"] {
            assert!(of(json!(data_type)).is_err(), "{data_type}");
        }
    }

    #[test]
    fn fill_values_are_spelt_anew() {
        let of = |data_type: &str, value: Value| {
            let stored = Stored::of(&json!(data_type), Reader::Any, None).expect("known");
            stored.fill_value(&value)
        };
        assert_eq!(of("float32", json!("0x7fc00000")), Ok(json!("NaN")));
        assert_eq!(of("float64", json!(1.5)), Ok(json!(1.5)));
        assert_eq!(of("r16", json!([1, 2])), Ok(json!("AQI=")));
        assert!(of("r16", json!([1, 256])).is_err());
    }
}
