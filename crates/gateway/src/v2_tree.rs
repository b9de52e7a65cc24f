//! A hierarchy in Zarr format 2: its documents, the arrays whose chunks stay what they are, and the nodes that format 2 has
//! no words for.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use http::StatusCode;
use icefield::ingest::{Dialect, ExportNode, ZarrV2};
use icefield::{ArrayMetadata, NodeKind, NodePath};
use serde_json::{Value, json};

use crate::documents::spelt;
use crate::failure::Failure;
use crate::shards::Shards;
use crate::versions::Version;

/// The document of a group.
pub(crate) const GROUP: &str = ".zgroup";
/// The document of an array.
pub(crate) const ARRAY: &str = ".zarray";
/// The attributes of either.
pub(crate) const ATTRIBUTES: &str = ".zattrs";
/// All documents below a group in one.
pub(crate) const CONSOLIDATED: &str = ".zmetadata";

/// A hierarchy in format 2.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// The documents by their keys, without consolidated ones.
    pub(crate) documents: BTreeMap<String, Bytes>,
    pub(crate) arrays: BTreeMap<NodePath, Array>,
    /// The arrays and groups that are not there, and why.
    pub(crate) absent: Vec<(NodePath, String)>,
}

/// An array whose chunks stay what they are.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) metadata: ArrayMetadata,
    pub(crate) shards: Option<Shards>,
}

impl Tree {
    /// The documents of a group and of all nodes below it in one.
    pub(crate) fn consolidated(&self, group: &NodePath) -> Option<Bytes> {
        let prefix = match group.is_root() {
            true => String::new(),
            false => format!("{}/", group.as_str().trim_start_matches('/')),
        };
        if !self.documents.contains_key(&format!("{prefix}{GROUP}")) {
            return None;
        }
        let below = self.documents.iter().filter_map(|(key, document)| {
            let key = key.strip_prefix(&prefix)?;
            let document: Value = serde_json::from_slice(document).ok()?;
            Some((key.to_owned(), document))
        });
        let all: serde_json::Map<String, Value> = below.collect();
        let document = json!({ "zarr_consolidated_format": 1, "metadata": all });
        Some(document.to_string().into())
    }
}

/// Spells the hierarchy of a version in format 2. Reads the manifests of all arrays: whether a chunk is missing decides
/// what a fill value means.
pub(crate) async fn make(version: &Version, limit: usize) -> Result<Tree, Failure> {
    let session = &version.session;
    let nodes = session.nodes(&NodePath::root()).map_err(Failure::of_read)?;
    if nodes.len() > limit {
        let message = format!(
            "there are {} nodes, and Zarr v2 is served of up to {limit}",
            nodes.len()
        );
        return Err(Failure::new(
            StatusCode::NOT_IMPLEMENTED,
            "unsupported",
            message,
        ));
    }
    let mut tree = Tree::default();
    for node in nodes {
        let stored = session.metadata(&node.path).map_err(Failure::of_read)?;
        let document = stored
            .as_deref()
            .and_then(|stored| spelt(stored, node.kind));
        let Some(document) = document else {
            tree.absent
                .push((node.path, "its document is not JSON".to_owned()));
            continue;
        };
        let (array, is_whole, shards) = match node.kind {
            NodeKind::Group => (None, None, None),
            NodeKind::Array => {
                let array = session.array(&node.path).map_err(Failure::of_read)?;
                let shards = Shards::of(&document);
                // Of a whole shard, inner chunks may be missing all the same.
                let is_whole = match shards {
                    Some(_) => false,
                    None => is_whole(version, &node.path, &array).await?,
                };
                (Some(array), Some(is_whole), shards)
            }
        };
        let exported = ExportNode {
            path: node.path.clone(),
            document: document.into(),
            array,
            longest: None,
            is_whole,
        };
        if let Err(reason) = tree.add(exported, shards) {
            tree.absent.push((node.path, reason));
        }
    }
    Ok(tree)
}

impl Tree {
    fn add(&mut self, node: ExportNode, shards: Option<Shards>) -> Result<(), String> {
        let spelling = ZarrV2
            .spell(Arc::from([node.clone()]))
            .map_err(|error| error.to_string())?;
        if spelling.recoding(&node).is_some_and(|bytes| bytes > 0) {
            return Err("its chunks would have to be encoded anew".to_owned());
        }
        let documents = spelling
            .documents(&node)
            .map_err(|error| error.to_string())?;
        for (key, document) in documents {
            if !key.as_str().ends_with(CONSOLIDATED) {
                self.documents.insert(key.as_str().to_owned(), document);
            }
        }
        if let Some(metadata) = node.array {
            self.arrays.insert(node.path, Array { metadata, shards });
        }
        Ok(())
    }
}

/// Whether no chunk of an array is missing.
async fn is_whole(
    version: &Version,
    path: &NodePath,
    array: &ArrayMetadata,
) -> Result<bool, Failure> {
    let counts = array.chunk_counts.iter();
    let all = counts.fold(1_u64, |all, one| all.saturating_mul(u64::from(*one)));
    let chunks = version.session.chunks(path).map_err(Failure::of_read)?;
    let found = chunks
        .try_fold(0_u64, |sum, _| std::future::ready(Ok(sum + 1)))
        .await;
    Ok(found.map_err(Failure::of_read)? == all)
}
