//! Why a text is no key, and why a key names nothing.

use icefield_core::NodePath;

/// Which rule of the Zarr store specification a text breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The empty text is a prefix, not a key.
    #[error("a key is not empty")]
    Empty,
    /// `/a`, `a/`, `a//b`.
    #[error("no segment is empty: a `/` stands between two segments only")]
    EmptySegment,
    /// `.` and `..` would mean something else in a directory.
    #[error("no segment is `.` or `..`")]
    DotSegment,
    /// Longer or deeper than a path of the format.
    #[error("it has {length} bytes, and is longer or deeper than the format allows")]
    TooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// Without its `/`, `a` would also be a prefix of `ab/c`.
    #[error("a prefix is empty or ends with `/`")]
    NoFinalSlash,
}

/// Why a key names nothing that a session can hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyMismatch {
    /// It does not end in `zarr.json`, and no part of it is the path of an array.
    #[error("no part of it is the path of an array")]
    NoArray,
    /// It lies below an array but is not the key of a chunk.
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

/// Why a text is not the key of a chunk, given the array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChunkKeyProblem {
    /// It has not the form of the chunk key encoding that the array declares.
    #[error("it has not the form of the array's chunk key encoding")]
    Form,
    /// Each coordinate has one spelling.
    #[error("{0:?} is not a decimal number from 0 to 4294967295, without sign or leading zeros")]
    Number(String),
    /// Too few or too many coordinates.
    #[error("it has {found} coordinates, and the array {expected} dimensions")]
    Rank {
        /// Dimensions of the array.
        expected: usize,
        /// Coordinates of the key.
        found: usize,
    },
}
