//! Deleting a batch, except for what refs have begun to reach.

use std::collections::HashSet;
use std::time::Duration;

use futures::{StreamExt, stream};
use icefield_core::Interrupted;
use icefield_format::SnapshotId;
use icefield_format::layout::{self, IdKey};
use icefield_refs::{HistoryWalk, Pace};
use icefield_storage::{DeleteOutcome, Deletion, Key, ObjectMeta};

use super::{Spared, Sweep, SweptKind, chunk_of};
use crate::collect::error::CollectError;
use crate::collect::lock::require_all_refs;
use crate::collect::mark::{self, Marking};
use crate::collect::report::{CollectReport, Swept};
use crate::collect::table::bytes_of;

impl Sweep<'_> {
    /// Deletes garbage, except for what refs have begun to reach.
    pub(super) async fn delete(
        &mut self,
        kind: SweptKind,
        mut batch: Vec<ObjectMeta>,
        spared: &mut Spared,
    ) -> Result<(), CollectError> {
        self.throttle(batch.len()).await?;
        self.lock.check_clock().await?;
        let interrupt = &self.collect.interrupt;
        interrupt.unless(self.read_refs_again(spared)).await??;
        let mut of_large = HashSet::new();
        if kind == SweptKind::Chunks {
            for manifest in &spared.large {
                let chunks = mark::chunks_of(self.repository, *manifest);
                let chunks = interrupt.unless(chunks).await??;
                let chunks: HashSet<[u8; 12]> = chunks.into_iter().collect();
                of_large.extend(
                    batch
                        .iter()
                        .filter_map(chunk_of)
                        .filter(|id| chunks.contains(id)),
                );
            }
        }
        let before = batch.len();
        let swept = self.swept(kind);
        batch.retain(|object| {
            let kept = match layout::parse_id_key(object.key.as_str()) {
                Some(IdKey::Snapshot(id) | IdKey::TransactionLog(id)) => {
                    spared.snapshots.contains(&id)
                }
                Some(IdKey::Manifest(id)) => spared.manifests.contains(&id),
                Some(IdKey::Chunk(id)) => {
                    let id = bytes_of(id);
                    spared.chunks.contains(&id) || of_large.contains(&id)
                }
                None => true,
            };
            if kept {
                swept.keep(object.size);
            }
            !kept
        });
        spared.old_chunks |= kind == SweptKind::Chunks && batch.len() < before;
        // The look may have taken long.
        self.lock.beat_now().await?;
        if !self.lock.is_real() {
            for object in batch {
                self.swept(kind).delete(object.size);
            }
            return Ok(());
        }
        self.delete_all(batch, |report| match kind {
            SweptKind::Snapshots => &mut report.snapshots,
            SweptKind::TransactionLogs => &mut report.transaction_logs,
            SweptKind::Manifests => &mut report.manifests,
            SweptKind::Chunks => &mut report.chunks,
        })
        .await;
        Ok(())
    }

    pub(super) async fn delete_all(
        &mut self,
        batch: Vec<ObjectMeta>,
        swept: impl Fn(&mut CollectReport) -> &mut Swept,
    ) {
        let sizes: Vec<u64> = batch.iter().map(|object| object.size).collect();
        let capabilities = self.repository.storage().capabilities();
        // A lease may have been renewed: no two of its states have the same bytes, so that a digest tells them apart. A
        // snapshot may have been given another parent, and its former one again.
        let is_conditional = |key: &Key| {
            let key = key.as_str();
            let exact = capabilities.exact_versions && key.starts_with(layout::SNAPSHOTS);
            capabilities.conditional_delete && (exact || key.starts_with(layout::OWN))
        };
        let deletions: Vec<Deletion> = (batch.into_iter())
            .map(|it| match is_conditional(&it.key) {
                true => Deletion::of(it.key, it.version),
                false => it.key.into(),
            })
            .collect();
        let outcomes = self
            .repository
            .storage()
            .delete(stream::iter(deletions).boxed());
        let mut outcomes = outcomes.zip(stream::iter(sizes));
        while let Some(((key, outcome), size)) = outcomes.next().await {
            match outcome {
                Ok(DeleteOutcome::Deleted) => swept(self.report).delete(size),
                // Gone already, or to be found again by the next collection.
                Ok(DeleteOutcome::Refused) => {
                    swept(self.report).failed += 1;
                    self.report
                        .note_failure(&key, &"it was not in the state that was listed");
                }
                Ok(DeleteOutcome::Unknown(error)) => {
                    swept(self.report).failed += 1;
                    self.report.unknown = true;
                    self.report.note_failure(&key, &error);
                }
                Err(error) => {
                    swept(self.report).failed += 1;
                    self.report.note_failure(&key, &error);
                }
            }
        }
    }

    /// Reads the refs again, and what they reach that was not marked: a branch or tag may have been put onto a snapshot
    /// that nothing reached, or a commit may have taken over what was in one.
    pub(super) async fn read_refs_again(
        &mut self,
        spared: &mut Spared,
    ) -> Result<(), CollectError> {
        require_all_refs(self.repository).await?;
        let marking = Marking::anew(self.repository);
        let mut walk = HistoryWalk::new(&marking, Pace::together(1));
        let mut next: Vec<SnapshotId> =
            (mark::tips(self.repository.refs().await?)?.into_iter()).collect();
        loop {
            for id in next.drain(..) {
                if !self.marked.remembered.has_snapshot(&id) && !spared.snapshots.contains(&id) {
                    walk.go(id);
                }
            }
            let Some((id, reached)) = walk.next().await else {
                return Ok(());
            };
            let reached = reached?;
            for manifest in reached.manifests {
                if self.marked.remembered.has_manifest(&manifest)
                    || spared.manifests.contains(&manifest)
                {
                    continue;
                }
                let chunks = mark::chunks_of(self.repository, manifest).await?;
                match spared.chunks.len() + chunks.len() > self.collect.most_spared {
                    true => spared.large.push(manifest),
                    false => spared.chunks.extend(chunks),
                }
                spared.manifests.insert(manifest);
            }
            spared.snapshots.insert(id);
            next.extend(reached.parent);
        }
    }

    /// Waits before deletions, as long as they should take.
    pub(super) async fn throttle(&self, deletions: usize) -> Result<(), Interrupted> {
        let interrupt = &self.collect.interrupt;
        if let Some(rate) = self.collect.rate {
            let seconds = deletions as f64 / f64::from(rate.max(1));
            let pause = Duration::from_secs_f64(seconds);
            interrupt
                .unless(self.repository.clock().sleep(pause))
                .await?;
        }
        interrupt.check()
    }
}
