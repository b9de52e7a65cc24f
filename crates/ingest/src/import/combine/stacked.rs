//! A source whose arrays have a new leading dimension of length one.
//!
//! These stay as they are: coordinates of the dimensions that there are, and what says more of them (bounds, grid mappings,
//! auxiliary coordinates with dimensions of their own). They must be equal in all sources. A number without dimensions is one
//! of its file, and gets the new dimension, whatever names it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::{ArrayMetadata, ChunkIndex, NodePath};
use serde_json::{Value, json};

use super::error::CombineError;
use crate::archive::values::base64_text;
use crate::import::derived::{ArrayAt, ChunkStream, Derived, DerivedArray, digest_of};
use crate::import::opened::Opened;
use crate::import::origin::StackedValue;
use crate::import::selection::nearest;
use crate::plan::coordinate as dimension_of;
use crate::source::References;
use crate::{ChunkEntry, ChunkExtents, Hierarchy, ImportError, Source, SourceError, SourceNode};

/// The origin of the coordinate of the new dimension.
pub(super) enum CoordinateOrigin {
    /// Its document, and its only chunk.
    Value(Value, Bytes),
    /// A variable without dimensions.
    Variable(NodePath),
}

/// Returns the path of the coordinate of a new dimension.
pub(super) fn coordinate(dimension: &str) -> Result<NodePath, CombineError> {
    let path = NodePath::root().join(dimension);
    let path = path.map_err(|error| error.to_string());
    let is_one = |path: &NodePath| path.segments().count() == 1;
    match path {
        Ok(path) if is_one(&path) => Ok(path),
        other => Err(CombineError::Name {
            dimension: dimension.to_owned(),
            problem: other.err().unwrap_or_else(|| "it has a slash".to_owned()),
        }),
    }
}

/// Gives the arrays of a source the new dimension.
pub(super) fn stacked(
    one: Opened,
    dimension: &str,
    given: CoordinateOrigin,
) -> Result<Opened, ImportError> {
    let path = coordinate(dimension)?;
    let name = one.source.to_string();
    let staying = staying(&one.hierarchy);
    let said = match &given {
        CoordinateOrigin::Value(document, chunk) => {
            StackedValue::Chunk(document.clone(), base64_text(chunk))
        }
        CoordinateOrigin::Variable(variable) => StackedValue::Variable(variable.to_string()),
    };
    let mut arrays = BTreeMap::new();
    let mut hierarchy = Hierarchy {
        nodes: BTreeMap::new(),
        ..one.hierarchy.clone()
    };
    let not_new = |path: &NodePath| CombineError::NotNew {
        name: name.clone(),
        path: path.clone(),
        dimension: dimension.to_owned(),
    };
    let variable = match &given {
        CoordinateOrigin::Variable(variable) => Some(variable),
        CoordinateOrigin::Value(..) => None,
    };
    for (from, node) in &one.hierarchy.nodes {
        let Some(array) = node.array() else {
            hierarchy.nodes.insert(from.clone(), node.clone());
            continue;
        };
        let is_value = variable == Some(from);
        let names = array.dimension_names.as_deref().unwrap_or_default();
        if names.iter().any(|it| it.as_deref() == Some(dimension)) || (*from == path && !is_value) {
            return Err(not_new(from).into());
        }
        if !is_value && staying.contains(from) {
            hierarchy.nodes.insert(from.clone(), node.clone());
            continue;
        }
        let refused = |reason: String| CombineError::NotStacked {
            name: name.clone(),
            path: from.clone(),
            reason,
        };
        let mut document: Value =
            serde_json::from_slice(node.document()).map_err(|error| refused(error.to_string()))?;
        with_dimension(&mut document, dimension, array.shape.len()).map_err(refused)?;
        let to = if is_value { path.clone() } else { from.clone() };
        let node = SourceNode::of_value(&document).map_err(refused)?;
        let original = StackedArray::Original(from.clone(), array.clone());
        arrays.insert(to.clone(), original);
        hierarchy.nodes.insert(to, node);
    }
    if let CoordinateOrigin::Value(document, chunk) = given {
        let refused = |reason: String| CombineError::NotStacked {
            name: name.clone(),
            path: path.clone(),
            reason,
        };
        let node = SourceNode::of_value(&document).map_err(refused)?;
        hierarchy.nodes.insert(path.clone(), node);
        arrays.insert(path, StackedArray::Coordinate(chunk));
    }
    Ok(Opened {
        origin: one.origin.stacked(dimension, said),
        source: Derived::of(Arc::clone(&one.source), hierarchy.clone(), arrays),
        hierarchy,
        ..one
    })
}

