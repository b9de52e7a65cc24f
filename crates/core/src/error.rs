//! Why an operation of this crate failed. Outcomes that a caller must expect are values, not errors.

use icefield_format::{ChunkIndex, FormatError, NodePath, SnapshotId, SpecVersion};
use icefield_refs::{FetchError, RefsError};
use icefield_storage::{Key, StorageError};

use crate::metadata::NodeMetadataError;
use crate::virtual_chunks::{VirtualChunkError, VirtualRefsError};

/// Why a repository could not be created or opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// There is none.
    #[error("there is no repository at {location}: create one first, or check the location")]
    NotFound {
        /// The store.
        location: String,
    },
    /// There is one already.
    #[error("there is a repository at {location} already")]
    AlreadyExists {
        /// The store.
        location: String,
    },
    /// Other objects are in the way.
    #[error("cannot create a repository at {location}: it is not empty, {key} is there")]
    NotEmpty {
        /// The store.
        location: String,
        /// One object that is in the way.
        key: Key,
    },
    /// The repository uses a newer version of the format.
    #[error(
        "the repository at {location} uses a newer version of the format; this program reads and writes versions 1 and 2"
    )]
    NewerSpecVersion {
        /// The store.
        location: String,
    },
    /// The store cannot decide races.
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
    /// Whether the repository was created cannot be told.
    #[error(
        "it is not known whether the repository at {location} was created: open it to find out"
    )]
    CreateUnknown {
        /// The store.
        location: String,
        /// What the store said.
        source: StorageError,
    },
    /// The repository is there, and its configuration may not be.
    #[error(
        "the repository at {location} was created, but it is not known whether its configuration was stored: open it and save the configuration again"
    )]
    ConfigNotStored {
        /// The store.
        location: String,
        /// What the store said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No snapshot of the branch is as old as that.
    #[error("the history of {start} has no snapshot as old as the time given")]
    NoSnapshotAtTime {
        /// Where the walk began.
        start: SnapshotId,
    },
    /// The history is shorter than that.
    #[error("snapshot {start} has only {length} ancestors")]
    HistoryTooShort {
        /// Where the walk began.
        start: SnapshotId,
        /// How far it got.
        length: usize,
    },
    /// Nothing came before the first snapshot of a repository.
    #[error(
        "snapshot {snapshot} is the first of its repository: it changed nothing that was before"
    )]
    NoParent {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// What came before a snapshot is not in the history any more.
    #[error(
        "what came before snapshot {snapshot} has expired, so its changes are no longer known: compare it with a snapshot that is there"
    )]
    ParentExpired {
        /// The snapshot.
        snapshot: SnapshotId,
    },
    /// The histories never met.
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
        /// What its parent was to be.
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
        /// What was asked for.
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

