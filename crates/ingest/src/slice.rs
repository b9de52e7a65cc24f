//! A part of an array with one or two dimensions, decoded by the CF conventions, for pictures of it.
//!
//! ```text
//! tos (time, y, x)     --at time=2015-02     fixed   time = element 1
//!                                            axes    y, x     every element, or every nth of a long dimension
//! ```
//!
//! Only chunks with chosen elements are read, a few at a time, so that memory grows with the picture and not with the array.

mod attribute;
mod axis;
mod error;
mod position;
mod read;
mod spread;

use icefield_core::{ArrayMetadata, NodePath, Session};

use crate::Progress;
use crate::netcdf::{NetcdfError, document_of};

pub use axis::{SliceAxis, SliceCoordinate};
pub use error::SliceError;
pub use position::{Position, PositionError};

use attribute::text;
use axis::Coordinate;
use read::NumberReader;
use spread::Spread;

/// The largest numbers of elements of a slice. A longer dimension is thinned to every nth element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceBounds {
    /// The number of elements along the first of two dimensions.
    pub rows: usize,
    /// The number of elements along the second of two dimensions.
    pub columns: usize,
    /// The number of elements along the only dimension.
    pub line: usize,
}

/// The numbers of an array along one or two of its dimensions.
#[derive(Clone, Debug)]
pub struct ArraySlice {
    /// The number of elements of each dimension of the array.
    pub shape: Vec<u64>,
    /// The attribute `units`.
    pub units: Option<String>,
    /// The attribute `long_name`, or `standard_name`.
    pub long_name: Option<String>,
    /// The dimensions of the slice, the last one fastest.
    pub axes: Vec<SliceAxis>,
    /// The other dimensions, each with the position at which it is fixed.
    pub fixed: Vec<FixedDimension>,
    /// The decoded numbers; NaN where one is missing.
    pub numbers: Vec<f64>,
    /// The number of chunks that were read, without those of coordinates.
    pub chunks: u64,
}

/// A dimension of which a slice has one element.
#[derive(Clone, Debug, PartialEq)]
pub struct FixedDimension {
    /// The name of the dimension, or its number if it has none.
    pub name: String,
    /// The index of the element.
    pub index: u64,
    /// The number of elements of the dimension.
    pub length: u64,
    /// Whether no position was given, so that it is the first element.
    pub is_default: bool,
    /// The value or time of the element in the coordinate.
    pub label: Option<String>,
}

impl FixedDimension {
    /// Names the element by its label; by its index if it has none.
    fn place(&self) -> String {
        match &self.label {
            Some(label) => format!("{} = {label}", self.name),
            None => format!("{} = {}", self.name, self.index),
        }
    }
}

/// Reads a slice of an array.
///
/// `at` gives positions of dimensions by their names, or by their numbers from 0. The last two of the other dimensions are the
/// axes of the slice; those before them are fixed at their first elements. Numbers are decoded as for [`statistics`].
///
/// [`statistics`]: crate::statistics()
///
/// # Errors
/// [`SliceError`]; a chunk that is referred to and missing is an error, not a fill value.
pub async fn slice(
    session: &Session,
    path: &NodePath,
    at: &[(String, Position)],
    bounds: SliceBounds,
    progress: &dyn Progress,
) -> Result<ArraySlice, SliceError> {
    let array = session.array(path).map_err(NetcdfError::from)?;
    let document = document_of(session, path)?;
    let reader = NumberReader::new(session, path, &array, &document)?;
    let names = names(&array);
    let positions = positions(path, at, &names)?;
    if let Some(empty) = array.shape.iter().position(|length| *length == 0) {
        return Err(SliceError::Empty {
            path: path.to_string(),
            name: names[empty].clone(),
        });
    }
    let free: Vec<usize> = (0..array.rank())
        .filter(|dimension| positions[*dimension].is_none())
        .collect();
    let axes = &free[free.len().saturating_sub(2)..];
    let most = match axes {
        [] => {
            return Err(SliceError::NoAxis {
                path: path.to_string(),
                rank: array.rank(),
            });
        }
        [_] => vec![bounds.line],
        _ => vec![bounds.rows, bounds.columns],
    };
    let mut spreads = Vec::with_capacity(array.rank());
    let mut fixed = Vec::new();
    for (dimension, name) in names.iter().enumerate() {
        let length = array.shape[dimension];
        if let Some(axis) = axes.iter().position(|it| *it == dimension) {
            spreads.push(Spread::within(length, most[axis]));
            continue;
        }
        let coordinate = Coordinate::find(session, path, name, length)?;
        let position = positions[dimension];
        let index = match position {
            Some(position) => position.resolve(path, name, length, &coordinate).await?,
            None => 0,
        };
        let label = match &coordinate {
            Ok(coordinate) => coordinate.label(index).await?,
            Err(_) => None,
        };
        fixed.push(FixedDimension {
            name: name.clone(),
            index,
            length,
            is_default: position.is_none(),
            label,
        });
        spreads.push(Spread::one(index));
    }
    let (numbers, chunks) = reader.read(&spreads, progress).await?;
    let mut read_axes = Vec::with_capacity(axes.len());
    for dimension in axes {
        let (name, spread) = (&names[*dimension], spreads[*dimension]);
        read_axes
            .push(SliceAxis::read(session, path, name, array.shape[*dimension], spread).await?);
    }
    let attribute = |name: &str| text(&document, name);
    Ok(ArraySlice {
        units: attribute("units"),
        long_name: attribute("long_name").or_else(|| attribute("standard_name")),
        axes: read_axes,
        fixed,
        numbers,
        chunks,
        shape: array.shape,
    })
}

