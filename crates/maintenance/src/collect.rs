//! Collecting garbage: deleting what nothing refers to.
//!
//! ```text
//! lock     one collection at a time; writers see which one, and how far back it may delete
//! mark     which snapshots, manifests and chunks are reachable, remembered from one collection to the next
//! table    the chunks, as sorted runs of ids and counts
//! sweep    lists the store in the order of that table, and deletes what is in neither
//! ```
//! The rules that keep it from deleting an object in use:
//!
//! - Nothing younger than the *floor* is deleted, by the store's clock, nor anything that a live lease covers
//!   (`icefield_core::collection` has that protocol).
//! - The store's time is the date of an object that was just created, and must agree with this machine's clock to within
//!   five minutes. It is asked again before each batch of deletions. What has a date in the future stays, and is named.
//! - Anything that cannot be read or decoded ends the collection before it deletes.
//! - Refs that are not understood, or that a version-1 program has written beside `repo`, end it before it writes anything. They
//!   are read again before each batch of deletions, and what they reach by then is spared.
//! - Only keys that the format makes of ids are deleted. Refs, tombstones, the configuration, the first snapshot and
//!   foreign objects never are.
//!
//! Memory is bounded: chunk ids are sorted and counted in a buffer, and kept in the store; the list of the store is in
//! the order of ids, so that one pass over both decides. Snapshots and manifests, which are few, are held. A dry run,
//! which writes nothing, holds what it counts in memory, too: 16 bytes for each chunk of manifests that are new to it.
//!
//! A second collection reads what is new. The marks are counts: a manifest that appeared adds its chunks, one that is
//! no longer reachable takes them back. Of chunks that are older than the cutoff of the one before, only those that lost
//! a reference are looked up.

mod error;
mod lock;
mod mark;
mod remembered;
mod report;
mod sweep;
mod table;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::future::BoxFuture;
use icefield_core::{Interrupt, Repository, micros_of_time};

pub use error::CollectError;
pub use report::{CollectReport, DatedAhead, Marking, Swept, TimeSource};

use crate::Progress;
use lock::{Bound, Lock, require_all_refs};
use remembered::Remembered;
use sweep::Sweep;

/// What is younger than this is not deleted, unless the caller says otherwise.
pub const DEFAULT_FLOOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A floor below this must be forced: sessions that are open for longer than it lose their chunks.
pub const LEAST_FLOOR: Duration = Duration::from_secs(60 * 60);

/// Ids of chunks that are sorted in memory at a time; 16 bytes each.
const BUFFERED: usize = 1 << 20;

/// A collection that is being described: set what it needs, then [`run`](Self::run) it.
#[must_use = "nothing is collected before this runs"]
pub struct Collect {
    floor: Duration,
    older_than: Option<SystemTime>,
    force: bool,
    dry_run: bool,
    whole: bool,
    rate: Option<u32>,
    buffered: usize,
    most_spared: usize,
    progress: Arc<dyn Progress>,
    interrupt: Interrupt,
}

impl std::fmt::Debug for Collect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Collect")
            .field("floor", &self.floor)
            .field("older_than", &self.older_than)
            .field("dry_run", &self.dry_run)
            .finish_non_exhaustive()
    }
}

impl Default for Collect {
    fn default() -> Self {
        Self {
            floor: DEFAULT_FLOOR,
            older_than: None,
            force: false,
            dry_run: false,
            whole: false,
            rate: None,
            buffered: BUFFERED,
            most_spared: sweep::MOST_SPARED,
            progress: Arc::new(()),
            interrupt: Interrupt::new(),
        }
    }
}

impl Collect {
    /// Spares what is younger than `floor`. Default [`DEFAULT_FLOOR`], at least [`LEAST_FLOOR`].
    pub fn floor(mut self, floor: Duration) -> Self {
        self.floor = floor;
        self
    }

    /// Spares also what the store has written since this time of its clock, however long ago that is. A floor alone counts
    /// from when the store is first asked for its time, a moment after the call.
    pub fn older_than(mut self, time: SystemTime) -> Self {
        self.older_than = Some(time);
        self
    }

    /// Allows any floor. Sessions that are open while this runs, and readers of what was just expired, may lose what
    /// they need.
    pub fn force_floor(mut self) -> Self {
        self.force = true;
        self
    }

    /// Deletes nothing; the report tells what would be deleted, by the same clock as a run. For that it creates one object
    /// below `icefield/`, and deletes it. On a store that takes no writes, ages are told by this machine's clock.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Marks everything anew instead of going on from what the last collection remembered.
    pub fn whole(mut self, whole: bool) -> Self {
        self.whole = whole;
        self
    }

    /// Deletes at most so many objects in a second.
    pub fn rate(mut self, deletions: Option<u32>) -> Self {
        self.rate = deletions;
        self
    }

    /// Sorts so many ids in memory at a time, 16 bytes each. Default a million.
    pub fn buffered(mut self, ids: usize) -> Self {
        self.buffered = ids.max(1);
        self
    }

    /// Holds so many ids of chunks in memory that refs began to reach meanwhile. Default four million.
    pub fn most_spared(mut self, ids: usize) -> Self {
        self.most_spared = ids;
        self
    }

    /// Tells how far it is.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Ends early, as [`CollectError::Interrupted`], once `interrupt` is raised: it waits for no list or object that it
    /// reads. Objects that are being deleted at the time, a thousand at most, are deleted, and other collections need not
    /// wait for this one.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    /// Collects.
    ///
    /// # Errors
    /// [`CollectError`]. Whatever was deleted before was garbage; a later collection goes on.
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