/// The arrays that stay as they are.
fn staying(hierarchy: &Hierarchy) -> BTreeSet<NodePath> {
    let mut staying = BTreeSet::new();
    let documents = hierarchy.nodes.iter().filter_map(|(path, node)| {
        let document: Value = serde_json::from_slice(node.document()).ok()?;
        Some((path, node.array()?, document))
    });
    let rank = |path: &NodePath| {
        let array = hierarchy.nodes.get(path).and_then(SourceNode::array);
        array.map_or(0, |array| array.shape.len())
    };
    for (path, array, document) in documents {
        let attributes = &document["attributes"];
        let named = |attribute: &str| {
            let words = attributes[attribute].as_str().unwrap_or_default();
            let words = words
                .split_whitespace()
                .map(|word| word.trim_end_matches(':'));
            let found = words.filter_map(|word| nearest(hierarchy, path, word));
            found.collect::<Vec<_>>()
        };
        if dimension_of(path, array).is_some() {
            staying.insert(path.clone());
            staying.extend(named("bounds"));
            staying.extend(named("climatology"));
        }
        staying.extend(named("grid_mapping"));
        let auxiliary = named("coordinates").into_iter();
        staying.extend(auxiliary.filter(|it| rank(it) > 0));
    }
    staying
}

/// Gives the document of an array the new dimension.
fn with_dimension(document: &mut Value, dimension: &str, rank: usize) -> Result<(), String> {
    let mut first = |pointer: &str| match document.pointer_mut(pointer) {
        Some(Value::Array(lengths)) => {
            lengths.insert(0, 1.into());
            Ok(())
        }
        _ => Err(format!("its document has no list {pointer}")),
    };
    first("/shape")?;
    first("/chunk_grid/configuration/chunk_shape")?;
    let names = match document.get("dimension_names") {
        Some(Value::Array(names)) => names.clone(),
        _ => vec![Value::Null; rank],
    };
    let names: Vec<Value> = std::iter::once(dimension.into()).chain(names).collect();
    document["dimension_names"] = names.into();
    codecs(&mut document["codecs"], rank)
}

