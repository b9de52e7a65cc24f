//! The parts of a file that errors name, and the causes below [`FormatError`](super::FormatError).

use std::fmt;

/// A sorted list inside a file, in errors about its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SortedList {
    /// Nodes of a snapshot, by path.
    Nodes,
    /// Metadata items of a snapshot, by name.
    Metadata,
    /// Manifest files of a snapshot, by id.
    ManifestFiles,
    /// Arrays of a manifest, by node id.
    Arrays,
    /// Chunk refs of one array, by index.
    ChunkRefs,
    /// Node ids in a list of a transaction log.
    NodeIds,
    /// Arrays with updated chunks in a transaction log, by node id.
    UpdatedChunks,
    /// Moved nodes of a transaction log, by their new paths, segment by segment.
    MovedNodes,
    /// Branches of `repo`, by name.
    Branches,
    /// Tags of `repo`, by name.
    Tags,
    /// Deleted tags of `repo`, by name.
    DeletedTags,
    /// Snapshots of `repo`, by id.
    Snapshots,
    /// Feature flags of `repo`, by number.
    FeatureFlags,
}

impl fmt::Display for SortedList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nodes => "nodes",
            Self::Metadata => "metadata",
            Self::ManifestFiles => "manifest files",
            Self::Arrays => "arrays",
            Self::ChunkRefs => "chunk refs",
            Self::NodeIds => "node ids",
            Self::UpdatedChunks => "updated chunks",
            Self::MovedNodes => "moved nodes",
            Self::Branches => "branches",
            Self::Tags => "tags",
            Self::DeletedTags => "deleted tags",
            Self::Snapshots => "snapshots",
            Self::FeatureFlags => "feature flags",
        })
    }
}

/// Where and how a flatbuffer breaks its own encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MalformedBody {
    /// Found by the verifier of the `flatbuffers` crate.
    #[error("invalid flatbuffer")]
    Flatbuffer(#[from] flatbuffers::InvalidFlatbuffer),
    /// Found by our verifier of manifests.
    #[error("{rule} (at byte {at} of the decompressed body)")]
    Structure {
        /// Position in the decompressed body.
        at: usize,
        /// The rule that is broken.
        rule: &'static str,
    },
}

/// Tells why bytes are not the MessagePack form of a JSON value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MessagePackError {
    /// It cannot be read.
    #[error("{0}")]
    Decode(Box<rmp_serde::decode::Error>),
    /// It cannot be written.
    #[error("{0}")]
    Encode(Box<rmp_serde::encode::Error>),
    /// Bytes follow the value.
    #[error("{0} bytes follow the value")]
    Trailing(usize),
}

/// Tells what is wrong with a dictionary for locations, or with a location that is compressed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LocationError {
    /// zstd cannot use the dictionary.
    #[error("it is no zstd dictionary")]
    Dictionary,
    /// There is no dictionary.
    #[error("the manifest has no dictionary")]
    NoDictionary,
    /// The manifest states another compression than zstd.
    #[error("the manifest states the compression {found} for locations, which is not zstd")]
    Algorithm {
        /// The identifier that it states: 0 means none.
        found: u8,
    },
    /// The frame is longer than any location of 1024 bytes needs.
    #[error("its frame of {len} bytes is longer than any location needs")]
    TooLong {
        /// Bytes of the frame.
        len: usize,
    },
    /// It is not exactly one frame made with the dictionary, of at most 1024 bytes.
    #[error("{0}")]
    Frame(&'static str),
    /// The location is not UTF-8.
    #[error("it is not UTF-8")]
    Utf8,
}
