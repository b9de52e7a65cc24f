//! The snapshot under a session, with what was parsed of it.

use std::sync::{Arc, OnceLock};

use icefield_format::{ArrayRecord, NodeId, NodeKind, NodePath, NodeRecord, Snapshot};
use quick_cache::sync::Cache;

use crate::SessionError;
use crate::metadata::{NodeMetadata, NodeMetadataError};

/// Parsed metadata kept per base snapshot.
const PARSED_NODES: usize = 10_000;

/// A node as a session sees it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) id: NodeId,
    pub(crate) metadata: Arc<NodeMetadata>,
    /// Its place among the nodes of the base snapshot, unless the session created it.
    pub(crate) base_position: Option<usize>,
}

impl Node {
    pub(crate) fn kind(&self) -> NodeKind {
        match *self.metadata {
            NodeMetadata::Group => NodeKind::Group,
            NodeMetadata::Array(_) => NodeKind::Array,
        }
    }
}

/// A snapshot and the parsed metadata of its nodes.
#[derive(Debug)]
pub(crate) struct Base {
    snapshot: Arc<Snapshot>,
    /// Made when first used: a rebase passes many snapshots and parses few of their nodes.
    parsed: OnceLock<Cache<NodeId, Arc<NodeMetadata>>>,
}

impl Base {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        Self {
            snapshot,
            parsed: OnceLock::new(),
        }
    }

    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    pub(crate) fn position(&self, path: &NodePath) -> Option<usize> {
        self.snapshot.node_position(path).ok()
    }

    pub(crate) fn record(&self, position: usize) -> NodeRecord<'_> {
        self.snapshot.node_at(position)
    }

    /// The records strictly below a path, sorted by path.
    pub(crate) fn records_below(&self, path: &NodePath) -> impl Iterator<Item = NodeRecord<'_>> {
        let snapshot = &self.snapshot;
        let prefix = match path.is_root() {
            true => "/".to_owned(),
            false => format!("{path}/"),
        };
        let start = first_at_or_after(snapshot.node_count(), |position| {
            snapshot.node_at(position).path() < prefix.as_str()
        });
        (start..snapshot.node_count())
            .map(|position| snapshot.node_at(position))
            .skip_while(|record| record.path() == "/")
            .take_while(move |record| record.path().starts_with(&prefix))
    }

    /// The array record at a position that is known to be one of an array.
    pub(crate) fn array(&self, position: usize) -> Option<ArrayRecord<'_>> {
        self.snapshot.node_at(position).array()
    }

    pub(crate) fn node(&self, path: &NodePath) -> Result<Option<Node>, SessionError> {
        let Some(position) = self.position(path) else {
            return Ok(None);
        };
        let record = self.record(position);
        Ok(Some(Node {
            id: record.id(),
            metadata: self.metadata(record)?,
            base_position: Some(position),
        }))
    }

    /// The chunks per dimension of an array; `None` where there is none that can be read.
    pub(crate) fn grid(&self, path: &NodePath) -> Option<Vec<u32>> {
        let metadata = self.metadata(self.record(self.position(path)?)).ok()?;
        Some(metadata.array()?.chunk_counts.clone())
    }

    /// The chunks per dimension of the array with this id, if it is at a path.
    pub(crate) fn grid_of(&self, node: &NodeId, path: &NodePath) -> Option<Vec<u32>> {
        let there = self.record(self.position(path)?).id();
        (there == *node).then(|| self.grid(path))?
    }

    /// The parsed metadata of a node, which must be of the kind that the snapshot says.
    pub(crate) fn metadata(
        &self,
        record: NodeRecord<'_>,
    ) -> Result<Arc<NodeMetadata>, SessionError> {
        let parse = || {
            NodeMetadata::parse(record.user_data())
                .and_then(|metadata| metadata.check_kind(record.kind()))
                .and_then(|metadata| metadata.check_version(self.snapshot.spec_version()))
                .map(Arc::new)
                .map_err(|source| {
                    SessionError::Metadata(NodeMetadataError {
                        path: record.node_path(),
                        source,
                    })
                })
        };
        self.parsed
            .get_or_init(|| Cache::new(PARSED_NODES))
            .get_or_insert_with(&record.id(), parse)
    }
}

fn first_at_or_after(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
