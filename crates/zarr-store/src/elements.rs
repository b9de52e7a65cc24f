//! The elements of a chunk, whatever codecs made its bytes.

use std::borrow::Cow;
use std::num::NonZeroU64;

use serde_json::{Value, json};

use ::zarrs::array::{
    ArrayBytes, ArrayBytesOffsets, ArrayToBytesCodecTraits, CodecChain, CodecOptions, DataType,
    FillValue,
};
use ::zarrs::metadata::v3::MetadataV3;
use base64::Engine;

use crate::data_type::element_bytes;
use crate::fletcher32;

/// Most bytes of one element.
const MAX_ELEMENT: usize = 16 << 20;

/// The elements of a chunk, the last dimension fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Of so many bytes each, numbers little-endian.
    Fixed(Vec<u8>),
    /// Of different lengths.
    Variable(Vec<Vec<u8>>),
}

/// Makes elements of the encoded bytes of an array's chunks.
#[derive(Debug)]
pub struct ChunkCodec {
    codecs: CodecChain,
    data_type: DataType,
    fill_value: FillValue,
    shape: Vec<NonZeroU64>,
    /// An element that nobody wrote.
    filled: Elements,
}

impl ChunkCodec {
    /// Reads what an array's `zarr.json` says of its chunks.
    ///
    /// # Errors
    /// What in it is not known here.
    pub fn new(document: &Value) -> Result<Self, String> {
        let shape = document.pointer("/chunk_grid/configuration/chunk_shape");
        let shape = shape.and_then(lengths);
        let shape = shape.ok_or("its chunk_grid has no chunk_shape")?;
        let field = |name: &str| document.get(name).unwrap_or(&Value::Null);
        let (codecs, data_type) = (field("codecs"), field("data_type"));
        Self::of(codecs, data_type, field("fill_value"), &shape)
    }

    /// As [`ChunkCodec::new`], with the parts of a document.
    ///
    /// # Errors
    /// What in them is not known here.
    pub fn of(
        codecs: &Value,
        data_type: &Value,
        fill_value: &Value,
        shape: &[u64],
    ) -> Result<Self, String> {
        fletcher32::register();
        let filled = filled(data_type, fill_value)?;
        let shape: Option<Vec<NonZeroU64>> = shape.iter().map(|it| NonZeroU64::new(*it)).collect();
        let shape = shape.ok_or("its chunks have a length of 0")?;
        let stored = stored(data_type);
        let refuse = |what: &str, error: String| format!("its {what} {error}");
        let parsed: MetadataV3 = serde_json::from_value(stored)
            .map_err(|error| refuse("data_type is not understood:", error.to_string()))?;
        let data_type = DataType::from_metadata(&parsed)
            .map_err(|error| refuse("data_type is not understood:", error.to_string()))?;
        let codecs: Vec<MetadataV3> = serde_json::from_value(codecs.clone())
            .map_err(|error| refuse("codecs are not understood:", error.to_string()))?;
        let codecs = CodecChain::from_metadata(&codecs)
            .map_err(|error| refuse("codecs are not understood:", error.to_string()))?;
        // Inner chunks that a shard lacks are filled with it.
        let fill_value = FillValue::new(match &filled {
            Elements::Fixed(bytes) => bytes.clone(),
            Elements::Variable(texts) => texts.first().cloned().unwrap_or_default(),
        });
        Ok(Self {
            codecs,
            data_type,
            fill_value,
            shape,
            filled,
        })
    }

    /// Returns one element as it reads that nobody wrote.
    pub fn filled(&self) -> &Elements {
        &self.filled
    }

    /// Encodes a chunk; the inverse of [`ChunkCodec::decode`].
    ///
    /// # Errors
    /// What is wrong with the elements.
    pub fn encode(&self, elements: Elements) -> Result<Vec<u8>, String> {
        let options = CodecOptions::default();
        let elements = match elements {
            Elements::Fixed(bytes) => ArrayBytes::new_flen(bytes),
            Elements::Variable(texts) => {
                let mut ends = vec![0];
                let mut all = Vec::new();
                for text in &texts {
                    all.extend_from_slice(text);
                    ends.push(all.len());
                }
                let ends = ArrayBytesOffsets::new(ends).map_err(|error| error.to_string())?;
                ArrayBytes::new_vlen(all, ends).map_err(|error| error.to_string())?
            }
        };
        let (data_type, fill_value) = (&self.data_type, &self.fill_value);
        self.codecs
            .encode(elements, &self.shape, data_type, fill_value, &options)
            .map(Cow::into_owned)
            .map_err(|error| error.to_string())
    }

