//! A collection as it is described: what it spares, and within which bounds.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use icefield_core::Interrupt;

use crate::Progress;

/// Objects younger than this are not deleted, unless the caller says otherwise.
pub const DEFAULT_FLOOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A floor below this must be forced: sessions that are open for longer than it lose their chunks.
pub const LEAST_FLOOR: Duration = Duration::from_secs(60 * 60);

/// Ids of chunks that are sorted in memory at a time; 16 bytes each.
const BUFFERED: usize = 1 << 20;

/// Chunks that refs reach since they were marked, of which so many are held. Manifests with more are read again for each
/// batch.
const MOST_SPARED: usize = 4 << 20;

/// A collection that is being described: set what it needs, then [`run`](Self::run) it.
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

    /// Ends early, as [`CollectError::Interrupted`](super::CollectError::Interrupted), once `interrupt` is raised: it waits for no list or object that it
    /// reads. Objects that are being deleted at the time, a thousand at most, are deleted, and other collections need not
    /// wait for this one.
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }
}
