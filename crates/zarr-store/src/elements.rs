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
use crate::{fletcher32, shuffle};

/// Most bytes of one element.
const MAX_ELEMENT: usize = 16 << 20;

/// The decoded elements of a chunk, in C order: the last dimension changes fastest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Elements of the same number of bytes each, one after the other; numbers are little-endian.
    Fixed(Vec<u8>),
    /// Elements of different lengths, such as strings.
    Variable(Vec<Vec<u8>>),
}

/// Decodes and encodes the chunks of an array by the codecs in its `zarr.json`. The crate `zarrs` does the work.
///
/// ```
/// use icefield_zarr_store::{ChunkCodec, Elements};
///
/// # fn main() -> Result<(), String> {
/// let document = serde_json::json!({
///     "data_type": "int16", "fill_value": -1,
///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
///     "codecs": [{"name": "bytes", "configuration": {"endian": "big"}}]
/// });
/// let codec = ChunkCodec::new(&document)?;
/// let elements = Elements::Fixed(vec![1, 0, 2, 0]);
/// let encoded = codec.encode(elements.clone())?;
/// assert_eq!(encoded, [0, 1, 0, 2]);
/// assert_eq!(codec.decode(&encoded)?, elements);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ChunkCodec {
    codecs: CodecChain,
    data_type: DataType,
    fill_value: FillValue,
    shape: Vec<NonZeroU64>,
    /// An element that was never written.
    filled: Elements,
}

impl ChunkCodec {
    /// Reads data type, chunk shape, fill value and codecs from an array's `zarr.json`.
    ///
    /// # Errors
    /// The field that is missing, or that this build does not support, as a sentence.
    pub fn new(document: &Value) -> Result<Self, String> {
        let shape = document.pointer("/chunk_grid/configuration/chunk_shape");
        let shape = shape.and_then(lengths);
        let shape = shape.ok_or("its chunk_grid has no chunk_shape")?;
        let field = |name: &str| document.get(name).unwrap_or(&Value::Null);
        let (codecs, data_type) = (field("codecs"), field("data_type"));
        Self::of(codecs, data_type, field("fill_value"), &shape)
    }