/// Gives the arrays that codecs work on the new dimension.
fn codecs(chain: &mut Value, rank: usize) -> Result<(), String> {
    for codec in chain.as_array_mut().into_iter().flatten() {
        let name = codec["name"].as_str().unwrap_or_default().to_owned();
        // A codec without one may be its name alone.
        let Some(configuration @ Value::Object(_)) = codec.get_mut("configuration") else {
            continue;
        };
        match &*name {
            "transpose" => {
                let order: Vec<u64> = match &configuration["order"] {
                    Value::Array(order) => order.iter().filter_map(Value::as_u64).collect(),
                    Value::String(order) if order == "F" => (0..rank as u64).rev().collect(),
                    _ => (0..rank as u64).collect(),
                };
                let moved = order.iter().map(|axis| axis + 1);
                let moved: Vec<u64> = std::iter::once(0).chain(moved).collect();
                configuration["order"] = json!(moved);
            }
            "sharding_indexed" => {
                match configuration.get_mut("chunk_shape") {
                    Some(Value::Array(lengths)) => lengths.insert(0, 1.into()),
                    _ => return Err("its shards have no chunk_shape".to_owned()),
                }
                codecs(&mut configuration["codecs"], rank)?;
                if configuration.get("index_codecs").is_some() {
                    codecs(&mut configuration["index_codecs"], rank + 1)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// The coordinates of a chunk with the new dimension.
fn below(index: &[u32]) -> ChunkIndex {
    let index: Vec<u32> = std::iter::once(0).chain(index.iter().copied()).collect();
    index.into()
}

/// An array along the new dimension.
#[derive(Debug)]
enum StackedArray {
    /// An array of the source, by its path there and as the source has it.
    Original(NodePath, ArrayMetadata),
    /// The coordinate of the new dimension, if no variable is: its only chunk.
    Coordinate(Bytes),
}

#[async_trait]
impl DerivedArray for StackedArray {
    fn chunks(&self, at: ArrayAt<'_>) -> ChunkStream {
        let stacked = |entry| match entry {
            ChunkEntry::Chunk { index, length } => ChunkEntry::Chunk {
                index: below(&index),
                length,
            },
            other @ ChunkEntry::Ignored { .. } => other,
        };
        match self {
            Self::Original(path, array) => at.first().chunks(path, array).map_ok(stacked).boxed(),
            Self::Coordinate(chunk) => {
                let entry = ChunkEntry::Chunk {
                    index: vec![0].into(),
                    length: chunk.len() as u64,
                };
                stream::iter([Ok(entry)]).boxed()
            }
        }
    }

    async fn read_chunk(
        &self,
        at: ArrayAt<'_>,
        index: &[u32],
        length: u64,
    ) -> Result<Bytes, SourceError> {
        match self {
            Self::Original(path, array) => {
                let (source, index) = (at.first(), index.get(1..).unwrap_or_default());
                source.read_chunk(path, array, index, length).await
            }
            Self::Coordinate(chunk) => Ok(chunk.clone()),
        }
    }

    fn references<'a>(
        &'a self,
        parts: &'a [Arc<dyn Source>],
        _: &NodePath,
    ) -> Result<References<'a>, String> {
        let Self::Original(path, _) = self else {
            return Err("it lies in no file".to_owned());
        };
        let references = parts[0].references(path)?;
        let mut extents = ChunkExtents::new(references.extents.rank() + 1);
        for row in references.extents.rows() {
            extents.push(&below(row.index), row.file, row.offset, row.length);
        }
        let made = references.made.iter();
        let made = made.map(|(index, bytes)| (below(index), bytes.clone()));
        Ok(References {
            sources: references.sources,
            source: references.source,
            extents: Cow::Owned(extents),
            made: made.collect(),
        })
    }

    fn is_at_hand(&self, parts: &[Arc<dyn Source>], _: &NodePath) -> bool {
        match self {
            Self::Original(path, _) => parts[0].is_at_hand(path),
            Self::Coordinate(_) => true,
        }
    }

    fn chunk_name(&self, at: ArrayAt<'_>, index: &[u32]) -> String {
        match self {
            Self::Original(path, array) => {
                let index = index.get(1..).unwrap_or_default();
                at.first().chunk_name(path, array, index)
            }
            Self::Coordinate(_) => at.first().chunk_name(at.path, at.array, index),
        }
    }

    fn state(parts: &[Arc<dyn Source>], arrays: &BTreeMap<NodePath, Self>) -> Option<String> {
        let digest = arrays
            .iter()
            .fold(digest_of(parts)?, |digest, (path, array)| {
                let digest = digest.text(path.as_str());
                match array {
                    Self::Original(original, _) => digest.text(original.as_str()),
                    // The value that the source has along the new dimension may come from a pattern.
                    Self::Coordinate(chunk) => digest.bytes(chunk),
                }
            });
        Some(digest.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_know_of_the_new_dimension() {
        let mut document = json!({
            "shape": [4, 6], "dimension_names": ["y", null],
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [2, 3] } },
            "codecs": [
                { "name": "transpose", "configuration": { "order": [1, 0] } },
                { "name": "sharding_indexed", "configuration": {
                    "chunk_shape": [1, 3],
                    "codecs": [{ "name": "transpose", "configuration": { "order": "F" } }, "bytes"],
                    "index_codecs": ["bytes", "crc32c"],
                } },
            ],
        });
        with_dimension(&mut document, "member", 2).expect("valid");
        let expected = json!({
            "shape": [1, 4, 6], "dimension_names": ["member", "y", null],
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [1, 2, 3] } },
            "codecs": [
                { "name": "transpose", "configuration": { "order": [0, 2, 1] } },
                { "name": "sharding_indexed", "configuration": {
                    "chunk_shape": [1, 1, 3],
                    "codecs": [{ "name": "transpose", "configuration": { "order": [0, 2, 1] } }, "bytes"],
                    "index_codecs": ["bytes", "crc32c"],
                } },
            ],
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn names_of_dimensions_are_names() {
        assert!(coordinate("member").is_ok());
        for wrong in ["", "a/b", "..", "/"] {
            assert!(coordinate(wrong).is_err(), "{wrong:?}");
        }
    }
}
