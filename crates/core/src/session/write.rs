//! Writing metadata and chunks, deleting nodes and chunks.

use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{ChunkId, ChunkIndex, NodeId, NodeKind, NodePath};
use tokio::sync::RwLockReadGuard;

use super::chunk_reference::ChunkReference;
use super::{Node, Session, SessionState};
use crate::SessionError;
use crate::change_set::{PendingChunk, WrittenNode};
use crate::metadata::{ArrayMetadata, NodeMetadata, NodeMetadataError};
use crate::packs::Place;
use crate::virtual_chunks::{VirtualRefs, VirtualRefsError};

/// The behaviour of a write where there is a value already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// Replaces the value.
    #[default]
    Overwrite,
    /// Leaves the value as it is, and reports that nothing was written. Decided under the session's lock: of two such
    /// writes, one wins.
    IfAbsent,
}

impl Session {
    /// Refuses writes of a session that cannot take them; while the result is held, no commit begins.
    pub(super) async fn begin_write(&self) -> Result<RwLockReadGuard<'_, ()>, SessionError> {
        self.check_edits()?;
        self.begin_move().await
    }

    /// As [`Session::begin_write`], for moves.
    pub(super) async fn begin_move(&self) -> Result<RwLockReadGuard<'_, ()>, SessionError> {
        self.state()?.phase.check_writable()?;
        let permit = self.in_flight().read().await;
        self.state()?.phase.check_writable()?;
        Ok(permit)
    }

    /// Writes the `zarr.json` of a node, and creates the node if there is none. The bytes are kept as they are; equal
    /// bytes change nothing. A document with another shape resizes the array: chunks outside the new grid are cut off.
    /// Returns whether it wrote.
    ///
    /// # Errors
    /// - [`SessionError::Metadata`]: the document is no Zarr v3 metadata, is longer than
    ///   [`Settings::max_metadata_bytes`](crate::Settings::max_metadata_bytes), or needs spec version 2.
    /// - [`SessionError::KindChange`]: the node is a group and would become an array, or the reverse. Delete it first.
    /// - [`SessionError::ParentIsArray`], [`SessionError::HasChildren`]: arrays have no children.
    /// - The reasons why a session cannot be written: [`SessionError::ReadOnly`], [`SessionError::Committed`],
    ///   [`SessionError::CommitInProgress`], [`SessionError::Unresolved`].
    pub async fn set_metadata(
        &self,
        path: &NodePath,
        document: Bytes,
        mode: WriteMode,
    ) -> Result<bool, SessionError> {
        let _permit = self.begin_write().await?;
        let limit = self.shared().settings.max_metadata_bytes;
        let version = self.shared().ledger.spec_version();
        let metadata = NodeMetadata::parse_new(&document, limit)
            .and_then(|metadata| metadata.check_version(version))
            .map_err(|source| {
                SessionError::Metadata(NodeMetadataError {
                    path: path.clone(),
                    source,
                })
            })?;
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        match state.node(path)? {
            Some(_) if mode == WriteMode::IfAbsent => Ok(false),
            Some(_) if state.document(path).as_ref() == Some(&document) => Ok(true),
            Some(node) => {
                update(&mut state, path, node, document, metadata)?;
                Ok(true)
            }
            None => {
                check_place(&state, path, &metadata)?;
                let id = NodeId::from_bytes(self.random());
                let node = WrittenNode {
                    id,
                    document,
                    metadata: Arc::new(metadata),
                };
                Arc::make_mut(&mut state.changes).create_node(path.clone(), node);
                Ok(true)
            }
        }
    }

    /// Deletes a node and everything below it. Returns whether there was a node at the path.
    ///
    /// # Errors
    /// The reasons why a session cannot be written, as in [`Session::set_metadata`].
    pub async fn delete_node(&self, path: &NodePath) -> Result<bool, SessionError> {
        let _permit = self.begin_write().await?;
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        if state.node(path)?.is_none() {
            return Ok(false);
        }
        delete_subtree(&mut state, path);
        Ok(true)
    }

    /// Deletes every node at or below a path, also where there is no node at the path itself.
    ///
    /// # Errors
    /// The reasons why a session cannot be written, as in [`Session::set_metadata`].
    pub async fn delete_below(&self, path: &NodePath) -> Result<(), SessionError> {
        let _permit = self.begin_write().await?;
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        delete_subtree(&mut state, path);
        Ok(())
    }

    /// Writes a chunk. By its length, it goes inline into the manifest, into a [pack](crate::PackSettings) in memory, or to the
    /// store at once. Only the last is stored when this returns; a commit stores the others before it is visible. Returns
    /// whether it wrote.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], [`SessionError::OutOfGrid`],
    /// [`SessionError::EmptyChunk`], the errors of the store, and the reasons why a session cannot be written.
    /// [`SessionError::ChunksNotStored`] if earlier chunks could not be stored, so that there is no room for this one.
    ///
    /// # Cancel safety
    /// Dropped early, the chunk is not set; its bytes may stay in the store as garbage. A call that waits for room and is neither
    /// polled nor dropped holds up all later writes of small chunks of the session and its forks: they keep their order.
    pub async fn set_chunk(
        &self,
        path: &NodePath,
        index: &[u32],
        bytes: Bytes,
        mode: WriteMode,
    ) -> Result<bool, SessionError> {
        let _permit = self.begin_write().await?;
        let node = writable_array(&*self.state()?, path, index)?.id;
        if bytes.is_empty() {
            return Err(SessionError::EmptyChunk {
                path: path.clone(),
                index: index.to_vec().into(),
            });
        }
        if mode == WriteMode::IfAbsent && self.place(path, index).await?.is_some() {
            return Ok(false);
        }
        let stored = self.store_chunk(bytes).await?;
        let chunk = PendingChunk::Set(stored.as_ref());
        let recorded = self.record(path, node, index, chunk, mode);
        if !matches!(recorded, Ok(true)) {
            self.packer().forget(chunk.place().into_iter());
        }
        recorded
    }

    /// Sets references to chunks in foreign objects, all of them or none. Nothing is fetched: whether the objects are
    /// there, and may be read, shows when they are.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], [`SessionError::VirtualRefs`] with the first row at
    /// fault, and the reasons why a session cannot be written.
    pub async fn set_virtual_refs(
        &self,
        path: &NodePath,
        refs: VirtualRefs<'_>,
    ) -> Result<(), SessionError> {
        let in_force = self.shared().configs.in_force();
        let covered = refs.check_containers(&in_force.containers);
        self.set_refs(path, refs, covered).await
    }

    /// As [`Session::set_virtual_refs`], also where no container of the configuration covers an object. Until one does,
    /// such chunks cannot be read: for writers that add the container later.
    ///
    /// # Errors
    /// As [`Session::set_virtual_refs`].
    pub async fn set_virtual_refs_anywhere(
        &self,
        path: &NodePath,
        refs: VirtualRefs<'_>,
    ) -> Result<(), SessionError> {
        self.set_refs(path, refs, Ok(())).await
    }

    async fn set_refs(
        &self,
        path: &NodePath,
        refs: VirtualRefs<'_>,
        covered: Result<(), VirtualRefsError>,
    ) -> Result<(), SessionError> {
        let _permit = self.begin_write().await?;
        let wrong = |source| SessionError::VirtualRefs {
            path: path.clone(),
            source: Box::new(source),
        };
        covered.map_err(wrong)?;
        let grid = |node: &Node| {
            let array = node.metadata.array();
            array.map(|it| it.chunk_counts.clone()).unwrap_or_default()
        };
        let before = array_of(&*self.state()?, path)?;
        // Outside the lock: there may be millions.
        refs.check(&grid(&before)).map_err(wrong)?;
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        let now = array_of(&state, path)?;
        if now.id != before.id && !refs.is_empty() {
            return Err(SessionError::ArrayChanged {
                path: path.clone(),
                index: refs.index(0, grid(&before).len()).to_vec().into(),
            });
        }
        if grid(&now) != grid(&before) {
            refs.check(&grid(&now)).map_err(wrong)?;
        }
        if !refs.is_empty() {
            let rank = grid(&now).len();
            let version = self.shared().ledger.spec_version();
            Arc::make_mut(&mut state.changes).set_virtual(path, now.id, rank, &refs, version);
        }
        Ok(())
    }

    /// Puts a chunk's bytes where they belong by their length: a long chunk is in the store when this returns.
    pub(crate) async fn store_chunk(&self, bytes: Bytes) -> Result<ChunkReference, SessionError> {
        let rules = self.shared().pack_rules();
        match rules.place(bytes.len()) {
            Place::Manifest => return Ok(ChunkReference::Inline(bytes)),
            Place::Pack => {
                let packed = self.pack(&bytes, &rules).await?;
                self.keep_lease().await;
                return Ok(packed);
            }
            Place::Object => {}
        }
        let stored = self.store_object(bytes).await?;
        self.keep_lease().await;
        Ok(stored)
    }

    /// Stores a chunk in an object of its own.
    pub(super) async fn store_object(&self, bytes: Bytes) -> Result<ChunkReference, SessionError> {
        let id = ChunkId::from_bytes(self.random());
        let (offset, length) = (0, bytes.len() as u64);
        let stored = self.shared().objects.put_chunk(id, bytes).await?;
        if let Some(time) = stored {
            self.lease().note_written(time);
        }
        Ok(ChunkReference::Native { id, offset, length })
    }

    /// Deletes a chunk: readers see the fill value. A chunk that does not exist, or whose coordinates are not in the
    /// grid, counts as deleted.
    ///
    /// Within the grid this is an edit, whether there is a chunk or not: a chunk that a concurrent commit writes there
    /// is a conflict, and the log of the commit names the coordinates. Nothing is read.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`], and the reasons why a session cannot be written.
    pub async fn delete_chunk(&self, path: &NodePath, index: &[u32]) -> Result<(), SessionError> {
        let _permit = self.begin_write().await?;
        let node = array_of(&*self.state()?, path)?;
        if !node.metadata.array().is_some_and(|it| it.contains(index)) {
            return Ok(());
        }
        self.record(
            path,
            node.id,
            index,
            PendingChunk::Deleted,
            WriteMode::Overwrite,
        )?;
        Ok(())
    }

    /// Records a chunk reference, if the array is still the one that the chunk was written for.
    pub(super) fn record(
        &self,
        path: &NodePath,
        node: NodeId,
        index: &[u32],
        chunk: PendingChunk<'_>,
        mode: WriteMode,
    ) -> Result<bool, SessionError> {
        let mut state = self.state_mut()?;
        state.phase.check_in_flight()?;
        let changed = || SessionError::ArrayChanged {
            path: path.clone(),
            index: ChunkIndex::from(index.to_vec()),
        };
        let now = writable_array(&state, path, index).map_err(|_| changed())?;
        if now.id != node {
            return Err(changed());
        }
        if mode == WriteMode::IfAbsent
            && matches!(
                state.changes.chunk(&node, index),
                Some(PendingChunk::Set(_))
            )
        {
            return Ok(false);
        }
        let replaced = state
            .changes
            .chunk(&node, index)
            .and_then(PendingChunk::place);
        // While the state is held, so that no reader has a reference and not yet the bytes.
        let chunk = self.in_place_of(replaced, chunk);
        Arc::make_mut(&mut state.changes).set_chunk(path, node, index, chunk);
        Ok(true)
    }
}

