//! Errors of texts that are no CDL, and of datasets that cannot be printed as CDL.

use std::fmt;

use crate::{DataType, ModelError};

/// A place in a text. Lines and columns begin at 1; a column is a byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The byte within the line.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// The place in a text, and the rule of CDL that it breaks there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{position}: {rule}")]
pub struct CdlError {
    /// The place in the text.
    pub position: Position,
    /// The rule that is broken there.
    pub rule: Rule,
}

/// A rule of CDL that a text breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// Something else must stand here.
    #[error("{expected} must stand here, and not {found}")]
    Expected {
        /// The token that the language asks for.
        expected: &'static str,
        /// The token that is there.
        found: String,
    },
    /// A text, comment or char constant has no end.
    #[error("{what} that begins here has no end")]
    Endless {
        /// The construct that has no end.
        what: &'static str,
    },
    /// A backslash and what follows it mean nothing.
    #[error("the escape {escape} means nothing; an octal number is at most \\377")]
    Escape {
        /// The escape.
        escape: String,
    },
    /// A number is spelt wrongly.
    #[error("{number} is no number of CDL")]
    Number {
        /// The number.
        number: String,
    },
    /// A number does not fit the type that it is for.
    #[error("{number} is not a value of {data_type}, the type of {name}; choose a wider type")]
    OutOfRange {
        /// The variable or attribute.
        name: String,
        /// The number.
        number: String,
        /// The type.
        data_type: DataType,
    },
    /// A constant of one kind stands where another one is needed.
    #[error("{found} cannot be a value of {name}, whose type is {data_type}")]
    Kind {
        /// The variable or attribute.
        name: String,
        /// The constant.
        found: String,
        /// The type.
        data_type: DataType,
    },
    /// An attribute without a type mixes texts and numbers.
    #[error("{name} mixes texts and numbers; give it a type or split it")]
    Mixed {
        /// The attribute.
        name: String,
    },
    /// A name is not defined where it is used.
    #[error("no {what} is called {name} here; define it before")]
    Unknown {
        /// Dimension, variable, group or type.
        what: &'static str,
        /// The name or path.
        name: String,
    },
    /// A name is given twice.
    #[error("the {what} {name} is defined twice; remove one")]
    Twice {
        /// Dimension, variable, group, attribute or data.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// A name cannot be one.
    #[error(
        "{name} cannot be a name: it must be UTF-8, not empty, without a slash, and at most 256 bytes long"
    )]
    Name {
        /// The name, as far as it is text.
        name: String,
    },
    /// A type that is not one of the twelve atomic ones.
    #[error("{name} is a type of the user; only the atomic types of netCDF can be read")]
    UserType {
        /// The type, or the section that defines it.
        name: String,
    },
    /// The length of a dimension.
    #[error("the length of {name} must be a number of 0 to 2^63-1, or UNLIMITED")]
    Length {
        /// The dimension.
        name: String,
    },
    /// There are more values than the variable has elements.
    #[error("{name} has {elements} elements, and no place for the values from here on")]
    TooMany {
        /// The variable.
        name: String,
        /// How many elements fit, here or within these braces.
        elements: u64,
    },
    /// Values lack the braces around the part of an unlimited dimension, or have some without need.
    #[error(
        "{name}: the values along an unlimited dimension that is not the first one are put into braces, and no others"
    )]
    Braces {
        /// The variable.
        name: String,
    },
    /// An attribute with a meaning to netCDF has a value without one.
    #[error("the special attribute {name} must be {expected}")]
    Special {
        /// The attribute.
        name: String,
        /// The values that it may have.
        expected: &'static str,
    },
    /// A limit of this reader.
    #[error("{what}: this reader stops at {limit}")]
    TooLarge {
        /// The things that are too many.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

/// The reason why a dataset, or the data of a variable, cannot be printed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PrintError {
    /// A variable that was asked for is nowhere in the dataset.
    #[error("the dataset has no variable {name}")]
    NoVariable {
        /// The name or path.
        name: String,
    },
    /// A variable names what does not exist, or its shape has more elements than can be counted.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The shape of a variable is too large.
    #[error("the variable {path} has more than 2^64-1 elements")]
    TooLarge {
        /// The variable.
        path: String,
    },
    /// Values of another type came for a variable.
    #[error("the variable {path} is of type {expected}, and was given values of type {found}")]
    DataType {
        /// The variable.
        path: String,
        /// Its type.
        expected: DataType,
        /// The type of the values.
        found: DataType,
    },
    /// More or fewer values came for a variable than it has.
    #[error("the variable {path} has {expected} elements, and was given {found}")]
    Count {
        /// The variable.
        path: String,
        /// How many it has.
        expected: u64,
        /// How many came, or would have come.
        found: u64,
    },
    /// The writer failed.
    #[error("the text cannot be written")]
    Write(#[from] std::io::Error),
}

/// The reason why printing a dataset together with its data ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DumpError<E> {
    /// The dataset or the values cannot be printed.
    #[error(transparent)]
    Print(#[from] PrintError),
    /// The values of a variable cannot be read.
    #[error("the values of {path} cannot be read")]
    Data {
        /// The variable.
        path: String,
        /// The error.
        source: E,
    },
}