    /// Decodes a chunk.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(&self, encoded: &[u8]) -> Result<Elements, String> {
        let options = CodecOptions::default();
        let (data_type, fill_value) = (&self.data_type, &self.fill_value);
        let encoded = Cow::Borrowed(encoded);
        let decoded = self
            .codecs
            .decode(encoded, &self.shape, data_type, fill_value, &options)
            .map_err(|error| error.to_string())?;
        match decoded {
            ArrayBytes::Fixed(bytes) => Ok(Elements::Fixed(bytes.into_owned())),
            ArrayBytes::Variable(variable) => {
                let (bytes, offsets) = variable.into_parts();
                let mut elements = Vec::with_capacity(offsets.len().saturating_sub(1));
                for pair in offsets.windows(2) {
                    let element = bytes.get(pair[0]..pair[1]);
                    elements.push(element.ok_or("its lengths lead beyond its end")?.to_vec());
                }
                Ok(Elements::Variable(elements))
            }
            ArrayBytes::Optional(_) => Err("its elements may be absent".to_owned()),
        }
    }
}

/// A type whose elements are the same bytes, known to the decoder.
fn stored(data_type: &Value) -> Value {
    let name = data_type
        .as_str()
        .or_else(|| data_type.get("name")?.as_str())
        .unwrap_or_default();
    let bytes = data_type.pointer("/configuration/length_bytes");
    match (name, bytes.and_then(Value::as_u64)) {
        ("null_terminated_bytes" | "raw_bytes", Some(bytes)) => {
            format!("r{}", bytes.saturating_mul(8)).into()
        }
        ("numpy.datetime64" | "numpy.timedelta64", _) => "int64".into(),
        ("variable_length_bytes", _) => "bytes".into(),
        ("string" | "bytes", _) => json!(name),
        _ => data_type.clone(),
    }
}

fn lengths(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

/// One element with a fill value.
fn filled(data_type: &Value, value: &Value) -> Result<Elements, String> {
    let refuse = || format!("its fill_value is {value}, which is not of its type {data_type}");
    let name = data_type
        .as_str()
        .or_else(|| data_type.get("name")?.as_str());
    let Some(width) = element_bytes(data_type) else {
        let text = value.as_str().unwrap_or_default();
        return Ok(Elements::Variable(vec![text.as_bytes().to_vec()]));
    };
    if width > MAX_ELEMENT {
        return Err(format!(
            "its elements have {width} bytes, and {MAX_ELEMENT} are the most"
        ));
    }
    let mut bytes = match (name, value) {
        (Some("null_terminated_bytes" | "raw_bytes"), Value::String(text)) => {
            base64_bytes(text).ok_or_else(refuse)?
        }
        (Some("fixed_length_utf32"), Value::String(text)) => text
            .chars()
            .flat_map(|it| u32::from(it).to_le_bytes())
            .collect(),
        (Some("numpy.datetime64" | "numpy.timedelta64"), Value::String(text)) if text == "NaT" => {
            i64::MIN.to_le_bytes().to_vec()
        }
        (Some("bool"), Value::Bool(value)) => vec![u8::from(*value)],
        (Some("float32"), Value::String(text)) if text.starts_with("0x") => {
            hex(text).ok_or_else(refuse)?.to_le_bytes().to_vec()
        }
        (Some("float64"), Value::String(text)) if text.starts_with("0x") => {
            hex(text).ok_or_else(refuse)?.to_le_bytes().to_vec()
        }
        (Some("float32"), value) => {
            let value = float(value).ok_or_else(refuse)? as f32;
            value.to_le_bytes().to_vec()
        }
        (Some("float64"), value) => float(value).ok_or_else(refuse)?.to_le_bytes().to_vec(),
        (Some("complex64"), Value::Array(parts)) => {
            let parts: Option<Vec<f64>> = parts.iter().map(float).collect();
            let parts = parts.ok_or_else(refuse)?.into_iter();
            parts.flat_map(|it| (it as f32).to_le_bytes()).collect()
        }
        (Some("complex128"), Value::Array(parts)) => {
            let parts: Option<Vec<f64>> = parts.iter().map(float).collect();
            let parts = parts.ok_or_else(refuse)?.into_iter();
            parts.flat_map(f64::to_le_bytes).collect()
        }
        (_, Value::Number(number)) => {
            let whole = number.as_i128().ok_or_else(refuse)?;
            whole.to_le_bytes().to_vec()
        }
        _ => return Err(refuse()),
    };
    bytes.resize(width, 0);
    Ok(Elements::Fixed(bytes))
}

fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    base64::engine::general_purpose::STANDARD.decode(text).ok()
}

