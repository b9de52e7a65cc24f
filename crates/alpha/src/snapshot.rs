//! Snapshots: the whole hierarchy after one commit, and its ancestors.

mod wire;

use std::collections::HashSet;

use bytes::Bytes;
use icefield_core::{ArrayMetadata, NodeMetadata, NodePath};
use icefield_format::MAX_PATH_LEN;
use serde_json::{Map, Value, json};

use self::wire::{Attributes, ChunkKeys, NodeData, WireArray, WireNode, WireSnapshot};
use crate::body::decode;
use crate::{AlphaError, AlphaId, Layout, Rule};

pub use self::wire::Ancestor;

/// Longest `zarr.json` that is made, in bytes. The same as that of today's repositories.
const MAX_DOCUMENT: usize = 64 << 20;

/// A decoded snapshot. Its nodes are in the order of their paths, segment by segment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The name of its file, by which it is known.
    pub id: AlphaId,
    /// The id in the file. For the initial snapshot it differs from the name.
    pub inner_id: AlphaId,
    /// The time when it was written, as RFC 3339 text.
    pub written_at: String,
    /// The message of the commit.
    pub message: String,
    /// The time when its session began, as RFC 3339 text.
    pub started_at: String,
    /// The properties of the commit.
    pub properties: Map<String, Value>,
    /// The ancestors, as they are listed: oldest first or newest first. The initial one has its inner id here.
    pub history: Vec<Ancestor>,
    nodes: Vec<Node>,
}

/// A node of a snapshot.
#[derive(Clone, Debug)]
pub struct Node {
    /// The path of the node.
    pub path: NodePath,
    /// The number of the node, which it keeps from its creation to its deletion.
    pub id: u32,
    /// The `zarr.json`, made from the fields of the snapshot.
    pub document: Bytes,
    /// The parts of the metadata that the engine uses, if the node is an array.
    pub array: Option<ArrayMetadata>,
    /// The manifests with the chunk refs of the array.
    pub manifests: Vec<AlphaId>,
}

impl Snapshot {
    /// Reads the file of a snapshot.
    ///
    /// # Errors
    /// [`AlphaError::Damaged`] or [`AlphaError::Unsupported`] with this key.
    pub fn decode(
        bytes: &[u8],
        layout: Layout,
        id: AlphaId,
        key: &str,
    ) -> Result<Self, AlphaError> {
        let wire: WireSnapshot = decode(bytes, layout, key, "snapshot")?;
        let listed = wire.short_term_history.len();
        let (total, short) = (wire.total_parents, wire.short_term_parents);
        // No writer ever cut a history short.
        if total as usize != listed || usize::from(short) != listed {
            let rule = Rule::History {
                total,
                short,
                listed,
            };
            return Err(AlphaError::damaged(key, rule));
        }
        let (inner_id, found) = (wire.metadata.id, wire.metadata.id);
        if listed > 0 && inner_id != id {
            return Err(AlphaError::damaged(key, Rule::OtherSnapshot { found }));
        }
        Ok(Self {
            id,
            inner_id,
            written_at: wire.metadata.written_at,
            message: wire.metadata.message,
            started_at: wire.started_at,
            properties: wire.properties,
            history: wire.short_term_history,
            nodes: nodes(wire.nodes.0, key)?,
        })
    }

    /// Returns the nodes, parents before children.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Returns the node at a path.
    #[must_use]
    pub fn node(&self, path: &NodePath) -> Option<&Node> {
        let found = self
            .nodes
            .binary_search_by(|node| node.path.cmp_segments(path));
        found.ok().map(|at| &self.nodes[at])
    }

