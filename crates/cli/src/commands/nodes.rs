//! Facts about arrays and groups.

use icefield::{ChunkKeyEncoding, NodeKind, NodePath};
use serde::Serialize;
use serde_json::Value;

use super::chunk_counts::ChunkCounts;
use super::version::RevisionReader;
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
    /// The counts of chunks, if the command counts them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) chunks: Option<ChunkCounts>,
}

impl NodeFacts {
    /// Reads the facts of the node at a path, which may be a group that only its children imply.
    pub(super) fn read(version: &RevisionReader, path: &NodePath) -> Result<Self, Failure> {
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

    /// Returns the shape and data type of an array in a few words.
    pub(super) fn summary(&self) -> String {
        match &self.array {
            Some(array) => format!("{} {}", numbers(&array.shape), array.data_type),
            None => String::new(),
        }
    }
}

impl ArrayFacts {
    fn read(version: &RevisionReader, path: &NodePath) -> Result<Self, Failure> {
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

/// Returns the encoding of chunk keys: its name and its separator.
pub(super) fn encoding(encoding: ChunkKeyEncoding) -> String {
    match encoding {
        ChunkKeyEncoding::Default { separator } => format!("default {separator}"),
        ChunkKeyEncoding::V2 { separator } => format!("v2 {separator}"),
    }
}

/// Returns numbers in the form of a shape: `(3, 330, 360)`, `()`.
pub(super) fn numbers(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    format!("({})", numbers.join(", "))
}
