//! Files of a repository as JSON, in the shapes that the reference implementation gives them.

mod header;
mod repo_info;

use icefield::format::{ChunkRef, FormatFile, NodeKind, NodeRecord, layout};
use icefield::{FetchError, ManifestId, Repository, RepositoryError};
use serde_json::{Map, Value, json};

use crate::convert;
use crate::errors::Failure;
use crate::refs::of_snapshot;
use header::{header, time};

pub(crate) use repo_info::inspect_repo_info;

/// Returns the failure of a caller that names a file which does not exist.
fn absent(error: RepositoryError, what: &str, id: &str) -> Failure {
    match error {
        RepositoryError::Fetch(FetchError::Missing { .. }) => Failure::new(
            "object-not-found",
            format!("there is no {what} {id} in this repository: check the id"),
        ),
        error => error.into(),
    }
}

pub(crate) async fn inspect_snapshot(repository: &Repository, id: &str) -> Result<String, Failure> {
    let id = convert::snapshot_id(id)?;
    let snapshot = repository.snapshot(id).await;
    let snapshot = snapshot.map_err(|error| of_snapshot(error, id))?;
    let header = header(
        repository,
        &layout::snapshot_key(id),
        FormatFile::Snapshot(id),
    )
    .await?;
    let manifests = snapshot.manifest_files().map(|file| {
        json!({
            "id": file.id.to_string(),
            "size_bytes": file.size_bytes,
            "num_chunk_refs": file.num_chunk_refs,
        })
    });
    let metadata: Map<_, _> = snapshot.metadata()?.into_iter().collect();
    Ok(json!({
        "id": id.to_string(),
        "header": header,
        "flushed_at": time(snapshot.flushed_at())?,
        "commit_message": snapshot.message(),
        "metadata": metadata,
        "manifests": manifests.collect::<Vec<_>>(),
        "nodes": snapshot.nodes().map(node).collect::<Vec<_>>(),
    })
    .to_string())
}

fn node(record: NodeRecord<'_>) -> Value {
    let mut node = json!({
        "id": record.id().to_string(),
        "path": record.path(),
        "node_type": match record.kind() {
            NodeKind::Array => "array",
            NodeKind::Group => "group",
        },
    });
    if let Some(array) = record.array() {
        let names: Vec<Option<&str>> = array
            .dimension_names()
            .map(Iterator::collect)
            .unwrap_or_default();
        let shape = array.shape().enumerate().map(|(at, dimension)| {
            let mut shape = json!({
                "array_length": dimension.array_length,
                "num_chunks": dimension.num_chunks(),
            });
            if let Some(Some(name)) = names.get(at) {
                shape["name"] = Value::from(*name);
            }
            shape
        });
        node["shape"] = shape.collect();
        let manifests = array.manifests().map(|part| {
            let extents = part.ranges().map(|range| json!([range.start, range.end]));
            json!({ "id": part.id().to_string(), "extents": extents.collect::<Value>() })
        });
        node["manifest_refs"] = manifests.collect();
    }
    node
}

pub(crate) async fn inspect_manifest(repository: &Repository, id: &str) -> Result<String, Failure> {
    let text = id;
    let id: ManifestId = text.parse().map_err(|error| {
        let message = format!("{text:?} is no id of a manifest: {error}");
        Failure::new("invalid-argument", message)
    })?;
    let manifest = repository.manifest(id).await;
    let manifest = manifest.map_err(|error| absent(error, "manifest", text))?;
    let header = header(
        repository,
        &layout::manifest_key(id),
        FormatFile::Manifest(id),
    )
    .await?;
    let mut totals = [0_u64; 3];
    let mut arrays = Vec::with_capacity(manifest.array_count());
    for array in manifest.arrays() {
        let mut counts = [0_u64; 3];
        for record in array.refs() {
            counts[match record.chunk_ref()? {
                ChunkRef::Inline(_) => 0,
                ChunkRef::Native { .. } => 1,
                ChunkRef::Virtual { .. } => 2,
            }] += 1;
        }
        for (total, count) in totals.iter_mut().zip(counts) {
            *total += count;
        }
        arrays.push(json!({
            "node_id": array.node_id().to_string(),
            "num_chunk_refs": array.len(),
            "num_inline": counts[0],
            "num_native": counts[1],
            "num_virtual": counts[2],
        }));
    }
    Ok(json!({
        "id": id.to_string(),
        "header": header,
        "size_bytes": manifest.body_len(),
        "num_arrays": arrays.len(),
        "total_chunk_refs": manifest.total_refs(),
        "total_inline": totals[0],
        "total_native": totals[1],
        "total_virtual": totals[2],
        "arrays": arrays,
        // Spec version 2 can compress locations.
        "compression": { "uses_location_compression": false, "num_compressed_refs": 0 },
    })
    .to_string())
}

pub(crate) async fn inspect_transaction_log(
    repository: &Repository,
    id: &str,
) -> Result<String, Failure> {
    let text = id;
    let id = convert::snapshot_id(text)?;
    let log = repository.transaction_log(id).await;
    let log = log.map_err(|error| absent(error, "transaction log", text))?;
    let header = header(
        repository,
        &layout::transaction_log_key(id),
        FormatFile::TransactionLog(id),
    )
    .await?;
    fn ids(nodes: impl Iterator<Item = icefield::NodeId>) -> Value {
        nodes.map(|id| id.to_string()).collect()
    }
    let chunks = log.updated_chunks().map(|array| {
        let indices = array.chunks().map(|index| Value::from(index.to_vec()));
        json!({
            "node_id": array.node_id().to_string(),
            "chunks": indices.collect::<Value>(),
        })
    });
    let moves = log.moved_nodes();
    let moves = moves.map(|it| json!({ "from": it.from(), "to": it.to() }));
    Ok(json!({
        "header": header,
        "new_groups": ids(log.new_groups()),
        "new_arrays": ids(log.new_arrays()),
        "deleted_groups": ids(log.deleted_groups()),
        "deleted_arrays": ids(log.deleted_arrays()),
        "updated_groups": ids(log.updated_groups()),
        "updated_arrays": ids(log.updated_arrays()),
        "updated_chunks": chunks.collect::<Value>(),
        "moved_nodes": moves.collect::<Value>(),
    })
    .to_string())
}
