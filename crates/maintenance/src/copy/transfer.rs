//! Moving the objects of a plan, in the order in which they may become visible.

use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};
use icefield_core::CollectionHold;
use icefield_format::SnapshotId;
use icefield_refs::Ledger;
use icefield_storage::{Storage, StorageError};

use super::bounds::CopyBounds;
use super::error::CopyError;
use super::needs::{self, FILES, Need, compact};
use super::objects::{self, Chunk, Decoded, check_end};
use super::plan::{Plan, Step};
use super::report::{CopyReport, Moved};
use super::rewritten::{renew_log, renew_snapshot};
use super::target::Target;
use crate::Progress;
use crate::downgrade::Rewriter;
use crate::gather::Gather;
use crate::listing::{ObjectKind, sizes};

/// One run of a copy.
pub(super) struct Transfer<'a> {
    pub(super) ledger: &'a Ledger,
    pub(super) source: &'a Arc<dyn Storage>,
    pub(super) destination: &'a Arc<dyn Storage>,
    pub(super) target: Target<'a>,
    pub(super) bounds: &'a CopyBounds,
    pub(super) dry_run: bool,
    /// The hold that keeps collections away from the destination meanwhile.
    pub(super) hold: Option<&'a CollectionHold>,
    pub(super) progress: &'a dyn Progress,
}