pub(super) fn array_of(state: &SessionState, path: &NodePath) -> Result<Node, SessionError> {
    let node = state
        .node(path)?
        .ok_or_else(|| SessionError::NodeNotFound { path: path.clone() })?;
    match node.kind() {
        NodeKind::Array => Ok(node),
        NodeKind::Group => Err(SessionError::NotAnArray { path: path.clone() }),
    }
}

/// Finds the array that a chunk is to be written to, and checks the coordinates against its grid.
fn writable_array(
    state: &SessionState,
    path: &NodePath,
    index: &[u32],
) -> Result<Node, SessionError> {
    let node = array_of(state, path)?;
    if let Some(array) = node.metadata.array()
        && !array.contains(index)
    {
        return Err(SessionError::OutOfGrid {
            path: path.clone(),
            index: index.to_vec().into(),
            grid: array.chunk_counts.clone(),
        });
    }
    Ok(node)
}

fn update(
    state: &mut SessionState,
    path: &NodePath,
    node: Node,
    document: Bytes,
    metadata: NodeMetadata,
) -> Result<(), SessionError> {
    let word = |metadata: &NodeMetadata| match metadata {
        NodeMetadata::Group => "a group",
        NodeMetadata::Array(ArrayMetadata { .. }) => "an array",
    };
    if word(&node.metadata) != word(&metadata) {
        return Err(SessionError::KindChange {
            path: path.clone(),
            found: word(&node.metadata),
            wanted: word(&metadata),
        });
    }
    let written = WrittenNode {
        id: node.id,
        document,
        metadata: Arc::new(metadata),
    };
    Arc::make_mut(&mut state.changes).update_node(path, written, Some(&node.metadata));
    Ok(())
}

/// Checks that a new node has no array above it and, if it is an array, nothing below it.
fn check_place(
    state: &SessionState,
    path: &NodePath,
    metadata: &NodeMetadata,
) -> Result<(), SessionError> {
    for ancestor in path.ancestors() {
        if let Some(node) = state.node(&ancestor)?
            && node.kind() == NodeKind::Array
        {
            return Err(SessionError::ParentIsArray {
                path: path.clone(),
                array: ancestor,
            });
        }
    }
    if metadata.array().is_some()
        && let Some(child) = state.paths_below(path).next()
    {
        return Err(SessionError::HasChildren {
            path: path.clone(),
            child,
        });
    }
    Ok(())
}

fn delete_subtree(state: &mut SessionState, path: &NodePath) {
    let mut paths: Vec<NodePath> = state.paths_below(path).collect();
    paths.push(path.clone());
    for path in paths {
        let base = state.base.position(&path).map(|position| {
            let record = state.base.record(position);
            (record.id(), record.kind())
        });
        Arc::make_mut(&mut state.changes).delete_node(&path, base);
    }
}
