//! Choices of an import that combines several sources.

/// The order in which sources are put behind one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// The order in which they were given.
    #[default]
    Given,
    /// By their names in messages.
    Name,
    /// By the first value of the coordinate, as it rises, or falls if it does so within the sources. Times in
    /// different units are compared as such.
    Coordinate,
}

/// The treatment of elements whose coordinate lies within the elements of another source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// The import fails at the first overlap.
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
    /// The numbers are stored as in the target. The import fails at the first number that readers would not find
    /// unchanged.
    #[default]
    Exact,
    /// The numbers are stored as in the target. The import fails at the first number that readers would find to be
    /// farther off than this, in decoded units.
    Within(f64),
    /// New arrays that some source packs, or that sources store otherwise, store decoded numbers: `float32` or `float64`, as
    /// xarray reads them all, or the wider type of integers that are not packed and of which none is missing.
    Unpacked,
}

/// An array of which numbers were rounded.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rounded {
    /// The path of the array in the sources.
    pub path: icefield_core::NodePath,
    /// The largest difference between a number and its rounded value, in decoded units.
    pub largest_error: f64,
}

/// The treatment of arrays that some sources lack, or that the repository lacks and a source has behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// The import fails at the first array that a source lacks.
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
    /// The attributes of the first source stay, or those in the repository. xarray calls this `override`.
    First,
    /// The import fails at the first difference, also between groups. xarray calls this `identical`.
    Equal,
    /// Attributes that differ are left out; others are taken from every source that has them. As `drop_conflicts` of xarray.
    DropConflicts,
}

/// An array that a source lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Lacking {
    /// The path of the array in the sources.
    pub path: icefield_core::NodePath,
    /// The name of the source that lacks it.
    pub source: String,
    /// Whether elements that read as missing are added. Otherwise the array does not have the dimension.
    pub is_filled: bool,
}

/// An attribute of which a source has another value than those before it, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DifferingAttribute {
    /// The path of the array or group in the sources.
    pub path: icefield_core::NodePath,
    /// The name of the attribute.
    pub name: String,
    /// The name of the first source with another value.
    pub source: String,
    /// Whether the value of the sources before that one is kept. Otherwise the attribute is left out.
    pub is_kept: bool,
}

/// A step of a coordinate from one source to the next that is more than one and a half times the longest step within
/// the two; for sources of one element each, the median of all steps between sources counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The path of the coordinate in the sources.
    pub path: icefield_core::NodePath,
    /// The name of the source before the gap.
    pub before: String,
    /// The name of the source after the gap.
    pub after: String,
    /// The last value before the gap, in the units of the result.
    pub from: String,
    /// The first value after the gap, in the units of the result.
    pub to: String,
    /// The units.
    pub units: Option<String>,
}

/// The relation of the sources of an import to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Combine {
    /// As the dimensions of [`Import::concat`](crate::Import::concat), [`Import::append`](crate::Import::append) and
    /// [`Import::stack`](crate::Import::stack) say.
    #[default]
    Nested,
    /// By the values of their coordinates, along all dimensions in which they differ: the sources are the cells of a
    /// grid, and none may be missing.
    ByCoordinates,
}
