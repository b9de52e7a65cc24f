//! Hierarchies in pages, and single nodes.

use std::collections::BTreeMap;

use icefield::{NodeKind, NodePath};
use serde_json::{Map, Value, json};

use super::answer::ApiAnswer;
use super::values::{int, ints, number, path, required, set_text};
use crate::failure::Failure;
use crate::mount::Mount;
use crate::observation::cut;
use crate::target::Target;
use crate::v2;
use crate::versions::{Freshness, Version};

/// Nodes of one page.
const PAGE: u64 = 500;
/// Bytes of a unit or a title.
const TITLE: usize = 256;
/// Bytes of a document.
const DOCUMENT: usize = 1_000_000;
/// Codecs of one array.
const CODECS: usize = 64;
/// Paths whose nodes are left out.
const HIDDEN: usize = 64;

/// Returns a page of a hierarchy, parents first.
pub(crate) async fn tree(mount: &Mount, text: &str, target: &Target) -> Result<ApiAnswer, Failure> {
    let offset = number(target, "offset", 0, u64::MAX)?;
    let limit = number(target, "limit", 200, PAGE)?;
    let query = target.parameter("q").unwrap_or_default().to_lowercase();
    let hidden: Result<Vec<_>, _> = target.parameters("hide").take(HIDDEN).map(path).collect();
    let hidden = hidden?;
    let version = mount.versions.find(text, Freshness::Now).await?;
    let mut nodes = all(&version)?;
    let count = |kind| nodes.values().filter(|found| **found == Some(kind)).count();
    let (arrays, groups) = (count(NodeKind::Array), count(NodeKind::Group));
    nodes.retain(|node, _| !hidden.iter().any(|hidden| hidden.is_ancestor_of(node)));
    if !query.is_empty() {
        // Each document is parsed: one request at a time, on a thread that may compute.
        let alone = mount.alone().await;
        let searched = version.clone();
        let found = tokio::task::spawn_blocking(move || {
            let _alone = alone;
            matching(&searched, nodes, &query)
        });
        nodes = found
            .await
            .unwrap_or_else(|error| Err(Failure::damage(error.to_string())))?;
    }
    let mut sorted: Vec<(NodePath, Option<NodeKind>)> = nodes.into_iter().collect();
    sorted.sort_by(|a, b| a.0.cmp_segments(&b.0));
    let total = sorted.len();
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let take = usize::try_from(limit).unwrap_or(0);
    let page = sorted.into_iter().skip(skip).take(take);
    let page: Result<Vec<Value>, Failure> = page
        .map(|(node, kind)| Ok(described(&version, &node, kind)?.0.into()))
        .collect();
    let document = json!({
        "snapshot": version.id.to_string(),
        "offset": int(offset),
        "total": total,
        "arrays": arrays,
        "groups": groups,
        "nodes": page?,
    });
    Ok(ApiAnswer::of(&version, document))
}

/// Describes one node.
pub(crate) async fn node(mount: &Mount, text: &str, target: &Target) -> Result<ApiAnswer, Failure> {
    let path = path(required(target, "path")?)?;
    let version = mount.versions.find(text, Freshness::Recent).await?;
    let session = &version.session;
    let kind = session.node_kind(&path).map_err(Failure::of_read)?;
    if kind.is_none()
        && session
            .child_names(&path)
            .map_err(Failure::of_read)?
            .is_empty()
    {
        return Err(Failure::not_found(format!("there is no node {path}")));
    }
    let (mut object, stored) = described(&version, &path, kind)?;
    let id = session.node_id(&path).map_err(Failure::of_read)?;
    object.insert("id".to_owned(), id.map(|id| id.to_string()).into());
    object.insert(
        "document".to_owned(),
        stored.as_deref().map(|text| cut(text, DOCUMENT)).into(),
    );
    let length = stored.as_ref().map_or(0, String::len);
    object.insert("document_bytes".to_owned(), int(length as u64));
    object.insert("snapshot".to_owned(), version.id.to_string().into());
    Ok(ApiAnswer::of(&version, object.into()))
}

/// Lists the nodes that the view in Zarr v2 does not have, with the reasons.
pub(crate) async fn v2(mount: &Mount, text: &str) -> Result<ApiAnswer, Failure> {
    let version = mount.versions.find(text, Freshness::Now).await?;
    let absent = v2::absent(mount, &version).await?;
    let absent: Vec<Value> = absent
        .iter()
        .map(|(path, reason)| json!({ "path": path.as_str(), "reason": reason }))
        .collect();
    let document = json!({ "snapshot": version.id.to_string(), "absent": absent });
    Ok(ApiAnswer::of(&version, document))
}

/// All nodes of a version, and the groups that only their paths imply.
fn all(version: &Version) -> Result<BTreeMap<NodePath, Option<NodeKind>>, Failure> {
    let nodes = version
        .session
        .nodes(&NodePath::root())
        .map_err(Failure::of_read)?;
    let mut all = BTreeMap::from([(NodePath::root(), None)]);
    for node in nodes {
        for above in node.path.ancestors() {
            all.entry(above).or_insert(None);
        }
        all.insert(node.path, Some(node.kind));
    }
    Ok(all)
}

