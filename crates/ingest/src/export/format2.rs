//! Zarr format 2: plain, with xarray's names of dimensions, and as NCZarr.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;
use icefield_core::NodePath;
use icefield_nczarr::{self as nczarr, RECORD};
use icefield_zarr_fs::TreeKey;
use serde_json::{Map, Value, json};

use super::dialect::{Dialect, ExportNode, Spelling, export_key};
use crate::ExportError;
use crate::format2::{Array2, Reader, ShardIndex, longest};
use crate::zarr2;
use crate::zarr2::offset::{self, OFFSET};

/// The documents of format 2; no node can have such a name.
const TAKEN: [&str; 4] = [".zgroup", ".zarray", ".zattrs", ".zmetadata"];
/// xarray's names of dimensions.
const DIMENSIONS: &str = "_ARRAY_DIMENSIONS";
/// The names of the formats in messages.
const PLAIN: &str = "Zarr format 2";
const NCZARR: &str = "NCZarr";
const FILL_VALUE: &str = "_FillValue";

/// Zarr format 2, with `_ARRAY_DIMENSIONS` for xarray and consolidated metadata.
///
/// Chunks stay what they are where format 2 has a word for all codecs of their array; shards become their inner chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZarrV2;

/// NCZarr as netCDF-C since 4.9.3 writes and reads it, with `_ARRAY_DIMENSIONS` too.
///
/// Arrays with codecs that netCDF-C does not bring along are deflated instead; texts get the length of the longest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NcZarr;

/// As [`ZarrV2`], in the layout of stores that move an array by its attribute `_offset`: what has an attribute `origin`
/// gets that one instead, in chunks, and its chunks keys with the numbers that they keep when the window moves. Arrays that
/// do not begin with a whole chunk, as coordinates of one chunk, keep `origin`, and have no offset.
///
/// Only for programs that know the attribute: to all others, such a tree shows the wrong chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffsetZarrV2;

impl Dialect for ZarrV2 {
    fn counts(&self, node: &ExportNode) -> bool {
        node.array.is_some()
    }

    fn spell(&self, nodes: Arc<[ExportNode]>) -> Result<Arc<dyn Spelling>, ExportError> {
        Ok(Arc::new(Tree::plain(&nodes, false)?))
    }
}

impl Dialect for OffsetZarrV2 {
    fn counts(&self, node: &ExportNode) -> bool {
        ZarrV2.counts(node)
    }

    fn spell(&self, nodes: Arc<[ExportNode]>) -> Result<Arc<dyn Spelling>, ExportError> {
        Ok(Arc::new(Tree::plain(&nodes, true)?))
    }
}

impl Dialect for NcZarr {
    fn measures(&self, node: &ExportNode) -> bool {
        let document = parsed(node);
        document.is_ok_and(|document| Array2::needs_longest(&document, Reader::NetCdf))
    }

    fn longest(&self, node: &ExportNode, bytes: &[u8]) -> Result<usize, ExportError> {
        let refuse = |reason| unsupported(&node.path, NCZARR, reason);
        longest(&parsed(node)?, bytes).map_err(refuse)
    }

    fn spell(&self, nodes: Arc<[ExportNode]>) -> Result<Arc<dyn Spelling>, ExportError> {
        let mut tree = Tree::new(NCZARR);
        let (mut documents, mut arrays) = (BTreeMap::new(), BTreeMap::new());
        for node in &*nodes {
            export_key(&node.path, TAKEN[0], &TAKEN)?;
            let document = parsed(node)?;
            if let Some(metadata) = &node.array {
                let fill = document.get("fill_value").and_then(Value::as_str);
                let fill = fill.map_or(0, str::len);
                let longest = node.longest.map(|longest| longest.max(fill));
                let array = Array2::new(&document, metadata, Reader::NetCdf, longest)
                    .map_err(|reason| unsupported(&node.path, NCZARR, reason))?;
                arrays.insert(node.path.to_string(), array.document.clone());
                tree.arrays.insert(node.path.clone(), array);
            }
            documents.insert(node.path.to_string(), document);
        }
        let refuse = |error: nczarr::NczarrError| {
            let path = NodePath::parse(error.path()).unwrap_or_else(|_| NodePath::root());
            unsupported(&path, NCZARR, error.problem())
        };
        let dataset = nczarr::read_zarr3(&documents).map_err(refuse)?;
        for (key, document) in nczarr::write(&dataset, &arrays).map_err(refuse)? {
            let directory = key.rsplit_once('/').map_or("", |(directory, _)| directory);
            let path = NodePath::parse(&format!("/{directory}"));
            let path = path.map_err(|_| ExportError::NodeName {
                path: NodePath::root(),
                name: directory.to_owned(),
            })?;
            let name = key.rsplit('/').next().unwrap_or(&key);
            let key = export_key(&path, name, &TAKEN)?;
            tree.put(&path, key, &document);
        }
        Ok(Arc::new(tree))
    }
}

/// A hierarchy in format 2.
#[derive(Debug)]
struct Tree {
    /// The name of the format in messages.
    format: &'static str,
    documents: HashMap<NodePath, Vec<(TreeKey, Bytes)>>,
    arrays: HashMap<NodePath, Array2>,
    /// The index under which chunk 0 is stored per dimension, where arrays have an attribute for it.
    offsets: HashMap<NodePath, Vec<i64>>,
}

impl Tree {
    fn new(format: &'static str) -> Self {
        Self {
            format,
            documents: HashMap::new(),
            arrays: HashMap::new(),
            offsets: HashMap::new(),
        }
    }