    /// As [`ChunkCodec::new`], from the fields of a document. `shape` is the number of elements of a chunk along each
    /// dimension.
    ///
    /// # Errors
    /// The field that this build does not support, as a sentence.
    pub fn of(
        codecs: &Value,
        data_type: &Value,
        fill_value: &Value,
        shape: &[u64],
    ) -> Result<Self, String> {
        fletcher32::codec::register();
        shuffle::codec::register();
        #[cfg(feature = "all-codecs")]
        crate::inflate::register();
        let described = data_type;
        let shape: Option<Vec<NonZeroU64>> = shape.iter().map(|it| NonZeroU64::new(*it)).collect();
        let shape = shape.ok_or("its chunks have a length of 0")?;
        let stored = stored(data_type);
        let refuse = |what: &str, error: String| format!("its {what} {error}");
        let parsed: MetadataV3 = serde_json::from_value(stored)
            .map_err(|error| refuse("data_type is not understood:", error.to_string()))?;
        let data_type = DataType::from_metadata(&parsed)
            .map_err(|error| refuse("data_type is not understood:", error.to_string()))?;
        let filled = filled(described, fill_value)?;
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

    /// Returns the fill value: the element that an unwritten one reads as.
    pub fn filled(&self) -> &Elements {
        &self.filled
    }

    /// Encodes a chunk; the inverse of [`ChunkCodec::decode`]. The same elements give the same bytes on every call.
    ///
    /// # Errors
    /// The number of elements is not that of a chunk, or a codec refuses them.
    pub fn encode(&self, elements: Elements) -> Result<Vec<u8>, String> {
        // Several threads would put inner chunks into a shard in the order in which they are done with them.
        let options = CodecOptions::default().with_concurrent_target(1);
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
    /// The bytes are damaged, or the chunk would not fit into memory.
    pub fn decode(&self, encoded: &[u8]) -> Result<Elements, String> {
        if !self.is_addressable() {
            return Err("its shape says more bytes than memory has addresses".to_owned());
        }
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

    /// Returns whether the bytes of a chunk can be counted. The codecs multiply the lengths of a chunk unchecked.
    fn is_addressable(&self) -> bool {
        let width = match &self.filled {
            Elements::Fixed(bytes) => bytes.len().max(1) as u64,
            Elements::Variable(_) => 1,
        };
        let mut lengths = self.shape.iter();
        let bytes = lengths.try_fold(width, |bytes, length| bytes.checked_mul(length.get()));
        bytes.is_some_and(|bytes| isize::try_from(bytes).is_ok())
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
        .or_else(|| data_type.get("name")?.as_str())
        .unwrap_or_default();
    let Some(width) = element_bytes(data_type) else {
        let element = match name {
            "string" => value.as_str().map(|text| text.as_bytes().to_vec()),
            "bytes" | "variable_length_bytes" => bytes_of(value),
            _ => None,
        };
        return Ok(Elements::Variable(vec![element.ok_or_else(refuse)?]));
    };
    if width > MAX_ELEMENT {
        return Err(format!(
            "its elements have {width} bytes, and {MAX_ELEMENT} are the most"
        ));
    }
    let bytes = match (name, value) {
        ("null_terminated_bytes" | "raw_bytes", Value::String(_)) => bytes_of(value),
        ("fixed_length_utf32", Value::String(text)) => {
            let codes = text.chars().map(u32::from);
            Some(codes.flat_map(u32::to_le_bytes).collect())
        }
        ("numpy.datetime64" | "numpy.timedelta64", Value::String(text)) if text == "NaT" => {
            Some(i64::MIN.to_le_bytes().to_vec())
        }
        ("bool", Value::Bool(value)) => Some(vec![u8::from(*value)]),
        ("float16" | "float32" | "float64", value) => float_bytes(value, width),
        ("complex64" | "complex128", Value::Array(parts)) if parts.len() == 2 => {
            let parts = parts.iter().map(|part| float_bytes(part, width / 2));
            let parts: Option<Vec<Vec<u8>>> = parts.collect();
            parts.map(|parts| parts.concat())
        }
        ("uint8" | "uint16" | "uint32" | "uint64", Value::Number(number)) => {
            number.as_u64().and_then(|it| shortened(it, width))
        }
        (
            "int8" | "int16" | "int32" | "int64" | "numpy.datetime64" | "numpy.timedelta64",
            Value::Number(number),
        ) => number.as_i64().and_then(|it| {
            let unused = 64 - 8 * u32::try_from(width).ok()?;
            let is_within = (it << unused) >> unused == it;
            is_within.then(|| it.to_le_bytes()[..width].to_vec())
        }),
        _ => None,
    };
    let mut bytes = bytes
        .filter(|bytes| bytes.len() <= width)
        .ok_or_else(refuse)?;
    bytes.resize(width, 0);
    Ok(Elements::Fixed(bytes))
}

/// The bytes of a text in base64, as zarr-python writes them, or of a list of numbers from 0 to 255.
fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) => base64::engine::general_purpose::STANDARD.decode(text).ok(),
        Value::Array(list) => {
            let byte = |one: &Value| u8::try_from(one.as_u64()?).ok();
            list.iter().map(byte).collect()
        }
        _ => None,
    }
}

/// The bytes of a floating-point number of so many: one that JSON has, one that it lacks by its name, or its bits in hexadecimal.
fn float_bytes(value: &Value, width: usize) -> Option<Vec<u8>> {
    if let Some(bits) = value.as_str().and_then(|text| text.strip_prefix("0x")) {
        return shortened(u64::from_str_radix(bits, 16).ok()?, width);
    }
    let float = match value.as_str() {
        None => value.as_f64()?,
        Some("NaN") => f64::NAN,
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some(_) => return None,
    };
    Some(match width {
        // On some processors, the other conversion rounds twice.
        2 => half::f16::from_f64_const(float).to_le_bytes().to_vec(),
        4 => (float as f32).to_le_bytes().to_vec(),
        _ => float.to_le_bytes().to_vec(),
    })
}

/// The lowest bytes of a number, if the others are zeros.
fn shortened(number: u64, width: usize) -> Option<Vec<u8>> {
    let bytes = number.to_le_bytes();
    let (low, high) = bytes.split_at_checked(width)?;
    high.iter().all(|byte| *byte == 0).then(|| low.to_vec())
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
    fn a_shard_has_its_inner_chunks_in_order_each_time() {
        let codecs = json!([{ "name": "sharding_indexed", "configuration": {
            "chunk_shape": [256],
            "codecs": [{ "name": "bytes" }, { "name": "zstd", "configuration": { "level": 3, "checksum": false } }],
            "index_codecs": [{ "name": "bytes", "configuration": { "endian": "little" } }],
            "index_location": "end",
        }}]);
        let codec = ChunkCodec::of(&codecs, &json!("uint8"), &json!(0), &[64 * 256]);
        let codec = codec.expect("known");
        // Some inner chunks take longer than others.
        let element = |at: u32| (at.wrapping_mul(at) >> (at / 2048)) as u8;
        let elements: Vec<u8> = (1..=64 * 256).map(element).collect();
        let encode = || codec.encode(Elements::Fixed(elements.clone()));
        let first = encode().expect("fixed");
        for _ in 0..200 {
            assert_eq!(encode().as_ref(), Ok(&first));
        }
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
    fn fill_values_of_bytes_are_base64_or_lists() {
        let variable = |data_type: &str, fill: Value| {
            let codec = ChunkCodec::of(&json!(["vlen-bytes"]), &json!(data_type), &fill, &[1]);
            codec.map(|codec| codec.filled().clone())
        };
        for data_type in ["variable_length_bytes", "bytes"] {
            for (fill, expected) in [
                (json!(""), &b""[..]),
                (json!("AP8="), &[0, 255]),
                (json!([0, 255]), &[0, 255]),
                (json!([]), &[]),
            ] {
                let expected = Elements::Variable(vec![expected.to_vec()]);
                assert_eq!(variable(data_type, fill), Ok(expected));
            }
            for wrong in [json!("no base64"), json!([256]), json!(0), Value::Null] {
                let error = variable(data_type, wrong).expect_err("not bytes");
                assert!(error.contains("fill_value"), "{error}");
            }
        }
        let texts = |fill: Value| {
            let codec = ChunkCodec::of(&json!(["vlen-utf8"]), &json!("string"), &fill, &[1]);
            codec.map(|codec| codec.filled().clone())
        };
        let expected = Elements::Variable(vec![b"AP8=".to_vec()]);
        assert_eq!(texts(json!("AP8=")), Ok(expected));
        assert!(texts(json!(["a"])).is_err());
    }

    #[test]
    fn fill_values_of_numbers_are_of_their_type() {
        let bytes = json!([{ "name": "bytes", "configuration": { "endian": "little" } }]);
        let filled = |data_type: &str, fill: Value| {
            let codec = ChunkCodec::of(&bytes, &json!(data_type), &fill, &[1]);
            codec.map(|codec| codec.filled().clone())
        };
        for (data_type, fill, expected) in [
            ("float16", json!(0.0), &[0_u8, 0][..]),
            ("float16", json!(1), &[0, 0x3c]),
            ("float16", json!(-1.5), &[0, 0xbe]),
            ("float16", json!("NaN"), &[0, 0x7e]),
            ("float16", json!("Infinity"), &[0, 0x7c]),
            ("float16", json!("-Infinity"), &[0, 0xfc]),
            ("float16", json!("0x7e01"), &[1, 0x7e]),
            ("float32", json!("0x7fc00001"), &[1, 0, 0xc0, 0x7f]),
            ("float32", json!(1), &[0, 0, 0x80, 0x3f]),
            (
                "complex64",
                json!([1, "NaN"]),
                &[0, 0, 0x80, 0x3f, 0, 0, 0xc0, 0x7f],
            ),
            ("int8", json!(-128), &[0x80]),
            ("uint16", json!(65535), &[255, 255]),
            ("uint64", json!(u64::MAX), &[255; 8]),
            ("int64", json!(i64::MIN), &[0, 0, 0, 0, 0, 0, 0, 0x80]),
            ("bool", json!(true), &[1]),
        ] {
            let found = filled(data_type, fill.clone());
            let expected = Elements::Fixed(expected.to_vec());
            assert_eq!(found, Ok(expected), "{data_type} {fill}");
        }
        for (data_type, wrong) in [
            ("float16", json!("0x17e00")),
            ("float16", json!("0x")),
            ("float32", json!("nothing")),
            ("complex64", json!([1, 2, 3])),
            ("complex64", json!(1)),
            ("int8", json!(128)),
            ("int8", json!(-129)),
            ("uint8", json!(-1)),
            ("uint8", json!(256)),
            ("int16", json!(0.5)),
            ("bool", json!(1)),
        ] {
            let error = filled(data_type, wrong).expect_err(data_type);
            assert!(error.contains("fill_value"), "{error}");
        }
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
