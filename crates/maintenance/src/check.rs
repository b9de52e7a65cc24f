//! `fsck`: walks everything that refs reach and says what is wrong with it, without stopping at the first.
//!
//! ```text
//! refs ─ snapshots ─ manifests ─ chunks        each metadata object is read once, compared with its parent's
//!          └ transaction logs                   chunks are compared with the list of those that are there
//! ```
//! A [`Check`] never writes. A [`Repair`] makes a commit on each damaged branch that leaves out what cannot be read.

mod chunks;
mod collected;
mod compare;
mod damage;
mod finding;
mod foreign;
mod histories;
mod logs;
mod lost;
mod needed;
mod nodes;
mod objects;
mod refs;
mod repair;
mod repo;
mod root;
mod run;
mod snapshots;
mod strays;
mod unlisted;

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use icefield_core::{Interrupt, Interrupted, Repository};
use icefield_format::{DecodeLimits, SnapshotId};
use icefield_refs::{BranchName, FetchError, Misspelled, RefsError};
use icefield_storage::{Clock, Storage, StorageError, SystemClock};

use self::chunks::BadChunks;
use self::foreign::{BadForeign, Locations};
use self::histories::Target;
use self::objects::{Objects, Parents};
use self::root::Root;
use crate::Progress;

pub use collected::{CheckReport, Garbage, GarbageOfKind, Proposal};
pub use finding::{Finding, FindingKind, Severity};
pub use repair::{
    ArrayLoss, BranchRepair, CorrectedExtents, LogOutcome, LogRepair, REPAIR_METADATA, RenamedRef,
    Repair, RepairError, RepairOutcome, RepairReport, RepoRepair, RestoredBranch,
};
pub use unlisted::UnlistedSnapshot;

/// Why a repository could not be checked. What is wrong with the repository itself is a [`Finding`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckError {
    /// There is none.
    #[error("there is no repository at {location}: check the location")]
    NoRepository {
        /// The store.
        location: String,
    },
    /// The repository uses a newer version of the format.
    #[error(
        "the repository at {location} is of a newer version of the format: a newer release of this program may check it"
    )]
    NewerSpecVersion {
        /// The store.
        location: String,
    },
    /// Refs could not be read.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// An object could not be had, and that says nothing of the object.
    #[error(transparent)]
    Fetch(FetchError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The caller asked to end it early.
    #[error("the check was interrupted: run it again")]
    Interrupted(#[from] Interrupted),
    /// Work that was handed to another thread did not end.
    #[error("background work ended early: {0}")]
    Aborted(String),
}

/// A check that is being described: set what it needs, then [`run`](Check::run) it.
#[derive(Clone)]
pub struct Check {
    storage: Arc<dyn Storage>,
    limits: DecodeLimits,
    only: Option<(String, SnapshotId)>,
    histories: bool,
    virtual_chunks: Option<Repository>,
    read: bool,
    memory_bytes: usize,
    most_findings: u64,
    most_unlisted: usize,
    interrupt: Interrupt,
    clock: Arc<dyn Clock>,
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

/// What a check has found, and what a repair goes by.
#[derive(Debug)]
struct Examined {
    report: CheckReport,
    objects: Arc<Objects>,
    targets: Vec<Target>,
    /// Snapshots of histories, with their parents.
    seen: HashMap<SnapshotId, Option<SnapshotId>>,
    bad: BadChunks,
    bad_foreign: BadForeign,
    /// Branches that point nowhere, with what is proposed for them.
    lost: BTreeMap<BranchName, Option<SnapshotId>>,
    /// Objects of refs that are not in the store's own spelling.
    misspelled: Vec<Misspelled>,
    root: Root,
    parents: Parents,
    locations: Arc<Locations>,
}

impl Check {
    /// Begins a check of the repository at a store. It need not open: that is one of the things that are checked.
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

    /// Checks only what one snapshot and its history reach. `name` is what it is called in findings.
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

    /// Looks whether the objects of virtual chunks are there and unchanged, through the grants of an open repository.
    #[must_use]
    pub fn virtual_chunks(mut self, repository: Repository) -> Self {
        self.virtual_chunks = Some(repository);
        self
    }

    /// Reads every chunk object to its end. The format has no checksums of them, and codecs are not run: this finds what
    /// the store cannot deliver, not what it delivers wrongly.
    #[must_use]
    pub fn read_chunks(mut self) -> Self {
        self.read = true;
        self
    }

    /// Sets the bound in bytes on what is kept in memory: half of it decoded objects, half of it ids of chunks. Default
    /// 192 MiB. Beside it, the manifests of one array that one commit changed are held, of four commits at a time.
    #[must_use]
    pub fn with_memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = bytes;
        self
    }

    /// Sets how many findings of each kind are told one by one; others are only counted. Default 1000.
    #[must_use]
    pub fn with_most_findings(mut self, findings: u64) -> Self {
        self.most_findings = findings.max(1);
        self
    }

    /// Sets how many snapshots that `repo` does not list are compared with others, the oldest first; others are only counted. Default
    /// 10 000. What a backup of `repo` lacks is among them.
    #[must_use]
    pub fn with_most_unlisted(mut self, snapshots: usize) -> Self {
        self.most_unlisted = snapshots.max(1);
        self
    }

    /// Sets the clock that the operations log is compared with. Default: that of the system.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Ends early, as [`CheckError::Interrupted`], once `interrupt` is raised. A repair of what this finds ends then, too:
    /// before the next ref, commit or log that it would write.
    #[must_use]
    pub fn interruptible(mut self, interrupt: &Interrupt) -> Self {
        self.interrupt = interrupt.clone();
        self
    }

    /// Looks whether the repository does not open because its object `repo` is missing, damaged or that of another one. A check tells
    /// more, without what needs an open repository.
    ///
    /// # Errors
    /// As [`Check::run`].
    pub async fn is_unusable(&self) -> Result<bool, CheckError> {
        let look = root::Root::look(&self.storage);
        Ok(match self.interrupt.unless(look).await?? {
            root::Root::Files => false,
            root::Root::Object(root) => root.wrong.is_some(),
        })
    }

    /// Checks, and reports.
    ///
    /// # Errors
    /// [`CheckError::NoRepository`], [`CheckError::NewerSpecVersion`], and what the store says when it fails: then nothing
    /// is known.
    pub async fn run(&self, progress: &dyn Progress) -> Result<CheckReport, CheckError> {
        Ok(self.examine(progress).await?.report)
    }

    // Boxed, it is compiled in this crate alone, and not wherever it is awaited.
    fn examine<'a>(
        &'a self,
        progress: &'a dyn Progress,
    ) -> BoxFuture<'a, Result<Examined, CheckError>> {
        Box::pin(self.examine_here(progress))
    }

    async fn examine_here(&self, progress: &dyn Progress) -> Result<Examined, CheckError> {
        // It only reads.
        let examined = async { run::Run::begin(self, progress).await?.finish().await };
        self.interrupt.unless(examined).await?
    }
}
