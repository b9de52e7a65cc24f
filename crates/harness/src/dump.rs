//! Everything that a repository holds, as one JSON document in the shape of the test vectors'
//! `expected.json`.

use std::collections::BTreeMap;

use anyhow::Context;
use futures::TryStreamExt;
use icefield_core::{
    ByteRange, ChunkLocation, NodeKind, NodePath, Repository, Session, SnapshotId, SnapshotInfo,
};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// Reads every snapshot that a ref reaches, every node of it, and every byte of its chunks.
///
/// # Errors
/// The first thing that cannot be read.
pub async fn dump(repository: &Repository) -> anyhow::Result<Value> {
    let refs = repository.refs().await?;
    let mut branches = Map::new();
    let mut tags = Map::new();
    let mut starts = Vec::new();
    for (name, tip) in refs.branches {
        let tip = tip?;
        starts.push(tip);
        branches.insert(name.to_string(), tip.to_string().into());
    }
    for (name, target) in refs.tags {
        let target = target?;
        starts.push(target);
        tags.insert(name.to_string(), target.to_string().into());
    }
    let mut snapshots: BTreeMap<SnapshotId, Value> = BTreeMap::new();
    for start in starts {
        let mut history = repository.ancestry(start);
        while let Some(info) = history.try_next().await? {
            if snapshots.contains_key(&info.id) {
                break;
            }
            let dumped = snapshot(repository, &info).await?;
            snapshots.insert(info.id, dumped);
        }
    }
    let deleted: Vec<String> = refs.deleted_tags.iter().map(ToString::to_string).collect();
    let strays: Vec<String> = refs.strays.into_iter().map(|it| it.name).collect();
    Ok(json!({
        "branches": branches,
        "tags": tags,
        "deleted_tags": deleted,
        "strays": strays,
        "snapshots": snapshots
            .into_iter()
            .map(|(id, value)| (id.to_string(), value))
            .collect::<Map<_, _>>(),
    }))
}

async fn snapshot(repository: &Repository, info: &SnapshotInfo) -> anyhow::Result<Value> {
    let file = repository.snapshot(info.id).await?;
    let session = repository.read_session(info.id).await?;
    let mut nodes = Map::new();
    for node in session.nodes(&NodePath::root())? {
        let document = session.metadata(&node.path)?.context("a listed node")?;
        let mut entry = json!({
            "id": node.id.to_string(),
            "zarr_json": serde_json::from_slice::<Value>(&document)?,
            "zarr_json_sha256": hex(&document),
        });
        match node.kind {
            NodeKind::Group => entry["type"] = "group".into(),
            NodeKind::Array => {
                entry["type"] = "array".into();
                let array = session.array(&node.path)?;
                entry["shape"] = json!(array.shape);
                entry["chunk_shape"] = json!(array.chunk_shape);
                entry["dimension_names"] = json!(array.dimension_names);
                entry["chunks"] = chunks(&session, &node.path).await?;
            }
        }
        nodes.insert(node.path.to_string(), entry);
    }
    Ok(json!({
        "parent_id": info.parent_id.map(|id| id.to_string()),
        "message": info.message,
        "flushed_at": file.flushed_at(),
        "metadata": info.metadata,
        "nodes": nodes,
    }))
}

async fn chunks(session: &Session, path: &NodePath) -> anyhow::Result<Value> {
    let mut chunks = Map::new();
    let mut listing = session.chunks(path)?;
    while let Some(chunk) = listing.try_next().await? {
        let mut key = "c".to_owned();
        for coordinate in chunk.index.iter() {
            key.push_str(&format!("/{coordinate}"));
        }
        let mut entry = json!({ "length": chunk.location.length() });
        match &chunk.location {
            ChunkLocation::Inline { .. } => entry["kind"] = "inline".into(),
            ChunkLocation::Native { id, offset, .. } => {
                entry["kind"] = "native".into();
                entry["id"] = id.to_string().into();
                entry["offset"] = (*offset).into();
            }
            ChunkLocation::Virtual {
                location,
                offset,
                etag,
                last_modified,
                ..
            } => {
                entry["kind"] = "virtual".into();
                entry["location"] = location.clone().into();
                entry["offset"] = (*offset).into();
                if let Some(etag) = etag {
                    entry["etag"] = etag.clone().into();
                }
                if let Some(seconds) = last_modified {
                    entry["last_modified"] = (*seconds).into();
                }
            }
        }
        if !matches!(chunk.location, ChunkLocation::Virtual { .. }) {
            let bytes = session
                .chunk(path, &chunk.index, ByteRange::All)
                .await?
                .with_context(|| format!("{path} {key} is listed and absent"))?;
            entry["sha256"] = hex(&bytes).into();
        }
        chunks.insert(key, entry);
    }
    Ok(chunks.into())
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
