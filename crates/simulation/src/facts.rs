//! The answers that the actors got: all that a judge needs beside the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use icefield::SnapshotId;

/// Facts of a run. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts(Arc<Mutex<Known>>);

/// The answers and counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Commits on `main` that were acknowledged.
    pub(crate) commits: Vec<SnapshotId>,
    /// Numbers of the ledger that were acknowledged, by actor, in order.
    pub(crate) appended: BTreeMap<usize, Vec<u64>>,
    pub(crate) register: Vec<RegisterOp>,
    /// Tags that were created, with their snapshots; those that were deleted, or may have been, are not among them.
    pub(crate) tags: BTreeMap<String, SnapshotId>,
    /// Names of tags whose creation was acknowledged: a name is given once, also after its deletion.
    pub(crate) created_tags: BTreeSet<String>,
    /// Tags whose deletion was asked for.
    pub(crate) dropped_tags: BTreeSet<String>,
    /// The newest moment before which expiration may have dropped snapshots.
    pub(crate) expired_before: Option<SystemTime>,
    pub(crate) figures: Figures,
}

/// A read or a write of the register that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RegisterOp {
    pub(crate) begun: Duration,
    pub(crate) ended: Duration,
    pub(crate) value: u64,
    pub(crate) is_write: bool,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Figures {
    /// Commits that were acknowledged.
    pub commits: u64,
    /// Commits that another was faster than, or collided with.
    pub refused: u64,
    /// Commits whose first answer was lost.
    pub unknown: u64,
    /// Rounds that ended with a failure that the store may give.
    pub failed: u64,
    /// Reads whose rules held.
    pub reads: u64,
    /// Collections that ended.
    pub collections: u64,
    /// Objects that they deleted.
    pub deleted: u64,
    /// Expirations that ended.
    pub expirations: u64,
    /// Upgrades that ended.
    pub upgrades: u64,
    /// Copies that were made and checked.
    pub copies: u64,
    /// Merges of forks that were committed.
    pub merges: u64,
    /// Snapshots that the judge has read.
    pub judged: u64,
}

impl std::ops::AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        self.commits += other.commits;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.failed += other.failed;
        self.reads += other.reads;
        self.collections += other.collections;
        self.deleted += other.deleted;
        self.expirations += other.expirations;
        self.upgrades += other.upgrades;
        self.copies += other.copies;
        self.merges += other.merges;
        self.judged += other.judged;
    }
}

impl Facts {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
