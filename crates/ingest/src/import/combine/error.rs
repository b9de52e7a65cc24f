//! Errors of sources that cannot be combined as requested.

/// The reason why sources cannot be combined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CombineError {
    /// A place for values that is none.
    #[error(
        "{text:?} says no place for values: write pattern:REGEX with one group in parentheses, pattern:air_m{{}}.nc with braces in the place of the value, attribute:NAME or variable:NAME"
    )]
    ValueFrom {
        /// The message.
        text: String,
    },
    /// A pattern that is no regular expression.
    #[error("the pattern {pattern:?} is no regular expression with one group: {problem}")]
    Pattern {
        /// The message.
        pattern: String,
        /// The problem.
        problem: String,
    },
    /// A source has no value along a new dimension.
    #[error("{name} has no value along the new dimension: {reason}")]
    NoValue {
        /// The source.
        name: String,
        /// Why.
        reason: String,
    },
    /// Two sources have one value along a new dimension.
    #[error(
        "{one} and {other} both have the value {value} along {dimension:?}: --concat says along which dimension such files lie behind one another"
    )]
    SameValue {
        /// The new dimension.
        dimension: String,
        /// The value.
        value: String,
        /// A source.
        one: String,
        /// Another one.
        other: String,
    },
    /// A new dimension that is not new.
    #[error(
        "{name} has {path} along {dimension:?} already: put such files behind one another with --concat, or give the new dimension another name"
    )]
    NotNew {
        /// The source.
        name: String,
        /// The array.
        path: icefield_core::NodePath,
        /// The dimension.
        dimension: String,
    },
    /// A name of a dimension that no array can have.
    #[error("{dimension:?} cannot be the name of a new dimension: {problem}")]
    Name {
        /// The name.
        dimension: String,
        /// The rule.
        problem: String,
    },
    /// An array that cannot get another dimension.
    #[error("{path} of {name} cannot get a new dimension: {reason}; leave it out with --drop")]
    NotStacked {
        /// The source.
        name: String,
        /// The array.
        path: icefield_core::NodePath,
        /// Why.
        reason: String,
    },
    /// New elements along one dimension, each of several files along a new one.
    #[error(
        "files that are elements of the new dimension {dimension:?} cannot be put behind what is there along {append:?} one by one: --combine by-coords finds out how they belong together"
    )]
    AppendAcross {
        /// The dimension of the append.
        append: String,
        /// The new dimension.
        dimension: String,
    },
    /// A file of a grid is missing.
    #[error(
        "the files form no grid: with {outer} = {without} there is no {inner} = {value}, and with {outer} = {with} there is; add the file that is missing, or leave the others out"
    )]
    Missing {
        /// The inner dimension.
        inner: String,
        /// The value that is missing.
        value: String,
        /// The outer dimension.
        outer: String,
        /// Where it is missing.
        without: String,
        /// Where it is not.
        with: String,
    },
    /// Cells of a grid without a file.
    #[error(
        "the files form no grid: there is none with {cells}; add what is missing, or leave others out"
    )]
    NoHypercube {
        /// Some of the coordinates that are missing.
        cells: String,
    },
    /// Two files for one cell of a grid.
    #[error("{one} and {other} have the same coordinates: leave one of them out")]
    SameCell {
        /// A file.
        one: String,
        /// Another one.
        other: String,
    },
    /// Nothing tells files apart.
    #[error(
        "the coordinates of the files are all the same, so that nothing says how they belong together: --concat-new gives them a new dimension"
    )]
    NothingDiffers,
    /// A file lacks a coordinate.
    #[error("{name} has no coordinate of {dimension:?} that can be decoded, and other files have")]
    NoCoordinate {
        /// The file.
        name: String,
        /// The dimension.
        dimension: String,
    },
    /// The sources differ in an array that has none of the dimensions along which they lie.
    #[error(
        "{path} differs between {one} and {other}, and has no dimension {dimension:?}: leave it out with --drop"
    )]
    Differs {
        /// The array.
        path: icefield_core::NodePath,
        /// A source.
        one: String,
        /// Another one.
        other: String,
        /// The dimension.
        dimension: String,
    },
}
