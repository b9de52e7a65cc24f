//! The report of a collection.

use icefield_core::micros_of_time;
use icefield_storage::{Key, ObjectMeta};
use serde::Serialize;

use super::lock::{Lock, TimeSource};

/// Deletions that failed, and objects with dates in the future, of which so many are named.
const NAMED: usize = 100;

/// The report of a collection, or of its dry run.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct CollectReport {
    /// Whether nothing was deleted in truth.
    pub dry_run: bool,
    /// Objects that the store dates from this time on were spared: microseconds since 1970.
    pub cutoff: u64,
    /// The lease that made the cutoff older than the floor asks for, if one did.
    pub held_back_by: Option<String>,
    /// Whose clock ages were told by.
    pub time_source: TimeSource,
    /// When it began, by that clock, in microseconds since 1970.
    pub started_at: u64,
    /// When it ended, by this machine's clock.
    pub ended_at: u64,
    /// The cost of marking.
    pub marking: Marking,
    /// Snapshots.
    pub snapshots: Swept,
    /// Transaction logs.
    pub transaction_logs: Swept,
    /// Manifests.
    pub manifests: Swept,
    /// Objects with chunks.
    pub chunks: Swept,
    /// Earlier states of `repo` that its operations log does not need: of a repository of spec version 2.
    pub backups: Swept,
    /// Leases of sessions that ended without a commit.
    pub leases: Swept,
    /// Objects that the store dates in the future, because of a wrong clock or a date set by hand; all of them were kept.
    pub dated_ahead: DatedAhead,
    /// Whether some snapshots could not be deleted, so that nothing else was: run it again.
    pub stopped_early: bool,
    /// Whether the store did not say of some deletions what became of them: until it must have, for an hour, sessions that
    /// slept and collections wait.
    pub unknown: bool,
    /// Deletions that failed: key and reason, the first hundred.
    pub failures: Vec<(String, String)>,
}

/// Objects with dates in the future.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DatedAhead {
    /// How many.
    pub objects: u64,
    /// Key of each and its date in microseconds since 1970, of the first hundred.
    pub keys: Vec<(String, u64)>,
}

/// The cost of marking.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Marking {
    /// Whether it went on from what an earlier collection remembered.
    pub incremental: bool,
    /// Snapshots that are reachable.
    pub snapshots: u64,
    /// Of these, read.
    pub snapshots_read: u64,
    /// Manifests that are reachable.
    pub manifests: u64,
    /// Manifests read: those that are new, and those that are no longer reachable.
    pub manifests_read: u64,
}

/// The outcome for the objects of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// Reachable.
    pub kept: u64,
    /// Bytes of these.
    pub kept_bytes: u64,
    /// Too young to tell: not reachable yet, or not any more. Chunks that young are counted here, reachable or not.
    pub young: u64,
    /// Bytes of these.
    pub young_bytes: u64,
    /// Deleted, or to be.
    pub deleted: u64,
    /// Bytes of these.
    pub deleted_bytes: u64,
    /// Could not be deleted.
    pub failed: u64,
}

impl Swept {
    pub(super) fn keep(&mut self, bytes: u64) {
        self.kept += 1;
        self.kept_bytes += bytes;
    }

    pub(super) fn spare(&mut self, bytes: u64) {
        self.young += 1;
        self.young_bytes += bytes;
    }

    pub(super) fn delete(&mut self, bytes: u64) {
        self.deleted += 1;
        self.deleted_bytes += bytes;
    }
}

impl CollectReport {
    pub(super) fn new(lock: &Lock, dry_run: bool) -> Self {
        Self {
            dry_run,
            cutoff: lock.cutoff(),
            held_back_by: lock.held_back_by().map(Key::to_string),
            time_source: lock.source(),
            started_at: lock.opened_at(),
            ended_at: 0,
            marking: Marking::default(),
            snapshots: Swept::default(),
            transaction_logs: Swept::default(),
            manifests: Swept::default(),
            chunks: Swept::default(),
            backups: Swept::default(),
            leases: Swept::default(),
            dated_ahead: DatedAhead::default(),
            stopped_early: false,
            unknown: false,
            failures: Vec::new(),
        }
    }

    /// Returns the sum over all kinds.
    pub fn total(&self) -> Swept {
        let kinds = [
            &self.snapshots,
            &self.transaction_logs,
            &self.manifests,
            &self.chunks,
            &self.backups,
            &self.leases,
        ];
        kinds.into_iter().fold(Swept::default(), |sum, it| Swept {
            kept: sum.kept + it.kept,
            kept_bytes: sum.kept_bytes + it.kept_bytes,
            young: sum.young + it.young,
            young_bytes: sum.young_bytes + it.young_bytes,
            deleted: sum.deleted + it.deleted,
            deleted_bytes: sum.deleted_bytes + it.deleted_bytes,
            failed: sum.failed + it.failed,
        })
    }

    /// Counts an object whose date lies in the future.
    pub(super) fn note_date(&mut self, object: &ObjectMeta, lock: &Lock) {
        let date = object.last_modified.map_or(0, micros_of_time);
        if lock.is_ahead(date) {
            self.dated_ahead.objects += 1;
            if self.dated_ahead.keys.len() < NAMED {
                self.dated_ahead.keys.push((object.key.to_string(), date));
            }
        }
    }

    pub(super) fn note_failure(&mut self, key: &Key, reason: &dyn std::fmt::Display) {
        if self.failures.len() < NAMED {
            self.failures.push((key.to_string(), reason.to_string()));
        }
    }
}
