//! Errors of reads and writes of a session.

use std::sync::Arc;

use icefield_format::{ChunkIndex, FormatError, NodePath, SnapshotId};
use icefield_refs::FetchError;
use icefield_storage::{Key, StorageError};

use crate::metadata::NodeMetadataError;
use crate::virtual_chunks::{VirtualChunkError, VirtualRefsError};

/// The reason why a read or write of a session failed. The session is as it was before. Each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The session was opened for reading; writes need one that was opened on a branch.
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
    /// A commit or rebase of the session is under way, in another task.
    #[error("the session is being committed: wait for the commit to end")]
    CommitInProgress,
    /// The outcome of the session's commit is unknown. [`Session::resolve`](crate::Session::resolve) finds out.
    #[error("the outcome of commit {0} is not known: resolve the session before writing on")]
    Unresolved(SnapshotId),
    /// The outcome of the last commit will never be known.
    #[error(
        "it cannot be found out whether commit {snapshot} landed: its branch has neither it nor {base}, which it was based on, since both have expired or the branch was reset or deleted; look there for what it changed, and go on in a new session"
    )]
    Untraceable {
        /// The commit.
        snapshot: SnapshotId,
        /// The snapshot that it was based on.
        base: SnapshotId,
    },
    /// The operation replaces the session's edits, and there are some.
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
    /// The document is no Zarr v3 metadata.
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
    /// A shift needs one number per dimension.
    #[error("{path} has {expected} dimensions, and the shift has {found} numbers")]
    ShiftRank {
        /// The array.
        path: NodePath,
        /// Its dimensions.
        expected: usize,
        /// Numbers given.
        found: usize,
    },
    /// The chunks of a rectilinear grid differ in length, so that none can take another's place.
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
    /// A chunk without bytes cannot be copied to a pack.
    #[error("a chunk without bytes has no place in an object: leave it where it is")]
    EmptyCopy,
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
    /// The object that holds the chunk does not exist. That is damage: `icefield check` finds its extent.
    #[error("the bytes of chunk {index} of {path} are missing: {key} does not exist")]
    ChunkMissing {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
        /// The object that should hold them.
        key: Key,
    },
    /// The object that holds the chunk ends before the chunk does. That is damage.
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
    /// It is unknown whether an object was stored. Nothing refers to it: try again.
    #[error("it is not known whether {key} was stored: try again")]
    WriteUnknown {
        /// The object.
        key: Key,
        /// The error of the store.
        source: StorageError,
    },
    /// Chunks that were to share an object could not be stored. They are still in memory, and references to them in the session.
    #[error(
        "{} could not be stored in {key}; nothing is lost as long as the session is there: do this again once the store takes writes",
        told(.chunks)
    )]
    ChunksNotStored {
        /// The object.
        key: Key,
        /// The arrays and the coordinates of the chunks in it, and in others that failed along with it.
        chunks: Vec<(NodePath, ChunkIndex)>,
        /// The error of the store or of the packing.
        source: Arc<Self>,
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
    /// An object of the repository could not be read.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A file breaks a rule of the format.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Work that was handed to another thread ended with a panic.
    #[error("background work ended early: {0}")]
    Aborted(String),
}

/// Chunks that a message names.
const NAMED: usize = 3;

fn told(chunks: &[(NodePath, ChunkIndex)]) -> String {
    let named = chunks.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(path, index)| format!("chunk {index} of {path}"))
        .collect();
    match (chunks.len(), chunks.len().saturating_sub(NAMED)) {
        (0, _) => "chunks of a fork".to_owned(),
        (_, 0) => named.join(", "),
        (_, more) => format!("{} and {more} more chunks", named.join(", ")),
    }
}
