//! Manifests of spec version 2 written anew in version 1, whose locations are URLs.

use icefield_core::Containers;
use icefield_format::{
    ChunkRef, FormatError, FormatFile, Header, Manifest, ManifestEncoder, Writer,
};
use icefield_storage::Bytes;

/// The form of a location in version 1, by the containers that are stored: the copy has their configuration, and not that of
/// the handle.
pub(super) struct Locations<'a> {
    containers: &'a Containers,
    /// The location read last, which neighbouring refs often share.
    last: Option<(String, Result<String, String>)>,
}

impl<'a> Locations<'a> {
    pub(super) fn of(containers: &'a Containers) -> Self {
        Self {
            containers,
            last: None,
        }
    }

    /// Returns a location as version 1 has it, or why it has none.
    pub(super) fn spelt(&mut self, location: &str) -> Result<&str, &str> {
        let known = self.last.take().filter(|(last, _)| last == location);
        let known = known.unwrap_or_else(|| {
            let found = self.containers.source(location);
            let spelt = found.map(|it| it.location().as_str().to_owned());
            (
                location.to_owned(),
                spelt.map_err(|error| error.to_string()),
            )
        });
        let (_, spelt) = self.last.insert(known);
        spelt.as_deref().map_err(String::as_str)
    }
}

/// Why a manifest cannot be written.
pub(super) enum Unwritable {
    /// It has a location that version 1 has not.
    Location {
        location: String,
        reason: String,
    },
    Format(FormatError),
}

impl From<FormatError> for Unwritable {
    fn from(error: FormatError) -> Self {
        Self::Format(error)
    }
}

/// Returns the file of a manifest in spec version 1, with the id that it has. What is in fields `extra` is left out.
pub(super) fn rewritten(
    file: &[u8],
    manifest: &Manifest,
    locations: &mut Locations<'_>,
) -> Result<Bytes, Unwritable> {
    let id = manifest.id();
    let header = Header::decode(file, FormatFile::Manifest(id))?;
    let mut encoder = ManifestEncoder::new(id);
    let mut index = Vec::new();
    for array in manifest.arrays() {
        encoder.begin_array(array.node_id())?;
        for record in array.refs() {
            record.index_into(&mut index);
            let chunk = match record.chunk_ref()? {
                ChunkRef::Virtual {
                    location,
                    offset,
                    length,
                    checksum,
                } => {
                    let spelt = locations.spelt(location);
                    let location = spelt.map_err(|reason| Unwritable::Location {
                        location: location.to_owned(),
                        reason: reason.to_owned(),
                    })?;
                    ChunkRef::Virtual {
                        location,
                        offset,
                        length,
                        checksum,
                    }
                }
                chunk => chunk,
            };
            encoder.push(&index, chunk)?;
        }
    }
    let writer = Writer {
        implementation: header.implementation(),
        ..Writer::default()
    };
    Ok(encoder.finish(&writer)?.bytes)
}
