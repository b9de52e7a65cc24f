//! The contents of a snapshot.

use std::collections::BTreeMap;
use std::io::{self, Write};

use icefield::format::{NodeKind, Snapshot};
use icefield::{ManifestId, NodeId, SnapshotId};
use serde::Serialize;

use crate::failure::Failure;
use crate::output::escape::first_line;
use crate::output::table::Columns;
use crate::output::{self, count};

#[derive(Serialize)]
pub(super) struct SnapshotFileFacts {
    file: &'static str,
    id: SnapshotId,
    parent_id: Option<SnapshotId>,
    written_at: String,
    message: String,
    metadata: BTreeMap<String, serde_json::Value>,
    manifest_files: Vec<ManifestFile>,
    nodes: Vec<NodeFacts>,
}

#[derive(Serialize)]
struct ManifestFile {
    id: ManifestId,
    size_bytes: u64,
    num_chunk_refs: u32,
}

#[derive(Serialize)]
struct NodeFacts {
    id: NodeId,
    path: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifests: Option<Vec<ManifestPart>>,
}

/// The part of an array's chunk refs that one manifest holds.
#[derive(Serialize)]
struct ManifestPart {
    id: ManifestId,
    /// Half-open ranges of chunk indices, one per dimension.
    extents: Vec<[u32; 2]>,
}

impl SnapshotFileFacts {
    pub(super) fn of(snapshot: &Snapshot, parent_id: Option<SnapshotId>) -> Result<Self, Failure> {
        let manifest_files = snapshot.manifest_files().map(|file| ManifestFile {
            id: file.id,
            size_bytes: file.size_bytes,
            num_chunk_refs: file.num_chunk_refs,
        });
        let nodes = snapshot.nodes().map(|node| NodeFacts {
            id: node.id(),
            path: node.path().to_owned(),
            kind: match node.kind() {
                NodeKind::Array => "array",
                NodeKind::Group => "group",
            },
            manifests: node.array().map(|array| {
                let parts = array.manifests().map(|part| ManifestPart {
                    id: part.id(),
                    extents: part
                        .extents()
                        .ranges()
                        .iter()
                        .map(|it| [it.start, it.end])
                        .collect(),
                });
                parts.collect()
            }),
        });
        Ok(Self {
            file: "snapshot",
            id: snapshot.id(),
            parent_id,
            written_at: output::time(icefield::time_of_micros(snapshot.flushed_at())),
            message: snapshot.message().to_owned(),
            metadata: snapshot.metadata()?,
            manifest_files: manifest_files.collect(),
            nodes: nodes.collect(),
        })
    }
}

pub(super) fn text(facts: &SnapshotFileFacts, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Columns::pairs();
    table.row(["snapshot", &facts.id.to_string()]);
    let parent = facts.parent_id.map(|id| id.to_string());
    table.row(["parent", parent.as_deref().unwrap_or("none")]);
    table.row(["written at", &facts.written_at]);
    table.row(["message", &first_line(&facts.message)]);
    for (name, value) in &facts.metadata {
        table.row([&format!("metadata {name}"), &value.to_string()]);
    }
    for file in &facts.manifest_files {
        let chunks = count(u64::from(file.num_chunk_refs), "chunk", "chunks");
        let bytes = output::bytes(file.size_bytes);
        table.row(["manifest", &format!("{}  {chunks}, {bytes}", file.id)]);
    }
    table.write(out)?;
    if facts.nodes.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let mut table = Columns::new(&["NODE", "KIND", ">MANIFESTS", "PATH"]);
    for node in &facts.nodes {
        let manifests = node
            .manifests
            .as_ref()
            .map(|manifests| manifests.len().to_string());
        table.row([
            &node.id.to_string(),
            node.kind,
            &manifests.unwrap_or_default(),
            &node.path,
        ]);
    }
    table.write(out)
}
