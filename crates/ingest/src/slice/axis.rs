//! The coordinates of dimensions.

use icefield_core::{ArrayMetadata, NodeKind, NodePath, Session};
use serde_json::Value;

use super::SliceError;
use super::attribute::text;
use super::read::NumberReader;
use super::spread::Spread;
use crate::cf::TimeUnits;
use crate::netcdf::{NetcdfError, document_of};

/// Longest coordinate in which a value or a time is searched.
const SEARCHED: u64 = 1 << 22;

/// A dimension of a slice.
#[derive(Clone, Debug)]
pub struct SliceAxis {
    /// The name of the dimension, or its number if it has none.
    pub name: String,
    /// The number of elements of the dimension.
    pub length: u64,
    /// The distance between two elements of the slice.
    pub step: u64,
    /// The number of elements of the slice along the dimension.
    pub count: usize,
    /// The array of numbers with the name of the dimension, in the array's group or one above it.
    pub coordinate: Option<SliceCoordinate>,
}

/// The coordinate of a dimension.
#[derive(Clone, Debug)]
pub struct SliceCoordinate {
    /// The decoded number of each element of the slice; NaN where one is missing.
    pub values: Vec<f64>,
    /// The date and time of each element of the slice; empty if the numbers are no times. A time that the calendar lacks is an
    /// empty text.
    pub times: Vec<String>,
    /// The attribute `units`.
    pub units: Option<String>,
    /// Whether greater numbers lie below lesser ones, as depths do: the attribute `positive` is `down`.
    pub is_downward: bool,
}

impl SliceAxis {
    pub(super) async fn read(
        session: &Session,
        path: &NodePath,
        name: &str,
        length: u64,
        spread: Spread,
    ) -> Result<Self, SliceError> {
        let coordinate = match Coordinate::find(session, path, name, length)? {
            Ok(coordinate) => Some(coordinate.read(spread).await?),
            Err(_) => None,
        };
        Ok(Self {
            name: name.to_owned(),
            length,
            step: spread.step,
            count: spread.count,
            coordinate,
        })
    }
}

impl SliceAxis {
    /// Names the first element that has another value or time in a version of the same axis, as it is in each.
    pub(super) fn first_difference(&self, other: &Self) -> Option<(String, String)> {
        let (ours, theirs) = (self.coordinate.as_ref()?, other.coordinate.as_ref()?);
        let is_equal = |one: f64, other: f64| one == other || (one.is_nan() && other.is_nan());
        let named = |coordinate: &SliceCoordinate, at: usize| {
            let time = coordinate.times.get(at).map(ToString::to_string);
            let value = || coordinate.values.get(at).map(ToString::to_string);
            let label = time.or_else(value).unwrap_or_else(|| "no value".to_owned());
            format!("{} = {label}", self.name)
        };
        let at = (0..self.count).find(|at| {
            let values = ours.values.get(*at).zip(theirs.values.get(*at));
            let is_value = values.is_none_or(|(one, other)| is_equal(*one, *other));
            // Equal numbers of other units are other times.
            let is_time = ours.times.get(*at) == theirs.times.get(*at);
            match ours.times.is_empty() && theirs.times.is_empty() {
                true => !is_value,
                false => !is_time,
            }
        })?;
        Some((named(ours, at), named(theirs, at)))
    }
}

/// A coordinate that is not read yet.
#[derive(Debug)]
pub(super) struct Coordinate<'a> {
    session: &'a Session,
    path: NodePath,
    array: ArrayMetadata,
    document: Value,
}

