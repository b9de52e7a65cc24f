//! The version of the format in which the files of one repository are written, and the program that they name.

use icefield_format::{
    EncodedManifest, FileKind, FormatError, LocationCompression, ManifestEncoder, ManifestId,
    NewSnapshot, SnapshotEncoder, SnapshotId, SpecVersion, TransactionLogEncoder, Writer,
};

/// Begins files in the version of their repository.
#[derive(Clone, Debug)]
pub(crate) struct FileWriter {
    version: SpecVersion,
    writer: Writer,
    locations: Option<LocationCompression>,
}

impl FileWriter {
    pub(crate) fn new(version: SpecVersion, writer: Writer) -> Self {
        Self {
            version,
            writer,
            locations: None,
        }
    }

    /// Compresses locations of virtual chunks, if there are settings for that.
    pub(crate) fn compressing_locations(self, locations: Option<LocationCompression>) -> Self {
        Self { locations, ..self }
    }

    pub(crate) fn version(&self) -> SpecVersion {
        self.version
    }

    /// The writer that finishes files.
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    pub(crate) fn snapshot<'a>(&self, header: NewSnapshot<'a>) -> SnapshotEncoder<'a> {
        SnapshotEncoder::for_version(self.version, header)
    }

    pub(crate) fn manifest(&self, id: ManifestId) -> ManifestEncoder {
        ManifestEncoder::for_version(self.version, id)
    }

    /// Ends a manifest, with compressed locations where the settings ask for them and it has enough virtual chunks.
    ///
    /// # Errors
    /// Those of [`ManifestEncoder::finish`].
    pub(crate) fn finish_manifest(
        &self,
        encoder: ManifestEncoder,
    ) -> Result<EncodedManifest, FormatError> {
        let virtuals = encoder.virtual_ref_count();
        let encoded = encoder.finish(&self.writer)?;
        match &self.locations {
            Some(settings)
                if self.version >= SpecVersion::V2
                    && virtuals >= u64::from(settings.min_num_chunks) =>
            {
                encoded.with_compressed_locations(settings, &self.writer)
            }
            _ => Ok(encoded),
        }
    }

    pub(crate) fn log(&self, id: SnapshotId) -> TransactionLogEncoder {
        TransactionLogEncoder::for_version(self.version, id)
    }

    /// The user metadata of an object of a kind.
    pub(crate) fn object_metadata(&self, kind: FileKind) -> [(&'static str, String); 4] {
        self.writer.object_metadata_in(self.version, kind)
    }
}
