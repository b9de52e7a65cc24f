//! Where the labels of a window begin and end, and how something that is said of that follows them.

use icefield_core::Session;

use super::calendar::{Calendar, Moment, SECOND};
use super::iso;
use super::names::{Part, is_of_time};
use super::statement::{FoundValue, Statement};
use crate::RollingError;
use crate::blocks::Blocks;
use crate::dimension::Dimension;
use crate::labels::{self, Axis, Numbers};

/// The scale on which numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Moments. What is said may be counted in another way than the labels.
    Time(Calendar),
    /// The numbers of the labels themselves.
    Plain,
}

/// A place on the scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ScalePoint {
    Moment(Moment),
    Number(f64),
}

impl ScalePoint {
    fn minus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Moment(a), Self::Moment(b)) => a.checked_sub(b).map(Self::Moment),
            (Self::Number(a), Self::Number(b)) => Some(Self::Number(a - b)),
            _ => None,
        }
    }

    fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Moment(a), Self::Moment(b)) => a.checked_add(b).map(Self::Moment),
            (Self::Number(a), Self::Number(b)) => Some(Self::Number(a + b)),
            _ => None,
        }
    }

    fn length(self) -> f64 {
        match self {
            Self::Moment(length) => length.unsigned_abs() as f64,
            Self::Number(length) => length.abs(),
        }
    }
}

/// One end of a window, or its length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Side {
    label: ScalePoint,
    /// The two ends of the label's cell.
    cell: Option<[ScalePoint; 2]>,
    /// From a label to the next, where that is the same everywhere.
    step: Option<ScalePoint>,
}

/// The two ends of a window, the lower one first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ruler {
    low: Side,
    high: Side,
}

impl Scale {
    /// In what something can be compared with labels; the error says why not.
    pub(super) fn of(
        axis: &Axis<'_>,
        statement: &Statement,
        found: &FoundValue,
    ) -> Result<Self, String> {
        let labels = Calendar::of(&axis.member.json)
            .map_err(|why| format!("{} cannot be shown as dates, since {why}", axis.member.path));
        let own = statement.document.as_ref().filter(|document| {
            let units = |value: &serde_json::Value| value.get("attributes")?.get("units").cloned();
            units(document).is_some() || document["data_type"].is_object()
        });
        let of = |document: &serde_json::Value, name: &str| {
            document
                .get("attributes")
                .and_then(|all| all.get(name))
                .cloned()
        };
        let is_counted_alike = own.is_none_or(|own| {
            ["units", "calendar"]
                .iter()
                .all(|name| of(own, name) == of(&axis.member.json, name))
        });
        match (labels, found) {
            (_, FoundValue::Other(_)) => Err("it is neither a text nor a number".to_owned()),
            (Ok(_), _) => match own {
                Some(own) => Calendar::of(own).map(Self::Time),
                None => Calendar::of(&axis.member.json).map(Self::Time),
            },
            (Err(_), FoundValue::Whole(_) | FoundValue::Float(_))
                if is_counted_alike && (!is_of_time(statement.name) || axis.is_since()) =>
            {
                Ok(Self::Plain)
            }
            (Err(why), _) => Err(why),
        }
    }

    fn place(self, said: &FoundValue, part: Part) -> Option<ScalePoint> {
        match (self, said) {
            (Self::Time(_), FoundValue::Text(text)) if part == Part::Duration => {
                iso::parse_duration(text).map(ScalePoint::Moment)
            }
            (_, FoundValue::Text(_)) if part == Part::Duration => None,
            (Self::Time(_), FoundValue::Text(text)) => {
                iso::parse(text).map(|(moment, _)| ScalePoint::Moment(moment))
            }
            (Self::Time(calendar), FoundValue::Whole(number)) => {
                calendar.of_whole(*number).map(ScalePoint::Moment)
            }
            (Self::Time(calendar), FoundValue::Float(number)) => {
                calendar.of_float(*number).map(ScalePoint::Moment)
            }
            (Self::Plain, FoundValue::Whole(number)) => Some(ScalePoint::Number(*number as f64)),
            (Self::Plain, FoundValue::Float(number)) => Some(ScalePoint::Number(*number)),
            _ => None,
        }
    }

