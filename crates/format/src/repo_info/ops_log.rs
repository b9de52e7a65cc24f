//! The operations log: what was done to a repository, newest first (spec 2, §3).
//!
//! `repo` holds the newest entries. Each earlier version of `repo` lies in `overwritten/`, and the log goes on in the one that
//! [`OpsLog::continues_in`] names, and from there in the next. An entry names the backup that holds `repo` as it was right
//! after it, so that every state can be looked at.

use std::sync::Arc;

use super::status::RepoStatus;
use crate::id::SnapshotId;

/// The kind of an update.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the names of fields say what they are")]
pub enum UpdateKind {
    /// The repository was created.
    RepoInitialized,
    /// The repository was upgraded.
    RepoMigrated { from_version: u8, to_version: u8 },
    /// The configuration was saved.
    ConfigChanged,
    /// The metadata of the repository was saved.
    MetadataChanged,
    /// A tag was created.
    TagCreated { name: String },
    /// A tag was deleted.
    TagDeleted { name: String, previous: SnapshotId },
    /// A branch was created.
    BranchCreated { name: String },
    /// A branch was deleted.
    BranchDeleted { name: String, previous: SnapshotId },
    /// A branch was put onto another snapshot.
    BranchReset { name: String, previous: SnapshotId },
    /// A commit.
    NewCommit {
        branch: String,
        snapshot: SnapshotId,
    },
    /// A commit that took the place of the tip.
    CommitAmended {
        branch: String,
        previous: SnapshotId,
        snapshot: SnapshotId,
    },
    /// A snapshot without a branch.
    NewDetachedSnapshot { snapshot: SnapshotId },
    /// Garbage was collected.
    GarbageCollected,
    /// Snapshots were expired.
    Expired,
    /// A feature flag was set, or with `is_set` false put back to its default.
    FeatureFlagChanged {
        id: u16,
        new_value: bool,
        is_set: bool,
    },
    /// The status was set.
    StatusChanged { status: RepoStatus },
    /// An update of a later version, of which only the tag is known. It cannot be written again.
    Unknown { tag: u8 },
}

/// One entry of the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Update {
    /// The kind of the update.
    pub kind: UpdateKind,
    /// The time of the update, in microseconds since the Unix epoch.
    pub updated_at: u64,
    /// The name of the backup in `overwritten/` that holds `repo` as it was right after the update; none for the newest
    /// entry, for one that was written together with a later one, and for those that an upgrade made up.
    pub backup: Option<String>,
}

/// The part of the operations log that one `repo` object holds. A value: an edit gives a new one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpsLog {
    /// Newest first, never empty.
    pub(super) updates: Vec<Arc<Update>>,
    pub(super) before: Option<String>,
}

/// The reason why a log cannot be continued as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpsLogError {
    /// No entry was given; a repository has one at least, and each new version of it one more.
    #[error("the operations log gets no entry: give one for each edit")]
    NoUpdate,
    /// An entry is not later than the one before it, as the format demands.
    #[error(
        "an update at {given} µs does not come after the newest one, at {newest} µs: take a later time"
    )]
    NotLater {
        /// Time of the entry before it.
        newest: u64,
        /// Time of the entry.
        given: u64,
    },
    /// An entry of an unknown kind was given, of which there is nothing to write.
    #[error("an update of the unknown kind {tag} cannot be written")]
    UnknownKind {
        /// The tag.
        tag: u8,
    },
}

impl OpsLog {
    /// Returns the log of a new repository, or of one that was upgraded: entries with their times, oldest first.
    ///
    /// # Errors
    /// As [`appended`](Self::appended).
    pub fn new(updates: impl IntoIterator<Item = (UpdateKind, u64)>) -> Result<Self, OpsLogError> {
        Ok(Self {
            updates: newest_first(updates, None)?,
            before: None,
        })
    }

