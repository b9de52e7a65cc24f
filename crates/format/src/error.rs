//! The errors of files. Each error names the file and the rule.

mod cause;

use crate::file::{FileKind, SpecVersion};
use crate::flexbuffers::FlexBuffersError;
use crate::id::{IdError, ManifestId, NodeId, SnapshotId};
use crate::path::PathError;

pub use crate::file::FormatFile;
pub use cause::{LocationError, MalformedBody, MessagePackError, SortedList};

/// The reason why bytes are not the file that was asked for, or why a value cannot be written as one. Each error names
/// the file and the rule. [`is_unsupported`](Self::is_unsupported) tells a file of a newer version from a damaged one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The object has no bytes at all.
    #[error("{file} is empty")]
    Empty {
        /// The file.
        file: FormatFile,
    },
    /// The file ends within its header or its compressed body.
    #[error("{file} is truncated: {found} bytes, at least {needed} needed")]
    Truncated {
        /// The file.
        file: FormatFile,
        /// The known minimum of bytes.
        needed: usize,
        /// Bytes that are there.
        found: usize,
    },
    /// The file does not begin with the format's magic bytes.
    #[error("{file} does not begin with the magic bytes of an Icechunk file")]
    WrongMagic {
        /// The file.
        file: FormatFile,
    },
    /// The file is of another kind than its name says.
    #[error("{file} is a {found} by its header")]
    WrongKind {
        /// The file.
        file: FormatFile,
        /// Kind that was asked for.
        expected: FileKind,
        /// Kind that the header states.
        found: FileKind,
    },
    /// The header states a kind of file that does not exist.
    #[error("{file} has the unknown file type {found} in its header")]
    UnknownKind {
        /// The file.
        file: FormatFile,
        /// Byte 37.
        found: u8,
    },
    /// The file was written with a later version of the format than this crate reads.
    #[error(
        "{file} was written with spec version {found}, newer than {supported}, the latest supported"
    )]
    NewerSpecVersion {
        /// The file.
        file: FormatFile,
        /// Byte 36.
        found: u8,
        /// The latest version that can be read.
        supported: SpecVersion,
    },
    /// The header states a version that never existed.
    #[error("{file} has the invalid spec version {found} in its header")]
    InvalidSpecVersion {
        /// The file.
        file: FormatFile,
        /// Byte 36.
        found: u8,
    },
    /// The header states an unknown compression.
    #[error("{file} has the unknown compression {found} in its header")]
    UnknownCompression {
        /// The file.
        file: FormatFile,
        /// Byte 38.
        found: u8,
    },
    /// The compressed body is not a valid zstd frame.
    #[error("{file} has an invalid zstd frame: {reason}")]
    Zstd {
        /// The file.
        file: FormatFile,
        /// The problem, in zstd's words or ours.
        reason: &'static str,
    },
    /// The body begins with a skippable frame, which the format does not have.
    #[error("{file} begins its body with a skippable zstd frame")]
    SkippableFrame {
        /// The file.
        file: FormatFile,
    },
    /// The frame needs a dictionary, which the format does not have.
    #[error("{file} is compressed with the unknown zstd dictionary {dictionary}")]
    DictionaryFrame {
        /// The file.
        file: FormatFile,
        /// The dictionary's id.
        dictionary: u32,
    },
    /// Bytes follow the compressed frame: a second frame, or garbage.
    #[error("{file} has {bytes} bytes after its zstd frame")]
    TrailingData {
        /// The file.
        file: FormatFile,
        /// The number of bytes.
        bytes: usize,
    },
    /// The body, or what is to become one, is larger than allowed.
    #[error("{file} is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The file.
        file: FormatFile,
        /// The limit, for uncompressed bytes.
        limit: u64,
    },
    /// The memory for the body cannot be had.
    #[error("{file} needs {bytes} bytes of memory that cannot be had")]
    OutOfMemory {
        /// The file.
        file: FormatFile,
        /// The number of bytes.
        bytes: usize,
    },
    /// The metadata of a snapshot or a repository, or the operations log, would take more memory than allowed.
    #[error("{file} has metadata that would take more than {limit} bytes of memory")]
    MetadataTooLarge {
        /// The file.
        file: FormatFile,
        /// The limit.
        limit: u64,
    },
    /// The body is not a valid flatbuffer of this kind: offsets out of range, required fields
    /// missing.
    #[error("{file} is malformed")]
    Malformed {
        /// The file.
        file: FormatFile,
        /// The problem.
        source: Box<MalformedBody>,
    },
    /// The file states another id than that of its name.
    #[error("{expected} states to be {found}")]
    WrongObject {
        /// The file that was asked for.
        expected: FormatFile,
        /// The object that it says it is.
        found: FormatFile,
    },
    /// A snapshot names itself as its parent; its history would have no end.
    #[error("{file} is its own parent")]
    OwnParent {
        /// The file.
        file: FormatFile,
    },
    /// A list that must be sorted is not.
    #[error("{file} has {list} out of order at position {position}")]
    Unsorted {
        /// The file.
        file: FormatFile,
        /// The list.
        list: SortedList,
        /// Position of the item that should come earlier.
        position: usize,
    },
    /// A list that must not repeat an item does.
    #[error("{file} has {list} twice at position {position}")]
    Duplicate {
        /// The file.
        file: FormatFile,
        /// The list.
        list: SortedList,
        /// Position of the second occurrence.
        position: usize,
    },
    /// Two nodes of a snapshot have the same id.
    #[error("{file} has two nodes with the id {node}")]
    DuplicateNodeId {
        /// The file.
        file: FormatFile,
        /// The id.
        node: NodeId,
    },
    /// A node's path breaks the rules of paths.
    #[error("{file} has an invalid path at node {position}")]
    InvalidPath {
        /// The file.
        file: FormatFile,
        /// Position of the node.
        position: usize,
        /// The rule.
        source: PathError,
    },
    /// A node is neither a group nor an array.
    #[error("{file} has the unknown type {found} at node {position}")]
    UnknownNodeKind {
        /// The file.
        file: FormatFile,
        /// Position of the node.
        position: usize,
        /// The union tag.
        found: u8,
    },
    /// A list has another number of dimensions than its array.
    #[error("{file} has {found} dimensions where node {node} has {expected}")]
    RankMismatch {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
        /// Dimensions of the array, or of the first index.
        expected: usize,
        /// Dimensions found.
        found: usize,
    },
    /// An array has more dimensions than this crate handles.
    #[error(
        "{file} has {found} dimensions for node {node}, more than {}",
        crate::index::MAX_RANK
    )]
    RankTooLarge {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
        /// Dimensions found.
        found: usize,
    },
    /// A range of chunk coordinates ends before it starts.
    #[error("{file} has extents of node {node} that end before they start")]
    InvertedExtents {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
    },
    /// A node uses a manifest that the snapshot does not list.
    #[error("{file} does not list manifest {manifest}, which node {node} uses")]
    UnlistedManifest {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
        /// The manifest.
        manifest: ManifestId,
    },
    /// A chunk ref is neither inline, native nor virtual.
    #[error("{file} has no location for chunk ref {position} of node {node}")]
    NoChunkLocation {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
        /// Position of the ref within the array.
        position: usize,
    },
    /// The offset and length of a chunk ref exceed 64 bits together.
    #[error("{file} has an impossible byte range for chunk ref {position} of node {node}")]
    ChunkRangeOverflow {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
        /// Position of the ref within the array.
        position: usize,
    },
    /// A chunk coordinate is `u32::MAX`, which no extents can cover.
    #[error("{file} cannot hold the chunk coordinate 4294967295 of node {node}")]
    CoordinateTooLarge {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
    },
    /// A chunk of no bytes was to be written; the format forbids it.
    #[error("{file} cannot hold a chunk of zero bytes (node {node})")]
    EmptyChunk {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
    },
    /// A ref or chunk was given before the array that it belongs to.
    #[error("{file}: an array must be begun before its chunks are given")]
    NoArrayBegun {
        /// The file.
        file: FormatFile,
    },
    /// A metadata value is not MessagePack, or not a JSON value in it.
    #[error("{file} has an invalid metadata value for {name:?}: {reason}")]
    MessagePack {
        /// The file.
        file: FormatFile,
        /// Key of the value.
        name: String,
        /// The problem.
        reason: MessagePackError,
    },
    /// A value of metadata, or the configuration of spec 2, is not FlexBuffers, or not a JSON value in it.
    #[error("{file} has an invalid value for {name:?}: {reason}")]
    FlexBuffers {
        /// The file.
        file: FormatFile,
        /// Key of the value, `config` for the configuration.
        name: String,
        /// The problem.
        reason: FlexBuffersError,
    },
    /// A field is absent that files of this version must have, although the schema does not demand it.
    #[error("{file} lacks the field {field}, which its spec version demands")]
    MissingField {
        /// The file.
        file: FormatFile,
        /// The field.
        field: &'static str,
    },
    /// The dictionary for the locations of a manifest is invalid.
    #[error("{file} has an unusable dictionary for its locations: {reason}")]
    LocationDictionary {
        /// The file.
        file: FormatFile,
        /// The problem.
        reason: LocationError,
    },
    /// The compressed location of a virtual chunk cannot be read.
    #[error(
        "{file} has an unreadable compressed location for chunk ref {position} of node {node}: {reason}"
    )]
    CompressedLocation {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
        /// Position of the ref within the array.
        position: usize,
        /// The problem.
        reason: LocationError,
    },
    /// A ref, or a parent, is at a position where there is no snapshot.
    #[error(
        "{file} has no snapshot at position {found}, which position {position} of {list} names"
    )]
    DanglingSnapshot {
        /// The file.
        file: FormatFile,
        /// The list that names it.
        list: SortedList,
        /// Position in that list.
        position: usize,
        /// The position that it names.
        found: i64,
    },
    /// A snapshot is its own ancestor; its history would have no end.
    #[error("{file} has snapshot {snapshot} as its own ancestor")]
    OwnAncestor {
        /// The file.
        file: FormatFile,
        /// One of the snapshots on the way round.
        snapshot: SnapshotId,
    },
    /// There is no branch `main`.
    #[error("{file} has no branch \"main\", which every repository has")]
    NoMainBranch {
        /// The file.
        file: FormatFile,
    },
    /// The operations log has no entry.
    #[error("{file} has no entry in its operations log")]
    NoUpdates {
        /// The file.
        file: FormatFile,
    },
    /// An entry of the operations log does not tell what was done.
    #[error("{file} has an entry in its operations log, at position {position}, that says nothing")]
    InvalidUpdate {
        /// The file.
        file: FormatFile,
        /// Position of the entry.
        position: usize,
    },
    /// An entry of the operations log of an unknown kind was to be written again.
    #[error(
        "{file} has an entry of the unknown kind {tag} in its operations log, at position {position}, which cannot be \
         written again: an edit moves the list behind a backup"
    )]
    UnknownUpdate {
        /// The file.
        file: FormatFile,
        /// Position of the entry.
        position: usize,
        /// Its tag.
        tag: u8,
    },
    /// A body was to be written with more tables than readers take.
    #[error("{file} would have {found} tables, and readers take no more than {limit}")]
    TooManyTables {
        /// The file.
        file: FormatFile,
        /// The number found.
        found: usize,
        /// The limit.
        limit: usize,
    },
    /// Something was to be written that files of this version cannot have.
    #[error("{file} cannot hold {what}: spec version {version} has none")]
    NotInVersion {
        /// The file.
        file: FormatFile,
        /// The value that was found.
        what: &'static str,
        /// The version of the file.
        version: SpecVersion,
    },
    /// A dimension has more chunks than spec 2 can count.
    #[error("{file} cannot hold the {found} chunks along a dimension of node {node}")]
    TooManyChunks {
        /// The file.
        file: FormatFile,
        /// The array.
        node: NodeId,
        /// Chunks along the dimension.
        found: u64,
    },
    /// A ref file is not JSON of the right form.
    #[error("ref.json is not a JSON object with the key `snapshot`")]
    InvalidRef(#[source] serde_json::Error),
    /// A ref file names something that is not a snapshot id.
    #[error("ref.json does not name a snapshot id")]
    InvalidRefId(#[source] IdError),
    /// The configuration is not YAML, or a value in it is not of its type.
    #[error("config.yaml has an invalid value{}", at_key(.key))]
    Yaml {
        /// Key of the value, empty if the whole file is meant.
        key: String,
        /// The problem.
        source: Box<serde_yaml_ng::Error>,
    },
    /// A value in the configuration of spec 2 is not of its type.
    #[error("{file} has an invalid value in its configuration{}", at_key(.key))]
    ConfigValue {
        /// The file.
        file: FormatFile,
        /// Key of the value, empty if the whole configuration is meant.
        key: String,
        /// The problem; none if it should be a map.
        source: Option<Box<serde_yaml_ng::Error>>,
    },
    /// The configuration is not a YAML mapping.
    #[error("config.yaml has no mapping{}", at_key(.key))]
    NotAMapping {
        /// Key of the value, empty if the whole file is meant.
        key: String,
    },
}

fn at_key(key: &str) -> String {
    if key.is_empty() {
        String::new()
    } else {
        format!(" at {key}")
    }
}

impl FormatError {
    /// Tells whether the file is whole but of a version that this crate cannot read. Otherwise the file is damaged, or
    /// a caller gave wrong values.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self, Self::NewerSpecVersion { .. })
    }

    /// Returns the key of the configuration at fault, if it is one.
    pub(crate) fn config_key(&self) -> Option<&str> {
        match self {
            Self::Yaml { key, .. } | Self::NotAMapping { key } if !key.is_empty() => Some(key),
            _ => None,
        }
    }

    pub(crate) fn malformed(file: FormatFile, source: impl Into<MalformedBody>) -> Self {
        Self::Malformed {
            file,
            source: Box::new(source.into()),
        }
    }
}