fn hex(text: &str) -> Option<u64> {
    u64::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

fn float(value: &Value) -> Option<f64> {
    match value.as_str() {
        None => value.as_f64(),
        Some("NaN") => Some(f64::NAN),
        Some("Infinity") => Some(f64::INFINITY),
        Some("-Infinity") => Some(f64::NEG_INFINITY),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_come_out_of_any_codecs() {
        let plain: Vec<u8> = [1_i16, -2, 300]
            .iter()
            .flat_map(|it| it.to_be_bytes())
            .collect();
        let little: Vec<u8> = [1_i16, -2, 300]
            .iter()
            .flat_map(|it| it.to_le_bytes())
            .collect();
        let big = json!([{ "name": "bytes", "configuration": { "endian": "big" } }]);
        let codec = ChunkCodec::of(&big, &json!("int16"), &json!(0), &[3]).expect("known");
        assert_eq!(codec.decode(&plain), Ok(Elements::Fixed(little)));
        assert!(codec.decode(&plain[1..]).is_err());

        let text =
            json!({ "name": "null_terminated_bytes", "configuration": { "length_bytes": 2 } });
        let codec =
            ChunkCodec::of(&json!([{ "name": "bytes" }]), &text, &json!(""), &[2]).expect("known");
        assert_eq!(
            codec.decode(b"abc\0"),
            Ok(Elements::Fixed(b"abc\0".to_vec()))
        );

        let codec = ChunkCodec::of(&json!(["vlen-utf8"]), &json!("string"), &json!(""), &[2]);
        let chunk = [2, 0, 0, 0, 1, 0, 0, 0, b'a', 0, 0, 0, 0];
        let expected = Elements::Variable(vec![b"a".to_vec(), Vec::new()]);
        assert_eq!(codec.expect("known").decode(&chunk), Ok(expected));

        assert!(ChunkCodec::of(&json!(["zap"]), &json!("int8"), &json!(0), &[1]).is_err());
        assert!(ChunkCodec::of(&json!([]), &json!("int8"), &json!(0), &[1]).is_err());
    }

    #[test]
    fn times_are_numbers_and_one_of_them_is_none() {
        let days = json!({ "name": "numpy.datetime64", "configuration": { "unit": "D", "scale_factor": 1 } });
        let bytes = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
        for (fill, expected) in [(json!("NaT"), i64::MIN), (json!(7), 7)] {
            let codec = ChunkCodec::of(&bytes, &days, &fill, &[1]).expect("known");
            let expected = Elements::Fixed(expected.to_le_bytes().to_vec());
            assert_eq!(codec.filled(), &expected);
            let encoded = codec.encode(expected.clone()).expect("fixed");
            assert_eq!(codec.decode(&encoded), Ok(expected));
        }
        assert!(ChunkCodec::of(&bytes, &days, &json!("never"), &[1]).is_err());
    }

    #[test]
    fn what_a_shard_lacks_reads_as_the_fill_value() {
        let shard = json!([{ "name": "sharding_indexed", "configuration": {
            "chunk_shape": [1],
            "codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }],
            "index_codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }],
            "index_location": "end",
        }}]);
        let index = [0_u64, 2, u64::MAX, u64::MAX]
            .map(u64::to_le_bytes)
            .concat();
        let chunk = [&5_i16.to_le_bytes()[..], &index].concat();
        let codec = ChunkCodec::of(&shard, &json!("int16"), &json!(7), &[2]).expect("known");
        let expected = [5_i16, 7].iter().flat_map(|it| it.to_le_bytes()).collect();
        assert_eq!(codec.decode(&chunk), Ok(Elements::Fixed(expected)));
    }

    #[test]
    fn elements_that_no_memory_holds_are_refused() {
        let name = "null_terminated_bytes";
        let text =
            json!({ "name": name, "configuration": { "length_bytes": 1_000_000_000_000_000_u64 } });
        assert!(ChunkCodec::of(&json!(["bytes"]), &text, &json!(""), &[1]).is_err());
    }
}