impl Transfer<'_> {
    /// Moves everything but the refs.
    pub(super) async fn run(&self, plan: &Plan, report: &mut CopyReport) -> Result<(), CopyError> {
        if plan.steps.is_empty() {
            return Ok(());
        }
        report.chunks = self.chunks(&plan.manifests).await?;
        self.barrier(report.chunks).await?;
        report.manifests = self.manifests(&plan.manifests).await?;
        report.transaction_logs = match self.target.rewriter {
            Some(rewriter) => {
                self.rewrite_logs(rewriter, plan, &mut report.missing_logs)
                    .await?
            }
            None => self.logs(plan.logs(), &mut report.missing_logs).await?,
        };
        self.barrier(report.manifests).await?;
        let moved = self.snapshots(&plan.steps).await?;
        report.snapshots.objects += moved.objects;
        report.snapshots.bytes += moved.bytes;
        self.barrier(moved).await
    }

    async fn keep(&self) -> Result<(), CopyError> {
        match self.hold {
            Some(hold) => hold.keep().await.map_err(CopyError::Open),
            None => Ok(()),
        }
    }

    /// Makes the written objects durable: the next ones may name them.
    async fn barrier(&self, moved: Moved) -> Result<(), CopyError> {
        match self.dry_run || moved.objects == 0 {
            true => Ok(()),
            false => self
                .destination
                .sync()
                .await
                .map_err(CopyError::Destination),
        }
    }

    /// Moves the chunk objects that some manifests need, in passes that fit into memory.
    async fn chunks(&self, manifests: &[[u8; 12]]) -> Result<Moved, CopyError> {
        let mut moved = Moved::default();
        // A need, and the two sizes of its object.
        let each = size_of::<Need>() + 2 * size_of::<Option<u64>>() + 12;
        let room = self.bounds.memory / each * size_of::<Need>();
        let mut gather = Gather::new(room);
        loop {
            needs::gather(
                &**self.source,
                manifests,
                false,
                &self.bounds.decode_limits,
                self.progress,
                &mut gather,
            )
            .await?;
            let missing = self.missing(gather.records(compact)).await?;
            self.copy_chunks(&missing, &mut moved).await?;
            if !gather.next_pass() {
                return Ok(moved);
            }
        }
    }

    /// Returns the needs whose objects are not at the destination, with their sizes at the source where it could be
    /// listed. What is at both has the same size.
    async fn missing(&self, needs: &[Need]) -> Result<Vec<(Need, Option<u64>)>, CopyError> {
        let ids: Vec<_> = needs.iter().map(|need| need.id).collect();
        let (ours, theirs) = self.sizes(ObjectKind::Chunk, &ids).await?;
        let mut missing = Vec::new();
        for (at, need) in needs.iter().enumerate() {
            let key = ObjectKind::Chunk.key(need.id).map_err(CopyError::Source)?;
            let ours = match &ours {
                Some(ours) => {
                    let size =
                        ours[at].ok_or_else(|| CopyError::ChunkMissing { key: key.clone() })?;
                    check_end(&key, size, need.end)?;
                    Some(size)
                }
                None => None,
            };
            match theirs[at] {
                None => missing.push((*need, ours)),
                Some(found) => {
                    let expected = ours.unwrap_or(need.end);
                    // Of a source that cannot be listed, only the least size is known.
                    if found < expected || ours.is_some_and(|ours| ours != found) {
                        return Err(CopyError::OtherSize {
                            key,
                            found,
                            expected,
                        });
                    }
                }
            }
        }
        Ok(missing)
    }

    /// Lists both places. A source that cannot be listed is one whose sizes are not known, never an empty one.
    async fn sizes(
        &self,
        kind: ObjectKind,
        ids: &[[u8; 12]],
    ) -> Result<(Option<Vec<Option<u64>>>, Vec<Option<u64>>), CopyError> {
        self.progress.stage("looking at what is there", None);
        let (ours, theirs) = futures::join!(
            sizes(&**self.source, kind, ids),
            sizes(&**self.destination, kind, ids)
        );
        let ours = match ours {
            Ok(ours) => Some(ours),
            Err(StorageError::Unsupported { .. } | StorageError::PermissionDenied { .. }) => None,
            Err(error) => return Err(CopyError::Source(error)),
        };
        Ok((ours, theirs.map_err(CopyError::Destination)?))
    }

    async fn copy_chunks(
        &self,
        missing: &[(Need, Option<u64>)],
        moved: &mut Moved,
    ) -> Result<(), CopyError> {
        if self.dry_run {
            for (_, size) in missing {
                moved.add(size.unwrap_or_default());
            }
            return Ok(());
        }
        self.progress
            .stage("copying chunks", Some(missing.len() as u64));
        let mut copied = stream::iter(missing)
            .map(|(need, size)| self.copy_chunk(*need, *size))
            .buffer_unordered(self.bounds.requests)
            .boxed();
        while let Some(bytes) = copied.try_next().await? {
            moved.add(bytes);
            self.progress.advance(1, bytes);
            self.keep().await?;
        }
        Ok(())
    }

    async fn copy_chunk(&self, need: Need, listed: Option<u64>) -> Result<u64, CopyError> {
        let chunk = objects::open_chunk(self.source, need.id, need.end).await?;
        let size = match &chunk {
            Chunk::Whole(bytes) => bytes.len() as u64,
            Chunk::Stream(size, _) => *size,
        };
        if let Some(expected) = listed.filter(|listed| *listed != size) {
            let key = ObjectKind::Chunk.key(need.id).map_err(CopyError::Source)?;
            return Err(CopyError::Source(StorageError::WrongLength {
                key,
                expected,
                found: size,
            }));
        }
        match chunk {
            Chunk::Whole(bytes) => {
                objects::write_bytes(&**self.destination, ObjectKind::Chunk, need.id, bytes)
                    .await?;
            }
            Chunk::Stream(size, stream) => {
                objects::write_stream(&**self.destination, need.id, size, stream).await?;
            }
        }
        Ok(size)
    }

    async fn manifests(&self, ids: &[[u8; 12]]) -> Result<Moved, CopyError> {
        let missing = match self.target.rewriter {
            // The object at the destination is as long as the written file, not as the one that was read.
            Some(_) => ids.to_vec(),
            None => self.missing_files(ObjectKind::Manifest, ids).await?,
        };
        self.progress
            .stage("copying manifests", Some(missing.len() as u64));
        let mut moved = Moved::default();
        let mut files = stream::iter(missing)
            .map(|id| self.copy_file(ObjectKind::Manifest, id))
            .buffer_unordered(FILES)
            .boxed();
        while let Some(bytes) = files.try_next().await? {
            moved.add(bytes.unwrap_or_default());
            self.keep().await?;
        }
        Ok(moved)
    }

    async fn logs(
        &self,
        ids: Vec<[u8; 12]>,
        missing_logs: &mut Vec<SnapshotId>,
    ) -> Result<Moved, CopyError> {
        if ids.is_empty() {
            return Ok(Moved::default());
        }
        let (ours, theirs) = self.sizes(ObjectKind::TransactionLog, &ids).await?;
        self.progress
            .stage("copying transaction logs", Some(ids.len() as u64));
        let mut moved = Moved::default();
        let is_listed = |at: usize| ours.as_ref().is_none_or(|ours| ours[at].is_some());
        let ids = ids.into_iter().enumerate();
        let mut files = stream::iter(ids)
            .map(|(at, id)| {
                let (is_listed, is_there) = (is_listed(at), theirs[at].is_some());
                async move {
                    let copied = match (is_there, is_listed) {
                        (false, _) => self
                            .copy_file(ObjectKind::TransactionLog, id)
                            .await?
                            .map(Some),
                        (true, true) => Some(self.renew_log(SnapshotId::from_bytes(id)).await?),
                        (true, false) => Some(None),
                    };
                    Ok::<_, CopyError>((id, copied))
                }
            })
            .buffered(FILES)
            .boxed();
        while let Some((id, copied)) = files.try_next().await? {
            match copied {
                Some(bytes) => bytes.into_iter().for_each(|bytes| moved.add(bytes)),
                None => missing_logs.push(SnapshotId::from_bytes(id)),
            }
        }
        Ok(moved)
    }

    /// Writes the logs of a plan anew, in an earlier version of the format. Those of commits that expired go into the logs of the
    /// commits that stay.
    async fn rewrite_logs(
        &self,
        rewriter: &Rewriter<'_>,
        plan: &Plan,
        missing_logs: &mut Vec<SnapshotId>,
    ) -> Result<Moved, CopyError> {
        let steps: Vec<_> = plan.steps.iter().filter(|it| it.parent.is_some()).collect();
        let number = steps.len() as u64;
        self.progress
            .stage("copying transaction logs", Some(number));
        let mut moved = Moved::default();
        let mut files = stream::iter(steps)
            .map(|step| async move {
                let written = self.rewrite_log(rewriter, step).await?;
                Ok::<_, CopyError>((step.id, written))
            })
            .buffered(FILES)
            .boxed();
        while let Some((id, written)) = files.try_next().await? {
            match written {
                Some(bytes) => moved.add(bytes),
                None => missing_logs.push(id),
            }
            self.keep().await?;
        }
        Ok(moved)
    }

    /// Rewrites the log of a snapshot and returns its size; `None` if there is no complete log.
    async fn rewrite_log(
        &self,
        rewriter: &Rewriter<'_>,
        step: &Step,
    ) -> Result<Option<u64>, CopyError> {
        let (kind, id) = (ObjectKind::TransactionLog, *step.id.as_bytes());
        let (limits, to) = (&self.bounds.decode_limits, &**self.destination);
        let read = objects::try_read_file(&**self.source, kind, id, limits).await?;
        let Some((file, _)) = read else {
            return Ok(None);
        };
        let Some(file) = rewriter.log(file, step).await? else {
            return Ok(None);
        };
        let size = file.len() as u64;
        if !self.dry_run {
            match objects::write_bytes(to, kind, id, file.clone()).await {
                Err(CopyError::OtherBytes { .. }) => {
                    renew_log(to, step.id, file, limits, false).await?;
                }
                written => written?,
            }
        }
        self.progress.advance(1, size);
        Ok(Some(size))
    }

    /// Looks at a log that a stopped copy has left; returns its size if it is replaced.
    async fn renew_log(&self, id: SnapshotId) -> Result<Option<u64>, CopyError> {
        let (kind, limits) = (ObjectKind::TransactionLog, &self.bounds.decode_limits);
        let read = objects::try_read_file(&**self.source, kind, *id.as_bytes(), limits).await?;
        self.progress.advance(1, 0);
        let Some((file, _)) = read else {
            return Ok(None);
        };
        let size = file.len() as u64;
        let renewed = renew_log(&**self.destination, id, file, limits, self.dry_run);
        Ok(renewed.await?.then_some(size))
    }

    /// Returns those that are not at the destination.
    async fn missing_files(
        &self,
        kind: ObjectKind,
        ids: &[[u8; 12]],
    ) -> Result<Vec<[u8; 12]>, CopyError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let (ours, theirs) = self.sizes(kind, ids).await?;
        let mut missing = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            let ours = ours.as_ref().and_then(|ours| ours[at]);
            match (ours, theirs[at]) {
                (_, None) => missing.push(*id),
                (Some(expected), Some(found)) if expected != found => {
                    let key = kind.key(*id).map_err(CopyError::Destination)?;
                    return Err(CopyError::OtherSize {
                        key,
                        found,
                        expected,
                    });
                }
                _ => {}
            }
        }
        Ok(missing)
    }

    /// Copies a file of metadata and returns its size; none for a transaction log that is missing.
    async fn copy_file(&self, kind: ObjectKind, id: [u8; 12]) -> Result<Option<u64>, CopyError> {
        let limits = &self.bounds.decode_limits;
        let file = match kind {
            ObjectKind::TransactionLog => {
                objects::try_read_file(&**self.source, kind, id, limits).await?
            }
            _ => Some(objects::read_file(&**self.source, kind, id, limits).await?),
        };
        let Some((file, decoded)) = file else {
            return Ok(None);
        };
        let file = match (self.target.rewriter, &decoded) {
            (Some(rewriter), Decoded::Manifest(manifest)) => rewriter.manifest(file, manifest)?,
            _ => file,
        };
        let size = file.len() as u64;
        if !self.dry_run {
            objects::write_bytes(&**self.destination, kind, id, file).await?;
        }
        self.progress.advance(1, size);
        Ok(Some(size))
    }

    async fn snapshots(&self, steps: &[Step]) -> Result<Moved, CopyError> {
        self.progress
            .stage("copying snapshots", Some(steps.len() as u64));
        let mut moved = Moved::default();
        let limits = &self.bounds.decode_limits;
        // Read ahead, written one after the other: parents before their children.
        let mut files = stream::iter(steps)
            .map(|step| async move {
                let id = *step.id.as_bytes();
                let read = objects::read_file(&**self.source, ObjectKind::Snapshot, id, limits);
                Ok::<_, CopyError>((step, read.await?))
            })
            .buffered(FILES)
            .boxed();
        while let Some((step, (file, decoded))) = files.try_next().await? {
            let id = *step.id.as_bytes();
            let Decoded::Snapshot(snapshot) = &decoded else {
                unreachable!("BUG: the kind was asked for")
            };
            if !self.ledger.is_as_read(snapshot, step.parent) {
                // Expiration has given it another one since the histories were read.
                return Err(CopyError::SourceChanged { snapshot: step.id });
            }
            let file = self.target.snapshot(file, &decoded, step)?;
            let size = file.len() as u64;
            if !self.dry_run {
                let put = objects::write_bytes(
                    &**self.destination,
                    ObjectKind::Snapshot,
                    id,
                    file.clone(),
                );
                match put.await {
                    // Every repository has its own initial snapshot, under the one id.
                    Err(CopyError::OtherBytes { .. }) if step.id == SnapshotId::INITIAL => continue,
                    Err(CopyError::OtherBytes { .. }) => {
                        renew_snapshot(&**self.destination, step.id, file, limits).await?;
                    }
                    written => written?,
                }
            }
            moved.add(size);
            self.progress.advance(1, size);
        }
        Ok(moved)
    }
}
