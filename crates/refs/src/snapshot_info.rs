//! One step of a history, as a snapshot file or `repo` tells it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use icefield_format::{DecodeLimits, FormatError, Snapshot, SnapshotId};

use crate::FetchError;

/// One entry of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotInfo {
    /// The id of the snapshot.
    pub id: SnapshotId,
    /// The parent; `None` for the first snapshot.
    pub parent_id: Option<SnapshotId>,
    /// The time of the commit, by the committer's clock, to the microsecond.
    pub written_at: SystemTime,
    /// The commit message.
    pub message: String,
    /// The commit's metadata.
    pub metadata: BTreeMap<String, serde_json::Value>,
    /// The snapshots between the parent and this one that expiration took out, oldest first. Their transaction logs, and then
    /// that of this one, are its change since the parent. Spec version 2.
    pub pruned_logs: Vec<SnapshotId>,
}

/// Returns the time that lies this many microseconds after the beginning of 1970. A time beyond the range of the system
/// becomes the last one in it.
///
/// ```
/// use icefield_refs::{micros_of_time, time_of_micros};
///
/// assert_eq!(micros_of_time(time_of_micros(1_500_000)), 1_500_000);
/// ```
pub fn time_of_micros(micros: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_micros(micros))
        .unwrap_or_else(|| SystemTime::UNIX_EPOCH + Duration::from_secs(i32::MAX as u64))
}

/// Returns the microseconds since the beginning of 1970, rounded down; 0 for earlier times.
pub fn micros_of_time(time: SystemTime) -> u64 {
    time.duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| {
            u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
        })
}

impl SnapshotInfo {
    /// Returns the description that a snapshot file of spec version 1 gives of itself: for readers of files without a ledger.
    ///
    /// # Errors
    /// [`FetchError::Format`] if the metadata cannot be decoded.
    pub fn of(snapshot: &Snapshot) -> Result<Self, FetchError> {
        Ok(Self {
            id: snapshot.id(),
            parent_id: snapshot.parent_id(),
            written_at: time_of_micros(snapshot.flushed_at()),
            message: snapshot.message().to_owned(),
            metadata: snapshot.metadata()?,
            pruned_logs: Vec::new(),
        })
    }

    /// Returns what `repo` says of a snapshot.
    pub(crate) fn listed(snapshot: icefield_format::SnapshotInfo<'_>) -> Result<Self, FormatError> {
        Ok(Self {
            id: snapshot.id(),
            parent_id: snapshot.parent_id(),
            written_at: time_of_micros(snapshot.flushed_at()),
            message: snapshot.message().to_owned(),
            metadata: snapshot.metadata(DecodeLimits::default().max_metadata)?,
            pruned_logs: snapshot.pruned_ancestor_tx_logs().collect(),
        })
    }
}
