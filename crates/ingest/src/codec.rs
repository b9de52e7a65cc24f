//! The elements of chunks, for what an import cannot take as it is: chunks at seams, coordinates, times.
//!
//! With the feature `codecs` all codecs are understood that `icefield-zarr-store` knows; without it, the simple ones of
//! [`Encoding`](crate::decode::Encoding), of numbers.

use serde_json::Value;

#[cfg(feature = "codecs")]
pub(crate) use icefield_zarr_store::Elements;

use crate::regions::{Region, copy_part};

/// The elements of a chunk, the last dimension fastest.
#[cfg(not(feature = "codecs"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elements {
    /// Of so many bytes each, numbers little-endian.
    Fixed(Vec<u8>),
}

/// Returns the bytes of elements that have as many each; `None` of others.
pub(crate) fn fixed(elements: &Elements) -> Option<&[u8]> {
    match elements {
        Elements::Fixed(bytes) => Some(bytes),
        #[cfg(feature = "codecs")]
        Elements::Variable(_) => None,
    }
}

/// Copies a part that two boxes have in common from the elements of one to those of the other.
///
/// # Errors
/// Elements of another type, or fewer than their shape says.
pub(crate) fn copy_elements(
    part: &Region,
    (from, of): (&Elements, &Region),
    (into, to): (&mut Elements, &Region),
    width: usize,
) -> Result<(), String> {
    match (from, into) {
        (Elements::Fixed(from), Elements::Fixed(into)) => {
            copy_part(part, (from, of), (into, to), width)
        }
        #[cfg(feature = "codecs")]
        (Elements::Variable(from), Elements::Variable(into)) => {
            copy_part(part, (from, of), (into, to), 1)
        }
        #[cfg(feature = "codecs")]
        _ => Err("its elements are not of its type".to_owned()),
    }
}

/// Returns so many of the only element.
fn repeated(element: &Elements, count: usize) -> Elements {
    match element {
        Elements::Fixed(element) => Elements::Fixed(element.repeat(count)),
        #[cfg(feature = "codecs")]
        Elements::Variable(texts) => {
            let text = texts.first().cloned().unwrap_or_default();
            Elements::Variable(vec![text; count])
        }
    }
}

/// Decodes and encodes the chunks of one array.
#[derive(Debug)]
pub(crate) struct Codec {
    #[cfg(feature = "codecs")]
    codec: icefield_zarr_store::ChunkCodec,
    #[cfg(not(feature = "codecs"))]
    encoding: crate::decode::Encoding,
    filled: Elements,
    /// Elements of a chunk.
    elements: u64,
}

/// Most bytes of a decoded chunk.
const MOST: u64 = 1 << 31;

impl Codec {
    /// Reads the document of an array.
    ///
    /// # Errors
    /// The part that is not understood here.
    pub(crate) fn of(document: &Value) -> Result<Self, String> {
        let lengths = document.pointer("/chunk_grid/configuration/chunk_shape");
        let lengths = lengths.and_then(Value::as_array);
        let lengths = lengths.ok_or("its chunk_grid has no chunk_shape")?;
        let elements = lengths
            .iter()
            .try_fold(1_u64, |all, one| all.checked_mul(one.as_u64()?))
            .filter(|all| *all <= MOST)
            .ok_or("its chunks have more elements than memory holds")?;
        let codec = Self::new(document, lengths.len(), elements)?;
        let width = codec.width() as u64;
        match elements.checked_mul(width) {
            Some(bytes) if bytes <= MOST => Ok(codec),
            _ => Err(format!(
                "its chunks have more than {MOST} bytes when they are decoded"
            )),
        }
    }

    #[cfg(feature = "codecs")]
    fn new(document: &Value, _rank: usize, elements: u64) -> Result<Self, String> {
        let codec = icefield_zarr_store::ChunkCodec::new(document)?;
        Ok(Self {
            filled: codec.filled().clone(),
            codec,
            elements,
        })
    }