/// Why a read or write of a session failed. The session is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Writes need a writable session.
    #[error("the session is read-only: open a writable session on a branch")]
    ReadOnly,
    /// The session is on no branch.
    #[error(
        "the session is on no branch: merge it back into the session it was forked from, or flush it"
    )]
    NoBranch,
    /// The session has been committed.
    #[error("the session was committed as {0}: open a new one to go on writing")]
    Committed(SnapshotId),
    /// A commit is under way.
    #[error("the session is being committed: wait for the commit to end")]
    CommitInProgress,
    /// A commit's outcome is not known yet.
    #[error("the outcome of commit {0} is not known: resolve the session before writing on")]
    Unresolved(SnapshotId),
    /// The outcome of the last commit will never be known.
    #[error(
        "it cannot be found out whether commit {snapshot} landed: its branch has neither it nor {base}, which it was based on, since both have expired or the branch was reset or deleted; look there for what it changed, and go on in a new session"
    )]
    Untraceable {
        /// The commit.
        snapshot: SnapshotId,
        /// What it was based on.
        base: SnapshotId,
    },
    /// There are edits in the way.
    #[error("the session has uncommitted edits: commit or discard them first")]
    UncommittedChanges,
    /// No commit of the session has an unknown outcome.
    #[error("no commit of this session has an unknown outcome: there is nothing to resolve")]
    NothingUnresolved,
    /// There is no such node.
    #[error("there is no array or group at {path}")]
    NodeNotFound {
        /// The path.
        path: NodePath,
    },
    /// The node is a group.
    #[error("{path} is a group, not an array")]
    NotAnArray {
        /// The path.
        path: NodePath,
    },
    /// An array cannot become a group in place, nor the reverse.
    #[error("{path} is {found} and cannot become {wanted} in place: delete it first")]
    KindChange {
        /// The path.
        path: NodePath,
        /// `an array` or `a group`.
        found: &'static str,
        /// `an array` or `a group`.
        wanted: &'static str,
    },
    /// Arrays have no children.
    #[error("cannot create {path}: {array} is an array, and arrays have no children")]
    ParentIsArray {
        /// The new node.
        path: NodePath,
        /// The array in the way.
        array: NodePath,
    },
    /// Arrays have no children.
    #[error("cannot create an array at {path}: {child} is below it, and arrays have no children")]
    HasChildren {
        /// The new array.
        path: NodePath,
        /// One node below.
        child: NodePath,
    },
    /// Something is there already.
    #[error("there is a node at or below {path} already: delete it first")]
    PathTaken {
        /// The path.
        path: NodePath,
    },
    /// There is no group at the path above the one that a node was to be moved to.
    #[error("nothing can be moved to {path}: there is no group {group}; create it first")]
    NoGroupToMoveInto {
        /// Where the node was to go.
        path: NodePath,
        /// The group that is not there.
        group: NodePath,
    },
    /// A node cannot be moved below itself, nor to where it is.
    #[error("{from} cannot be moved to {to}, which is the node itself or inside it")]
    MoveIntoItself {
        /// The node.
        from: NodePath,
        /// Where it was to go.
        to: NodePath,
    },
    /// The session moves nodes, and does nothing else.
    #[error("the session only moves nodes: open an ordinary session for other changes")]
    RearrangesOnly,
    /// Forks are merged path by path.
    #[error("a fork moves no nodes: move them in the session that it is merged into")]
    MoveInFork,
    /// A path that no node can have.
    #[error(transparent)]
    Path(#[from] icefield_format::PathError),
    /// The document is no metadata.
    #[error(transparent)]
    Metadata(#[from] NodeMetadataError),
    /// The coordinates are not those of a chunk of the array.
    #[error("chunk {index} is outside the grid of {path}, which has {grid:?} chunks")]
    OutOfGrid {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
        /// Chunks per dimension.
        grid: Vec<u32>,
    },
    /// A shift has one number per dimension.
    #[error("{path} has {expected} dimensions, and the shift has {found} numbers")]
    ShiftRank {
        /// The array.
        path: NodePath,
        /// Its dimensions.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
    /// A chunk means nothing in the place of a chunk of another length.
    #[error(
        "{path} has a rectilinear chunk grid, whose chunks differ in length: its chunks cannot take each other's places"
    )]
    ShiftOfUnequalChunks {
        /// The array.
        path: NodePath,
    },
    /// The format has no empty chunks.
    #[error("chunk {index} of {path} would be empty: an encoded chunk has at least one byte")]
    EmptyChunk {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
    },
    /// The array was deleted, re-created or resized while the chunk was on its way to the store.
    #[error(
        "{path} changed while chunk {index} was being written: write it again if it still belongs there"
    )]
    ArrayChanged {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
    },
    /// The object that holds a chunk is not there.
    #[error("the bytes of chunk {index} of {path} are missing: {key} does not exist")]
    ChunkMissing {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
        /// The object that should hold them.
        key: Key,
    },
    /// The object that holds a chunk is too short.
    #[error("chunk {index} of {path} should be bytes {offset}..{end} of {key}, which is shorter")]
    ChunkTruncated {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
        /// The object that holds it.
        key: Key,
        /// First byte of the chunk in the object.
        offset: u64,
        /// End of the chunk in the object.
        end: u64,
    },
    /// The range is not within the chunk.
    #[error("bytes {range} of chunk {index} of {path} do not exist: it has {length}")]
    RangeOutOfChunk {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
        /// The range as asked for.
        range: String,
        /// The length of the chunk in bytes.
        length: u64,
    },
    /// The chunk lies in a foreign object, and cannot be read there.
    #[error("chunk {index} of {path} lies in {location} and cannot be read")]
    VirtualChunk {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
        /// Where it lies.
        location: String,
        /// Why.
        source: Box<VirtualChunkError>,
    },
    /// References to foreign objects that cannot be set.
    #[error("virtual references of {path} cannot be set")]
    VirtualRefs {
        /// The array.
        path: NodePath,
        /// Why.
        source: Box<VirtualRefsError>,
    },
    /// A fresh random id was in use: the random numbers repeat.
    #[error(
        "the fresh object {key} exists with other content: the source of random ids repeats itself"
    )]
    IdCollision {
        /// The object.
        key: Key,
    },
    /// Whether an object was stored cannot be told. Nothing refers to it: try again.
    #[error("it is not known whether {key} was stored: try again")]
    WriteUnknown {
        /// The object.
        key: Key,
        /// What the store said.
        source: StorageError,
    },
    /// The session was neither used nor kept alive for so long that its chunks are taken for garbage.
    #[error(
        "garbage is being collected, and chunks of this session may be among it: commit again when the collection has ended"
    )]
    BeingCollected,
    /// The session was neither used nor kept alive for so long that its chunks were taken for garbage.
    #[error(
        "{key}, which this session wrote, was collected as garbage before it was committed: write it again, in a session that renews its lease while it waits"
    )]
    Collected {
        /// The object.
        key: Key,
    },
    /// An object of the repository could not be had.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A file is not what the format says.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Work that was handed to another thread did not end.
    #[error("background work ended early: {0}")]
    Aborted(String),
}

