//! Reading metadata and chunks.

use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{
    ByteRange, ChunkIndex, ChunkRef, Manifest, ManifestId, NodeId, NodeKind, NodePath, SpecVersion,
};
use icefield_storage::{Object, PlantedBug, StorageError, planted};

use super::chunk_reference::ChunkReference;
use super::fetch::{ChunkName, ObjectName, Step, step};
use super::{Base, ChunkLocation, Session};
use crate::SessionError;
use crate::change_set::PendingChunk;
use crate::metadata::ArrayMetadata;
use crate::objects::whole_body;
use crate::virtual_chunks::carried;

/// Where the lookup of a chunk stands once the session's own edits have been asked.
pub(super) enum Lookup {
    /// There is no such chunk.
    Absent,
    /// The session has it.
    Found(ChunkReference),
    /// A manifest of the base decides.
    InManifest(BaseChunk),
}

/// A question about a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    /// Where it is, and its bytes, if they are in memory.
    Bytes,
    /// Where it is, for the session itself.
    Place,
    /// Where it is, for others.
    Reference,
}

/// A chunk that the base may have.
#[derive(Debug)]
pub(super) struct BaseChunk {
    pub(super) node: NodeId,
    pub(super) manifest: ManifestId,
    /// Where the base has it, if the session shifted the array.
    at: Option<ChunkIndex>,
}

impl BaseChunk {
    /// Looks it up; `index` is that of the session.
    pub(super) fn look_up(
        &self,
        manifest: &Manifest,
        index: &[u32],
        version: SpecVersion,
    ) -> Result<Option<ChunkReference>, SessionError> {
        let at = self.at.as_deref().unwrap_or(index);
        let mut text = String::new();
        let chunk = manifest.get(&self.node, at)?;
        Ok(chunk.map(|chunk| {
            ChunkReference::of(carried(chunk, manifest.spec_version(), version, &mut text))
        }))
    }
}

impl Session {
    /// Returns the `zarr.json` of a node, byte for byte as it was written; `None` if there is no node. Makes no
    /// request: a session holds the whole hierarchy.
    ///
    /// # Errors
    /// [`SessionError::Aborted`] after a panic inside the session.
    pub fn metadata(&self, path: &NodePath) -> Result<Option<Bytes>, SessionError> {
        Ok(self.state()?.document(path))
    }

    /// Returns whether there is an array or a group at a path; `None` if there is no node. Makes no request.
    ///
    /// # Errors
    /// [`SessionError::Metadata`] if the stored document is no metadata that this crate understands.
    pub fn node_kind(&self, path: &NodePath) -> Result<Option<NodeKind>, SessionError> {
        Ok(self.state()?.node(path)?.map(|node| node.kind()))
    }

    /// Returns the shape and chunk grid of an array. Makes no request.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`]; [`SessionError::Metadata`] if the stored document
    /// is no metadata that this crate understands.
    pub fn array(&self, path: &NodePath) -> Result<ArrayMetadata, SessionError> {
        let node = self
            .state()?
            .node(path)?
            .ok_or_else(|| SessionError::NodeNotFound { path: path.clone() })?;
        node.metadata
            .array()
            .cloned()
            .ok_or_else(|| SessionError::NotAnArray { path: path.clone() })
    }

    /// Reads a chunk, or a range of its bytes, as it was encoded. `None` if the array has no such chunk, also where the
    /// coordinates are not in its grid or there is no array: the Zarr layer then uses the fill value.
    ///
    /// A chunk costs two requests at most, one after the other: for the manifest, unless it is cached, and for the
    /// bytes, unless they are inline. A virtual chunk may need more, for its store to be opened. [`Session::get_many`]
    /// reads many chunks in fewer requests.
    ///
    /// # Errors
    /// A chunk that the repository refers to and that cannot be read is always an error, never `None`:
    /// - [`SessionError::ChunkMissing`] and [`SessionError::ChunkTruncated`]: the object of the chunk is damaged.
    /// - [`SessionError::VirtualChunk`]: the file outside the repository is missing, has changed, or was not granted.
    /// - [`SessionError::RangeOutOfChunk`]: the range is not within the chunk.
    /// - [`SessionError::Fetch`]: the manifest cannot be read.
    pub async fn chunk(
        &self,
        path: &NodePath,
        index: &[u32],
        range: ByteRange,
    ) -> Result<Option<Bytes>, SessionError> {
        let Some(located) = self.locate(path, index).await? else {
            return Ok(None);
        };
        let name = ChunkName { path, index };
        let span = match step(name, located, range)? {
            Step::Done(bytes) => return Ok(Some(bytes)),
            Step::Fetch(span) => span,
        };
        let source = self.source(name, span.object).await?;
        let bytes = source.read(span.wanted).await;
        if planted(PlantedBug::MissingChunkIsFill)
            && bytes.as_ref().is_err_and(StorageError::is_not_found)
        {
            return Ok(None);
        }
        bytes
            .map(Some)
            .map_err(|error| source.explain(name, &span.chunk, error))
    }

    /// As [`Session::chunk`], without waiting for a network; `None` where it would have to, so that the caller uses
    /// [`Session::chunk`] instead. May block on a disk: call it from a thread that may.
    ///
    /// # Errors
    /// Those of [`Session::chunk`], inside the `Some`.
    pub fn try_chunk_blocking(
        &self,
        path: &NodePath,
        index: &[u32],
        range: ByteRange,
    ) -> Option<Result<Option<Bytes>, SessionError>> {
        self.try_chunk_blocking_inner(path, index, range)
            .transpose()
    }

