//! How several sources become one.

/// The order in which sources are put behind one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// As they were given.
    #[default]
    Given,
    /// By what messages call them.
    Name,
    /// By the first value of the coordinate, as it rises, or falls if it does so within the sources. Times in
    /// different units are compared as such.
    Coordinate,
}

/// What becomes of elements whose coordinate lies within the elements of another source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// The import fails.
    #[default]
    Refuse,
    /// What comes first is kept, also what is there already; the later source gives only what lies behind.
    First,
    /// What comes last is kept: the earlier source ends where the later one begins. What is there already is not
    /// replaced.
    Last,
}

/// A step of the coordinate from one source to the next that is more than one and a half times the longest step
/// within the two; of sources of one element each, the median of all steps between sources.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The coordinate in the sources.
    pub path: icefield_core::NodePath,
    /// The source before it.
    pub before: String,
    /// The source after it.
    pub after: String,
    /// The last value before it, in the units of the result.
    pub from: String,
    /// The first value after it.
    pub to: String,
    /// The units.
    pub units: Option<String>,
}