    /// The value that describes a window in place of the value for another one; `None` if that did not follow from its labels.
    pub(super) fn next(
        self,
        said: &FoundValue,
        part: Part,
        before: Ruler,
        after: Ruler,
    ) -> Option<FoundValue> {
        let place = self.place(said, part)?;
        let next = followed(place, before.side(part)?, after.side(part)?)?;
        match (self, said, next) {
            (_, FoundValue::Text(_), ScalePoint::Moment(length)) if part == Part::Duration => {
                match next == place {
                    true => Some(said.clone()),
                    false => iso::write_duration(length).map(FoundValue::Text),
                }
            }
            (_, FoundValue::Text(text), ScalePoint::Moment(moment)) => {
                let (_, style) = iso::parse(text)?;
                style.write(moment).map(FoundValue::Text)
            }
            (Self::Time(calendar), FoundValue::Whole(_), ScalePoint::Moment(moment)) => {
                match calendar.number(moment) {
                    (number, 0) => Some(FoundValue::Whole(number)),
                    _ => Some(FoundValue::Float(calendar.float(moment))),
                }
            }
            (Self::Time(calendar), FoundValue::Float(_), ScalePoint::Moment(moment)) => {
                Some(FoundValue::Float(calendar.float(moment)))
            }
            (Self::Plain, FoundValue::Whole(_), ScalePoint::Number(number)) => {
                match number.fract() == 0.0 && number.abs() < 9e15 {
                    true => Some(FoundValue::Whole(number as i128)),
                    false => Some(FoundValue::Float(number)),
                }
            }
            (Self::Plain, FoundValue::Float(_), ScalePoint::Number(number)) => {
                Some(FoundValue::Float(number))
            }
            _ => None,
        }
    }
}

/// The place that stands to one side as a place stood to another.
fn followed(place: ScalePoint, before: Side, after: Side) -> Option<ScalePoint> {
    // Texts leave out parts of seconds, and a day may end at its last second.
    let slack = match (place, before.step) {
        (ScalePoint::Moment(_), _) => SECOND as f64,
        (ScalePoint::Number(_), Some(step)) => step.length() * 1e-6,
        (ScalePoint::Number(_), None) => 0.0,
    };
    let is_near = |other: ScalePoint, most: f64| {
        let apart = place.minus(other);
        apart.filter(|apart| apart.length() <= most)
    };
    if let Some(apart) = is_near(before.label, slack) {
        return after.label.plus(apart);
    }
    if let (Some(before), Some(after)) = (before.cell, after.cell) {
        for (before, after) in before.into_iter().zip(after) {
            if let Some(apart) = is_near(before, slack) {
                return after.plus(apart);
            }
        }
    }
    let (step, other) = (before.step?, after.step?);
    let same = step.minus(other)?.length() <= step.length() * 1e-6;
    let apart = is_near(before.label, step.length()).filter(|_| same)?;
    after.label.plus(apart)
}

