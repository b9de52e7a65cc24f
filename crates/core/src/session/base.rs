//! The snapshot under a session, with what was parsed of it.

use std::sync::Arc;

use bytes::Bytes;
use icefield_format::{ArrayRecord, NodeId, NodePath, NodeRecord, Snapshot};
use quick_cache::sync::Cache;

use super::Node;
use crate::SessionError;
use crate::metadata::{NodeMetadata, NodeMetadataError};

/// Parsed metadata kept per base snapshot.
const PARSED_NODES: usize = 10_000;

/// A snapshot and the parsed metadata of its nodes.
#[derive(Debug)]
pub(crate) struct Base {
    snapshot: Arc<Snapshot>,
    parsed: Cache<NodeId, Arc<NodeMetadata>>,
}

impl Base {
    pub(crate) fn new(snapshot: Arc<Snapshot>) -> Self {
        Self {
            snapshot,
            parsed: Cache::new(PARSED_NODES),
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
            document: Bytes::copy_from_slice(record.user_data()),
            metadata: self.metadata(record)?,
            base_position: Some(position),
        }))
    }

    /// The parsed metadata of a node; the snapshot's own record decides between array and group.
    pub(crate) fn metadata(&self, record: NodeRecord<'_>) -> Result<Arc<NodeMetadata>, SessionError> {
        let parse = || {
            NodeMetadata::parse(record.user_data())
                .map(Arc::new)
                .map_err(|source| {
                    SessionError::Metadata(NodeMetadataError {
                        path: record.node_path(),
                        source,
                    })
                })
        };
        self.parsed.get_or_insert_with(&record.id(), parse)
    }
}
