//! The shuffle as a codec of the crate `zarrs`.

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
use ::zarrs::plugin::{ExtensionName, PluginCreateError, ZarrVersion};
use serde_json::json;

use super::Shuffle;

/// Its name in `zarr.json`.
const NAME: &str = "numcodecs.shuffle";
/// Bytes of an element where nothing is said, as in numcodecs.
const DEFAULT_WIDTH: u64 = 4;

/// Makes the codec known to the crate `zarrs`, in place of its own, which takes several times as long. Once is enough.
pub(crate) fn register() {
    static REGISTERED: OnceLock<CodecRuntimeRegistryHandleV3> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        register_codec_v3(CodecRuntimePluginV3::new(
            |name| name == NAME,
            |metadata| {
                let width = metadata
                    .configuration()
                    .and_then(|it| it.get("elementsize"));
                let width = width.map_or(Some(DEFAULT_WIDTH), |it| it.as_u64());
                let width = width.and_then(|it| usize::try_from(it).ok());
                let shuffle = width.and_then(Shuffle::of);
                let shuffle = shuffle
                    .ok_or_else(|| PluginCreateError::from("its elementsize is no length"))?;
                Ok(Codec::BytesToBytes(Arc::new(shuffle)))
            },
        ))
    });
}

impl ExtensionName for Shuffle {
    fn name(&self, version: ZarrVersion) -> Option<Cow<'static, str>> {
        match version {
            ZarrVersion::V2 => Some("shuffle".into()),
            ZarrVersion::V3 => Some(NAME.into()),
        }
    }
}

impl CodecTraits for Shuffle {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn configuration(&self, _: ZarrVersion, _: &CodecMetadataOptions) -> Option<Configuration> {
        let members = json!({ "elementsize": self.width });
        members.as_object().cloned().map(Configuration::from)
    }

    fn partial_decoder_capability(&self) -> PartialDecoderCapability {
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

impl Shuffle {
    /// Fails if bytes are left over, which the codec, unlike the filter of HDF5, does not take.
    fn check(self, bytes: &[u8]) -> Result<(), CodecError> {
        match bytes.len().is_multiple_of(self.width) {
            true => Ok(()),
            false => Err(CodecError::Other(format!(
                "{} bytes are no whole number of elements of {}, as {NAME} needs them",
                bytes.len(),
                self.width
            ))),
        }
    }
}

impl BytesToBytesCodecTraits for Shuffle {
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
        *decoded
    }

    fn encode<'a>(
        &self,
        decoded: ArrayBytesRaw<'a>,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.check(&decoded)?;
        Ok(self.encoded(&decoded).into())
    }

    fn decode<'a>(
        &self,
        encoded: ArrayBytesRaw<'a>,
        _: &BytesRepresentation,
        _: &CodecOptions,
    ) -> Result<ArrayBytesRaw<'a>, CodecError> {
        self.check(&encoded)?;
        Ok(self.decoded(&encoded).into())
    }
}
