//! How the files of one repository are written: in which version of the format, and by which program.

use icefield_format::{
    FileKind, ManifestEncoder, ManifestId, NewSnapshot, SnapshotEncoder, SnapshotId, SpecVersion,
    TransactionLogEncoder, Writer,
};

/// Begins files in the version of their repository.
#[derive(Clone, Debug)]
pub(crate) struct FileWriter {
    version: SpecVersion,
    writer: Writer,
}

impl FileWriter {
    pub(crate) fn new(version: SpecVersion, writer: Writer) -> Self {
        Self { version, writer }
    }

    pub(crate) fn version(&self) -> SpecVersion {
        self.version
    }

    /// What finishes files.
    pub(crate) fn writer(&self) -> &Writer {
        &self.writer
    }

    pub(crate) fn snapshot<'a>(&self, header: NewSnapshot<'a>) -> SnapshotEncoder<'a> {
        SnapshotEncoder::for_version(self.version, header)
    }

    pub(crate) fn manifest(&self, id: ManifestId) -> ManifestEncoder {
        ManifestEncoder::for_version(self.version, id)
    }

    pub(crate) fn log(&self, id: SnapshotId) -> TransactionLogEncoder {
        TransactionLogEncoder::for_version(self.version, id)
    }

    /// The user metadata of an object of a kind.
    pub(crate) fn object_metadata(&self, kind: FileKind) -> [(&'static str, String); 4] {
        self.writer.object_metadata_in(self.version, kind)
    }
}
