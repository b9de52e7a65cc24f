//! Errors of slices.

use crate::netcdf::NetcdfError;

/// The reason why a slice of an array could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SliceError {
    /// The array or a coordinate could not be read.
    #[error(transparent)]
    Read(#[from] NetcdfError),
    /// The elements are no numbers, or an attribute that decodes them is not understood.
    #[error("{path}: {problem}")]
    NoNumbers {
        /// The array.
        path: String,
        /// The rule that it breaks.
        problem: String,
    },
    /// The array has no such dimension.
    #[error("{path} has no dimension {name}: its dimensions are {known}")]
    NoDimension {
        /// The array.
        path: String,
        /// The dimension that a position was given for.
        name: String,
        /// The names, or numbers, of those that there are.
        known: String,
    },
    /// A dimension has two positions.
    #[error("dimension {name} of {path} has two positions: give one")]
    Twice {
        /// The array.
        path: String,
        /// The dimension.
        name: String,
    },
    /// The index is not within the dimension.
    #[error("dimension {name} of {path} has no index {index}: its length is {length}")]
    OutOfRange {
        /// The array.
        path: String,
        /// The dimension.
        name: String,
        /// The index that was asked for.
        index: i64,
        /// Elements of the dimension.
        length: u64,
    },
    /// No element of the dimension lies near the value or time.
    #[error(
        "coordinate {name} of {path} does not reach {wanted}: it lies between {first} and {last}"
    )]
    Outside {
        /// The array.
        path: String,
        /// The dimension.
        name: String,
        /// The value or time that was asked for.
        wanted: String,
        /// The least label.
        first: String,
        /// The greatest label.
        last: String,
    },
    /// The dimension has no coordinate that the value or time could be found in.
    #[error("dimension {name} of {path} takes only an index, not {wanted}: {problem}")]
    NoLabels {
        /// The array.
        path: String,
        /// The dimension.
        name: String,
        /// The value or time that was asked for.
        wanted: String,
        /// The reason.
        problem: String,
    },
    /// The text is no date of the coordinate's calendar.
    #[error("{wanted:?} is no time for dimension {name} of {path}: {problem}")]
    BadTime {
        /// The array.
        path: String,
        /// The dimension.
        name: String,
        /// The time that was asked for.
        wanted: String,
        /// The rule that it breaks.
        problem: String,
    },
    /// Two slices are not of the same places and times.
    #[error(
        "the two slices differ: one has {ours}, the other {theirs}; give each dimension a time or a value that both versions have"
    )]
    Unlike {
        /// The place, length or units of the one.
        ours: String,
        /// Those of the other.
        theirs: String,
    },
    /// The array has no elements.
    #[error("{path} has no elements: the length of its dimension {name} is 0")]
    Empty {
        /// The array.
        path: String,
        /// The first dimension of length 0.
        name: String,
    },
    /// No dimension is left.
    #[error("{path} has no dimension to draw along: it has {rank}, and each has a position")]
    NoAxis {
        /// The array.
        path: String,
        /// The number of dimensions.
        rank: usize,
    },
}
