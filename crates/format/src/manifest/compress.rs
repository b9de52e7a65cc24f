//! A manifest written anew with compressed locations.

use super::{
    ChunkRef, EncodedManifest, LocationCompression, LocationDictionary, Manifest, ManifestEncoder,
};
use crate::envelope::{DecodeLimits, SpecVersion, Writer};
use crate::error::FormatError;

impl EncodedManifest {
    /// Returns the same manifest with a dictionary that is trained with its own locations, and each location compressed with it;
    /// the manifest as it is, where there is no use in that: it is of spec 1, it has too few virtual refs, their locations have
    /// nothing in common, or the body gets no smaller.
    ///
    /// The body is what readers hold in memory. The file gets larger rather than smaller, since it is compressed as a whole
    /// anyway, and frames that were compressed one by one do not compress again.
    ///
    /// Takes the memory of three such manifests for a while, and the time of two. The same refs give the same bytes.
    ///
    /// # Errors
    /// `TooLarge`, where the body is at the limit of the format.
    pub fn with_compressed_locations(
        self,
        settings: &LocationCompression,
        writer: &Writer,
    ) -> Result<Self, FormatError> {
        let limits = DecodeLimits::up_to(SpecVersion::V2);
        // What was just written is sound. One that is too large for the usual limits stays as it is.
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
        let encoder = ManifestEncoder::for_version(SpecVersion::V2, self.info.id);
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
        let (compressed, body) = encoder.finish_measured(writer)?;
        Ok(match body < plain.body.len() {
            true => compressed,
            false => self,
        })
    }
}