    #[cfg(not(feature = "codecs"))]
    fn new(document: &Value, rank: usize, elements: u64) -> Result<Self, String> {
        let names = document["codecs"].as_array().into_iter().flatten();
        let transposes = |codec: &Value| codec["name"] == "transpose" || *codec == "transpose";
        let bytes = serde_json::to_vec(document).map_err(|error| error.to_string())?;
        let encoding = crate::decode::Encoding::of(&bytes, elements)
            .filter(|_| rank < 2 || !names.clone().any(transposes))
            .ok_or("its type, fill value or codecs are none that are understood here")?;
        Ok(Self {
            filled: Elements::Fixed(encoding.in_order(encoding.fill().to_vec())),
            encoding,
            elements,
        })
    }

    /// Returns the element that an unwritten place reads as.
    pub(crate) fn filled(&self) -> &Elements {
        &self.filled
    }

    /// Returns the bytes of an element; of texts, those of a short one.
    pub(crate) fn width(&self) -> usize {
        match &self.filled {
            Elements::Fixed(bytes) => bytes.len(),
            #[cfg(feature = "codecs")]
            Elements::Variable(_) => 64,
        }
    }

    /// Returns the bytes of a decoded chunk.
    pub(crate) fn chunk_bytes(&self) -> u64 {
        self.elements.saturating_mul(self.width() as u64)
    }

    /// Returns a chunk of fill values.
    pub(crate) fn filled_chunk(&self) -> Elements {
        repeated(&self.filled, self.elements as usize)
    }

    /// Decodes a chunk.
    ///
    /// # Errors
    /// The problem with the bytes.
    pub(crate) fn decode(&self, encoded: &[u8]) -> Result<Elements, String> {
        #[cfg(feature = "codecs")]
        let elements = self.codec.decode(encoded)?;
        #[cfg(not(feature = "codecs"))]
        let elements = {
            let plain = self.encoding.plain(encoded);
            let plain = plain.ok_or("its bytes are none of its codecs")?;
            Elements::Fixed(self.encoding.in_order(plain))
        };
        let found = match &elements {
            Elements::Fixed(bytes) => bytes.len() / self.width().max(1),
            #[cfg(feature = "codecs")]
            Elements::Variable(texts) => texts.len(),
        };
        match found as u64 == self.elements {
            true => Ok(elements),
            false => Err(format!(
                "it holds {found} elements, and a chunk has {}",
                self.elements
            )),
        }
    }

    /// Encodes a chunk.
    ///
    /// # Errors
    /// The error of a codec.
    pub(crate) fn encode(&self, elements: Elements) -> Result<Vec<u8>, String> {
        #[cfg(feature = "codecs")]
        return self.codec.encode(elements);
        #[cfg(not(feature = "codecs"))]
        {
            let Elements::Fixed(plain) = elements;
            let encoded = self.encoding.encoded(self.encoding.in_order(plain));
            encoded.ok_or_else(|| "one of its codecs fails".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn chunks_are_decoded_to_little_endian_numbers_and_encoded_again() {
        let document = json!({
            "data_type": "int16", "fill_value": 7,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [2, 2] } },
            "codecs": [{ "name": "bytes", "configuration": { "endian": "big" } },
                { "name": "zstd", "configuration": { "level": 1, "checksum": false } }],
        });
        let codec = Codec::of(&document).expect("known");
        assert_eq!(codec.filled_chunk(), Elements::Fixed([7, 0].repeat(4)));
        assert_eq!((codec.width(), codec.chunk_bytes()), (2, 8));
        let plain = Elements::Fixed(vec![1, 0, 2, 0, 3, 0, 4, 0]);
        let encoded = codec.encode(plain.clone()).expect("in memory");
        assert_eq!(codec.decode(&encoded), Ok(plain));
        assert!(codec.decode(&encoded[1..]).is_err());
    }

    #[test]
    fn chunks_that_no_memory_holds_are_refused() {
        let document = json!({
            "data_type": "int16", "fill_value": 7, "codecs": ["bytes"],
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [1_u64 << 40, 1_u64 << 40] } },
        });
        assert!(Codec::of(&document).is_err());
    }
}
