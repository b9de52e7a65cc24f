//! Chunks that are decoded and encoded anew.

use bytes::Bytes;
use serde_json::Value;

use super::data_type::Stored;

/// Makes chunks of format 2, in C order and little-endian, of chunks of any codecs.
#[derive(Debug)]
pub(super) struct Recoder {
    #[cfg(feature = "codecs")]
    decoder: icefield_zarr_store::ChunkCodec,
    #[cfg(feature = "codecs")]
    level: Option<u32>,
    /// Where texts get a fixed length: their bytes, and those of the UTF-32 that they are now.
    #[cfg(feature = "codecs")]
    texts: Option<(usize, Option<usize>)>,
}

#[cfg(not(feature = "codecs"))]
impl Recoder {
    pub(super) fn new(
        codecs: &Value,
        _: &Value,
        _: &Value,
        _: &[u64],
        _: &Stored,
        _: Option<u32>,
    ) -> Result<Self, String> {
        Err(format!(
            "its chunks have to be encoded anew, from {codecs}, and this program was built without the feature `codecs`"
        ))
    }

    pub(super) fn chunk(&self, _: &[u8]) -> Result<Bytes, String> {
        Err("this program was built without the feature `codecs`".to_owned())
    }
}

#[cfg(not(feature = "codecs"))]
pub(super) fn longest(_: &Value, _: &[u8]) -> Result<usize, String> {
    Err(
        "its texts have to be decoded, and this program was built without the feature `codecs`"
            .to_owned(),
    )
}

#[cfg(not(feature = "codecs"))]
pub(super) fn filled(_: &Value, _: &[Value], _: &[u64]) -> Option<Bytes> {
    None
}

#[cfg(feature = "codecs")]
pub(super) use with_codecs::{filled, longest};

#[cfg(feature = "codecs")]
mod with_codecs {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use icefield_zarr_store::{ChunkCodec, Elements};

    use crate::archive::values::text_of_utf32;
    use crate::format2::data_type;
    use crate::format2::recode::{Bytes, Recoder, Stored, Value};
    use crate::format2::vocabulary::{configured, name_of};

    impl Recoder {
        pub(crate) fn new(
            codecs: &Value,
            data_type: &Value,
            fill_value: &Value,
            chunk_shape: &[u64],
            stored: &Stored,
            level: Option<u32>,
        ) -> Result<Self, String> {
            let is_text = !stored.is_same && data_type::is_text(data_type);
            let bytes = stored.bytes().filter(|_| is_text);
            let wide = wide(data_type);
            Ok(Self {
                decoder: ChunkCodec::of(codecs, data_type, fill_value, chunk_shape)?,
                level,
                texts: bytes.map(|bytes| (bytes as usize, wide)),
            })
        }

        /// Encodes a chunk anew.
        pub(crate) fn chunk(&self, bytes: &[u8]) -> Result<Bytes, String> {
            let elements = self.decoder.decode(bytes)?;
            let plain = match (self.texts, elements) {
                (None, Elements::Fixed(plain)) => plain,
                (Some((length, wide)), elements) => {
                    let mut plain = Vec::new();
                    for text in texts(elements, wide)? {
                        let end = plain.len() + length;
                        let text = text.get(..length.min(text.len())).unwrap_or_default();
                        plain.extend_from_slice(text);
                        plain.resize(end, 0);
                    }
                    plain
                }
                (None, Elements::Variable(_)) => {
                    return Err("its elements have no fixed length".to_owned());
                }
            };
            let Some(level) = self.level else {
                return Ok(plain.into());
            };
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(level));
            let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
            written.map(Bytes::from).map_err(|error| error.to_string())
        }
    }

    /// The bytes of a text in UTF-32; `None` of other types.
    fn wide(data_type: &Value) -> Option<usize> {
        let is_wide = name_of(data_type) == "fixed_length_utf32";
        let bytes = configured(data_type, "length_bytes").filter(|_| is_wide)?;
        usize::try_from(bytes.as_u64()?)
            .ok()
            .filter(|bytes| *bytes > 0)
    }

    /// Texts in UTF-8.
    fn texts(elements: Elements, wide: Option<usize>) -> Result<Vec<Vec<u8>>, String> {
        let texts: Vec<Vec<u8>> = match (elements, wide) {
            (Elements::Variable(texts), _) => texts,
            (Elements::Fixed(bytes), Some(wide)) => {
                bytes.chunks(wide).map(narrow).collect::<Result<_, _>>()?
            }
            (Elements::Fixed(_), None) => return Err("its texts have no length".to_owned()),
        };
        match texts.iter().any(|text| text.contains(&0)) {
            true => {
                Err("a text in it has the character NUL, at which netCDF's texts end".to_owned())
            }
            false => Ok(texts),
        }
    }

    fn narrow(text: &[u8]) -> Result<Vec<u8>, String> {
        text_of_utf32(text).map(String::into_bytes)
    }

    /// An encoded chunk of nothing but fill values; `None` where one of the codecs is not known here.
    pub(crate) fn filled(document: &Value, codecs: &[Value], shape: &[u64]) -> Option<Bytes> {
        let nothing = Value::Null;
        let field = |name: &str| document.get(name).unwrap_or(&nothing);
        let codecs = Value::Array(codecs.to_vec());
        let codec = ChunkCodec::of(&codecs, field("data_type"), field("fill_value"), shape).ok()?;
        let count = shape
            .iter()
            .try_fold(1_u64, |all, one| all.checked_mul(*one));
        let count = usize::try_from(count?).ok()?;
        let elements = match codec.filled() {
            Elements::Fixed(one) => Elements::Fixed(one.repeat(count)),
            Elements::Variable(one) => {
                Elements::Variable(one.iter().cycle().take(count).cloned().collect())
            }
        };
        codec.encode(elements).ok().map(Bytes::from)
    }

    pub(crate) fn longest(document: &Value, bytes: &[u8]) -> Result<usize, String> {
        let elements = ChunkCodec::new(document)?.decode(bytes)?;
        let nothing = Value::Null;
        let data_type = document.get("data_type").unwrap_or(&nothing);
        let texts = texts(elements, wide(data_type))?;
        Ok(texts.iter().map(Vec::len).max().unwrap_or(0))
    }
}
