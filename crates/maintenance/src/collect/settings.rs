//! A collection as it is described: what it spares, and within which bounds.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::Interrupt;

use crate::Progress;

/// The age below which no object is deleted, unless the caller sets another: 24 hours.
pub const DEFAULT_FLOOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The lowest floor that need not be forced: one hour. Sessions that are open for longer than the floor may lose their
/// chunks.
pub const LEAST_FLOOR: Duration = Duration::from_secs(60 * 60);

/// Ids of chunks that are sorted in memory at a time; 16 bytes each.
const BUFFERED: usize = 1 << 20;

/// Chunks that refs reach since they were marked, of which so many are held. Manifests with more are read again for each
/// batch.
const MOST_SPARED: usize = 4 << 20;

/// A collection of garbage that is being described: set its options, then [`run`](Self::run) it.
///
/// A collection deletes objects that no ref reaches and that are older than the floor, by the store's clock. Sessions
/// that are open for long protect their chunks by leases.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_maintenance::Collect;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let repository = Repository::create(Arc::new(MemoryStorage::new())).await?;
/// let report = Collect::default().dry_run(true).run(&repository).await?;
/// assert_eq!(report.total().deleted, 0, "everything is reachable");
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is collected before this runs"]
pub struct Collect {
    pub(super) floor: Duration,
    pub(super) older_than: Option<SystemTime>,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) whole: bool,
    pub(super) rate: Option<u32>,
    pub(super) buffered: usize,
    pub(super) most_spared: usize,
    pub(super) progress: Arc<dyn Progress>,
    pub(super) interrupt: Interrupt,
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
            most_spared: MOST_SPARED,
            progress: Arc::new(()),
            interrupt: Interrupt::new(),
        }
    }
}

impl Collect {
    /// Sets the age below which no object is deleted. Default [`DEFAULT_FLOOR`], at least [`LEAST_FLOOR`] unless it is
    /// forced.
    pub fn floor(mut self, floor: Duration) -> Self {
        self.floor = floor;
        self
    }

    /// Keeps, in addition, objects that the store has written since this time of its clock, however long ago that is. A
    /// floor alone counts from when the store is first asked for its time, a moment after the call.
    pub fn older_than(mut self, time: SystemTime) -> Self {
        self.older_than = Some(time);
        self
    }

    /// Allows a floor below [`LEAST_FLOOR`]. Open sessions, and readers of snapshots that have just expired, may lose
    /// objects that they need: use it only while nothing else uses the repository.
    pub fn force_floor(mut self) -> Self {
        self.force = true;
        self
    }

    /// Deletes nothing; the report counts what would be deleted, by the same clock as a run. To ask for the store's
    /// time it creates one object below `icefield/`, and deletes it. On a store that takes no writes, this machine's
    /// clock decides.
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Marks everything anew instead of continuing from the marks of the last collection. It takes longer, and repairs
    /// damaged marks.
    pub fn whole(mut self, whole: bool) -> Self {
        self.whole = whole;
        self
    }

    /// Limits the number of objects that are deleted in a second; `None` sets no limit.
    pub fn rate(mut self, deletions: Option<u32>) -> Self {
        self.rate = deletions;
        self
    }

    /// Sets the number of ids that are sorted in memory at a time, 16 bytes each. Default 2^20.
    pub fn buffered(mut self, ids: usize) -> Self {
        self.buffered = ids.max(1);
        self
    }

    /// Sets the number of ids of chunks in memory that refs began to reach during the collection. Default 2^22.
    pub fn most_spared(mut self, ids: usize) -> Self {
        self.most_spared = ids;
        self
    }

    /// Sets the receiver of progress reports.
    pub fn progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// Ends early, as [`CollectError::Interrupted`](super::CollectError::Interrupted), once `interrupt` is raised,
    /// without waiting for a list or object that is being read. Objects that are being deleted at that time, a thousand
    /// at most, are deleted, and other collections need not wait for this one.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }
}
