//! Where a dimension is cut: an index, a value of its coordinate, or a time.

use std::fmt;
use std::str::FromStr;

use icefield_core::NodePath;

use super::SliceError;
use super::axis::Coordinate;

/// A place along a dimension.
///
/// Text with digits alone is an index, text with a decimal point or an exponent a value, and text that begins with a year and
/// a month a time: `3`, `-1`, `45.0`, `1e3`, `2015-02`, `2015-02-16T12:00`.
///
/// ```
/// use icefield_ingest::Position;
///
/// # fn main() -> Result<(), icefield_ingest::PositionError> {
/// assert_eq!("-1".parse::<Position>()?, Position::Index(-1));
/// assert_eq!("45.0".parse::<Position>()?, Position::Value(45.0));
/// assert_eq!("2015-02".parse::<Position>()?, Position::Time("2015-02".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Position {
    /// An index; a negative one counts from the end.
    Index(i64),
    /// A value of the coordinate: the nearest element.
    Value(f64),
    /// A time of the coordinate, in its calendar: the first element within the month, day or minute, or the nearest one.
    Time(String),
}

/// The text is no position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is neither an index such as 3, nor a value such as 45.0, nor a time such as 2015-02 or 2015-02-16T12:00"
)]
pub struct PositionError {
    text: String,
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        if let Ok(index) = text.parse() {
            return Ok(Self::Index(index));
        }
        if let Some(value) = text.parse().ok().filter(|it: &f64| it.is_finite()) {
            return Ok(Self::Value(value));
        }
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let year = digits.find(|c: char| !c.is_ascii_digit());
        match year {
            Some(year) if year > 0 && digits[year..].starts_with('-') => {
                Ok(Self::Time(text.to_owned()))
            }
            _ => Err(PositionError {
                text: text.to_owned(),
            }),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            // With a decimal point, so that the text is no index.
            Self::Value(value) => write!(f, "{value:?}"),
            Self::Time(text) => f.write_str(text),
        }
    }
}

impl Position {
    /// Returns the element at the position.
    ///
    /// # Errors
    /// [`SliceError::OutOfRange`], [`SliceError::Outside`], [`SliceError::NoLabels`], [`SliceError::BadTime`].
    pub(super) async fn resolve(
        &self,
        path: &NodePath,
        name: &str,
        length: u64,
        coordinate: &Result<Coordinate<'_>, String>,
    ) -> Result<u64, SliceError> {
        if let Self::Index(index) = self {
            let found = match u64::try_from(*index) {
                Ok(index) => Some(index),
                Err(_) => length.checked_sub(index.unsigned_abs()),
            };
            let found = found.filter(|found| *found < length);
            return found.ok_or_else(|| SliceError::OutOfRange {
                path: path.to_string(),
                name: name.to_owned(),
                index: *index,
                length,
            });
        }
        let no_labels = |problem: String| SliceError::NoLabels {
            path: path.to_string(),
            name: name.to_owned(),
            wanted: self.to_string(),
            problem,
        };
        let coordinate = coordinate.as_ref().map_err(|it| no_labels(it.clone()))?;
        let labels = coordinate
            .whole()
            .await?
            .ok_or_else(|| no_labels("its coordinate is too long to be searched".to_owned()))?;
        let found = match self {
            Self::Time(text) => {
                let units = coordinate.times().map_err(no_labels)?;
                let period = units.period(text);
                let period = period.map_err(|error| SliceError::BadTime {
                    path: path.to_string(),
                    name: name.to_owned(),
                    wanted: text.clone(),
                    problem: error.to_string(),
                })?;
                let moments = labels.iter().map(|label| units.moment(*label));
                let moments: Vec<Option<i128>> = moments.collect();
                let within = |it: &Option<i128>| it.is_some_and(|it| period.contains(&it));
                let numbers = moments.iter().map(|it| it.map(|it| it as f64));
                let first = moments.iter().position(within);
                first.or_else(|| nearest(period.start as f64, numbers.collect()))
            }
            Self::Value(value) => {
                let numbers = labels.iter().map(|it| it.is_finite().then_some(*it));
                nearest(*value, numbers.collect())
            }
            Self::Index(_) => None,
        };
        found.map(|found| found as u64).ok_or_else(|| {
            let (first, last) = coordinate.ends(&labels);
            SliceError::Outside {
                path: path.to_string(),
                name: name.to_owned(),
                wanted: self.to_string(),
                first,
                last,
            }
        })
    }
}

/// The number nearest to a wanted one; `None` if that lies beyond all of them by more than the step between the two at that end. One
/// number is the nearest to all.
fn nearest(wanted: f64, numbers: Vec<Option<f64>>) -> Option<usize> {
    let mut known: Vec<f64> = numbers.iter().flatten().copied().collect();
    known.sort_unstable_by(f64::total_cmp);
    known.dedup();
    if let ([low, second, ..], [.., last, high]) = (&known[..], &known[..])
        && (wanted < low - (second - low) || wanted > high + (high - last))
    {
        return None;
    }
    let distances = numbers.iter().enumerate();
    let distances = distances.filter_map(|(at, number)| Some((at, ((*number)? - wanted).abs())));
    let least = distances.min_by(|(_, one), (_, other)| one.total_cmp(other));
    least.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_told_apart_by_their_text() {
        for (text, position) in [
            ("3", Position::Index(3)),
            ("-1", Position::Index(-1)),
            ("2015", Position::Index(2015)),
            ("45.0", Position::Value(45.0)),
            ("-1e3", Position::Value(-1000.0)),
            ("2015-02", Position::Time("2015-02".to_owned())),
            ("-44-03-15", Position::Time("-44-03-15".to_owned())),
        ] {
            assert_eq!(text.parse(), Ok(position), "{text}");
        }
        for text in ["", "x", "nan", "inf", "-", "1:2", "february", "--1"] {
            assert!(text.parse::<Position>().is_err(), "{text}");
        }
        assert_eq!(Position::Value(45.0).to_string(), "45.0");
    }

    #[test]
    fn the_nearest_number_is_found_where_the_axis_reaches() {
        let axis = || vec![Some(10.0), None, Some(20.0), Some(30.0)];
        assert_eq!(nearest(24.0, axis()), Some(2));
        assert_eq!(nearest(39.0, axis()), Some(3));
        assert_eq!(nearest(41.0, axis()), None);
        assert_eq!(nearest(-1.0, axis()), None);
        assert_eq!(nearest(5.0, vec![Some(5.0)]), Some(0));
        assert_eq!(nearest(5.0, vec![Some(6.0)]), Some(0));
        // The steps of depths grow; those near the surface are short.
        let depths = || vec![Some(0.5), Some(1.5), Some(10.0), Some(200.0)];
        assert_eq!(nearest(-150.0, depths()), None);
        assert_eq!(nearest(-0.25, depths()), Some(0));
        assert_eq!(nearest(300.0, depths()), Some(3));
        assert_eq!(nearest(5.0, vec![None]), None);
    }
}
