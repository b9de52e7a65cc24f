//! The history of a snapshot.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures::stream::{self, BoxStream, StreamExt};
use icefield_format::{Snapshot, SnapshotId};

use crate::{FetchError, RefsError};

/// Where decoded snapshots come from: the cache of the layer above.
#[async_trait::async_trait]
pub trait SnapshotSource: std::fmt::Debug + Send + Sync {
    /// Returns a snapshot, decoded and checked.
    ///
    /// # Errors
    /// The [`FetchError`] that names it.
    async fn snapshot(&self, id: SnapshotId) -> Result<Arc<Snapshot>, FetchError>;

    /// Forgets a snapshot that may have another parent now: the next one who asks gets what is stored.
    fn forget(&self, id: SnapshotId);
}

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
    /// Returns what a snapshot file of spec version 1 says of itself.
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
        })
    }
}

/// Walks from `start` to the first snapshot, newest first.
pub(crate) fn ancestry(
    source: Arc<dyn SnapshotSource>,
    start: SnapshotId,
) -> BoxStream<'static, Result<SnapshotInfo, RefsError>> {
    struct Walk {
        source: Arc<dyn SnapshotSource>,
        next: Option<SnapshotId>,
        seen: HashSet<SnapshotId>,
    }
    let walk = Walk {
        source,
        next: Some(start),
        seen: HashSet::new(),
    };
    stream::unfold(walk, |mut walk| async move {
        let id = walk.next.take()?;
        if !walk.seen.insert(id) {
            return Some((Err(RefsError::Cycle(id)), walk));
        }
        let info = match walk.source.snapshot(id).await {
            Ok(snapshot) => SnapshotInfo::of(&snapshot),
            Err(error) => Err(error),
        };
        match info {
            Ok(info) => {
                walk.next = info.parent_id;
                Some((Ok(info), walk))
            }
            Err(error) => Some((Err(error.into()), walk)),
        }
    })
    .boxed()
}
