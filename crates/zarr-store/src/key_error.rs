//! Errors of texts that are no key, and of keys that name nothing.

use icefield_core::NodePath;

/// The rule of the Zarr store specification that a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The empty text is a prefix, not a key.
    #[error("a key is not empty")]
    Empty,
    /// A slash at the beginning, at the end, or twice in a row: `/a`, `a/`, `a//b`.
    #[error("no segment is empty: a `/` stands between two segments only")]
    EmptySegment,
    /// A segment is `.` or `..`, which would mean something else in a directory.
    #[error("no segment is `.` or `..`")]
    DotSegment,
    /// The text is longer or deeper than a path of the format can be.
    #[error("it has {length} bytes, and is longer or deeper than the format allows")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// A prefix does not end in `/`: `a` would also be a prefix of `ab/c`.
    #[error("a prefix is empty or ends with `/`")]
    NoFinalSlash,
}

/// The reason why a key names no value that a session can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyMismatch {
    /// The key does not end in `zarr.json`, and no part of it is the path of an array.
    #[error("no part of it is the path of an array")]
    NoArray,
    /// The key lies below an array but is not the key of a chunk.
    #[error("chunks of the array {array} have keys such as {example:?}")]
    NotAChunk {
        /// The array.
        array: NodePath,
        /// The key of one of its chunks.
        example: String,
        /// The problem.
        source: ChunkKeyProblem,
    },
}

/// The reason why a text is not the key of a chunk of an array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkKeyProblem {
    /// The text does not have the form of the chunk key encoding that the array declares.
    #[error("it has not the form of the array's chunk key encoding")]
    Form,
    /// A coordinate is no decimal number, has leading zeros, or does not fit into 32 bits.
    #[error("{0:?} is not a decimal number from 0 to 4294967295, without sign or leading zeros")]
    Number(String),
    /// The key has too few or too many coordinates.
    #[error("it has {found} coordinates, and the array {expected} dimensions")]
    Rank {
        /// Dimensions of the array.
        expected: usize,
        /// Coordinates of the key.
        found: usize,
    },
}
