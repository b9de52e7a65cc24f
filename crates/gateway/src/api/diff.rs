//! Differences of two versions: nodes in pages, and what changed in one of them.

use std::collections::BTreeMap;

use icefield::{Diff, NodeKind, NodePath};
use serde_json::{Map, Value, json};

use super::answer::ApiAnswer;
use super::cells::Cells;
use super::history::{RefNames, snapshot};
use super::values::{int, ints, number, path, required};
use crate::failure::Failure;
use crate::mount::Mount;
use crate::observation::cut;
use crate::target::Target;
use crate::versions::{Freshness, Stability, Version};

/// Nodes of one page.
const PAGE: u64 = 500;
/// Bytes of a document.
const DOCUMENT: usize = 1_000_000;

/// One node that differs.
struct Change {
    path: NodePath,
    kind: NodeKind,
    word: &'static str,
    from: Option<NodePath>,
    chunks: usize,
}

async fn versions(mount: &Mount, target: &Target) -> Result<(Version, Version), Failure> {
    let from = mount
        .versions
        .find(required(target, "from")?, Freshness::Now)
        .await?;
    let to = mount
        .versions
        .find(required(target, "to")?, Freshness::Now)
        .await?;
    Ok((from, to))
}

fn stability(from: &Version, to: &Version) -> Stability {
    match (from.stability, to.stability) {
        (Stability::Fixed, Stability::Fixed) => Stability::Fixed,
        _ => Stability::Moving,
    }
}

/// Compares two versions.
pub(crate) async fn diff(mount: &Mount, target: &Target) -> Result<ApiAnswer, Failure> {
    let offset = number(target, "offset", 0, u64::MAX)?;
    let limit = number(target, "limit", 200, PAGE)?;
    let (from, to) = versions(mount, target).await?;
    let diff = {
        let _alone = mount.alone().await;
        mount
            .repository()
            .diff(from.id, to.id)
            .await
            .map_err(Failure::of_read)?
    };
    let changes = changes(&diff);
    let count = |word: &str| changes.iter().filter(|change| change.word == word).count();
    let chunks: usize = diff
        .updated_chunks
        .values()
        .map(|chunks| chunks.len())
        .sum();
    let counts = json!({
        "added": count("added"),
        "deleted": count("deleted"),
        "updated": count("updated"),
        "moved": count("moved"),
        "chunks": chunks,
    });
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let page = changes
        .iter()
        .skip(skip)
        .take(usize::try_from(limit).unwrap_or(0));
    let nodes: Vec<Value> = page
        .map(|change| {
            json!({
                "path": change.path.as_str(),
                "kind": match change.kind { NodeKind::Array => "array", NodeKind::Group => "group" },
                "change": change.word,
                "from_path": change.from.as_ref().map(NodePath::as_str),
                "chunks": change.chunks,
            })
        })
        .collect();
    let names = RefNames::of(mount).await;
    let mut ends = Vec::new();
    for version in [&from, &to] {
        let info = mount.repository().ledger().snapshot(version.id).await;
        ends.push(snapshot(&info.map_err(Failure::of_read)?, &names));
    }
    let to_info = ends.pop();
    let document = json!({
        "from": ends.pop(),
        "to": to_info,
        "total": changes.len(),
        "counts": counts,
        "nodes": nodes,
    });
    Ok(ApiAnswer {
        document,
        snapshot: Some(to.id),
        stability: stability(&from, &to),
    })
}

/// The nodes that differ, one row each, in the order of the hierarchy.
fn changes(diff: &Diff) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut chunks: BTreeMap<&NodePath, usize> = diff
        .updated_chunks
        .iter()
        .map(|(path, chunks)| (path, chunks.len()))
        .collect();
    let (array, group) = (NodeKind::Array, NodeKind::Group);
    for (word, kind, paths) in [
        ("deleted", group, &diff.deleted_groups),
        ("deleted", array, &diff.deleted_arrays),
        ("added", group, &diff.new_groups),
        ("added", array, &diff.new_arrays),
        ("updated", group, &diff.updated_groups),
        ("updated", array, &diff.updated_arrays),
    ] {
        for path in paths {
            let is_there = word != "deleted";
            let chunks = if is_there {
                chunks.remove(path).unwrap_or(0)
            } else {
                0
            };
            changes.push(Change {
                path: path.clone(),
                kind,
                word,
                from: None,
                chunks,
            });
        }
    }
    for (from, to) in &diff.moved_nodes {
        let kind = if chunks.contains_key(to) {
            array
        } else {
            group
        };
        match changes
            .iter_mut()
            .find(|change| change.path == *to && change.word == "updated")
        {
            Some(change) => change.from = Some(from.clone()),
            None => changes.push(Change {
                path: to.clone(),
                kind,
                word: "moved",
                from: Some(from.clone()),
                chunks: chunks.remove(to).unwrap_or(0),
            }),
        }
    }
    for (path, chunks) in chunks {
        let (path, word) = (path.clone(), "chunks");
        changes.push(Change {
            path,
            kind: array,
            word,
            from: None,
            chunks,
        });
    }
    changes.sort_by(|a, b| a.path.cmp_segments(&b.path));
    changes
}

/// Compares one node in two versions.
pub(crate) async fn node(mount: &Mount, target: &Target) -> Result<ApiAnswer, Failure> {
    let at = path(required(target, "path")?)?;
    let before = target.parameter("from_path").map(path).transpose()?;
    let (from, to) = versions(mount, target).await?;
    let old = before.clone().unwrap_or_else(|| at.clone());
    let document = |version: &Version, path: &NodePath| -> Result<Value, Failure> {
        let stored = version.session.metadata(path).map_err(Failure::of_read)?;
        let text = stored.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(text.map(|text| cut(&text, DOCUMENT).to_owned()).into())
    };
    let mut object = Map::new();
    object.insert("path".to_owned(), at.as_str().into());
    object.insert(
        "from_path".to_owned(),
        before.as_ref().map(NodePath::as_str).into(),
    );
    object.insert("from_document".to_owned(), document(&from, &old)?);
    object.insert("to_document".to_owned(), document(&to, &at)?);
    let (old_array, new_array) = (from.session.array(&old).ok(), to.session.array(&at).ok());
    if let Some(array) = new_array.as_ref().or(old_array.as_ref()) {
        let cells = Cells::of(&array.chunk_counts);
        object.insert("chunk_shape".to_owned(), ints(&array.chunk_shape));
        cells.describe(&mut object);
        let from_grid = old_array.as_ref().map(|array| array.chunk_counts.clone());
        object.insert("from_grid".to_owned(), json!(from_grid));
        let diff = {
            let _alone = mount.alone().await;
            mount
                .repository()
                .diff(from.id, to.id)
                .await
                .map_err(Failure::of_read)?
        };
        let mut changed = BTreeMap::<Vec<u32>, u64>::new();
        let chunks = diff.updated_chunks.get(&at);
        for index in chunks.into_iter().flatten() {
            *changed.entry(cells.of_chunk(index)).or_default() += 1;
        }
        let index: Vec<u32> = changed.keys().flatten().copied().collect();
        let counts: Vec<u64> = changed.values().copied().collect();
        object.insert(
            "changed".to_owned(),
            int(chunks.map_or(0, |it| it.len() as u64)),
        );
        object.insert(
            "cells".to_owned(),
            json!({ "index": index, "changed": counts }),
        );
    }
    Ok(ApiAnswer {
        document: object.into(),
        snapshot: Some(to.id),
        stability: stability(&from, &to),
    })
}
