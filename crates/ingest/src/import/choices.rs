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

/// The treatment of elements whose coordinate lies within the elements of another source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// The import fails.
    #[default]
    Refuse,
    /// The earlier elements are kept, those of the repository included; the later source adds only the elements behind them.
    First,
    /// The later elements are kept: the earlier source ends where the later one begins. Elements of the repository are not
    /// replaced.
    Last,
}

/// The treatment of numbers that a source stores otherwise than the target it is appended to: packed with another `scale_factor` or
/// `add_offset`, as another type, with another `_FillValue` or `missing_value`. Codecs never matter.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Encoding {
    /// They are stored as the others. The import fails at the first that readers would not find the same.
    #[default]
    Exact,
    /// They are stored as the others. The import fails at the first that readers would find to be farther off than this, in
    /// decoded units.
    Within(f64),
    /// New arrays that some source packs, or that sources store otherwise, store decoded numbers: `float32` or `float64`, as
    /// xarray reads them all, or the wider type of integers that are not packed and of which none is missing.
    Unpacked,
}

/// An array of which numbers were rounded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rounded {
    /// The array, by its path in the sources.
    pub path: icefield_core::NodePath,
    /// How far off the worst of them is, in decoded units.
    pub largest_error: f64,
}

/// The treatment of arrays that some sources lack, or that the repository lacks and a source has behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The import fails.
    #[default]
    Refuse,
    /// Along the dimension, their elements read as missing: as the `_FillValue` or `missing_value` of the array, or NaN. Of
    /// an array that has none of these, the import fails, and so it does of a coordinate. An array without the dimension is
    /// taken from the sources that have it.
    Fill,
}

/// The treatment of attributes that differ between sources, or between a source and the target it is appended to. Those that say
/// how numbers are stored (`scale_factor`, `_FillValue`, units of time) are no matter of choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attributes {
    /// Those of the first source stay, or those that are there. xarray calls this `override`.
    First,
    /// The import fails, of groups, too. xarray calls this `identical`.
    Equal,
    /// Attributes that differ are left out; others are taken from every source that has them. As `drop_conflicts` of xarray.
    DropConflicts,
}

/// An array that a source lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lacking {
    /// The array, by its path in the sources.
    pub path: icefield_core::NodePath,
    /// The source.
    pub source: String,
    /// Whether elements that read as missing stand in for its own; else the array does not have the dimension.
    pub is_filled: bool,
}

/// An attribute of which a source has another value than those before it, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferingAttribute {
    /// The array or group, by its path in the sources.
    pub path: icefield_core::NodePath,
    /// The attribute.
    pub name: String,
    /// The first source that has it otherwise.
    pub source: String,
    /// Whether the value before that source is kept; else the attribute is left out.
    pub is_kept: bool,
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

/// How the sources of an import belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Combine {
    /// As the dimensions of [`Import::concat`](crate::Import::concat), [`Import::append`](crate::Import::append) and
    /// [`Import::stack`](crate::Import::stack) say.
    #[default]
    Nested,
    /// As the values of their coordinates say, along all dimensions in which they differ: the sources are the cells of a
    /// grid, and none may be missing.
    ByCoordinates,
}