impl Ruler {
    /// Reads the labels of a window, and the cells of the first and the last; `None` if they have no place on the scale.
    pub(super) async fn read(
        session: &Session,
        dimension: &Dimension,
        axis: &Axis<'_>,
        scale: Scale,
    ) -> Result<Option<Self>, RollingError> {
        let hidden = dimension.window.hidden();
        let blocks = Blocks::of(axis.member)?;
        let all = blocks.read_all(session, &axis.member.array).await?;
        let shown = axis.shown(&all, hidden);
        let calendar = match scale {
            Scale::Time(_) => Calendar::of(&axis.member.json).ok(),
            Scale::Plain => None,
        };
        let bounds = match labels::bounds_of_axis(dimension, axis) {
            Some(bounds) => {
                let all = Blocks::of(bounds)?.read_all(session, &bounds.array).await?;
                labels::numbers_of(bounds, &all)
            }
            None => None,
        };
        let place = |numbers: &Numbers, at: usize| match (numbers, calendar) {
            (Numbers::Whole(all), Some(calendar)) => {
                calendar.of_whole(*all.get(at)?).map(ScalePoint::Moment)
            }
            (Numbers::Float(all), Some(calendar)) => {
                calendar.of_float(*all.get(at)?).map(ScalePoint::Moment)
            }
            (numbers, None) => numbers.as_float(at).map(ScalePoint::Number),
        };
        let hidden = usize::try_from(hidden).unwrap_or(usize::MAX);
        let step = shown.is_regular().then(|| {
            let (first, second) = (place(&shown, 0)?, place(&shown, 1)?);
            second.minus(first)
        });
        let side = |at: usize| {
            let label = place(&shown, at)?;
            let cell = bounds.as_ref().and_then(|bounds| {
                let at = hidden.checked_add(at)?.checked_mul(2)?;
                let (a, b) = (place(bounds, at)?, place(bounds, at + 1)?);
                let cell = match signed(b.minus(a)?) >= 0.0 {
                    true => [a, b],
                    false => [b, a],
                };
                // Bounds that were never written make no cell.
                let around =
                    signed(label.minus(cell[0])?) >= 0.0 && signed(cell[1].minus(label)?) >= 0.0;
                around.then_some(cell)
            });
            Some(Side {
                label,
                cell,
                step: step.flatten(),
            })
        };
        let last = match shown.len().checked_sub(1) {
            Some(last) => last,
            None => return Ok(None),
        };
        let (Some(first), Some(last)) = (side(0), side(last)) else {
            return Ok(None);
        };
        let rises = last
            .label
            .minus(first.label)
            .is_none_or(|it| signed(it) >= 0.0);
        Ok(Some(match rises {
            true => Self {
                low: first,
                high: last,
            },
            false => Self {
                low: last,
                high: first,
            },
        }))
    }

    pub(super) fn side(self, part: Part) -> Option<Side> {
        match part {
            Part::Start => Some(self.low),
            Part::End => Some(self.high),
            Part::Duration => {
                let length = match (self.low.cell, self.high.cell) {
                    (Some([low, _]), Some([_, high])) => high.minus(low),
                    _ => None,
                };
                Some(Side {
                    label: self.high.label.minus(self.low.label)?,
                    cell: length.map(|length| [length, length]),
                    step: self.low.step,
                })
            }
        }
    }
}

fn signed(length: ScalePoint) -> f64 {
    match length {
        ScalePoint::Moment(length) => length as f64,
        ScalePoint::Number(length) => length,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(label: i128, cell: Option<[i128; 2]>, step: Option<i128>) -> Side {
        let place = |at: i128| ScalePoint::Moment(at * SECOND);
        Side {
            label: place(label),
            cell: cell.map(|cell| cell.map(place)),
            step: step.map(place),
        }
    }

    fn next(said: i128, before: Side, after: Side) -> Option<i128> {
        match followed(ScalePoint::Moment(said * SECOND), before, after)? {
            ScalePoint::Moment(moment) => Some(moment / SECOND),
            ScalePoint::Number(_) => None,
        }
    }

    #[test]
    fn what_is_said_follows_as_it_stood() {
        // The label.
        let (before, after) = (side(100, None, None), side(300, None, None));
        assert_eq!(next(100, before, after), Some(300));
        assert_eq!(next(99, before, after), Some(299));
        assert_eq!(next(90, before, after), None);
        // An end of its cell, of whatever width.
        let before = side(100, Some([50, 150]), None);
        let after = side(300, Some([150, 450]), None);
        assert_eq!(next(50, before, after), Some(150));
        assert_eq!(next(150, before, after), Some(450));
        assert_eq!(next(60, before, after), None);
        // Less than a step from it, if that is the same everywhere.
        let before = side(100, None, Some(20));
        assert_eq!(next(90, before, side(300, None, Some(20))), Some(290));
        assert_eq!(next(79, before, side(300, None, Some(20))), None);
        assert_eq!(next(90, before, side(300, None, Some(30))), None);
        assert_eq!(next(90, before, side(300, None, None)), None);
    }
}