    fn try_chunk_blocking_inner(
        &self,
        path: &NodePath,
        index: &[u32],
        range: ByteRange,
    ) -> Result<Option<Option<Bytes>>, SessionError> {
        let located = match self.lookup(path, index)? {
            Lookup::Absent => return Ok(Some(None)),
            Lookup::Found(located) => located,
            Lookup::InManifest(chunk) => {
                let objects = &self.shared().objects;
                let Some(manifest) = objects.try_manifest_blocking(chunk.manifest) else {
                    return Ok(None);
                };
                match chunk.look_up(&*manifest?, index, objects.writer().version())? {
                    Some(located) => located,
                    None => return Ok(Some(None)),
                }
            }
        };
        let name = ChunkName { path, index };
        let span = match step(name, located, range)? {
            Step::Done(bytes) => return Ok(Some(Some(bytes))),
            Step::Fetch(span) => span,
        };
        let ObjectName::Native(id) = span.object else {
            // Its store may have to be opened first.
            return Ok(None);
        };
        let source = self.native(id)?;
        let options = source.options(span.wanted);
        let Some(object) = source.storage().try_get_blocking(&source.key, &options) else {
            return Ok(None);
        };
        let bytes = object
            .and_then(|object: Object| whole_body(object))
            .map_err(|error| source.explain(name, &span.chunk, error))?;
        Ok(Some(Some(bytes)))
    }

    /// Returns where the bytes of a chunk are stored, `None` if the array has no such chunk. Reads no chunk bytes.
    ///
    /// # Errors
    /// As [`Session::chunk`], except that a missing chunk object goes unnoticed.
    pub async fn chunk_location(
        &self,
        path: &NodePath,
        index: &[u32],
    ) -> Result<Option<ChunkLocation>, SessionError> {
        let lookup = self.find(path, index, Wanted::Reference)?;
        let located = self.settle(lookup, index).await?;
        Ok(located.map(ChunkLocation::of_owned))
    }

    /// Finds a chunk; its bytes come along if they are in memory.
    async fn locate(
        &self,
        path: &NodePath,
        index: &[u32],
    ) -> Result<Option<ChunkReference>, SessionError> {
        let lookup = self.lookup(path, index)?;
        self.settle(lookup, index).await
    }

    /// Finds a chunk, and does not look at its bytes.
    pub(super) async fn place(
        &self,
        path: &NodePath,
        index: &[u32],
    ) -> Result<Option<ChunkReference>, SessionError> {
        let lookup = self.find(path, index, Wanted::Place)?;
        self.settle(lookup, index).await
    }

    async fn settle(
        &self,
        lookup: Lookup,
        index: &[u32],
    ) -> Result<Option<ChunkReference>, SessionError> {
        match lookup {
            Lookup::Absent => Ok(None),
            Lookup::Found(located) => Ok(Some(located)),
            Lookup::InManifest(chunk) => {
                let objects = &self.shared().objects;
                let manifest = objects.manifest(chunk.manifest).await?;
                chunk.look_up(&manifest, index, objects.writer().version())
            }
        }
    }

    /// Asks the session's edits and the base snapshot; waits for nothing.
    pub(super) fn lookup(&self, path: &NodePath, index: &[u32]) -> Result<Lookup, SessionError> {
        self.find(path, index, Wanted::Bytes)
    }

    fn find(&self, path: &NodePath, index: &[u32], wanted: Wanted) -> Result<Lookup, SessionError> {
        let state = self.state()?;
        let Some(node) = state.node(path)? else {
            return Ok(Lookup::Absent);
        };
        if !node.metadata.array().is_some_and(|it| it.contains(index)) {
            return Ok(Lookup::Absent);
        }
        match state.changes.chunk(&node.id, index) {
            Some(PendingChunk::Deleted) => return Ok(Lookup::Absent),
            Some(PendingChunk::Set(chunk)) => {
                let bytes = match wanted {
                    Wanted::Bytes => self.unwritten(chunk),
                    Wanted::Place => None,
                    Wanted::Reference => {
                        self.pin(chunk);
                        None
                    }
                };
                return Ok(Lookup::Found(match (chunk, bytes) {
                    (ChunkRef::Native { id, offset, .. }, Some(bytes)) => {
                        ChunkReference::Unwritten { id, offset, bytes }
                    }
                    (chunk, _) => ChunkReference::of(chunk),
                }));
            }
            None => {}
        }
        let base: &Arc<Base> = &state.base;
        let Some(array) = node.base_position.and_then(|position| base.array(position)) else {
            return Ok(Lookup::Absent);
        };
        let mut at = Vec::new();
        let at = match state.changes.view_of(&node.id) {
            None => None,
            Some(view) if !view.find(index, &mut at) => return Ok(Lookup::Absent),
            Some(_) => Some(ChunkIndex::from(at)),
        };
        let wanted = at.as_deref().unwrap_or(index);
        let manifest = array.manifests().find(|it| it.contains(wanted));
        Ok(manifest.map_or(Lookup::Absent, |manifest| {
            Lookup::InManifest(BaseChunk {
                node: node.id,
                manifest: manifest.id(),
                at,
            })
        }))
    }
}