impl ArraySlice {
    /// Subtracts the numbers of another slice of the same places and times. A number that either slice lacks is missing.
    ///
    /// # Errors
    /// [`SliceError::Unlike`]
    pub fn minus(mut self, other: &Self) -> Result<Self, SliceError> {
        let unlike = |ours: String, theirs: String| SliceError::Unlike { ours, theirs };
        let lengths = |slice: &Self| -> Vec<String> {
            let axes = slice.axes.iter();
            axes.map(|axis| format!("{} = {}", axis.name, axis.length))
                .collect()
        };
        let (ours, theirs) = (lengths(&self), lengths(other));
        if ours != theirs {
            return Err(unlike(ours.join(", "), theirs.join(", ")));
        }
        if self.units != other.units {
            let units = |slice: &Self| match &slice.units {
                Some(units) => format!("the units {units}"),
                None => "no units".to_owned(),
            };
            return Err(unlike(units(&self), units(other)));
        }
        if self.fixed.len() != other.fixed.len() {
            let shape = |slice: &Self| format!("the shape {:?}", slice.shape);
            return Err(unlike(shape(&self), shape(other)));
        }
        for (ours, theirs) in self.fixed.iter().zip(&other.fixed) {
            if ours.place() != theirs.place() {
                return Err(unlike(ours.place(), theirs.place()));
            }
        }
        for (ours, theirs) in self.axes.iter().zip(&other.axes) {
            if let Some((ours, theirs)) = ours.first_difference(theirs) {
                return Err(unlike(ours, theirs));
            }
        }
        for (ours, theirs) in self.numbers.iter_mut().zip(&other.numbers) {
            *ours -= theirs;
        }
        self.chunks += other.chunks;
        Ok(self)
    }
}

/// The name of each dimension; its number if it has none.
fn names(array: &ArrayMetadata) -> Vec<String> {
    let names = array.dimension_names.as_deref().unwrap_or_default();
    let name = |at: usize| match names.get(at) {
        Some(Some(name)) => name.clone(),
        _ => at.to_string(),
    };
    (0..array.rank()).map(name).collect()
}

/// The position of each dimension that has one.
fn positions<'a>(
    path: &NodePath,
    at: &'a [(String, Position)],
    names: &[String],
) -> Result<Vec<Option<&'a Position>>, SliceError> {
    let mut positions = vec![None; names.len()];
    for (wanted, position) in at {
        let named = names.iter().position(|name| name == wanted);
        let counted = || wanted.parse().ok().filter(|at| *at < names.len());
        let Some(dimension) = named.or_else(counted) else {
            return Err(SliceError::NoDimension {
                path: path.to_string(),
                name: wanted.clone(),
                known: match names {
                    [] => "none".to_owned(),
                    names => names.join(", "),
                },
            });
        };
        if positions[dimension].replace(position).is_some() {
            return Err(SliceError::Twice {
                path: path.to_string(),
                name: names[dimension].clone(),
            });
        }
    }
    Ok(positions)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of three numbers along an axis with these values, at one element of the dimension `time`.
    fn line(values: [f64; 3], time: &str, units: &str) -> ArraySlice {
        ArraySlice {
            units: Some(units.to_owned()),
            long_name: None,
            axes: vec![SliceAxis {
                name: "x".to_owned(),
                length: 3,
                step: 1,
                count: 3,
                coordinate: Some(SliceCoordinate {
                    values: values.to_vec(),
                    times: Vec::new(),
                    units: None,
                    is_downward: false,
                }),
            }],
            fixed: vec![FixedDimension {
                name: "time".to_owned(),
                index: 0,
                length: 1,
                is_default: false,
                label: Some(time.to_owned()),
            }],
            numbers: vec![1.0, 2.0, f64::NAN],
            chunks: 1,
            shape: vec![1, 3],
        }
    }

    #[test]
    fn only_slices_of_the_same_places_and_times_are_subtracted() {
        let values = [10.0, 20.0, 30.0];
        let one = || line(values, "2015-01-16", "m");
        let found = one().minus(&one()).unwrap();
        assert_eq!(found.numbers[..2], [0.0, 0.0]);
        assert!(found.numbers[2].is_nan());
        let mut flat = one();
        flat.fixed.clear();
        flat.shape = vec![3];
        for (other, ours, theirs) in [
            (flat, "the shape [1, 3]", "the shape [3]"),
            (
                line(values, "2015-03-16", "m"),
                "time = 2015-01-16",
                "time = 2015-03-16",
            ),
            (
                line([10.0, 25.0, 30.0], "2015-01-16", "m"),
                "x = 20",
                "x = 25",
            ),
            (
                line(values, "2015-01-16", "km"),
                "the units m",
                "the units km",
            ),
        ] {
            let refused = one().minus(&other).unwrap_err().to_string();
            let expected = format!("one has {ours}, the other {theirs}");
            assert!(refused.contains(&expected), "{refused}");
        }
    }
}
