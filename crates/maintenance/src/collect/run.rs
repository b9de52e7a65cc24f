//! A collection from its lock to its report.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use icefield_core::{Repository, micros_of_time};

use super::error::CollectError;
use super::lock::{Bound, Lock, require_all_refs};
use super::mark;
use super::remembered::Remembered;
use super::report::CollectReport;
use super::settings::{Collect, LEAST_FLOOR};
use super::sweep::Sweep;

impl Collect {
    /// Collects. Two collections of one repository never run at the same time: the second is refused.
    ///
    /// # Errors
    /// [`CollectError`]. Objects that were deleted before were garbage; a later collection continues.
    pub async fn run(self, repository: &Repository) -> Result<CollectReport, CollectError> {
        self.boxed(repository).await
    }

    // Boxed, it is compiled in this crate alone, and not wherever it is awaited.
    fn boxed(self, repository: &Repository) -> BoxFuture<'_, Result<CollectReport, CollectError>> {
        Box::pin(self.run_here(repository))
    }

    async fn run_here(self, repository: &Repository) -> Result<CollectReport, CollectError> {
        if self.floor < LEAST_FLOOR && !self.force {
            return Err(CollectError::FloorTooLow { floor: self.floor });
        }
        let storage = repository.storage();
        if !self.dry_run && !storage.capabilities().safe_commits() {
            return Err(CollectError::UnsafeStore {
                location: storage.to_string(),
            });
        }
        // Refs that are missing or not understood end it in any case: better before it has written anything.
        self.interrupt
            .unless(require_all_refs(repository))
            .await??;
        let tips = mark::settled_tips(repository);
        self.interrupt.unless(tips).await??;
        let bound = Bound {
            floor: self.floor,
            older_than: self.older_than,
        };
        let mut lock = match self.dry_run {
            true => Lock::pretend(repository, bound).await?,
            false => Lock::take(repository, bound).await?,
        };
        self.progress.stage("marking", None);
        let mut report = CollectReport::new(&lock, self.dry_run);
        let done = self.collect(repository, &mut lock, &mut report).await;
        // It deletes nothing more, and tells those that wait for it; unless that is not certain.
        let finished = match report.unknown || matches!(done, Err(CollectError::TakenOver)) {
            true => Ok(()),
            false => lock.finish().await,
        };
        done?;
        finished?;
        report.ended_at = micros_of_time(repository.clock().now());
        Ok(report)
    }

    async fn collect(
        &self,
        repository: &Repository,
        lock: &mut Lock,
        report: &mut CollectReport,
    ) -> Result<(), CollectError> {
        let marked = mark::mark(repository, lock, self, report).await?;
        let sweep = Sweep {
            repository,
            collect: self,
            lock,
            marked,
            pruned: BTreeSet::new(),
            report,
        };
        let swept = sweep.run().await;
        if let Err(CollectError::Marks { .. }) = swept
            && !self.dry_run
        {
            Remembered::forget(&**repository.storage()).await?;
        }
        swept
    }
}
