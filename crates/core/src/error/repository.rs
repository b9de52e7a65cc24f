//! Errors of opening, reading and editing a repository.

use icefield_format::{FormatError, SnapshotId, SpecVersion};
use icefield_refs::{FetchError, RefsError};
use icefield_storage::{Key, StorageError};

/// The reason why a repository could not be opened, created, read or edited. Each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// The store holds no repository.
    #[error("there is no repository at {location}: create one first, or check the location")]
    NotFound {
        /// The store.
        location: String,
    },
    /// The store holds a repository already.
    #[error("there is a repository at {location} already")]
    AlreadyExists {
        /// The store.
        location: String,
    },
    /// The store holds objects that are no repository.
    #[error("cannot create a repository at {location}: it is not empty, {key} is there")]
    NotEmpty {
        /// The store.
        location: String,
        /// One object that is in the way.
        key: Key,
    },
    /// The repository has a version of the format that this program does not know.
    #[error(
        "the repository at {location} uses a newer version of the format; this program reads and writes versions 1 and 2"
    )]
    NewerSpecVersion {
        /// The store.
        location: String,
    },
    /// The store cannot decide which of two writers was first, so that commits would overwrite each other.
    #[error(
        "{location} cannot decide which of two writers was first, so it is read-only here{}",
        because(.reason)
    )]
    UnsafeStore {
        /// The store.
        location: String,
        /// Why, and what to do, if the store says.
        reason: Option<String>,
    },
    /// The store gave no answer, so that the repository may or may not have been created.
    #[error(
        "it is not known whether the repository at {location} was created: open it to find out"
    )]
    CreateUnknown {
        /// The store.
        location: String,
        /// The error of the store.
        source: StorageError,
    },
    /// The repository was created, and the store gave no answer when its configuration was written.
    #[error(
        "the repository at {location} was created, but it is not known whether its configuration was stored: open it and save the configuration again"
    )]
    ConfigNotStored {
        /// The store.
        location: String,
        /// The error of the store.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// All snapshots of the history are younger than the time given.
    #[error("the history of {start} has no snapshot as old as the time given")]
    NoSnapshotAtTime {
        /// Where the walk began.
        start: SnapshotId,
    },
    /// The history has fewer ancestors than steps back.
    #[error("snapshot {start} has only {length} ancestors")]
    HistoryTooShort {
        /// Where the walk began.
        start: SnapshotId,
        /// How far it got.
        length: usize,
    },
    /// The first snapshot of a repository has no parent, and so no changes.
    #[error(
        "snapshot {snapshot} is the first of its repository: it changed nothing that was before"
    )]
    NoParent {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// The parent of the snapshot has expired, so that its changes are no longer known.
    #[error(
        "what came before snapshot {snapshot} has expired, so its changes are no longer known: compare it with a snapshot that is there"
    )]
    ParentExpired {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// The two histories have no snapshot in common.
    #[error("the histories of {ours} and {theirs} have no snapshot in common")]
    NoCommonAncestor {
        /// One of them.
        ours: SnapshotId,
        /// The other.
        theirs: SnapshotId,
    },
    /// The log of a snapshot cannot be made to tell all that changed since another one.
    #[error(
        "the changes from {parent} to {snapshot} are no longer known: manifests that would tell are lost, and so are logs in between"
    )]
    ChangesLost {
        /// The snapshot.
        snapshot: SnapshotId,
        /// The expected parent.
        parent: SnapshotId,
        /// One of the objects.
        source: Box<Self>,
    },
    /// A collection may delete what is to be referred to.
    #[error(
        "garbage is being collected, and what this needs may be among it: try again when the collection has ended"
    )]
    CollectionRunning,
    /// No ref reaches the snapshot, a collection is under way, and it has not said yet what it spares, or the snapshot or
    /// one before it is older than that. What a session has flushed just now is not, as long as a ref reaches what the
    /// session was based on.
    #[error(
        "nothing refers to snapshot {target}, and garbage is being collected, which spares only what is young and follows what refs reach: try again when the collection has ended, if the snapshot is still there"
    )]
    BeingCollected {
        /// The snapshot.
        target: SnapshotId,
    },
    /// The repository is of an earlier version of the format.
    #[error("{what} needs spec version 2, and the repository has {found}: upgrade it first")]
    NeedsSpecVersion2 {
        /// The operation that was requested.
        what: &'static str,
        /// The version that it has.
        found: SpecVersion,
    },
    /// Refs could not be read or edited.
    #[error(transparent)]
    Refs(#[from] RefsError),
    /// An object of the repository could not be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A file could not be encoded.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The store failed; nothing was changed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

/// The end of a message, where there is a reason.
fn because(reason: &Option<String>) -> String {
    reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"))
}