impl<'a> Coordinate<'a> {
    /// Finds the array with the name of a dimension, in the group of an array or the nearest one above it. The inner error is
    /// the reason why the dimension has no coordinate.
    ///
    /// # Errors
    /// [`SliceError::Read`] if metadata cannot be read.
    pub(super) fn find(
        session: &'a Session,
        of: &NodePath,
        name: &str,
        length: u64,
    ) -> Result<Result<Self, String>, SliceError> {
        let mut group = of.parent();
        while let Some(at) = group {
            group = at.parent();
            let Ok(path) = at.join(name) else {
                break;
            };
            let kind = session.node_kind(&path).map_err(NetcdfError::from)?;
            if kind != Some(NodeKind::Array) {
                continue;
            }
            let array = session.array(&path).map_err(NetcdfError::from)?;
            if array.shape != [length] {
                return Ok(Err(format!("{path} does not have its shape")));
            }
            let document = document_of(session, &path)?;
            let coordinate = Self {
                session,
                path,
                array,
                document,
            };
            let readable = coordinate.reader().map(drop);
            return Ok(match readable {
                Ok(()) => Ok(coordinate),
                Err(error) => Err(error.to_string()),
            });
        }
        Ok(Err("no array has its name".to_owned()))
    }

    fn reader(&self) -> Result<NumberReader<'_>, SliceError> {
        NumberReader::new(self.session, &self.path, &self.array, &self.document)
    }

    async fn numbers(&self, spread: Spread) -> Result<Vec<f64>, SliceError> {
        let (numbers, _) = self.reader()?.read(&[spread], &()).await?;
        Ok(numbers)
    }

    async fn read(self, spread: Spread) -> Result<SliceCoordinate, SliceError> {
        let values = self.numbers(spread).await?;
        let times = match self.times() {
            Ok(units) => {
                let times = values.iter().map(|it| units.date(*it).unwrap_or_default());
                times.collect()
            }
            Err(_) => Vec::new(),
        };
        Ok(SliceCoordinate {
            values,
            times,
            units: text(&self.document, "units"),
            is_downward: self.document["attributes"]["positive"] == "down",
        })
    }

    /// Returns all numbers; `None` if there are too many.
    pub(super) async fn whole(&self) -> Result<Option<Vec<f64>>, SliceError> {
        let length = self.array.shape[0];
        if length > SEARCHED {
            return Ok(None);
        }
        let all = Spread::within(length, length as usize);
        Ok(Some(self.numbers(all).await?))
    }

    /// Returns the units of times, or the reason why the numbers are no times.
    pub(super) fn times(&self) -> Result<TimeUnits, String> {
        match TimeUnits::of(&self.document["attributes"]) {
            Some(Ok(units)) => Ok(units),
            Some(Err(error)) => Err(error.to_string()),
            None => Err("its coordinate has no units of time".to_owned()),
        }
    }

    /// Returns the label of one element; `None` if it is missing.
    pub(super) async fn label(&self, index: u64) -> Result<Option<String>, SliceError> {
        let numbers = self.numbers(Spread::one(index)).await?;
        let number = numbers.first().copied().filter(|it| it.is_finite());
        Ok(number.map(|number| {
            let units = text(&self.document, "units").unwrap_or_default();
            let dated = self.times().ok().and_then(|times| times.date(number));
            dated.unwrap_or_else(|| {
                format!("{} {units}", self.shown(number))
                    .trim_end()
                    .to_owned()
            })
        }))
    }

    /// Returns the shortest text of a number that tells it from its neighbours in the type of the elements.
    fn shown(&self, number: f64) -> String {
        let single = number as f32;
        match self.document["data_type"] == "float32" && f64::from(single) == number {
            true => single.to_string(),
            false => number.to_string(),
        }
    }

    /// Returns the least and the greatest of some numbers, as labels.
    pub(super) fn ends(&self, numbers: &[f64]) -> (String, String) {
        let finite = || numbers.iter().copied().filter(|it| it.is_finite());
        let times = self.times().ok();
        let label = |number: f64| {
            let dated = times.as_ref().and_then(|times| times.date(number));
            dated.unwrap_or_else(|| self.shown(number))
        };
        (
            label(finite().fold(f64::INFINITY, f64::min)),
            label(finite().fold(f64::NEG_INFINITY, f64::max)),
        )
    }
}
