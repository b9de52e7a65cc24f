//! The elements of a chunk, whatever codecs made its bytes.

use std::borrow::Cow;
use std::num::NonZeroU64;

use serde_json::{Value, json};

use zarrs::array::{
    ArrayBytes, ArrayBytesOffsets, ArrayToBytesCodecTraits, CodecChain, CodecOptions, DataType,
    FillValue,
};
use zarrs::metadata::v3::MetadataV3;

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
        let codecs = document.get("codecs").unwrap_or(&Value::Null);
        Self::of(
            codecs,
            document.get("data_type").unwrap_or(&Value::Null),
            &shape,
        )
    }

    /// As [`ChunkCodec::new`], with the parts of a document.
    ///
    /// # Errors
    /// What in them is not known here.
    pub fn of(codecs: &Value, data_type: &Value, shape: &[u64]) -> Result<Self, String> {
        let shape: Option<Vec<NonZeroU64>> = shape.iter().map(|it| NonZeroU64::new(*it)).collect();
        let shape = shape.ok_or("its chunks have a length of 0")?;
        let (stored, bytes) = stored(data_type);
        let refuse = |what: &str, error: String| format!("its {what} {error}");
        let parsed: MetadataV3 = serde_json::from_value(stored)
            .map_err(|error| refuse("data_type is not understood:", error.to_string()))?;
        let data_type = DataType::from_metadata(&parsed)
            .map_err(|error| refuse("data_type is not understood:", error.to_string()))?;
        let codecs: Vec<MetadataV3> = serde_json::from_value(codecs.clone())
            .map_err(|error| refuse("codecs are not understood:", error.to_string()))?;
        let codecs = CodecChain::from_metadata(&codecs)
            .map_err(|error| refuse("codecs are not understood:", error.to_string()))?;
        // Nothing is filled while a chunk is decoded, except inner chunks that a shard lacks.
        let fill_value = FillValue::new(vec![0; bytes.unwrap_or(0)]);
        Ok(Self {
            codecs,
            data_type,
            fill_value,
            shape,
        })
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

/// Returns the text of an element of UTF-32, little-endian, in UTF-8.
pub(crate) fn text_of_utf32(element: &[u8]) -> Result<String, String> {
    let (units, _) = element.as_chunks::<4>();
    let characters = units
        .iter()
        .map(|unit| char::from_u32(u32::from_le_bytes(*unit)));
    let text: Option<String> = characters.collect();
    let text = text.ok_or("a text in it is no Unicode")?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// A type whose elements are the same bytes, known to the decoder, and their number.
fn stored(data_type: &Value) -> (Value, Option<usize>) {
    let name = data_type
        .as_str()
        .or_else(|| data_type.get("name")?.as_str())
        .unwrap_or_default();
    let bytes = data_type.pointer("/configuration/length_bytes");
    let bytes = bytes
        .and_then(Value::as_u64)
        .and_then(|it| usize::try_from(it).ok());
    match (name, bytes) {
        ("null_terminated_bytes" | "raw_bytes", Some(bytes)) => {
            (format!("r{}", bytes.saturating_mul(8)).into(), Some(bytes))
        }
        ("numpy.datetime64" | "numpy.timedelta64", _) => ("int64".into(), Some(8)),
        ("variable_length_bytes", _) => ("bytes".into(), None),
        ("fixed_length_utf32", Some(bytes)) => (data_type.clone(), Some(bytes)),
        ("string" | "bytes", _) => (json!(name), None),
        _ => (data_type.clone(), crate::archive::element_bytes(data_type)),
    }
}

fn lengths(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
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
        let codec = ChunkCodec::of(&big, &json!("int16"), &[3]).expect("known");
        assert_eq!(codec.decode(&plain), Ok(Elements::Fixed(little)));
        assert!(codec.decode(&plain[1..]).is_err());

        let text =
            json!({ "name": "null_terminated_bytes", "configuration": { "length_bytes": 2 } });
        let codec = ChunkCodec::of(&json!([{ "name": "bytes" }]), &text, &[2]).expect("known");
        assert_eq!(
            codec.decode(b"abc\0"),
            Ok(Elements::Fixed(b"abc\0".to_vec()))
        );

        let codec = ChunkCodec::of(&json!(["vlen-utf8"]), &json!("string"), &[2]);
        let chunk = [2, 0, 0, 0, 1, 0, 0, 0, b'a', 0, 0, 0, 0];
        let expected = Elements::Variable(vec![b"a".to_vec(), Vec::new()]);
        assert_eq!(codec.expect("known").decode(&chunk), Ok(expected));

        assert!(ChunkCodec::of(&json!(["zap"]), &json!("int8"), &[1]).is_err());
        assert!(ChunkCodec::of(&json!([]), &json!("int8"), &[1]).is_err());
    }
}