/// The nodes that a query names, with the groups on the way to them.
fn matching(
    version: &Version,
    nodes: BTreeMap<NodePath, Option<NodeKind>>,
    query: &str,
) -> Result<BTreeMap<NodePath, Option<NodeKind>>, Failure> {
    let mut found = BTreeMap::new();
    for (node, kind) in &nodes {
        let is_named = node.as_str().to_lowercase().contains(query);
        if !is_named && !is_described(version, node, *kind, query)? {
            continue;
        }
        for above in node.ancestors() {
            if let Some(kind) = nodes.get(&above) {
                found.insert(above, *kind);
            }
        }
        found.insert(node.clone(), *kind);
    }
    Ok(found)
}

fn is_described(
    version: &Version,
    node: &NodePath,
    kind: Option<NodeKind>,
    query: &str,
) -> Result<bool, Failure> {
    let (object, _) = described(version, node, kind)?;
    let fields = ["data_type", "dimension_names", "title"];
    let mut texts = fields.iter().filter_map(|name| object.get(*name));
    Ok(texts.any(|value| match value {
        Value::String(text) => text.to_lowercase().contains(query),
        value => value.to_string().to_lowercase().contains(query),
    }))
}

/// Describes a node, and returns its document.
fn described(
    version: &Version,
    node: &NodePath,
    kind: Option<NodeKind>,
) -> Result<(Map<String, Value>, Option<String>), Failure> {
    let session = &version.session;
    let mut object = Map::new();
    object.insert("path".to_owned(), node.as_str().into());
    object.insert("depth".to_owned(), node.segments().count().into());
    let word = match kind {
        Some(NodeKind::Array) => "array",
        Some(NodeKind::Group) => "group",
        None => "implied",
    };
    object.insert("kind".to_owned(), word.into());
    let stored = session.metadata(node).map_err(Failure::of_read)?;
    let text = stored.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let document: Value = match text.as_deref().map(serde_json::from_str) {
        Some(Ok(document)) => document,
        Some(Err(error)) => {
            object.insert(
                "error".to_owned(),
                format!("its document is not JSON: {error}").into(),
            );
            Value::Null
        }
        None => Value::Null,
    };
    let attributes = document["attributes"].as_object();
    object.insert(
        "attributes".to_owned(),
        attributes.map_or(0, Map::len).into(),
    );
    if kind != Some(NodeKind::Array) {
        return Ok((object, text));
    }
    let array = match session.array(node) {
        Ok(array) => array,
        Err(error) => {
            object.insert("error".to_owned(), error.to_string().into());
            return Ok((object, text));
        }
    };
    object.insert("shape".to_owned(), ints(&array.shape));
    object.insert("chunk_shape".to_owned(), ints(&array.chunk_shape));
    object.insert("chunk_counts".to_owned(), json!(array.chunk_counts));
    let names = array.dimension_names.as_ref().map(|names| {
        let names = names.iter().map(|name| name.as_deref());
        names
            .map(|name| name.map(|name| cut(name, TITLE)))
            .collect::<Vec<_>>()
    });
    object.insert("dimension_names".to_owned(), json!(names));
    object.insert(
        "data_type".to_owned(),
        name_of(&document["data_type"]).into(),
    );
    let (codecs, shard) = codecs(&document["codecs"]);
    object.insert("codecs".to_owned(), json!(codecs));
    object.insert("shard".to_owned(), shard);
    let fill = match &document["fill_value"] {
        Value::String(text) => cut(text, TITLE).into(),
        Value::Array(_) | Value::Object(_) => {
            cut(&document["fill_value"].to_string(), TITLE).into()
        }
        value => value.clone(),
    };
    object.insert("fill_value".to_owned(), fill);
    let attribute = |name: &str| document["attributes"][name].as_str();
    for (name, value) in [
        ("units", attribute("units")),
        (
            "title",
            attribute("long_name").or(attribute("standard_name")),
        ),
    ] {
        match value {
            Some(text) => set_text(&mut object, name, text, TITLE),
            None => drop(object.insert(name.to_owned(), Value::Null)),
        }
    }
    Ok((object, text))
}

/// The name of an extension, which may stand alone.
fn name_of(extension: &Value) -> &str {
    let name = extension.as_str().or(extension["name"].as_str());
    cut(name.unwrap_or("?"), TITLE)
}

/// The names of codecs, those of inner chunks behind that of shards, and the shape of inner chunks.
fn codecs(codecs: &Value) -> (Vec<String>, Value) {
    let (mut names, mut shard) = (Vec::new(), Value::Null);
    for codec in codecs.as_array().into_iter().flatten() {
        names.push(name_of(codec).to_owned());
        let settings = &codec["configuration"];
        if name_of(codec) == "sharding_indexed" {
            let shape = settings["chunk_shape"].as_array();
            shard = shape.into_iter().flatten().take(CODECS).cloned().collect();
            let inner = settings["codecs"].as_array();
            names.extend(
                inner
                    .into_iter()
                    .flatten()
                    .map(|codec| name_of(codec).to_owned()),
            );
        }
    }
    names.truncate(CODECS);
    (names, shard)
}
