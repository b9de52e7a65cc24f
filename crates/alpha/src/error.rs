//! Errors of reads: each names the object, and the rule that it breaks.

use std::fmt;

use icefield_core::{ChunkIndex, LocationRule, MetadataError, NameError, NodePath};
use icefield_format::PathError;
use icefield_storage::{KeyError, StorageError};

use crate::AlphaId;

/// The reason why a repository of this generation could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AlphaError {
    /// The repository does not exist.
    #[error(
        "there is no repository of the alpha generation at {location}: it would have numbered files of a branch `main` below r/"
    )]
    NotFound {
        /// The store.
        location: String,
    },
    /// An object is not what the format says.
    #[error("{key} is damaged: {rule}; put back a copy of it")]
    Damaged {
        /// The object.
        key: String,
        /// The rule that it breaks.
        rule: Box<Rule>,
    },
    /// An object is what the format says, and has no place in today's.
    #[error("{key} cannot be taken over: {rule}")]
    Unsupported {
        /// The object.
        key: String,
        /// The rule that stands in the way.
        rule: Box<Rule>,
    },
    /// An object is not there.
    #[error("{key} is missing, and {needed_by} needs it: put back a copy of it")]
    Missing {
        /// The object.
        key: String,
        /// The object that refers to it.
        needed_by: String,
    },
    /// The caller named a snapshot that is not there.
    #[error("there is no snapshot {id}")]
    NoSnapshot {
        /// The id that was named.
        id: AlphaId,
    },
    /// The whole history is younger than that.
    #[error("the history of {start} has no snapshot as old as the time given")]
    NoSnapshotAtTime {
        /// Where the walk began.
        start: AlphaId,
    },
    /// The history is shorter than that.
    #[error("snapshot {start} has only {length} ancestors")]
    HistoryTooShort {
        /// Where the walk began.
        start: AlphaId,
        /// How far it got.
        length: usize,
    },
    /// No array has this path.
    #[error("there is no array at {path} in snapshot {id}")]
    NoArray {
        /// The path that was named.
        path: NodePath,
        /// Where it was looked for.
        id: AlphaId,
    },
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl AlphaError {
    pub(crate) fn damaged(key: impl fmt::Display, rule: Rule) -> Self {
        Self::Damaged {
            key: key.to_string(),
            rule: Box::new(rule),
        }
    }

    pub(crate) fn unsupported(key: impl fmt::Display, rule: Rule) -> Self {
        Self::Unsupported {
            key: key.to_string(),
            rule: Box::new(rule),
        }
    }
}

impl From<KeyError> for AlphaError {
    fn from(error: KeyError) -> Self {
        Self::Storage(error.into())
    }
}

