//! Types of elements, as NumPy spells them.

use serde_json::{Value, json};

/// The type of an array's elements.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DataType {
    pub(super) element: Element,
    /// Whether numbers of several bytes have the first byte first.
    pub(super) is_big: bool,
}

/// The kind of an element; lengths are in bytes, of texts in characters.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Element {
    Bool,
    Int(u8),
    UInt(u8),
    Float(u8),
    Complex(u8),
    Bytes(u32),
    Text(u32),
    Raw(u32),
    Time {
        is_difference: bool,
        unit: String,
        scale: u32,
    },
    Object,
}

const UNITS: [&str; 14] = [
    "Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as", "generic",
];

impl DataType {
    /// Reads the `dtype` of a document.
    pub(super) fn parse(dtype: &Value) -> Result<Self, String> {
        match dtype {
            Value::String(text) => Self::of_text(text)
                .ok_or_else(|| format!("its dtype {text:?} has no counterpart in Zarr format 3")),
            Value::Array(_) => Err(format!(
                "its elements are structures, with the dtype {dtype}: store each field as an array of its own"
            )),
            other => Err(format!("its dtype {other} is not a text")),
        }
    }

    /// Reads `<f4` and the like.
    pub(super) fn of_text(text: &str) -> Option<Self> {
        let (is_big, text) = match text.as_bytes().first()? {
            b'>' => (true, text.get(1..)?),
            b'<' | b'|' | b'=' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (kind, rest) = (text.as_bytes().first()?, text.get(1..)?);
        let (size, unit) = match rest.split_once('[') {
            None => (rest, None),
            Some((size, unit)) => (size, Some(unit.strip_suffix(']')?)),
        };
        let size: u32 = match size {
            "" if *kind == b'O' => 0,
            size if size.bytes().all(|byte| byte.is_ascii_digit()) => size.parse().ok()?,
            _ => return None,
        };
        let element = match (kind, size, unit) {
            (b'M' | b'm', 8, unit) => time(*kind == b'm', unit.unwrap_or("generic"))?,
            (_, _, Some(_)) => return None,
            (b'b', 1, _) => Element::Bool,
            (b'i', 1 | 2 | 4 | 8, _) => Element::Int(size as u8),
            (b'u', 1 | 2 | 4 | 8, _) => Element::UInt(size as u8),
            (b'f', 2 | 4 | 8, _) => Element::Float(size as u8),
            (b'c', 8 | 16, _) => Element::Complex(size as u8),
            (b'S', 1.., _) => Element::Bytes(size),
            (b'V', 1.., _) => Element::Raw(size),
            (b'U', 1.., _) if size <= u32::MAX / 4 => Element::Text(size),
            (b'O', _, _) => Element::Object,
            _ => return None,
        };
        Some(Self { element, is_big })
    }

    /// Returns the bytes of an element; of an object none.
    pub(super) fn bytes(&self) -> u64 {
        match &self.element {
            Element::Bool => 1,
            Element::Int(size)
            | Element::UInt(size)
            | Element::Float(size)
            | Element::Complex(size) => u64::from(*size),
            Element::Bytes(size) | Element::Raw(size) => u64::from(*size),
            Element::Text(size) => u64::from(*size) * 4,
            Element::Time { .. } => 8,
            Element::Object => 0,
        }
    }

    /// Returns whether an element is a number or a truth value.
    pub(super) fn is_number(&self) -> bool {
        use Element::{Bool, Complex, Float, Int, UInt};
        matches!(
            self.element,
            Bool | Int(_) | UInt(_) | Float(_) | Complex(_)
        )
    }

    /// Returns the codec that makes bytes of elements.
    pub(super) fn bytes_codec(&self) -> Value {
        let has_order = match &self.element {
            Element::Int(size) | Element::UInt(size) => *size > 1,
            Element::Float(_) | Element::Complex(_) | Element::Text(_) | Element::Time { .. } => {
                true
            }
            Element::Bool | Element::Bytes(_) | Element::Raw(_) | Element::Object => false,
        };
        let endian = if self.is_big { "big" } else { "little" };
        match has_order {
            true => json!({"name": "bytes", "configuration": {"endian": endian}}),
            false => json!({"name": "bytes"}),
        }
    }

    /// Returns the `data_type` of format 3. An object is what its codec makes of it.
    pub(super) fn document(&self) -> Value {
        let fixed = |name: &str, length: u32| json!({"name": name, "configuration": {"length_bytes": length}});
        match &self.element {
            Element::Bool => "bool".into(),
            Element::Int(size) => format!("int{}", u32::from(*size) * 8).into(),
            Element::UInt(size) => format!("uint{}", u32::from(*size) * 8).into(),
            Element::Float(size) => format!("float{}", u32::from(*size) * 8).into(),
            Element::Complex(size) => format!("complex{}", u32::from(*size) * 8).into(),
            Element::Bytes(length) => fixed("null_terminated_bytes", *length),
            Element::Raw(length) => fixed("raw_bytes", *length),
            Element::Text(length) => fixed("fixed_length_utf32", length.saturating_mul(4)),
            Element::Time {
                is_difference,
                unit,
                scale,
            } => {
                let name = match is_difference {
                    true => "numpy.timedelta64",
                    false => "numpy.datetime64",
                };
                json!({"name": name, "configuration": {"unit": unit, "scale_factor": scale}})
            }
            Element::Object => "string".into(),
        }
    }
}

/// Reads `ns`, `10s` and the like.
fn time(is_difference: bool, unit: &str) -> Option<Element> {
    let digits = unit.bytes().take_while(u8::is_ascii_digit).count();
    let (scale, unit) = unit.split_at_checked(digits)?;
    let scale = match scale {
        "" => 1,
        scale => scale.parse().ok().filter(|scale| *scale > 0)?,
    };
    let unit = if unit == "μs" { "us" } else { unit };
    UNITS.contains(&unit).then(|| Element::Time {
        is_difference,
        unit: unit.to_owned(),
        scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Option<Value> {
        DataType::of_text(text).map(|found| found.document())
    }

    #[test]
    fn types_have_the_names_of_format_3() {
        assert_eq!(document("<f4"), Some("float32".into()));
        assert_eq!(document("|u1"), Some("uint8".into()));
        assert_eq!(document(">c16"), Some("complex128".into()));
        let text = json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 20}});
        assert_eq!(document("<U5"), Some(text));
        let time =
            json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}});
        assert_eq!(document("<M8[10s]"), Some(time));
        for text in [
            "",
            "<",
            "f3",
            "<f16",
            "<i4[s]",
            "<M8[x]",
            "<M8[s",
            "|S",
            "|S0",
            "<U4294967295",
            "é8",
            "<i+4",
        ] {
            assert_eq!(document(text), None, "{text}");
        }
    }
}
