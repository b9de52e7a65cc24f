//! Listing nodes and chunks.

use std::sync::Arc;

use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_format::{ChunkIndex, ManifestId, NodeId, NodeKind, NodePath};

use super::{ChunkLocation, Session, SessionState};
use crate::SessionError;
use crate::change_set::{NodeChange, PendingChunk};
use crate::grid::within;
use crate::virtual_chunks::carried;

/// Manifests loaded ahead while an array's chunks are listed.
const MANIFESTS_AHEAD: usize = 8;

/// A node in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// The path of the node.
    pub path: NodePath,
    /// The id of the node, which it keeps from its creation to its deletion, also when it moves.
    pub id: NodeId,
    /// Whether the node is an array or a group.
    pub kind: NodeKind,
}

/// A chunk in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// The coordinates of the chunk in the grid.
    pub index: ChunkIndex,
    /// The place of the chunk's bytes.
    pub location: ChunkLocation,
}

impl SessionState {
    /// The paths strictly below a path, in the order of the base followed by those that the session
    /// created; each once.
    pub(crate) fn paths_below<'a>(
        &'a self,
        path: &'a NodePath,
    ) -> impl Iterator<Item = NodePath> + 'a {
        let base = self
            .base
            .records_below(path)
            .map(|record| record.node_path())
            .filter(|path| {
                !self.changes.created().contains_key(path)
                    && !matches!(self.changes.node(path), NodeChange::Deleted)
            });
        let created = self
            .changes
            .created()
            .keys()
            .filter(move |other| path.is_ancestor_of(other))
            .cloned();
        base.chain(created)
    }
}

/// The text that every path below `path` begins with.
fn below_prefix(path: &NodePath) -> String {
    match path.is_root() {
        true => "/".to_owned(),
        false => format!("{path}/"),
    }
}

impl Session {
    /// Returns the nodes at and below a path, sorted by path, the session's own edits included. Empty if there is none.
    /// Makes no request.
    ///
    /// # Errors
    /// As [`Session::metadata`].
    pub fn nodes(&self, path: &NodePath) -> Result<Vec<NodeInfo>, SessionError> {
        let state = self.state()?;
        let mut paths: Vec<NodePath> = state.paths_below(path).collect();
        paths.push(path.clone());
        paths.sort_unstable();
        let mut nodes = Vec::with_capacity(paths.len());
        for path in paths {
            let info = match state.changes.node(&path) {
                NodeChange::Written(node) => Some((node.id, node.kind())),
                NodeChange::Deleted => None,
                NodeChange::Unchanged => state.base.position(&path).map(|position| {
                    let record = state.base.record(position);
                    (record.id(), record.kind())
                }),
            };
            if let Some((id, kind)) = info {
                nodes.push(NodeInfo { path, id, kind });
            }
        }
        Ok(nodes)
    }

    /// Returns the id of the node at a path; `None` if there is no node.
    ///
    /// # Errors
    /// As [`Session::node_kind`].
    pub fn node_id(&self, path: &NodePath) -> Result<Option<NodeId>, SessionError> {
        Ok(self.state()?.node(path)?.map(|node| node.id))
    }

    /// Returns the names directly below a path, sorted. A name counts if it is that of a node, or leads to one further
    /// below.
    ///
    /// # Errors
    /// As [`Session::metadata`].
    pub fn child_names(&self, path: &NodePath) -> Result<Vec<String>, SessionError> {
        let state = self.state()?;
        let skip = below_prefix(path).len();
        let mut names: Vec<String> = state
            .paths_below(path)
            .filter_map(|below| {
                let rest = &below.as_str()[skip..];
                rest.split('/').next().map(str::to_owned)
            })
            .collect();
        names.sort_unstable();
        names.dedup();
        Ok(names)
    }

    /// Lists the chunks of an array that exist, inside its grid, with the places of their bytes. The session's own
    /// edits come first; then the chunks of each manifest, in the order of their coordinates. The listing shows the
    /// moment of the call. Manifests are read as the stream is polled; chunk bytes are not.
    ///
    /// # Errors
    /// [`SessionError::NodeNotFound`], [`SessionError::NotAnArray`]; in the stream, a manifest that cannot be read.
    pub fn chunks(
        &self,
        path: &NodePath,
    ) -> Result<BoxStream<'static, Result<ChunkInfo, SessionError>>, SessionError> {
        let array = self.array(path)?;
        let state = self.state()?;
        let node = state
            .node(path)?
            .ok_or_else(|| SessionError::NodeNotFound { path: path.clone() })?;
        let mut own = Vec::new();
        let mut written = hashbrown::HashSet::new();
        let table = state.changes.chunks().get(&node.id).map(Arc::clone);
        if let Some(table) = &table {
            for row in table.sorted_rows() {
                let index = ChunkIndex::from(table.index(row).to_vec());
                if let PendingChunk::Set(chunk) = table.at(row) {
                    self.pin(chunk);
                    own.push(Ok(ChunkInfo {
                        index: index.clone(),
                        location: ChunkLocation::of(chunk),
                    }));
                }
                written.insert(index);
            }
        }
        let view = state.changes.view_of(&node.id).cloned();
        let rank = array.chunk_counts.len();
        let manifests: Vec<ManifestId> = node
            .base_position
            .and_then(|position| state.base.array(position))
            .into_iter()
            .flat_map(|array| array.manifests())
            .filter(|it| match &view {
                None => true,
                // Boxes of another rank say nothing of where the references are.
                Some(_) if it.rank() != rank => true,
                Some(view) => view.place_box(it.extents().ranges()).is_some(),
            })
            .map(|it| it.id())
            .collect();
        let grid = array.chunk_counts;
        drop(state);
        let objects = Arc::clone(&self.shared().objects);
        let version = objects.writer().version();
        let (id, written) = (node.id, Arc::new(written));
        let view = Arc::new(view);
        let base = stream::iter(manifests)
            .map(move |manifest| {
                let objects = Arc::clone(&objects);
                async move { objects.manifest(manifest).await.map_err(SessionError::from) }
            })
            .buffered(MANIFESTS_AHEAD)
            .map_ok(move |manifest| {
                let (grid, written) = (grid.clone(), Arc::clone(&written));
                let table = table.clone();
                let view = Arc::clone(&view);
                let count = manifest.array(&id).map_or(0, |refs| refs.len());
                let rows = (0..count).filter_map(move |row| {
                    let record = manifest.array(&id)?.record_at(row);
                    let mut index = Vec::new();
                    record.index_into(&mut index);
                    if let Some(view) = &*view {
                        let base = std::mem::take(&mut index);
                        if !view.place(&base, &mut index) {
                            return None;
                        }
                    }
                    let index = ChunkIndex::from(index);
                    let is_boxed = table.as_ref().is_some_and(|it| it.is_boxed(&index));
                    if is_boxed || !within(&index, &grid) || written.contains(&index) {
                        return None;
                    }
                    Some(
                        record
                            .chunk_ref()
                            .map(|chunk| {
                                let (mut text, from) = (String::new(), manifest.spec_version());
                                let chunk = carried(chunk, from, version, &mut text);
                                ChunkInfo {
                                    index,
                                    location: ChunkLocation::of(chunk),
                                }
                            })
                            .map_err(SessionError::from),
                    )
                });
                stream::iter(rows)
            })
            .try_flatten();
        Ok(stream::iter(own).chain(base).boxed())
    }
}