/// Why a commit was not attempted or not published. The branch is where it was; the session is intact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// There is nothing to commit.
    #[error("there is nothing to commit: write something, or allow an empty commit")]
    NothingToCommit,
    /// The repository was upgraded meanwhile.
    #[error(
        "the repository was upgraded to spec version 2 meanwhile: open it again, and write there what this session holds"
    )]
    Upgraded,
    /// The session cannot commit.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The branch could not be read or moved.
    #[error(transparent)]
    Refs(RefsError),
    /// A file cannot be encoded.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A snapshot or ref of the repository could not be had.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The caller asked to end it early.
    #[error("the commit was interrupted before anything was published: commit again to go on")]
    Interrupted(#[from] crate::Interrupted),
    /// The edits could not be carried over to the commit that was first.
    #[error("another commit was first, and the edits could not be carried over to it")]
    Rebase(#[source] crate::RebaseError),
}

impl From<RefsError> for CommitError {
    fn from(error: RefsError) -> Self {
        match error {
            RefsError::Upgraded => Self::Upgraded,
            error => Self::Refs(error),
        }
    }
}

impl From<crate::RebaseError> for CommitError {
    fn from(error: crate::RebaseError) -> Self {
        match error {
            crate::RebaseError::Refs(RefsError::Upgraded) => Self::Upgraded,
            error => Self::Rebase(error),
        }
    }
}

impl From<FetchError> for CommitError {
    fn from(error: FetchError) -> Self {
        Self::Session(error.into())
    }
}

impl From<StorageError> for CommitError {
    fn from(error: StorageError) -> Self {
        Self::Session(error.into())
    }
}

/// The end of a message, where there is a reason.
fn because(reason: &Option<String>) -> String {
    reason
        .as_ref()
        .map_or_else(String::new, |reason| format!(": {reason}"))
}