    /// Returns the entries, newest first.
    pub fn updates(&self) -> impl ExactSizeIterator<Item = &Update> + DoubleEndedIterator {
        self.updates.iter().map(AsRef::as_ref)
    }

    /// Returns the time of the newest entry.
    #[must_use]
    pub fn newest_at(&self) -> u64 {
        self.updates.first().map_or(0, |update| update.updated_at)
    }

    /// Returns the name of the backup in which the log goes on; none where it ends here.
    #[must_use]
    pub fn continues_in(&self) -> Option<&str> {
        self.before.as_deref()
    }

    /// Returns the log with new entries, each with its time, oldest first.
    ///
    /// `backup` is the name of the backup with the version that this log is of: its newest entry gets it. Of more than
    /// `page` entries the oldest are left to a backup: the first beyond the limit that names one goes, with all behind it,
    /// and the log continues there. Entries that name none, as an upgrade makes them, stay.
    ///
    /// An entry of an unknown kind cannot be written again; where there is one, nothing of the old list is, and the log
    /// continues in the backup, which holds it as it is.
    ///
    /// # Errors
    /// [`OpsLogError`]: without entries, and with one that is not later than the one before it.
    pub fn appended(
        &self,
        updates: impl IntoIterator<Item = (UpdateKind, u64)>,
        backup: &str,
        page: usize,
    ) -> Result<Self, OpsLogError> {
        let mut all = newest_first(updates, Some(self.newest_at()))?;
        let is_unknown = |update: &Arc<Update>| matches!(update.kind, UpdateKind::Unknown { .. });
        if self.updates.iter().any(is_unknown) {
            return Ok(Self::starting_anew(all, backup));
        }
        let mut old = self.updates.iter();
        all.extend(old.next().map(|newest| {
            Arc::new(Update {
                backup: Some(backup.to_owned()),
                ..Update::clone(newest)
            })
        }));
        all.extend(old.cloned());
        let beyond = all.iter().enumerate().skip(page.max(1));
        let named = beyond.filter_map(|(at, update)| Some((at, update.backup.clone()?)));
        let before = match named.into_iter().next() {
            Some((at, backup)) => {
                all.truncate(at);
                Some(backup)
            }
            None => self.before.clone(),
        };
        Ok(Self {
            updates: all,
            before,
        })
    }

    /// Returns the log with new entries alone, continued in the backup of the version that this log is of.
    ///
    /// A chain of such logs needs no other backups than the ones it names: all between may be deleted.
    ///
    /// # Errors
    /// As [`appended`](Self::appended).
    pub fn shortened(
        &self,
        updates: impl IntoIterator<Item = (UpdateKind, u64)>,
        backup: &str,
    ) -> Result<Self, OpsLogError> {
        let all = newest_first(updates, Some(self.newest_at()))?;
        Ok(Self::starting_anew(all, backup))
    }

    fn starting_anew(updates: Vec<Arc<Update>>, backup: &str) -> Self {
        Self {
            updates,
            before: Some(backup.to_owned()),
        }
    }
}

/// Checks new entries, and turns their order about.
fn newest_first(
    updates: impl IntoIterator<Item = (UpdateKind, u64)>,
    mut newest: Option<u64>,
) -> Result<Vec<Arc<Update>>, OpsLogError> {
    let mut all = Vec::new();
    for (kind, updated_at) in updates {
        if let Some(newest) = newest.filter(|newest| updated_at <= *newest) {
            let given = updated_at;
            return Err(OpsLogError::NotLater { newest, given });
        }
        if let UpdateKind::Unknown { tag } = kind {
            return Err(OpsLogError::UnknownKind { tag });
        }
        newest = Some(updated_at);
        all.push(Arc::new(Update {
            kind,
            updated_at,
            backup: None,
        }));
    }
    if all.is_empty() {
        return Err(OpsLogError::NoUpdate);
    }
    all.reverse();
    Ok(all)
}
