//! What is printed of an array or group.

use std::collections::BTreeMap;

use icefield::{ChunkKeyEncoding, NodeKind, NodePath};
use serde::Serialize;
use serde_json::Value;

use super::version::Version;
use crate::failure::Failure;

/// Facts about one node.
#[derive(Debug, Serialize)]
pub(super) struct NodeFacts {
    pub(super) path: String,
    pub(super) name: String,
    /// `array`, `group`, or `implied` for a group without metadata that only its children imply.
    pub(super) kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(flatten)]
    pub(super) array: Option<ArrayFacts>,
}

/// Facts about an array.
#[derive(Debug, Serialize)]
pub(super) struct ArrayFacts {
    pub(super) data_type: String,
    pub(super) shape: Vec<u64>,
    pub(super) chunk_shape: Vec<u64>,
    pub(super) dimension_names: Option<Vec<Option<String>>>,
    pub(super) chunk_key_encoding: String,
    /// Only where they were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chunks: Option<ChunkFacts>,
}

/// How many chunks there are, by where their bytes live.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ChunkFacts {
    pub(super) native: Stored,
    pub(super) inline: Stored,
    #[serde(rename = "virtual")]
    pub(super) external: Stored,
    /// Of the virtual ones, by the prefix of the container that they lie in; without a name, those that lie in none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) containers: BTreeMap<String, Stored>,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Stored {
    pub(super) count: u64,
    pub(super) bytes: u64,
}

impl Stored {
    /// One chunk of so many bytes.
    pub(super) fn one(bytes: u64) -> Self {
        Self { count: 1, bytes }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

impl ChunkFacts {
    pub(super) fn count(&self) -> u64 {
        self.native.count + self.inline.count + self.external.count
    }

    pub(super) fn bytes(&self) -> u64 {
        self.native.bytes + self.inline.bytes + self.external.bytes
    }

    /// Adds one chunk that lies in this container; without a name, in none.
    pub(super) fn add_virtual(&mut self, container: String, bytes: u64) {
        let one = Stored::one(bytes);
        self.external.add(one);
        self.containers.entry(container).or_default().add(one);
    }

    /// Adds what was counted elsewhere.
    pub(super) fn add(&mut self, other: Self) {
        self.native.add(other.native);
        self.inline.add(other.inline);
        self.external.add(other.external);
        for (container, stored) in other.containers {
            self.containers.entry(container).or_default().add(stored);
        }
    }
}

impl NodeFacts {
    /// Reads what is known of the node at a path, also if nothing is there but its children.
    pub(super) fn read(version: &Version, path: &NodePath) -> Result<Self, Failure> {
        let kind = version.kind(path)?;
        let array = match kind {
            Some(NodeKind::Array) => Some(ArrayFacts::read(version, path)?),
            _ => None,
        };
        Ok(Self {
            path: path.to_string(),
            name: path.name().to_owned(),
            kind: match kind {
                Some(NodeKind::Array) => "array",
                Some(NodeKind::Group) => "group",
                None => "implied",
            },
            array,
        })
    }

    /// The shape and type of an array in a few words.
    pub(super) fn summary(&self) -> String {
        match &self.array {
            Some(array) => format!("{} {}", numbers(&array.shape), array.data_type),
            None => String::new(),
        }
    }
}

impl ArrayFacts {
    fn read(version: &Version, path: &NodePath) -> Result<Self, Failure> {
        let array = version.array(path)?;
        let document = version.document(path)?.unwrap_or_default();
        let document: Value = serde_json::from_slice(&document).unwrap_or_default();
        let data_type = match &document["data_type"] {
            Value::String(name) => name.clone(),
            Value::Object(extension) => match extension.get("name") {
                Some(Value::String(name)) => name.clone(),
                _ => "?".to_owned(),
            },
            _ => "?".to_owned(),
        };
        Ok(Self {
            data_type,
            chunk_key_encoding: encoding(array.chunk_key_encoding),
            shape: array.shape,
            chunk_shape: array.chunk_shape,
            dimension_names: array.dimension_names,
            chunks: None,
        })
    }
}

/// The encoding of chunk keys as one word and its separator.
pub(super) fn encoding(encoding: ChunkKeyEncoding) -> String {
    match encoding {
        ChunkKeyEncoding::Default { separator } => format!("default {separator}"),
        ChunkKeyEncoding::V2 { separator } => format!("v2 {separator}"),
    }
}

/// Numbers as people write a shape: `(3, 330, 360)`, `()`.
pub(super) fn numbers(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("({})", numbers.join(", "))
}
