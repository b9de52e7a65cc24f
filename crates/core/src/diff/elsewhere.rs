//! Chunks that lie elsewhere than they did and hold the same bytes: a repacking moves chunks, and that is no change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_format::{ChunkId, ChunkIndex, ChunkRef, NodeId, SnapshotId, TransactionLog, layout};
use icefield_refs::{FetchError, SnapshotInfo, meeting_point, way};
use icefield_storage::{Bytes, GetOptions, GetRange, Key, Storage, StorageError};

use crate::RepositoryError;
use crate::repository::Shared;

/// Commits whose logs are read at a time.
const LOGS_AHEAD: usize = 32;
/// Pairs of chunks compared at a time.
const COMPARISONS: usize = 8;

/// Where a chunk was and where it is: object and first byte, and the bytes of both.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    old: (ChunkId, u64),
    new: (ChunkId, u64),
    length: u64,
}

impl Moved {
    /// Says how a reference differs that may lead to the same bytes; `None` if it cannot.
    pub(super) fn of(old: Option<ChunkRef<'_>>, new: Option<ChunkRef<'_>>) -> Option<Self> {
        let native = |chunk: Option<ChunkRef<'_>>| match chunk {
            Some(ChunkRef::Native { id, offset, length }) => Some(((id, offset), length)),
            _ => None,
        };
        let ((old, length), (new, other)) = (native(old)?, native(new)?);
        (length == other && old != new).then_some(Self { old, new, length })
    }

    /// Compares the bytes. A chunk that cannot be had is equal to none.
    async fn is_same(&self, storage: &dyn Storage) -> Result<bool, StorageError> {
        let (old, new) = futures::try_join!(
            bytes_at(storage, self.old, self.length),
            bytes_at(storage, self.new, self.length)
        )?;
        Ok(old.is_some() && old == new)
    }
}

/// Reads so many bytes of an object; `None` if it does not have them.
async fn bytes_at(
    storage: &dyn Storage,
    (id, offset): (ChunkId, u64),
    length: u64,
) -> Result<Option<Bytes>, StorageError> {
    let key = Key::parse(&layout::chunk_key(id))?;
    let Some(end) = offset.checked_add(length) else {
        return Ok(None);
    };
    let options = GetOptions::range(GetRange::Bounded(offset..end));
    let bytes = async { storage.get(&key, options).await?.bytes().await };
    match bytes.await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(
            StorageError::NotFound { .. }
            | StorageError::RangeNotSatisfiable { .. }
            | StorageError::WrongLength { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Chunks of two snapshots that lie at different places, and have one length.
#[derive(Debug, Default)]
pub(crate) struct Elsewhere(BTreeMap<NodeId, BTreeMap<ChunkIndex, Moved>>);

impl Elsewhere {
    pub(crate) fn note(&mut self, node: NodeId, index: &[u32], moved: Moved) {
        let chunks = self.0.entry(node).or_default();
        chunks.insert(ChunkIndex::from(index.to_vec()), moved);
    }

    /// Finds those that hold the same bytes in both snapshots, because they were moved and not written.
    ///
    /// The logs of the commits between the two tell what was written, and nothing is read of chunks that they name. Where a
    /// log is missing, or tells less than happened since the parent that its snapshot has by now, bytes decide.
    ///
    /// # Errors
    /// Chunks that the store does not give, be they missing or not, count as written; what else the store says is an error.
    pub(crate) async fn same(
        mut self,
        shared: &Shared,
        from: SnapshotId,
        to: SnapshotId,
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
        if !is_all_told {
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
        let arrays = self.0.iter();
        let all = arrays.flat_map(|(node, chunks)| {
            let chunks = chunks.iter();
            chunks.map(|(index, moved)| (*node, index.clone(), *moved))
        });
        let all: Vec<(NodeId, ChunkIndex, Moved)> = all.collect();
        let mut compared = stream::iter(all)
            .map(|(node, index, moved)| async move {
                let is_same = moved.is_same(storage).await?;
                Ok::<_, StorageError>((!is_same).then_some((node, index)))
            })
            .buffer_unordered(COMPARISONS);
        while let Some(other) = compared.try_next().await? {
            if let Some((node, index)) = other
                && let Some(chunks) = self.0.get_mut(&node)
            {
                chunks.remove(&index);
            }
        }
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
