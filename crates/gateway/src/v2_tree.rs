//! A hierarchy in Zarr format 2: its documents, the arrays whose chunks stay what they are, and the nodes that format 2 has
//! no words for.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::TryStreamExt;
use http::StatusCode;
use icefield::ingest::{Dialect, ExportNode, ShardIndex, Spelling, ZarrV2};
use icefield::{ArrayMetadata, NodeKind, NodePath};
use serde_json::{Value, json};

use crate::documents::spelt;
use crate::failure::Failure;
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
    /// Arrays of which it cannot be read what they are: they are not absent.
    pub(crate) damaged: BTreeMap<NodePath, Failure>,
}

/// An array whose chunks stay what they are.
#[derive(Debug)]
pub(crate) struct Array {
    pub(crate) metadata: ArrayMetadata,
    /// Where the inner chunks lie in its shards, if it has any.
    pub(crate) shards: Option<ShardIndex>,
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
        match read_node(version, &node.path, node.kind).await {
            Ok(Ok((exported, spelling))) => {
                if let Err(reason) = tree.add(exported, &*spelling) {
                    tree.absent.push((node.path, reason));
                }
            }
            Ok(Err(reason)) => tree.absent.push((node.path, reason)),
            // One array that is damaged is no reason to withhold the others.
            Err(failure) if failure.status == StatusCode::INTERNAL_SERVER_ERROR => {
                tree.absent
                    .push((node.path.clone(), failure.message.clone()));
                tree.damaged.insert(node.path, failure);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(tree)
}

/// A node in format 2, or why it cannot be.
type Spelt = Result<(ExportNode, Arc<dyn Spelling>), String>;

async fn read_node(version: &Version, path: &NodePath, kind: NodeKind) -> Result<Spelt, Failure> {
    let session = &version.session;
    let stored = session.metadata(path).map_err(Failure::of_read)?;
    let document = stored.as_deref().and_then(|stored| spelt(stored, kind));
    let Some(document) = document else {
        return Ok(Err("its document is not JSON".to_owned()));
    };
    let array = match kind {
        NodeKind::Group => None,
        NodeKind::Array => Some(session.array(path).map_err(Failure::of_read)?),
    };
    let exported = ExportNode {
        path: path.clone(),
        document: document.into(),
        is_whole: array.as_ref().map(|_| true),
        array,
        longest: None,
    };
    spelt_in_2(version, exported).await
}

/// Spells a node, first as if no chunk were missing: whether one is, is read from manifests.
async fn spelt_in_2(version: &Version, mut node: ExportNode) -> Result<Spelt, Failure> {
    let spell = |node: &ExportNode| {
        let spelling = ZarrV2.spell(Arc::from([node.clone()]));
        spelling.map_err(|error| error.to_string())
    };
    let spelling = match spell(&node) {
        Ok(spelling) => spelling,
        Err(reason) => return Ok(Err(reason)),
    };
    let Some(array) = &node.array else {
        return Ok(Ok((node, spelling)));
    };
    // Of a whole shard, inner chunks may be missing all the same.
    let is_whole =
        spelling.shard_index(&node).is_none() && is_whole(version, &node.path, array).await?;
    if is_whole {
        return Ok(Ok((node, spelling)));
    }
    node.is_whole = Some(false);
    Ok(spell(&node).map(|spelling| (node, spelling)))
}

impl Tree {
    fn add(&mut self, node: ExportNode, spelling: &dyn Spelling) -> Result<(), String> {
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
        let shards = spelling.shard_index(&node);
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