/// A rule of the format that an object breaks.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// The bytes are not the value that belongs there.
    #[error("no {what} can be read from its {form} at byte {offset} ({problem})")]
    Encoding {
        /// The value that should be there.
        what: &'static str,
        /// `MessagePack` or `JSON`.
        form: &'static str,
        /// How far the reader came.
        offset: usize,
        /// The error of the reader.
        problem: String,
    },
    /// The value ends before the file does.
    #[error("{bytes} bytes follow the value")]
    Trailing {
        /// The number of bytes.
        bytes: usize,
    },
    /// Another snapshot lies under this name.
    #[error("it is snapshot {found}")]
    OtherSnapshot {
        /// The id in it.
        found: AlphaId,
    },
    /// The counts of ancestors disagree.
    #[error("it has {total} ancestors, tells of {short}, and lists {listed}")]
    History {
        /// `total_parents`.
        total: u32,
        /// `short_term_parents`.
        short: u16,
        /// Entries in the history.
        listed: usize,
    },
    /// The parent has another history.
    #[error("the history of its parent {parent} is not its own without the parent")]
    Parent {
        /// The parent.
        parent: AlphaId,
    },
    /// The numbers of the files of a branch have a gap.
    #[error("there is no file number {number} of the branch before it")]
    BranchGap {
        /// The number that is missing.
        number: u64,
    },
    /// A commit that is not on top of the one before it.
    #[error("{snapshot} is not a child of {before}, to which the file before it points")]
    BranchChain {
        /// The snapshot.
        snapshot: AlphaId,
        /// The snapshot that should be its parent.
        before: AlphaId,
    },
    /// A time that cannot be read.
    #[error("{text:?} is no time by RFC 3339")]
    Time {
        /// The text.
        text: String,
    },
    /// A path that no node can have.
    #[error("{path:?} is the path of no node ({source})")]
    Path {
        /// The path.
        path: String,
        /// The rule of paths.
        source: PathError,
    },
    /// A node under the path of another one.
    #[error("the node at {path} says that it is at {found:?}")]
    OtherPath {
        /// Where it is.
        path: NodePath,
        /// Where it says that it is.
        found: String,
    },
    /// Two nodes that cannot both be.
    #[error("there are two nodes {what}")]
    TwoNodes {
        /// `at PATH` or `with number N`.
        what: String,
    },
    /// An array with children.
    #[error("{path} is below {array}, which is an array")]
    BelowArray {
        /// The node.
        path: NodePath,
        /// The array.
        array: NodePath,
    },
    /// A node whose fields make no metadata.
    #[error("the metadata of {path} are those of no Zarr array or group ({source})")]
    Metadata {
        /// The node.
        path: NodePath,
        /// The problem.
        source: MetadataError,
    },
    /// A fill value of another type than the array.
    #[error("the fill value of {path} is of another type than the array")]
    FillValue {
        /// The array.
        path: NodePath,
    },
    /// Chunk keys that were defined and refused.
    #[error(
        "the chunk key encoding of {path} is not that with slashes, the only one that was written"
    )]
    ChunkKeys {
        /// The array.
        path: NodePath,
    },
    /// Attributes in a file of their own.
    #[error("the attributes of {path} are in a file of their own, which was never written")]
    AttributesElsewhere {
        /// The node.
        path: NodePath,
    },
    /// A chunk that is there twice.
    #[error("chunk {index} of node {node} is there twice")]
    TwoChunks {
        /// The number of the node.
        node: u32,
        /// The coordinates.
        index: ChunkIndex,
    },
    /// Coordinates of another rank than the array.
    #[error("chunk {index} of {path} has {found} coordinates, not {rank}")]
    Rank {
        /// The array.
        path: NodePath,
        /// The coordinates.
        index: ChunkIndex,
        /// Their number.
        found: usize,
        /// The dimensions of the array.
        rank: usize,
    },
    /// No bytes, or bytes beyond what can be counted.
    #[error(
        "chunk {index} of node {node} is {length} bytes from {offset}: it needs at least one, and an end below 2^64"
    )]
    Range {
        /// The number of the node.
        node: u32,
        /// The coordinates.
        index: ChunkIndex,
        /// First byte.
        offset: u64,
        /// Bytes.
        length: u64,
    },
    /// A chunk object is too short.
    #[error("it has {size} bytes, and a chunk ends at byte {end}")]
    ChunkTooShort {
        /// Its size in bytes.
        size: u64,
        /// The end of the chunk.
        end: u64,
    },
    /// A virtual chunk lies nowhere.
    #[error("{location:?} is no place of a virtual chunk ({source})")]
    Location {
        /// The URL.
        location: String,
        /// The rule of locations.
        source: LocationRule,
    },
    /// A virtual chunk lies where no container can be made for it.
    #[error("{location:?} lies in no folder, and only a folder can be allowed")]
    NoFolder {
        /// The URL.
        location: String,
    },
    /// A name that no new ref can have.
    #[error("{name:?} cannot be the name of a ref today ({source})")]
    Name {
        /// The name.
        name: String,
        /// The rule of names.
        source: NameError,
    },
}
