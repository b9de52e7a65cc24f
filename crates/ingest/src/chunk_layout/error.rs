//! Errors of layouts of chunks that cannot be applied.

use icefield_core::NodePath;

/// The reason why chunks cannot be laid out as requested.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A text is no length along a dimension.
    #[error(
        "{text:?} is no length along a dimension: say DIM=ELEMENTS, or DIM=all for the length of the array"
    )]
    Length {
        /// The text.
        text: String,
    },
    /// A dimension has two lengths.
    #[error("{dimension:?} has two lengths: say one")]
    Twice {
        /// The dimension.
        dimension: String,
    },
    /// A text is no compression.
    #[error(
        "{text:?} is no compression: it can be keep, none, zstd:LEVEL (-131072 to 22), gzip:LEVEL (0 to 9), or \
         blosc:NAME:LEVEL with lz4, lz4hc, blosclz, zstd, zlib or snappy (0 to 9)"
    )]
    Compression {
        /// The text.
        text: String,
    },
    /// No array has a dimension of the name.
    #[error("{path} has no dimension named {dimension:?} for {of} of a length: it has {known:?}")]
    NoDimension {
        /// The array, or the group of which no array has one.
        path: NodePath,
        /// The dimension.
        dimension: String,
        /// `chunks` or `shards`.
        of: &'static str,
        /// The dimensions that there are.
        known: Vec<String>,
    },
    /// A name, or the number of a dimension without one, that is also another dimension's.
    #[error(
        "{path} has two dimensions that {dimension:?} says, by name or by number: it cannot say a length of either; give the array \
         other dimension names"
    )]
    DimensionTwice {
        /// The array.
        path: NodePath,
        /// The dimension.
        dimension: String,
    },
    /// Chunks without elements.
    #[error(
        "the {of} of {path} cannot have 0 elements along {dimension:?}: a length is at least 1"
    )]
    Zero {
        /// The array.
        path: NodePath,
        /// The dimension.
        dimension: String,
        /// `chunks` or `shards`.
        of: &'static str,
    },
    /// A shard that would end within a chunk.
    #[error(
        "the shards of {path} cannot have {shard} elements along its dimension {dimension}: that is no multiple of its chunk \
         length {chunk}; choose other lengths, or leave the shards out with --shards none"
    )]
    NoMultiple {
        /// The array.
        path: NodePath,
        /// The dimension, by its name, or its number if it has none.
        dimension: String,
        /// Elements of a shard.
        shard: u64,
        /// Elements of a chunk.
        chunk: u64,
    },
    /// A shard as long as the array that would have more elements than a length can say.
    #[error(
        "the shards of {path} cannot be as long as its dimension {dimension}: {length} elements in whole chunks of {chunk} are \
         more than 18446744073709551615; choose a length"
    )]
    NoShardAsLong {
        /// The array.
        path: NodePath,
        /// The dimension, by its name, or its number if it has none.
        dimension: String,
        /// Elements of the array.
        length: u64,
        /// Elements of a chunk.
        chunk: u64,
    },
    /// More chunks than an index can say.
    #[error(
        "{path} would have {chunks} chunks along its dimension {dimension}, and 4294967295 are the most: choose a greater \
         length"
    )]
    TooMany {
        /// The array.
        path: NodePath,
        /// The dimension.
        dimension: String,
        /// The chunks.
        chunks: u64,
    },
    /// More chunks than can be put together one after another.
    #[error(
        "the chunks of {path} cannot be put together: there is room for more than 18446744073709551615 of them, or of those \
         they are made of; choose greater lengths"
    )]
    TooManyBlocks {
        /// The array.
        path: NodePath,
    },
    /// An array that cannot be laid out anew.
    #[error("{path} cannot have other chunks or codecs: {reason}")]
    Unsupported {
        /// The array.
        path: NodePath,
        /// The obstacle.
        reason: String,
    },
    /// An append does not change what is there.
    #[error(
        "an append keeps the chunks, shards and codecs of the arrays that it appends to: rechunk them before or after it"
    )]
    Append,
    /// References lead to chunks as they are.
    #[error(
        "chunks that are referred to where they lie stay as they are, and {} would have others: have them copied, with {}",
        listed(.paths), copies(.paths)
    )]
    Referred {
        /// The arrays, by their paths in the source.
        paths: Vec<NodePath>,
    },
}

fn listed(paths: &[NodePath]) -> String {
    let paths: Vec<&str> = paths.iter().map(NodePath::as_str).collect();
    paths.join(", ")
}

fn copies(paths: &[NodePath]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| format!("--copy {path}")).collect();
    paths.join(" ")
}
