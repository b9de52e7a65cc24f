//! Chunks that lie elsewhere than they did and hold the same bytes: a repacking moves chunks, and that is no change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ChunkIndex, NodeId, SnapshotId, TransactionLog};
use icefield_refs::{FetchError, SnapshotInfo, meeting_point, way};
use icefield_storage::{Storage, StorageError};

use crate::RepositoryError;
use crate::moved::{MovedBytes, MovedChunk, compare_moved};
use crate::repository::Shared;

/// Commits whose logs are read at a time.
const LOGS_AHEAD: usize = 32;

/// Evidence of whether a chunk that lies elsewhere was moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// The logs of the commits in between, where all are there; else the bytes.
    Logs,
    /// The bytes of all chunks that no log names: one of the logs is suspected to keep changes quiet.
    Bytes,
}

/// Chunks of two snapshots that lie at different places, and have one length.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere(BTreeMap<NodeId, BTreeMap<ChunkIndex, MovedChunk>>);

impl Elsewhere {
    pub(crate) fn note(&mut self, node: NodeId, index: &[u32], moved: MovedChunk) {
        let chunks = self.0.entry(node).or_default();
        chunks.insert(ChunkIndex::from(index.to_vec()), moved);
    }

    /// Finds those that hold the same bytes in both snapshots, because they were moved and not written.
    ///
    /// The logs of the commits between the two tell what was written, and nothing is read of chunks that they name. Where a
    /// log is missing, or tells less than happened since the parent that its snapshot has by now, bytes decide.
    ///
    /// # Errors
    /// Those of the store. Chunks that are missing or cut off count as written.
    pub(crate) async fn same(
        mut self,
        shared: &Shared,
        (from, to): (SnapshotId, SnapshotId),
        evidence: Evidence,
    ) -> Result<BTreeMap<NodeId, BTreeSet<ChunkIndex>>, RepositoryError> {
        if self.0.is_empty() {
            return Ok(BTreeMap::new());
        }
        let is_all_told = match self.forget_named(shared, from, to).await {
            Ok(is_all_told) => is_all_told,
            Err(error) => {
                tracing::debug!(%error, "chunks are compared where histories cannot be read");
                false
            }
        };
        if !is_all_told || evidence == Evidence::Bytes {
            self.keep_same(&*shared.storage).await?;
        }
        let arrays = self.0.into_iter();
        Ok(arrays
            .map(|(node, chunks)| (node, chunks.into_keys().collect()))
            .collect())
    }

    /// Forgets what commits between the two snapshots wrote. Returns whether all of them have told.
    async fn forget_named(
        &mut self,
        shared: &Shared,
        from: SnapshotId,
        to: SnapshotId,
    ) -> Result<bool, RepositoryError> {
        let graph = shared.ledger.graph();
        let Some(met) = meeting_point(graph.clone(), from, to, |_| Vec::new()).await? else {
            return Ok(false);
        };
        // Expiration puts snapshots behind the first one of the repository without a word in their logs.
        let mut is_all_told = shared.ledger.snapshot(met).await?.parent_id.is_some();
        for end in [to, from] {
            let logs = way(&graph, end, met).map_err(RepositoryError::from);
            let logs = logs.map_ok(|info| logs_of(shared, info));
            let mut logs = std::pin::pin!(logs.try_buffered(LOGS_AHEAD));
            while let Some((logs, is_told)) = logs.try_next().await? {
                is_all_told &= is_told;
                for log in logs {
                    self.forget(&log);
                }
                if self.0.is_empty() {
                    return Ok(true);
                }
            }
        }
        Ok(is_all_told)
    }

    fn forget(&mut self, log: &TransactionLog) {
        for array in log.updated_chunks() {
            let node = array.node_id();
            let Some(chunks) = self.0.get_mut(&node) else {
                continue;
            };
            for index in array.chunks() {
                chunks.remove(&index);
            }
            if chunks.is_empty() {
                self.0.remove(&node);
            }
        }
    }

    async fn keep_same(&mut self, storage: &dyn Storage) -> Result<(), StorageError> {
        let all = self.0.values().flat_map(BTreeMap::values);
        let all: Vec<MovedChunk> = all.copied().collect();
        let compared = compare_moved(storage, &all).await?;
        let refused = compared.refused.into_iter().map(|(_, error)| error);
        let mut refused =
            refused.filter(|error| !matches!(error, StorageError::WrongLength { .. }));
        if let Some(error) = refused.next() {
            return Err(error);
        }
        let mut bytes = compared.bytes.into_iter();
        for chunks in self.0.values_mut() {
            chunks.retain(|_, _| bytes.next() == Some(MovedBytes::Same));
        }
        self.0.retain(|_, chunks| !chunks.is_empty());
        Ok(())
    }
}

/// Returns the logs of what happened between a snapshot and its parent, and whether they are all.
async fn logs_of(
    shared: &Shared,
    info: SnapshotInfo,
) -> Result<(Vec<Arc<TransactionLog>>, bool), RepositoryError> {
    let objects = &shared.objects;
    let pruned = stream::iter(info.pruned_logs).map(|id| objects.stored_log(id));
    let own = stream::once(objects.log_of(info.id, info.parent_id));
    let mut logs = std::pin::pin!(own.chain(pruned.buffered(LOGS_AHEAD)));
    let (mut there, mut are_all) = (Vec::new(), true);
    while let Some(log) = logs.next().await {
        match log {
            Ok(log) => there.push(log),
            Err(FetchError::Missing { .. }) => are_all = false,
            Err(error) => return Err(error.into()),
        }
    }
    Ok((there, are_all))
}
