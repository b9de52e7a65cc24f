//! The meaning of a key: its syntax, and its place in the hierarchy.

use icefield_core::{ArrayMetadata, ChunkIndex, ChunkKeyEncoding, NodePath, Session, SessionError};

use crate::chunk_keys::{ChunkKeys, directory};
use crate::{KeyError, KeyMismatch, ZarrStoreError};

/// The last segment of the key of a node's metadata.
const METADATA: &str = "zarr.json";

/// The last segments of the keys of Zarr v2 metadata.
const V2_METADATA: [&str; 4] = [".zgroup", ".zarray", ".zattrs", ".zmetadata"];

/// Longest key that is looked at, in bytes: twice what a node path may have.
const MAX_KEY_LEN: usize = 128 << 10;

/// Most segments of a key that can lie below an array: `c`, and a coordinate per dimension the format allows.
pub(crate) const MAX_CHUNK_SEGMENTS: usize = 257;

/// The meaning of a key of a Zarr store in a session.
///
/// ```
/// # use std::sync::Arc;
/// use icefield_core::{BranchName, NodePath, Repository};
/// use icefield_zarr_store::ZarrKey;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let session = repository.read_session(BranchName::main()).await?;
/// assert_eq!(ZarrKey::parse("a/zarr.json", &session)?, ZarrKey::Metadata(NodePath::parse("/a")?));
/// assert!(matches!(ZarrKey::parse("a/c/0", &session)?, ZarrKey::Nothing(_)), "there is no array /a");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ZarrKey {
    /// The `zarr.json` of a node, which need not exist.
    Metadata(NodePath),
    /// A chunk of an array that exists. Its index may lie outside the grid, and it may not have been written.
    Chunk {
        /// The array.
        array: NodePath,
        /// One coordinate per dimension.
        index: ChunkIndex,
    },
    /// Metadata of Zarr v2, which a session never has.
    V2Metadata,
    /// No value that a session can hold, with the reason.
    Nothing(KeyMismatch),
}

impl ZarrKey {
    /// Parses a key against the hierarchy of a session as it is now. Sends no request.
    ///
    /// # Errors
    /// [`ZarrStoreError::InvalidKey`]; [`ZarrStoreError::Session`] if an array in question has metadata that cannot be
    /// read.
    pub fn parse(key: &str, session: &Session) -> Result<Self, ZarrStoreError> {
        parse(key, |path| chunk_keys_of(session, path))
    }

    /// As [`ZarrKey::parse`], in a hierarchy that is in no session: `arrays` returns the metadata of the array at a path,
    /// and `None` if there is none.
    ///
    /// # Errors
    /// [`ZarrStoreError::InvalidKey`].
    pub fn parse_among<'a>(
        key: &str,
        arrays: impl Fn(&NodePath) -> Option<&'a ArrayMetadata>,
    ) -> Result<Self, ZarrStoreError> {
        parse(key, |path| Ok(arrays(path).map(ChunkKeys::of)))
    }
}

/// Returns the key of a node's metadata.
pub fn metadata_key(node: &NodePath) -> String {
    directory(node) + METADATA
}

/// Returns the key of a chunk, for an array that declares `encoding`.
pub fn chunk_key(array: &NodePath, encoding: ChunkKeyEncoding, index: &[u32]) -> String {
    let mut key = directory(array);
    ChunkKeys::new(encoding, index.len()).encode(index, &mut key);
    key
}

/// Returns how the array at a path spells the keys of its chunks; `None` if there is no array.
pub(crate) fn chunk_keys_of(
    session: &Session,
    path: &NodePath,
) -> Result<Option<ChunkKeys>, SessionError> {
    match session.array(path) {
        Ok(array) => Ok(Some(ChunkKeys::of(&array))),
        Err(SessionError::NodeNotFound { .. } | SessionError::NotAnArray { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Checks what holds for keys and prefixes, their final `/` taken away, whatever the hierarchy.
pub(crate) fn check_segments(text: &str) -> Result<(), KeyError> {
    if text.len() > MAX_KEY_LEN {
        return Err(KeyError::TooLong { length: text.len() });
    }
    for segment in text.split('/') {
        match segment {
            "" => return Err(KeyError::EmptySegment),
            "." | ".." => return Err(KeyError::DotSegment),
            _ => {}
        }
    }
    Ok(())
}

/// Turns checked segments into the path of a node; no segments are the root.
pub(crate) fn node_path(segments: &str) -> Result<NodePath, KeyError> {
    NodePath::parse(&format!("/{segments}")).map_err(|_| KeyError::TooLong {
        length: segments.len(),
    })
}

/// As [`ZarrKey::parse`], asking `arrays` for the chunk keys of the array at a path.
///
/// Arrays have no nodes below them, so at most one part of the key is the path of an array. Should a snapshot
/// that another program wrote break that rule, the longest part that makes a chunk key wins.
fn parse(
    key: &str,
    mut arrays: impl FnMut(&NodePath) -> Result<Option<ChunkKeys>, SessionError>,
) -> Result<ZarrKey, ZarrStoreError> {
    let invalid = |source| ZarrStoreError::InvalidKey {
        key: key.to_owned(),
        source,
    };
    if key.is_empty() {
        return Err(invalid(KeyError::Empty));
    }
    check_segments(key).map_err(invalid)?;
    let (parent, name) = key.rsplit_once('/').unwrap_or(("", key));
    if name == METADATA {
        return Ok(ZarrKey::Metadata(node_path(parent).map_err(invalid)?));
    }
    if V2_METADATA.contains(&name) {
        return Ok(ZarrKey::V2Metadata);
    }
    let mut mismatch = KeyMismatch::NoArray;
    let slashes = key.rmatch_indices('/').map(|(at, _)| (at, at + 1));
    let splits = slashes.chain([(0, 0)]).take(MAX_CHUNK_SEGMENTS);
    for (end, start) in splits {
        // A path too long to be one is no array's.
        let Ok(path) = node_path(&key[..end]) else {
            continue;
        };
        let Some(keys) = arrays(&path)? else {
            continue;
        };
        match keys.decode(&key[start..]) {
            Ok(index) => return Ok(ZarrKey::Chunk { array: path, index }),
            Err(source) if mismatch == KeyMismatch::NoArray => {
                mismatch = KeyMismatch::NotAChunk {
                    example: keys.example(&path),
                    array: path,
                    source,
                };
            }
            Err(_) => {}
        }
    }
    Ok(ZarrKey::Nothing(mismatch))
}

#[cfg(test)]
mod tests;
