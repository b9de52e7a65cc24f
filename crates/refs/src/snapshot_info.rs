//! One step of a history, as a snapshot file or `repo` tells it.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use icefield_format::{DecodeLimits, FormatError, Snapshot, SnapshotId};

use crate::FetchError;

/// One step of a history.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotInfo {
    /// The snapshot.
    pub id: SnapshotId,
    /// The one before it; none for the first.
    pub parent_id: Option<SnapshotId>,
    /// When the commit was made, by the committer's clock, to the microsecond.
    pub written_at: SystemTime,
    /// The commit message.
    pub message: String,
    /// The commit's metadata.
    pub metadata: BTreeMap<String, serde_json::Value>,
    /// The snapshots between the parent and this one that expiration took out, oldest first. Their transaction logs, and then
    /// that of this one, are its change since the parent. Spec version 2.
    pub pruned_logs: Vec<SnapshotId>,
}

/// Returns the time that a number of microseconds since 1970 stands for; times beyond what the system can
/// express become the last one that it can.
pub fn time_of_micros(micros: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH
        .checked_add(Duration::from_micros(micros))
        .unwrap_or_else(|| SystemTime::UNIX_EPOCH + Duration::from_secs(i32::MAX as u64))
}

/// Returns the microseconds since 1970, rounded down; 0 for times before.
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
