//! The codec `numcodecs.zlib` of the crate `zarrs`, with libdeflate for what it decodes.
//!
//! A decoder of streams, as `zarrs` uses one, takes over twice the time of a decoder that has the whole chunk before it and
//! knows how long the result is. What libdeflate cannot decode is left to the codec of `zarrs`, whose errors callers see.

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ::zarrs::array::codec::ZlibCodec;
use ::zarrs::array::codec::api::{
    BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions, CodecOptions,
    CodecRuntimePluginV3, CodecRuntimeRegistryHandleV3, CodecTraits, CodecTraitsV3,
    PartialDecoderCapability, PartialEncoderCapability, RecommendedConcurrency, register_codec_v3,
};
use ::zarrs::array::{ArrayBytesRaw, BytesRepresentation};
use ::zarrs::metadata::Configuration;
use ::zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};
use libdeflater::Decompressor;

/// Most bytes that deflate makes of one, and the bytes around it.
const MOST_OF_ONE: u64 = 1032;
const AROUND: u64 = 64;

/// Its name in `zarr.json`.
const NAME: &str = "numcodecs.zlib";

/// Makes the codec known to the crate `zarrs`, in place of its own, for all arrays of the process. Once is enough.
pub(crate) fn register() {
    static REGISTERED: OnceLock<CodecRuntimeRegistryHandleV3> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        register_codec_v3(CodecRuntimePluginV3::new(
            |name| name == NAME,
            |metadata| match ZlibCodec::create(metadata)? {
                Codec::BytesToBytes(stream) => {
                    Ok(Codec::BytesToBytes(Arc::new(Inflate { stream })))
                }
                _ => Err(PluginCreateError::from("zlib makes bytes of bytes")),
            },
        ))
    });
}

/// The codec of `zarrs`, save for chunks whose decoded length is known.
#[derive(Debug)]
struct Inflate {
    stream: Arc<dyn BytesToBytesCodecTraits>,
}

/// Returns the decoded bytes, `None` if they are not zlib or more than `length`, or so few that they cannot become as many: room is
/// made for bytes that may come alone, whatever the metadata says.
fn inflated(encoded: &[u8], length: u64) -> Option<Vec<u8>> {
    let most = (encoded.len() as u64).saturating_mul(MOST_OF_ONE);
    if length > most.saturating_add(AROUND) {
        return None;
    }
    let mut decoded = Vec::new();
    let length = usize::try_from(length).ok()?;
    decoded.try_reserve_exact(length).ok()?;
    decoded.resize(length, 0);
    let written = Decompressor::new()
        .zlib_decompress(encoded, &mut decoded)
        .ok()?;
    decoded.truncate(written);
    Some(decoded)
}

impl ExtensionName for Inflate {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        self.stream.name(version)
    }
}

impl CodecTraits for Inflate {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(
        &self,
        version: ZarrVersion,
        options: &CodecMetadataOptions,
    ) -> Option<Configuration> {
        self.stream.configuration(version, options)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        self.stream.partial_decoder_capability()
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        self.stream.partial_encoder_capability()
    }
}

impl BytesToBytesCodecTraits for Inflate {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        decoded: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        self.stream.recommended_concurrency(decoded)
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        self.stream.encoded_representation(decoded)
    }

    fn encode<'a>(
        &self,
        decoded: ArrayBytesRaw<'a>,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.stream.encode(decoded, options)
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        representation: &BytesRepresentation,
        options: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let length = match representation {
            BytesRepresentation::FixedSize(length) => Some(*length),
            BytesRepresentation::BoundedSize(_) | BytesRepresentation::UnboundedSize => None,
        };
        match length.and_then(|length| inflated(&encoded, length)) {
            Some(decoded) => Ok(decoded.into()),
            None => self.stream.decode(encoded, representation, options),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ChunkCodec, Elements};

    fn codec() -> ChunkCodec {
        ChunkCodec::new(&document(1000)).unwrap()
    }

    /// Describes an array with so many elements in a chunk.
    fn document(count: usize) -> serde_json::Value {
        json!({
            "chunk_grid": {
                "name": "regular",
                "configuration": { "chunk_shape": [count] },
            },
            "data_type": "uint16",
            "fill_value": 0,
            "codecs": [
                { "name": "bytes", "configuration": { "endian": "little" } },
                { "name": "numcodecs.shuffle", "configuration": { "elementsize": 2 } },
                { "name": "numcodecs.zlib", "configuration": { "level": 6 } },
            ],
        })
    }

    fn elements() -> Vec<u8> {
        (0..1000_u16)
            .flat_map(|it| (it / 7).to_le_bytes())
            .collect()
    }

    #[test]
    fn chunks_come_back_as_they_were() {
        let codec = codec();
        let encoded = codec.encode(Elements::Fixed(elements())).unwrap();
        assert!(encoded.len() < 1000);
        // The fast decoder reads it, too: the one of streams is not what is tested here.
        assert_eq!(inflated(&encoded, 2000).map(|it| it.len()), Some(2000));
        assert_eq!(codec.decode(&encoded).unwrap(), Elements::Fixed(elements()));
    }

    #[test]
    fn damaged_longer_and_shorter_chunks_are_refused() {
        let codec = codec();
        let encoded = codec.encode(Elements::Fixed(elements())).unwrap();
        for at in 0..encoded.len() {
            codec.decode(&encoded[..at]).unwrap_err();
        }
        let mut wrong = encoded.clone();
        // Its checksum.
        *wrong.last_mut().unwrap() ^= 1;
        codec.decode(&wrong).unwrap_err();
        assert_eq!(inflated(&encoded, 1999), None);
        assert_eq!(inflated(&encoded, u64::MAX), None);
        // As long as a chunk of another array.
        for count in [999, 1001] {
            let document = document(count);
            let other = ChunkCodec::new(&document).unwrap();
            let elements = vec![0; 2 * count];
            let encoded = other.encode(Elements::Fixed(elements)).unwrap();
            codec.decode(&encoded).unwrap_err();
        }
    }

    #[test]
    fn no_room_is_made_for_more_than_can_come() {
        let few = codec().encode(Elements::Fixed(vec![0; 2000])).unwrap();
        assert!(inflated(&few, 2000).is_some());
        let most = few.len() as u64 * MOST_OF_ONE + AROUND;
        assert_eq!(inflated(&few, most).map(|it| it.len()), Some(2000));
        assert_eq!(inflated(&few, most + 1), None);
    }
}