    /// Returns the sorted names directly below a path, including groups that only their descendants imply.
    #[must_use]
    pub fn child_names(&self, path: &NodePath) -> Vec<String> {
        let depth = match path.is_root() {
            true => 1,
            false => path.as_str().len() + 1,
        };
        let below = self.nodes.iter().map(|node| &node.path);
        let mut names: Vec<String> = below
            .filter(|it| path.is_ancestor_of(it))
            .filter_map(|it| it.as_str()[depth..].split('/').next())
            .map(str::to_owned)
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns the id of the newest ancestor by its time: that of the parent, save for an initial one, which goes by its
    /// inner id.
    #[must_use]
    pub fn listed_parent(&self) -> Option<AlphaId> {
        let (first, last) = (self.history.first()?, self.history.last()?);
        Some(match first.written_at > last.written_at {
            true => first.id,
            false => last.id,
        })
    }

    /// Returns whether it has no ancestors.
    #[must_use]
    pub fn is_initial(&self) -> bool {
        self.history.is_empty()
    }
}

fn nodes(wire: Vec<(String, WireNode)>, key: &str) -> Result<Vec<Node>, AlphaError> {
    let damaged = |rule| AlphaError::damaged(key, rule);
    let mut nodes = Vec::with_capacity(wire.len());
    let mut ids = HashSet::with_capacity(wire.len());
    for (path, node) in wire {
        let parsed = NodePath::parse(&path).map_err(|source| {
            let path = path.chars().take(MAX_PATH_LEN).collect();
            damaged(Rule::Path { path, source })
        })?;
        if !ids.insert(node.id) {
            let what = format!("with number {}", node.id);
            return Err(damaged(Rule::TwoNodes { what }));
        }
        nodes.push(convert(parsed, node, key)?);
    }
    nodes.sort_by(|a: &Node, b| a.path.cmp_segments(&b.path));
    let mut array: Option<&Node> = None;
    for pair in nodes.windows(2) {
        let [one, next] = pair else { continue };
        if one.path == next.path {
            let what = format!("at {}", one.path);
            return Err(damaged(Rule::TwoNodes { what }));
        }
        if one.array.is_some() {
            array = Some(one);
        }
        if let Some(array) = array.filter(|array| array.path.is_ancestor_of(&next.path)) {
            let (path, array) = (next.path.clone(), array.path.clone());
            return Err(damaged(Rule::BelowArray { path, array }));
        }
    }
    Ok(nodes)
}

fn convert(path: NodePath, node: WireNode, key: &str) -> Result<Node, AlphaError> {
    if node.path != path.as_str() {
        let found = node.path;
        return Err(AlphaError::damaged(key, Rule::OtherPath { path, found }));
    }
    let mut document = Map::new();
    document.insert("zarr_format".to_owned(), json!(3));
    match node.user_attributes {
        // As in the document that it was made of: none is not empty.
        None => {}
        Some(Attributes::Inline(attributes)) => {
            document.insert("attributes".to_owned(), Value::Object(attributes));
        }
        Some(Attributes::Ref(_)) => {
            return Err(AlphaError::unsupported(
                key,
                Rule::AttributesElsewhere { path },
            ));
        }
    }
    let manifests = match node.node_data {
        NodeData::Group => {
            document.insert("node_type".to_owned(), json!("group"));
            Vec::new()
        }
        NodeData::Array(array, manifests) => {
            if array.chunk_key_encoding != ChunkKeys::Slash {
                return Err(AlphaError::unsupported(key, Rule::ChunkKeys { path }));
            }
            if !array.fill_value.is_of(array.data_type) {
                return Err(AlphaError::damaged(key, Rule::FillValue { path }));
            }
            array_fields(array, &mut document);
            manifests.into_iter().map(|it| it.object_id).collect()
        }
    };
    let document = Bytes::from(Value::Object(document).to_string());
    let metadata = match NodeMetadata::parse_new(&document, MAX_DOCUMENT) {
        Ok(metadata) => metadata,
        Err(source) => return Err(AlphaError::damaged(key, Rule::Metadata { path, source })),
    };
    Ok(Node {
        path,
        id: node.id,
        document,
        array: metadata.array().cloned(),
        manifests,
    })
}

/// The members of `zarr.json` that only an array has.
fn array_fields(array: WireArray, document: &mut Map<String, Value>) {
    let mut set = |name: &str, value: Value| {
        document.insert(name.to_owned(), value);
    };
    set("node_type", json!("array"));
    set("shape", json!(array.shape));
    set("data_type", json!(array.data_type.name()));
    set(
        "chunk_grid",
        json!({"name": "regular", "configuration": {"chunk_shape": array.chunk_shape}}),
    );
    set(
        "chunk_key_encoding",
        json!({"name": "default", "configuration": {"separator": "/"}}),
    );
    set("fill_value", array.fill_value.to_json());
    let named = |list: Vec<wire::Named>| list.into_iter().map(wire::Named::into_json).collect();
    set("codecs", Value::Array(named(array.codecs)));
    if let Some(transformers) = array.storage_transformers {
        set("storage_transformers", Value::Array(named(transformers)));
    }
    if let Some(names) = array.dimension_names {
        set("dimension_names", json!(names));
    }
}

#[cfg(test)]
mod tests;
