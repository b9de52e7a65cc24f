//! Errors of an expiration that released nothing, or not everything.

use std::time::SystemTime;

use icefield_core::collection::ClocksApart;
use icefield_core::{Interrupted, RepositoryError};
use icefield_refs::RefsError;
use icefield_storage::StorageError;

/// The reason why nothing, or only a part, has expired. What has been done is sound, and running it again does the
/// rest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExpireError {
    /// The policy has no rules.
    #[error("no rule says what to keep: give a bound on age, or numbers of snapshots")]
    NoRules,
    /// Refs are to be deleted, and the policy has no bound of age.
    #[error("refs can be deleted only if they are older than a bound, and none is given")]
    NoBound,
    /// The bound of age lies in the future, so that everything would be older.
    #[error(
        "the bound lies in the future: it is {} ahead of {clock}; give a bound that has passed",
        ahead(*.bound, *.now)
    )]
    FutureBound {
        /// The bound.
        bound: SystemTime,
        /// The time by the clock.
        now: SystemTime,
        /// The owner of the clock: the store or this machine.
        clock: &'static str,
    },
    /// The store and this machine disagree about the time.
    #[error(transparent)]
    ClocksApart(#[from] ClocksApart),
    /// Other programs changed refs or histories each time.
    #[error(
        "others changed refs or histories {tries} times while it was decided what expires: run it again when it is quieter"
    )]
    Busy {
        /// The number of tries.
        tries: usize,
    },
    /// The [interrupt](super::Expire::interruptible) was raised.
    #[error(
        "the expiration was interrupted: what it has done stays, and every history is complete; run it again to go on"
    )]
    Interrupted(#[from] Interrupted),
    /// The store gave no answer to a write.
    #[error("it is not known whether {what} was changed: run it again to find out and go on")]
    Unknown {
        /// The object.
        what: String,
        /// The error of the store.
        source: StorageError,
    },
    /// Snapshots that a restored `repo` does not list may be of acknowledged commits.
    #[error(
        "`repo` was put back from a backup, and snapshots that it does not list may be of acknowledged commits: nothing expires before `icefield fsck --repair --restore-branch recovered/NAME` has made branches of them, or `icefield fsck --repair --give-up-unlisted` gives them up"
    )]
    PutBack,
    /// Refs or histories could not be read or edited.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// Snapshots could not be compared.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

fn ahead(bound: SystemTime, now: SystemTime) -> String {
    let ahead = bound.duration_since(now).unwrap_or_default();
    format!("{} seconds", ahead.as_secs_f64().ceil())
}
