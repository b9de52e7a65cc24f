//! The checksum as a codec of the crate `zarrs`.

use std::any::Any;
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use ::zarrs::array::codec::api::{
    BytesToBytesCodecTraits, Codec, CodecError, CodecMetadataOptions, CodecOptions,
    CodecRuntimePluginV3, CodecRuntimeRegistryHandleV3, CodecTraits, PartialDecoderCapability,
    PartialEncoderCapability, RecommendedConcurrency, register_codec_v3,
};
use ::zarrs::array::{ArrayBytesRaw, BytesRepresentation};
use ::zarrs::metadata::Configuration;
use ::zarrs::plugin::{ExtensionName, ZarrVersion};

use super::{Fletcher32, LENGTH};

/// Its name in `zarr.json`.
const NAME: &str = "numcodecs.fletcher32";

/// Makes the codec known to the crate `zarrs`, in place of its own if that was built with one. Once is enough.
pub(crate) fn register() {
    static REGISTERED: OnceLock<CodecRuntimeRegistryHandleV3> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        register_codec_v3(CodecRuntimePluginV3::new(
            |name| name == NAME,
            |_| Ok(Codec::BytesToBytes(Arc::new(Fletcher32))),
        ))
    });
}

impl ExtensionName for Fletcher32 {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        match version {
            ZarrVersion::V2 => Some("fletcher32".into()),
            ZarrVersion::V3 => Some(NAME.into()),
        }
    }
}

impl CodecTraits for Fletcher32 {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        Some(Configuration::default())
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
        // The sum is that of the whole chunk.
        PartialDecoderCapability {
            partial_read: false,
            partial_decode: false,
        }
    }

    fn partial_encoder_capability(&self) -> PartialEncoderCapability {
        PartialEncoderCapability {
            partial_encode: false,
        }
    }
}

impl BytesToBytesCodecTraits for Fletcher32 {
    fn into_dyn(self: Arc<Self>) -> Arc<dyn BytesToBytesCodecTraits> {
        self
    }

    fn recommended_concurrency(
        &self,
        _: &BytesRepresentation,
    ) -> Result<RecommendedConcurrency, CodecError> {
        Ok(RecommendedConcurrency::new_maximum(1))
    }

    fn encoded_representation(&self, decoded: &BytesRepresentation) -> BytesRepresentation {
        let longer = |size: &u64| size.saturating_add(LENGTH as u64);
        match decoded {
            BytesRepresentation::FixedSize(size) => BytesRepresentation::FixedSize(longer(size)),
            BytesRepresentation::BoundedSize(size) => {
                BytesRepresentation::BoundedSize(longer(size))
            }
            BytesRepresentation::UnboundedSize => BytesRepresentation::UnboundedSize,
        }
    }

    fn encode<'a>(
        &self,
        decoded: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        Ok(self.encoded(decoded.into_owned()).into())
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        _: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        let length = self.decoded(&encoded).map(<[u8]>::len);
        let length = length.ok_or(CodecError::InvalidChecksum)?;
        Ok(match encoded {
            Cow::Borrowed(bytes) => bytes[..length].into(),
            Cow::Owned(mut bytes) => {
                bytes.truncate(length);
                bytes.into()
            }
        })
    }
}
