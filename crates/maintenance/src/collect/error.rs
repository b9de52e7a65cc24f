//! Errors of a collection that removed nothing, or not everything.

use std::time::{Duration, SystemTime};

use icefield_core::collection::{ClocksApart, StoreTimeError};
use icefield_core::{FetchError, Interrupted, RefsError, RepositoryError, SnapshotId};
use icefield_format::FormatError;
use icefield_storage::StorageError;

/// The reason why a collection did not begin or ended early. Nothing that is reachable was deleted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// The floor is so low that open sessions could lose what they have just written.
    #[error(
        "objects younger than {floor:?} may belong to sessions that are open: choose an hour or more, or force it while no session writes"
    )]
    FloorTooLow {
        /// The floor that was asked for.
        floor: Duration,
    },
    /// The store cannot decide which of two collections was first.
    #[error(
        "{location} cannot decide which of two writers was first, or takes no writes: nothing is collected there"
    )]
    UnsafeStore {
        /// The store.
        location: String,
    },
    /// Another collection is running, or stopped less than an hour ago.
    #[error(
        "another collection is running: wait until it has ended, or for an hour after it was stopped"
    )]
    Running,
    /// This collection did not renew its state for so long that others count it as stopped.
    #[error(
        "this collection was silent for so long that others take it for stopped: it deletes nothing more, run it again"
    )]
    TakenOver,
    /// The store and this machine disagree about the time.
    #[error(transparent)]
    ClocksApart(#[from] ClocksApart),
    /// The store's clock was set back while this ran.
    #[error(
        "the clock of {location} went back by {} seconds since the collection began: nothing more is deleted, run it again once the clock is right",
        began.duration_since(*.now).unwrap_or_default().as_secs()
    )]
    ClockWentBack {
        /// The store.
        location: String,
        /// Its time when the collection began.
        began: SystemTime,
        /// Its time now.
        now: SystemTime,
    },
    /// The [interrupt](super::Collect::interruptible) was raised.
    #[error(
        "the collection was interrupted: what it has deleted was garbage, run it again to go on"
    )]
    Interrupted(#[from] Interrupted),
    /// The repository was upgraded since it was opened.
    #[error("the repository was upgraded to spec version 2: collect with a newer program")]
    Upgraded,
    /// Snapshots that a restored `repo` does not list may be of acknowledged commits.
    #[error(
        "`repo` was put back from a backup, and snapshots that it does not list may be of acknowledged commits: nothing is collected before `icefield fsck --repair --restore-branch recovered/NAME` has made branches of them, or `icefield fsck --repair --give-up-unlisted` gives them up"
    )]
    PutBack,
    /// An object below `refs/` is not understood, so that it is not known what it reaches.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// The repository has no branch, so that everything would be garbage.
    #[error("the repository has no branch: everything would be garbage, and nothing is deleted")]
    NoRefs,
    /// A reachable snapshot cannot be read, so that it is not known what it reaches.
    #[error("snapshot {snapshot} cannot be read, so that what it reaches is not known")]
    Snapshot {
        /// The snapshot.
        snapshot: SnapshotId,
        /// Why.
        source: Box<RepositoryError>,
    },
    /// A reachable manifest cannot be read, so that it is not known what it reaches.
    #[error(
        "a manifest cannot be read, so that what it reaches is not known: `icefield fsck` tells more"
    )]
    Manifest(#[source] Box<RepositoryError>),
    /// A manifest contains an invalid reference.
    #[error("a manifest has a reference that makes no sense, so that what it reaches is not known")]
    Reference(#[source] FormatError),
    /// The marks of an earlier collection are damaged.
    #[error(
        "{key}, in which an earlier collection remembers what is in use, is damaged ({reason}): run it again and mark everything anew"
    )]
    Marks {
        /// The object.
        key: String,
        /// Why.
        reason: String,
    },
    /// Refs could not be listed.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// An object of the repository could not be read.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<StoreTimeError> for CollectError {
    fn from(error: StoreTimeError) -> Self {
        match error {
            StoreTimeError::ClocksApart(apart) => apart.into(),
            StoreTimeError::Storage(error) => error.into(),
        }
    }
}

impl CollectError {
    /// Returns whether an object is missing or not what it should be, in contrast to a store that does not answer.
    pub(super) fn is_of_an_object(&self) -> bool {
        match self {
            Self::Snapshot { source, .. } | Self::Manifest(source) => match &**source {
                RepositoryError::Fetch(error) | RepositoryError::Refs(RefsError::Fetch(error)) => {
                    matches!(error, FetchError::Missing { .. } | FetchError::Format(_))
                }
                _ => false,
            },
            Self::Reference(_) => true,
            _ => false,
        }
    }
}
