//! A check as it is described: what it covers, and within which bounds.

use std::fmt;
use std::sync::Arc;

use icefield_core::{Interrupt, Repository};
use icefield_format::{DecodeLimits, SnapshotId};
use icefield_storage::{Clock, Storage, SystemClock};

/// A check that is being described: set its options, then [`run`](Check::run) it. It takes a store and no repository,
/// because a damaged repository may not open.
///
/// ```
/// use std::sync::Arc;
/// use icefield_core::Repository;
/// use icefield_maintenance::Check;
/// # use icefield_storage_memory::MemoryStorage;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let storage = Arc::new(MemoryStorage::new());
/// Repository::create(storage.clone()).await?;
/// let report = Check::new(storage).run(&()).await?;
/// assert!(report.is_sound(), "{:?}", report.findings);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Check {
    pub(super) storage: Arc<dyn Storage>,
    pub(super) limits: DecodeLimits,
    pub(super) only: Option<(String, SnapshotId)>,
    pub(super) histories: bool,
    pub(super) virtual_chunks: Option<Repository>,
    pub(super) read: bool,
    pub(super) memory_bytes: usize,
    pub(super) most_findings: u64,
    pub(super) most_unlisted: usize,
    pub(super) interrupt: Interrupt,
    pub(super) clock: Arc<dyn Clock>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check")
            .field("storage", &self.storage)
            .field("only", &self.only)
            .field("histories", &self.histories)
            .field("virtual_chunks", &self.virtual_chunks.is_some())
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}

impl Check {
    /// Returns a check of the repository at a store. The repository need not open: that is one of the things that are
    /// checked.
    pub fn new(storage: Arc<dyn Storage>) -> Self {
        Self {
            storage,
            limits: DecodeLimits::default(),
            only: None,
            histories: true,
            virtual_chunks: None,
            read: false,
            memory_bytes: 192 << 20,
            most_findings: 1000,
            most_unlisted: 10_000,
            interrupt: Interrupt::new(),
            clock: Arc::new(SystemClock),
        }
    }

    /// Checks only the history of one snapshot and everything that it reaches. `name` stands for it in findings.
    #[must_use]
    pub fn only(mut self, name: impl Into<String>, snapshot: SnapshotId) -> Self {
        self.only = Some((name.into(), snapshot));
        self
    }

    /// Checks only the snapshots that refs point to now, not their histories.
    #[must_use]
    pub fn tips_only(mut self) -> Self {
        self.histories = false;
        self
    }

    /// Also checks that the objects of virtual chunks exist and are unchanged, through the grants of an open
    /// repository.
    #[must_use]
    pub fn virtual_chunks(mut self, repository: Repository) -> Self {
        self.virtual_chunks = Some(repository);
        self
    }

    /// Also reads every chunk object to its end. The format has no checksums of chunks, and codecs are not run: this
    /// finds chunks that the store cannot deliver, not those that it delivers wrongly.
    #[must_use]
    pub fn read_chunks(mut self) -> Self {
        self.read = true;
        self
    }

    /// Sets the memory for decoded objects and for ids of chunks, half of it for each, in bytes. Default 192 MiB. In
    /// addition, the check holds the manifests of one array that one commit changed, of four commits at a time, and 8
    /// MiB of the chunks that each of them moved.
    #[must_use]
    pub fn with_memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets the number of findings of each kind that are reported one by one; further ones are only counted. Default
    /// 1000.
    #[must_use]
    pub fn with_most_findings(mut self, findings: u64) -> Self {
        self.most_findings = findings.max(1);
        self
    }

    /// Sets the number of snapshots that `repo` does not list and that are compared with others, oldest first; further
    /// ones are only counted. Default 10 000. Snapshots that a backup of `repo` lacks are among them.
    #[must_use]
    pub fn with_most_unlisted(mut self, snapshots: usize) -> Self {
        self.most_unlisted = snapshots.max(1);
        self
    }

    /// Sets the clock with which the operations log is compared. Default: that of the system.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Ends early, as [`CheckError::Interrupted`](super::CheckError::Interrupted), once `interrupt` is raised. A repair
    /// of the findings ends then, too: before the next ref, commit or log that it would write.
    #[must_use]
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }
}
