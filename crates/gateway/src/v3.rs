//! The Zarr v3 view: keys of a version, as values that can be sent.

use icefield::{
    ByteRange, ChunkKeyEncoding, ChunkLocation, NodeKind, NodePath, ZarrKey, ZarrStoreError,
};

use crate::documents::{DocumentForm, Documents};
use crate::failure::Failure;
use crate::object::{Object, Source, tag_of_location};
use crate::versions::Version;

/// The media type of chunks.
pub(crate) const BYTES: &str = "application/octet-stream";

/// The meaning of a key.
#[derive(Debug)]
pub(crate) enum Found {
    /// A value; of a group without consolidated metadata, the reason.
    Value(Object, Option<String>),
    /// Nothing, as the version says.
    Absent,
}

/// Returns whether a key is that of a document of Zarr v2, which Zarr v3 never has: no version has to be asked.
pub(crate) fn is_never(key: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    matches!(name, ".zgroup" | ".zarray" | ".zattrs" | ".zmetadata")
}

/// Returns whether a key may be that of a document.
pub(crate) fn is_document(key: &str) -> bool {
    key == "zarr.json" || key.ends_with("/zarr.json")
}

/// Finds the value of a key. Reads no chunk.
pub(crate) async fn find(
    version: &Version,
    documents: &Documents,
    key: &str,
    form: DocumentForm,
) -> Result<Found, Failure> {
    let session = &version.session;
    let parsed = match ZarrKey::parse(key, session) {
        Ok(parsed) => parsed,
        Err(ZarrStoreError::InvalidKey { .. }) => return Ok(Found::Absent),
        Err(error) => return Err(Failure::of_read(error)),
    };
    match parsed {
        ZarrKey::Metadata(path) => {
            let document = documents.v3(session, version.id, &path, form).await?;
            Ok(document.map_or(Found::Absent, |document| {
                Found::Value(document.object(), document.unconsolidated.clone())
            }))
        }
        ZarrKey::Chunk { array, index } => {
            let chunk = chunk(version, array, index).await?;
            Ok(chunk.map_or(Found::Absent, |chunk| Found::Value(chunk, None)))
        }
        ZarrKey::V2Metadata | ZarrKey::Nothing(_) => Ok(Found::Absent),
    }
}

/// Finds a chunk.
pub(crate) async fn chunk(
    version: &Version,
    path: NodePath,
    index: icefield::ChunkIndex,
) -> Result<Option<Object>, Failure> {
    let session = &version.session;
    let location = session.chunk_location(&path, &index).await;
    let Some(location) = location.map_err(Failure::of_read)? else {
        return Ok(None);
    };
    if let ChunkLocation::Inline { .. } = location {
        // The bytes are with the reference: nothing is read.
        let bytes = session.chunk(&path, &index, ByteRange::All).await;
        let bytes = bytes.map_err(Failure::of_read)?.unwrap_or_default();
        return Ok(Some(Object::of_bytes(bytes, BYTES)));
    }
    Ok(Some(Object {
        tag: tag_of_location(&location),
        length: location.length(),
        content_type: BYTES,
        source: Source::Chunk {
            session: session.clone(),
            path,
            index,
            is_virtual: matches!(location, ChunkLocation::Virtual { .. }),
            offset: 0,
        },
        packed: None,
    }))
}

/// Lists the children of a directory: nodes, the directory of chunks, and the document. Chunks are not listed. `None` if
/// there is no such directory.
pub(crate) fn list(version: &Version, directory: &str) -> Result<Option<Vec<String>>, Failure> {
    let session = &version.session;
    let Ok(path) = NodePath::parse(&format!("/{directory}")) else {
        return Ok(None);
    };
    let kind = session.node_kind(&path).map_err(Failure::of_read)?;
    let names = session.child_names(&path).map_err(Failure::of_read)?;
    if kind.is_none() && names.is_empty() {
        return Ok(is_chunk_directory(version, &path).then(Vec::new));
    }
    let mut children: Vec<String> = names.into_iter().map(|name| format!("{name}/")).collect();
    if kind == Some(NodeKind::Array) && chunk_directory(version, &path) {
        children.push("c/".to_owned());
    }
    if kind.is_some() {
        children.push("zarr.json".to_owned());
    }
    Ok(Some(children))
}

/// Whether the chunks of an array lie in a directory `c` below it.
fn chunk_directory(version: &Version, path: &NodePath) -> bool {
    let array = version.session.array(path);
    array
        .is_ok_and(|array| array.chunk_key_encoding == ChunkKeyEncoding::COMMON && array.rank() > 0)
}

/// Whether a path is the directory of the chunks of an array.
fn is_chunk_directory(version: &Version, path: &NodePath) -> bool {
    let array = path.as_str().strip_suffix("/c");
    let array = array.map(|array| NodePath::parse(if array.is_empty() { "/" } else { array }));
    matches!(array, Some(Ok(array)) if chunk_directory(version, &array))
}
