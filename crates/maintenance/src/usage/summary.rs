//! All of a repository at once.

use std::collections::BTreeSet;

use futures::TryStreamExt;
use icefield_core::Repository;
use icefield_format::{SnapshotId, SpecVersion};
use icefield_refs::{FollowedLog, RepoBackups, RepoContent, StoredRepo};

use super::marks::First;
use super::tally::Owners;
use super::{Amount, BackupUsage, Usage, UsageError, UsageSummary};
use crate::Progress;
use crate::copy::CopyError;
use crate::copy::plan::{Plan, SourceRefs};
use crate::listing::{ObjectKind, listed};

impl Usage {
    /// Counts the stored objects, those that refs reach, and the garbage.
    ///
    /// # Errors
    /// A ref or object that cannot be read: nothing is guessed.
    pub async fn summary(
        &self,
        repository: &Repository,
        progress: &dyn Progress,
    ) -> Result<UsageSummary, UsageError> {
        let refs = SourceRefs::read(repository, &[]).await?;
        progress.stage("reading histories", None);
        let plan = Plan::whole(repository, refs.tips()).await?;
        let mut summary = UsageSummary::default();
        let mut snapshots: Vec<_> = plan.steps.iter().map(|it| *it.id.as_bytes()).collect();
        snapshots.sort_unstable();
        let ids = plan.manifests;
        let logs = logs(repository, &snapshots).await?;
        for (kind, ids) in [
            (ObjectKind::Snapshot, &snapshots),
            (ObjectKind::TransactionLog, &logs),
            (ObjectKind::Manifest, &ids),
        ] {
            self.metadata(repository, kind, ids, &mut summary).await?;
        }
        let mut owners = Owners::all(ids.into_iter().map(|id| (id, 0)).collect());
        let tallying = self.tallying(repository, progress);
        let tallied = tallying.run(&mut owners, &mut First).await?;
        let all = tallied.of(|_| true);
        summary.chunk_objects = all.objects;
        (summary.live_bytes, summary.packs) = (all.live_bytes, all.packs);
        (summary.native, summary.inline, summary.external) = (all.native, all.inline, all.external);
        summary.garbage.chunk_objects = tallied.unused;
        summary.stored.plus(all.objects);
        summary.stored.plus(tallied.unused);
        summary.garbage.total.plus(tallied.unused);
        summary.missing_chunks = tallied.missing;
        summary.backups = self.backups(repository).await?;
        Ok(summary)
    }

    /// Counts the backups of `repo`, and those of them that the next collection deletes; none of spec version 1, which has no
    /// `repo`.
    ///
    /// # Errors
    /// The error of the store.
    pub async fn backups(
        &self,
        repository: &Repository,
    ) -> Result<Option<BackupUsage>, UsageError> {
        let storage = &**repository.storage();
        let stored = match repository.spec_version() {
            SpecVersion::V1 => return Ok(None),
            _ => StoredRepo::read(storage).await?,
        };
        let (mut usage, mut pages) = (BackupUsage::default(), None);
        if let RepoContent::Sound(info) = &stored.content {
            let log = FollowedLog::of(storage, info).await?;
            pages = log.broken.is_none().then_some(log.pages);
        }
        for (name, size) in RepoBackups::list(storage).await?.all {
            usage.total.add(size);
            if pages.as_ref().is_some_and(|pages| !pages.contains(&name)) {
                usage.unneeded.add(size);
            }
        }
        Ok(Some(usage))
    }

    /// Counts the objects of one kind of metadata; `used` ascends.
    async fn metadata(
        &self,
        repository: &Repository,
        kind: ObjectKind,
        used: &[[u8; 12]],
        summary: &mut UsageSummary,
    ) -> Result<(), UsageError> {
        let mut objects = listed(&**repository.storage(), kind, [0; 12])?;
        let (mut reached, mut garbage) = (Amount::default(), Amount::default());
        while let Some((id, size)) = objects.try_next().await? {
            summary.stored.add(size);
            match used.binary_search(&id) {
                Ok(_) => reached.add(size),
                Err(_) => garbage.add(size),
            }
        }
        summary.garbage.total.plus(garbage);
        let (to, garbage_to) = match kind {
            ObjectKind::Snapshot => (&mut summary.snapshots, &mut summary.garbage.snapshots),
            ObjectKind::TransactionLog => (
                &mut summary.transaction_logs,
                &mut summary.garbage.transaction_logs,
            ),
            ObjectKind::Manifest => (&mut summary.manifests, &mut summary.garbage.manifests),
            ObjectKind::Chunk => (
                &mut summary.chunk_objects,
                &mut summary.garbage.chunk_objects,
            ),
        };
        (*to, *garbage_to) = (reached, garbage);
        Ok(())
    }
}

/// The snapshots whose logs are part of what some snapshots changed: those that expiration took out, and they themselves.
async fn logs(
    repository: &Repository,
    snapshots: &[[u8; 12]],
) -> Result<Vec<[u8; 12]>, UsageError> {
    let listed = repository.ledger().listed().await;
    let listed = listed.map_err(CopyError::SourceRefs)?;
    let is_reached = |id: &SnapshotId| snapshots.binary_search(id.as_bytes()).is_ok();
    let pruned = listed.into_iter().filter(|(id, _)| is_reached(id));
    let pruned = pruned.flat_map(|(_, pruned)| pruned);
    let all = pruned
        .map(|id| *id.as_bytes())
        .chain(snapshots.iter().copied());
    Ok(all.collect::<BTreeSet<_>>().into_iter().collect())
}
