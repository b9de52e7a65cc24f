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
    /// Whether nothing was deleted because the run was a dry one.
    pub dry_run: bool,
    /// The time, in microseconds since 1970 by the store's clock, from which on objects were kept whatever reaches
    /// them.
    pub cutoff: u64,
    /// The lease that made the cutoff older than the floor asks for, if one did.
    pub held_back_by: Option<String>,
    /// The clock by which ages were told.
    pub time_source: TimeSource,
    /// The time when the collection began, by that clock, in microseconds since 1970.
    pub started_at: u64,
    /// The time when the collection ended, by this machine's clock, in microseconds since 1970.
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
    /// Whether some snapshots could not be deleted, so that nothing else was deleted either: run it again.
    pub stopped_early: bool,
    /// Whether the store gave no answer to some deletions. They may still take effect for an hour; until then, sessions
    /// that slept and other collections wait.
    pub unknown: bool,
    /// Deletions that failed: key and reason, the first hundred.
    pub failures: Vec<(String, String)>,
}

/// Objects with dates in the future.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DatedAhead {
    /// The number of these objects.
    pub objects: u64,
    /// The keys of the first hundred, each with its date in microseconds since 1970.
    pub keys: Vec<(String, u64)>,
}

/// The cost of finding what refs reach.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Marking {
    /// Whether it continued from the marks of an earlier collection.
    pub incremental: bool,
    /// The number of reachable snapshots.
    pub snapshots: u64,
    /// The number of these that were read.
    pub snapshots_read: u64,
    /// The number of reachable manifests.
    pub manifests: u64,
    /// The number of manifests that were read: the new ones, and those that are no longer reachable.
    pub manifests_read: u64,
}

/// The numbers of objects of one kind that were kept and deleted, and their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Swept {
    /// The number of reachable objects.
    pub kept: u64,
    /// The bytes of the reachable objects.
    pub kept_bytes: u64,
    /// The number of objects that are too young to decide about, because a session may be about to commit them. Young
    /// chunks are counted here, reachable or not.
    pub young: u64,
    /// The bytes of the young objects.
    pub young_bytes: u64,
    /// The number of objects that were deleted, or in a dry run would be.
    pub deleted: u64,
    /// The bytes of the deleted objects.
    pub deleted_bytes: u64,
    /// The number of objects whose deletion failed.
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
        if lock.is_from_future(date) {
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