    /// Plain format 2, with consolidated metadata.
    fn plain(nodes: &[ExportNode], has_offsets: bool) -> Result<Self, ExportError> {
        let mut tree = Self::new(PLAIN);
        let mut all = Map::new();
        for node in nodes {
            for (name, document) in tree.documents_of(node, has_offsets)? {
                let key = export_key(&node.path, name, &TAKEN)?;
                all.insert(key.as_str().to_owned(), document.clone());
                tree.put(&node.path, key, &document);
            }
        }
        let consolidated = json!({ "zarr_consolidated_format": 1, "metadata": all });
        let key = export_key(&NodePath::root(), TAKEN[3], &TAKEN)?;
        tree.put(&NodePath::root(), key, &consolidated);
        Ok(tree)
    }

    fn put(&mut self, path: &NodePath, key: TreeKey, document: &Value) {
        // A `Value` has no other keys than texts, and no numbers that JSON lacks.
        let bytes = serde_json::to_vec_pretty(document).expect("BUG: a JSON value can be written");
        let documents = self.documents.entry(path.clone()).or_default();
        documents.push((key, bytes.into()));
    }

    /// The documents of a node in plain format 2.
    fn documents_of(
        &mut self,
        node: &ExportNode,
        has_offsets: bool,
    ) -> Result<Vec<(&'static str, Value)>, ExportError> {
        let document = parsed(node)?;
        let attributes = document.get("attributes").and_then(Value::as_object);
        let mut attributes = attributes.cloned().unwrap_or_default();
        if attributes.get(RECORD).is_some_and(nczarr::is_record) {
            attributes.remove(RECORD);
        }
        let Some(metadata) = &node.array else {
            let group = json!({ "zarr_format": 2 });
            return Ok(vec![(TAKEN[0], group), (TAKEN[2], attributes.into())]);
        };
        let mut array = Array2::new(&document, metadata, Reader::Any, None)
            .map_err(|reason| unsupported(&node.path, PLAIN, reason))?;
        // Of format 2, xarray masks by the fill value itself, and knows no attribute. Where no chunk is missing, nothing else
        // needs that value.
        let is_whole = node.is_whole == Some(true) && array.fill_shards(&document);
        let masked = attributes.remove(FILL_VALUE);
        let dtype = array.document["dtype"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let value = masked.as_ref();
        let value = value.and_then(|value| zarr2::fill_of_attribute(&dtype, value));
        if let (Some(other), None) = (masked, &value) {
            // No element can have this value, so that it masks nothing: an attribute of the user.
            attributes.insert(FILL_VALUE.to_owned(), other);
        }
        match value {
            None if is_whole => array.document["fill_value"] = Value::Null,
            None => {}
            Some(value) if is_whole || value == array.document["fill_value"] => {
                array.document["fill_value"] = value;
            }
            Some(value) => {
                let fill = &array.document["fill_value"];
                let reason = format!(
                    "chunks are missing, which read as {fill}, and {value} is masked (its _FillValue): format 2 has one value for both; write the missing chunks, or make the two values equal"
                );
                return Err(unsupported(&node.path, PLAIN, reason));
            }
        }
        let names = metadata.dimension_names.iter().flatten();
        let names: Option<Vec<&String>> = names.map(Option::as_ref).collect();
        let names = names.filter(|names| names.len() == metadata.rank());
        if let Some(names) = names {
            attributes.insert(DIMENSIONS.to_owned(), json!(names));
        }
        if has_offsets && let Some(offset) = offset::of_origin(&mut attributes, array.chunk_shape())
        {
            attributes.insert(OFFSET.to_owned(), json!(offset));
            self.offsets.insert(node.path.clone(), offset);
        }
        let stored = array.document.clone();
        self.arrays.insert(node.path.clone(), array);
        Ok(vec![(TAKEN[1], stored), (TAKEN[2], attributes.into())])
    }
}

impl Spelling for Tree {
    fn documents(&self, node: &ExportNode) -> Result<Vec<(TreeKey, Bytes)>, ExportError> {
        Ok(self.documents.get(&node.path).cloned().unwrap_or_default())
    }

    fn chunks(
        &self,
        array: &ExportNode,
        index: &[u32],
        bytes: Bytes,
    ) -> Result<Vec<(TreeKey, Bytes)>, ExportError> {
        let refuse = |reason| {
            let index = icefield_core::ChunkIndex::from(index.to_vec());
            unsupported(
                &array.path,
                self.format,
                format!("its chunk {index}: {reason}"),
            )
        };
        let Some(stored) = self.arrays.get(&array.path) else {
            return Ok(Vec::new());
        };
        let chunks = stored.chunks(index, bytes).map_err(refuse)?;
        let chunks = chunks.into_iter();
        let offset = self.offsets.get(&array.path);
        let keyed = chunks.map(|(key, bytes)| {
            let key = match offset {
                None => key,
                Some(offset) => offset::encode(&key, offset).map_err(refuse)?,
            };
            Ok((export_key(&array.path, &key, &TAKEN)?, bytes))
        });
        keyed.collect()
    }

    fn recoding(&self, array: &ExportNode) -> Option<u64> {
        let stored = self.arrays.get(&array.path)?;
        stored.recoding()
    }

    fn shard_index(&self, array: &ExportNode) -> Option<ShardIndex> {
        let stored = self.arrays.get(&array.path)?;
        stored.shard_index().cloned()
    }
}

fn parsed(node: &ExportNode) -> Result<Value, ExportError> {
    let refuse = |error: serde_json::Error| {
        unsupported(
            &node.path,
            PLAIN,
            format!("its metadata is not JSON: {error}"),
        )
    };
    serde_json::from_slice(&node.document).map_err(refuse)
}

fn unsupported(path: &NodePath, format: &'static str, reason: String) -> ExportError {
    ExportError::Unsupported {
        path: path.clone(),
        format,
        reason,
    }
}
