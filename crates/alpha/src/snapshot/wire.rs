//! The fields of a snapshot file, in their order: MessagePack has them without names, JSON with them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::{Map, Value, json};

use crate::AlphaId;
use crate::fill::{DataType, FillValue};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireSnapshot {
    pub(super) total_parents: u32,
    pub(super) short_term_parents: u16,
    pub(super) short_term_history: Vec<Ancestor>,
    pub(super) metadata: Ancestor,
    pub(super) started_at: String,
    pub(super) properties: Map<String, Value>,
    pub(super) nodes: WireNodes,
}

/// The entry of a snapshot for itself, and for each of its ancestors.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ancestor {
    /// Its id; of the initial snapshot, the inner one.
    pub id: AlphaId,
    /// When it was written, as RFC 3339 text.
    pub written_at: String,
    /// The message of its commit.
    pub message: String,
}

/// The nodes under their paths, in the order of the file.
pub(super) struct WireNodes(pub(super) Vec<(String, WireNode)>);

impl<'de> Deserialize<'de> for WireNodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Nodes;
        impl<'de> Visitor<'de> for Nodes {
            type Value = WireNodes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("nodes under their paths")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<WireNodes, A::Error> {
                let mut nodes = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    nodes.push(entry);
                }
                Ok(WireNodes(nodes))
            }
        }
        deserializer.deserialize_map(Nodes)
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireNode {
    pub(super) id: u32,
    pub(super) path: String,
    pub(super) user_attributes: Option<Attributes>,
    pub(super) node_data: NodeData,
}

#[derive(serde::Deserialize)]
pub(super) enum Attributes {
    Inline(Map<String, Value>),
    Ref(IgnoredAny),
}

#[derive(serde::Deserialize)]
pub(super) enum NodeData {
    Group,
    Array(WireArray, Vec<ManifestRef>),
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireArray {
    pub(super) shape: Vec<u64>,
    pub(super) data_type: DataType,
    pub(super) chunk_shape: Vec<u64>,
    pub(super) chunk_key_encoding: ChunkKeys,
    pub(super) fill_value: FillValue,
    pub(super) codecs: Vec<Named>,
    pub(super) storage_transformers: Option<Vec<Named>>,
    pub(super) dimension_names: Option<Vec<Option<String>>>,
}

#[derive(PartialEq, Eq, serde::Deserialize)]
pub(super) enum ChunkKeys {
    Slash,
    Dot,
    Default,
}

/// A codec or a storage transformer.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Named {
    name: String,
    configuration: Option<Map<String, Value>>,
}

impl Named {
    pub(super) fn into_json(self) -> Value {
        match self.configuration {
            Some(configuration) => json!({"name": self.name, "configuration": configuration}),
            None => json!({"name": self.name}),
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "flags and extents were never filled")]
pub(super) struct ManifestRef {
    pub(super) object_id: AlphaId,
    #[serde(default)]
    flags: IgnoredAny,
    #[serde(default)]
    extents: IgnoredAny,
}
