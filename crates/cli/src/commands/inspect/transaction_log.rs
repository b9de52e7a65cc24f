//! The contents of a transaction log.

use std::io::{self, Write};

use icefield::format::TransactionLog;
use icefield::{NodeId, SnapshotId};
use serde::Serialize;

use crate::output::count;
use crate::output::escape::printable;
use crate::output::table::Columns;

#[derive(Serialize)]
pub(super) struct TransactionLogFacts {
    file: &'static str,
    id: SnapshotId,
    new_groups: Vec<NodeId>,
    new_arrays: Vec<NodeId>,
    deleted_groups: Vec<NodeId>,
    deleted_arrays: Vec<NodeId>,
    updated_groups: Vec<NodeId>,
    updated_arrays: Vec<NodeId>,
    moved_nodes: Vec<MovedNode>,
    updated_chunks: Vec<UpdatedChunks>,
}

#[derive(Serialize)]
struct MovedNode {
    node_id: NodeId,
    from: String,
    to: String,
}

#[derive(Serialize)]
struct UpdatedChunks {
    node_id: NodeId,
    count: usize,
    indices: Vec<Vec<u32>>,
}

impl TransactionLogFacts {
    pub(super) fn of(id: SnapshotId, log: &TransactionLog) -> Self {
        let chunks = log.updated_chunks().map(|array| UpdatedChunks {
            node_id: array.node_id(),
            count: array.len(),
            indices: array.chunks().map(|index| index.to_vec()).collect(),
        });
        let moved = log.moved_nodes().map(|moved| MovedNode {
            node_id: moved.id(),
            from: moved.from().to_owned(),
            to: moved.to().to_owned(),
        });
        Self {
            file: "transaction-log",
            id,
            new_groups: log.new_groups().collect(),
            new_arrays: log.new_arrays().collect(),
            deleted_groups: log.deleted_groups().collect(),
            deleted_arrays: log.deleted_arrays().collect(),
            updated_groups: log.updated_groups().collect(),
            updated_arrays: log.updated_arrays().collect(),
            moved_nodes: moved.collect(),
            updated_chunks: chunks.collect(),
        }
    }
}

pub(super) fn text(facts: &TransactionLogFacts, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "transaction log of snapshot {}", facts.id)?;
    let mut table = Columns::pairs();
    for (what, nodes) in [
        ("new group", &facts.new_groups),
        ("new array", &facts.new_arrays),
        ("deleted group", &facts.deleted_groups),
        ("deleted array", &facts.deleted_arrays),
        ("updated group", &facts.updated_groups),
        ("updated array", &facts.updated_arrays),
    ] {
        for node in nodes {
            table.row([what, &node.to_string()]);
        }
    }
    for moved in &facts.moved_nodes {
        let (from, to) = (printable(&moved.from), printable(&moved.to));
        table.row(["moved", &format!("{}  {from} to {to}", moved.node_id)]);
    }
    for chunks in &facts.updated_chunks {
        let number = count(chunks.count as u64, "chunk", "chunks");
        table.row(["updated chunks", &format!("{}  {number}", chunks.node_id)]);
    }
    table.write(out)
}
