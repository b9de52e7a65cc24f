//! Documents of format 3.

use icefield_core::{MetadataError, NodeMetadata, NodePath};
use icefield_zarr_store::ChunkKeys;
use serde_json::{Map, Value};

use crate::SourceError;
use crate::archive::{ArchiveArray, ArchiveChunks, ChunkExtents, KeyedNodes};
use crate::consolidated::MEMBER;
use crate::names::{DOCUMENT, MAX_DOCUMENT};

/// The members that the document of an array may have, besides those that need not be understood.
const ARRAY_FIELDS: [&str; 11] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
];

/// The members that the document of a group may have, besides those.
const GROUP_FIELDS: [&str; 4] = ["zarr_format", "node_type", "attributes", MEMBER];

/// Returns the nodes of documents by key.
pub(crate) fn nodes(documents: Vec<(String, Value)>, url: &str) -> Result<KeyedNodes, SourceError> {
    let mut nodes = KeyedNodes::default();
    for (key, document) in documents {
        let name = format!("{url}/{key}");
        let directory = key
            .strip_suffix(DOCUMENT)
            .unwrap_or_default()
            .trim_end_matches('/');
        let path =
            NodePath::parse(&format!("/{directory}")).map_err(|source| SourceError::NodeName {
                name: name.clone(),
                source: source.into(),
            })?;
        let refuse = |source| SourceError::Metadata {
            name: name.clone(),
            source,
        };
        let bytes =
            serde_json::to_vec(&document).map_err(|error| refuse(MetadataError::Json(error)))?;
        let metadata = NodeMetadata::parse_new(&bytes, MAX_DOCUMENT as usize).map_err(refuse)?;
        let Value::Object(mut fields) = document else {
            continue;
        };
        let known = match metadata.array() {
            Some(_) => &ARRAY_FIELDS[..],
            None => &GROUP_FIELDS,
        };
        let unknown = match left_out(&fields, known) {
            Ok(unknown) => unknown,
            Err(reason) if metadata.array().is_some() => {
                nodes.refuse(url, path, reason)?;
                continue;
            }
            Err(reason) => return Err(SourceError::variable(url, &path, reason)),
        };
        for field in unknown {
            nodes.warn(format!(
                "the field {field:?} of the document of {path} was left out: it need not be understood"
            ));
        }
        let attributes = match fields.remove("attributes") {
            Some(Value::Object(attributes)) => attributes,
            _ => Map::new(),
        };
        let Some(found) = metadata.array() else {
            nodes.add_group(path, attributes);
            continue;
        };
        if let Err(reason) = check(&fields) {
            nodes.refuse(url, path, reason)?;
            continue;
        }
        let array = ArchiveArray {
            shape: found.shape.clone(),
            chunk_shape: found.chunk_shape.clone(),
            data_type: fields.remove("data_type").unwrap_or_default(),
            fill_value: fields.remove("fill_value").unwrap_or_default(),
            codecs: match fields.remove("codecs") {
                Some(Value::Array(codecs)) => codecs,
                _ => Vec::new(),
            },
            dimension_names: found.dimension_names.clone().unwrap_or_default(),
            attributes,
            chunks: ArchiveChunks::InFiles(ChunkExtents::new(found.rank())),
        };
        nodes.add_array(path, array, ChunkKeys::of(found), None);
    }
    Ok(nodes)
}

/// Refuses what the description of an archive has no place for.
fn check(fields: &Map<String, Value>) -> Result<(), String> {
    for field in ["data_type", "fill_value", "codecs"] {
        if fields.get(field).is_none_or(Value::is_null) {
            return Err(format!("its document has no {field}"));
        }
    }
    let transformers = fields.get("storage_transformers").and_then(Value::as_array);
    if transformers.is_some_and(|list| !list.is_empty()) {
        return Err("it has storage_transformers, which are not known here".to_owned());
    }
    Ok(())
}

/// Returns the fields that are not known here and need not be.
fn left_out(fields: &Map<String, Value>, known: &[&str]) -> Result<Vec<String>, String> {
    let mut left_out = Vec::new();
    for (field, value) in fields {
        if known.contains(&field.as_str()) {
            continue;
        }
        if value.get("must_understand") != Some(&Value::Bool(false)) {
            return Err(format!(
                "its document has the field {field:?}, which must be understood"
            ));
        }
        left_out.push(field.clone());
    }
    Ok(left_out)
}
