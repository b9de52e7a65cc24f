//! A manifest written anew with compressed locations.

use super::encode::{EncodedManifest, ManifestEncoder};
use super::{ChunkRef, LocationCompression, LocationDictionary, Manifest};
use crate::envelope::{DecodeLimits, MAX_BODY_LEN, SpecVersion, Writer};
use crate::error::FormatError;

impl EncodedManifest {
    /// Returns the same manifest with a dictionary that is trained with its own locations, and each location compressed with it;
    /// the manifest as it is, where there is no use in that: it is of spec 1, it has too few virtual refs, their locations have
    /// nothing in common, or the body gets no smaller or has no room for it.
    ///
    /// The body is what readers hold in memory. The file gets larger rather than smaller, since it is compressed as a whole
    /// anyway, and frames that were compressed one by one do not compress again.
    ///
    /// Takes the memory of three such manifests for a while, and the time of two. The same refs give the same bytes.
    ///
    /// # Errors
    /// None in practice: what was encoded once is encoded again.
    pub fn with_compressed_locations(
        self,
        settings: &LocationCompression,
        writer: &Writer,
    ) -> Result<Self, FormatError> {
        self.with_compressed_locations_below(MAX_BODY_LEN, settings, writer)
    }

    /// As [`with_compressed_locations`](Self::with_compressed_locations), where a body may have so many bytes.
    pub(super) fn with_compressed_locations_below(
        self,
        limit: u64,
        settings: &LocationCompression,
        writer: &Writer,
    ) -> Result<Self, FormatError> {
        let limits = DecodeLimits::up_to(SpecVersion::V2);
        // The file that was just written is sound. One that is too large for the usual limits stays as it is.
        let Ok(plain) = Manifest::decode(&self.bytes, self.info.id, &limits) else {
            return Ok(self);
        };
        if plain.spec_version() < SpecVersion::V2 {
            return Ok(self);
        }
        let mut locations = Vec::new();
        for array in plain.arrays() {
            for record in array.refs() {
                if let ChunkRef::Virtual { location, .. } = record.chunk_ref()? {
                    locations.push(location);
                }
            }
        }
        let Some(dictionary) = LocationDictionary::train(locations.iter().copied(), settings)
        else {
            return Ok(self);
        };
        drop(locations);
        match compressed(&plain, dictionary, limit, settings, writer) {
            Ok((compressed, body)) if body < plain.body.len() => Ok(compressed),
            // It is written as it is, which has room.
            Ok(_) | Err(FormatError::TooLarge { .. }) => Ok(self),
            Err(error) => Err(error),
        }
    }
}

/// Returns a manifest with a dictionary, and the bytes of its body.
fn compressed(
    plain: &Manifest,
    dictionary: LocationDictionary,
    limit: u64,
    settings: &LocationCompression,
    writer: &Writer,
) -> Result<(EncodedManifest, usize), FormatError> {
    let encoder = ManifestEncoder::for_version(SpecVersion::V2, plain.id()).below(limit);
    let level = settings.compression_level;
    let mut encoder = encoder.with_location_dictionary(dictionary, level)?;
    if let Some(extra) = plain.extra() {
        encoder.extra(extra);
    }
    let mut index = Vec::new();
    for array in plain.arrays() {
        encoder.begin_array_with_extra(array.node_id(), array.extra())?;
        for record in array.refs() {
            record.index_into(&mut index);
            encoder.push_with_extra(&index, record.chunk_ref()?, record.extra())?;
        }
    }
    encoder.finish_measured(writer)
}
