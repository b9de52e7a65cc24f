//! The product of a field: its parameter, level, statistics, member, and times.

use super::octets::{Decimal, Octets};
use super::problem::GribProblem;
use super::scan::Field;
use crate::cf::{Calendar, Date};

/// Seconds of a day.
const DAY: i64 = 86_400;

/// A parameter of table 4.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Parameter {
    pub(super) discipline: u8,
    pub(super) category: u8,
    pub(super) number: u8,
    /// The centre, of a parameter that the tables leave to it.
    pub(super) centre: Option<u16>,
}

impl Parameter {
    pub(super) fn new(discipline: u8, category: u8, number: u8, centre: u16) -> Self {
        let is_local = discipline >= 192 || category >= 192 || number >= 192;
        Self {
            discipline,
            category,
            number,
            centre: is_local.then_some(centre),
        }
    }
}

/// The surface that a field is for, or the layer between two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    /// Of table 4.5.
    pub(super) kind: u8,
    pub(super) value: Option<Decimal>,
    /// The second surface of a layer.
    pub(super) second: Option<(u8, Option<Decimal>)>,
}

/// A statistic of the values of an interval of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Statistic {
    /// Of table 4.10.
    pub(super) process: u8,
    /// Seconds of the interval.
    pub(super) length: i64,
}

/// The features that distinguish fields of one parameter, besides their levels and times.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ProductKind {
    /// Of table 4.10, for an interval of time.
    pub(super) statistic: Option<u8>,
    /// Of table 4.10, for an area.
    pub(super) spatial: Option<u8>,
    /// The statistic of an ensemble, of table 4.7.
    pub(super) derived: Option<u8>,
    pub(super) percentile: Option<u8>,
    /// Of table 4.9, with the limits as texts.
    pub(super) probability: Option<(u8, String)>,
    /// Of table 4.230.
    pub(super) constituent: Option<u16>,
    /// Whether it is one of an ensemble.
    pub(super) is_member: bool,
}

/// Sections 1 and 4 of a field.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Product {
    pub(super) centre: u16,
    pub(super) parameter: Parameter,
    pub(super) kind: ProductKind,
    pub(super) level: Level,
    pub(super) member: i64,
    /// Seconds since 1970.
    pub(super) reference: i64,
    /// Seconds from the reference time to the field; of an interval, to its end.
    pub(super) step: i64,
    pub(super) statistic: Option<Statistic>,
}

/// Where the parts of a template begin.
struct Layout {
    /// Octets that the template has before the generating process, besides those of 4.0.
    shift: usize,
    ensemble: Option<usize>,
    derived: Option<usize>,
    probability: Option<usize>,
    percentile: Option<usize>,
    spatial: Option<usize>,
    interval: Option<usize>,
}

impl Layout {
    fn of(template: u16) -> Option<Self> {
        let none = Self {
            shift: 0,
            ensemble: None,
            derived: None,
            probability: None,
            percentile: None,
            spatial: None,
            interval: None,
        };
        // The template 4.0 has 34 octets.
        Some(match template {
            0 | 7 => none,
            1 => Self {
                ensemble: Some(35),
                ..none
            },
            2 => Self {
                derived: Some(35),
                ..none
            },
            5 => Self {
                probability: Some(35),
                ..none
            },
            6 => Self {
                percentile: Some(35),
                ..none
            },
            8 => Self {
                interval: Some(35),
                ..none
            },
            9 => Self {
                probability: Some(35),
                interval: Some(48),
                ..none
            },
            10 => Self {
                percentile: Some(35),
                interval: Some(36),
                ..none
            },
            11 => Self {
                ensemble: Some(35),
                interval: Some(38),
                ..none
            },
            12 => Self {
                derived: Some(35),
                interval: Some(37),
                ..none
            },
            15 => Self {
                spatial: Some(35),
                ..none
            },
            40 => Self { shift: 2, ..none },
            41 => Self {
                shift: 2,
                ensemble: Some(37),
                ..none
            },
            42 => Self {
                shift: 2,
                interval: Some(37),
                ..none
            },
            43 => Self {
                shift: 2,
                ensemble: Some(37),
                interval: Some(40),
                ..none
            },
            // Of forecasts for dates that have passed: with the version of the model.
            60 => Self {
                ensemble: Some(35),
                ..none
            },
            61 => Self {
                ensemble: Some(35),
                interval: Some(45),
                ..none
            },
            _ => return None,
        })
    }
}

impl Product {
    pub(super) fn of(field: &Field) -> Result<Self, GribProblem> {
        let identification = Octets::new(1, &field.identification);
        let reference = moment(&identification, 13)?;
        let octets = Octets::new(4, &field.product);
        let number = octets.u16(8)?;
        let layout = Layout::of(number).ok_or(GribProblem::Template { section: 4, number })?;
        let shift = layout.shift;
        let ahead = i64::from(octets.i32(19 + shift)?);
        let begin = later(reference, octets.u8(18 + shift)?, ahead)?;
        let mut kind = ProductKind {
            is_member: layout.ensemble.is_some(),
            ..ProductKind::default()
        };
        let mut member = 0;
        if let Some(first) = layout.ensemble {
            member = i64::from(octets.u8(first + 1)?);
        }
        if let Some(first) = layout.derived {
            kind.derived = Some(octets.u8(first)?);
        }
        if let Some(first) = layout.percentile {
            kind.percentile = Some(octets.u8(first)?);
        }
        if let Some(first) = layout.spatial {
            kind.spatial = Some(octets.u8(first)?);
        }
        if let Some(first) = layout.probability {
            kind.probability = Some(probability(&octets, first)?);
        }
        if shift > 0 {
            kind.constituent = Some(octets.u16(12)?);
        }
        let (mut end, mut statistic) = (begin, None);
        if let Some(first) = layout.interval {
            let process = octets.u8(first + 12)?;
            end = interval_end(&octets, first, begin)?;
            kind.statistic = Some(process);
            let length = end - begin;
            statistic = Some(Statistic { process, length });
        }
        Ok(Self {
            centre: identification.u16(6)?,
            parameter: Parameter::new(
                field.discipline,
                octets.u8(10)?,
                octets.u8(11)?,
                identification.u16(6)?,
            ),
            kind,
            level: level(&octets, 23 + shift)?,
            member,
            reference,
            step: end - reference,
            statistic,
        })
    }
}

/// The two surfaces.
fn level(octets: &Octets<'_>, first: usize) -> Result<Level, GribProblem> {
    let second = match octets.u8(first + 6)? {
        u8::MAX => None,
        kind => Some((kind, octets.scaled(first + 7)?)),
    };
    Ok(Level {
        kind: octets.u8(first)?,
        value: octets.scaled(first + 1)?,
        second,
    })
}

/// The kind of a probability and its limits, as one text.
fn probability(octets: &Octets<'_>, first: usize) -> Result<(u8, String), GribProblem> {
    let limit = |first| -> Result<String, GribProblem> {
        let limit: Option<Decimal> = octets.scaled(first)?;
        Ok(limit.map_or_else(|| "none".to_owned(), |it| it.value().to_string()))
    };
    let kind = octets.u8(first + 2)?;
    let (lower, upper) = (limit(first + 3)?, limit(first + 8)?);
    Ok((kind, format!("{lower} to {upper}")))
}

/// The end of an interval that the octets from `first` on describe: the one that is stated, or else the beginning and the
/// length.
fn interval_end(octets: &Octets<'_>, first: usize, begin: i64) -> Result<i64, GribProblem> {
    // Some centres leave the end out, or repeat the reference time.
    if let Ok(end) = moment(octets, first)
        && end > begin
    {
        return Ok(end);
    }
    let length = i64::from(octets.u32(first + 15)?);
    later(begin, octets.u8(first + 14)?, length)
}

/// The moment of seven octets, in seconds since 1970.
fn moment(octets: &Octets<'_>, first: usize) -> Result<i64, GribProblem> {
    let section = octets.section();
    let clock = octets.get(first + 4, 3)?;
    let date = Date {
        year: i64::from(octets.u16(first)?),
        month: octets.u8(first + 2)?,
        day: octets.u8(first + 3)?,
    };
    let wrong = |problem: &str| GribProblem::damaged(section, format!("{date:?}: {problem}"));
    let days = days_since_1970(date).map_err(wrong)?;
    match clock {
        // A leap second is the first second of the next minute.
        [hour @ 0..24, minute @ 0..60, second @ 0..=60] => {
            let minutes = i64::from(*hour) * 60 + i64::from(*minute);
            Ok(days * DAY + minutes * 60 + i64::from(*second))
        }
        _ => Err(wrong("a day has no such time")),
    }
}

fn days_since_1970(date: Date) -> Result<i64, &'static str> {
    let calendar = Calendar::ProlepticGregorian;
    let epoch = Date {
        year: 1970,
        month: 1,
        day: 1,
    };
    Ok(calendar.day_number(date)? - calendar.day_number(epoch)?)
}

/// The moment that is so many units of table 4.4 later.
fn later(from: i64, unit: u8, count: i64) -> Result<i64, GribProblem> {
    let months = match unit {
        3 => Some(1),
        4 => Some(12),
        5 => Some(120),
        6 => Some(360),
        7 => Some(1200),
        _ => None,
    };
    let seconds = match unit {
        0 => 60,
        1 => 3600,
        2 => DAY,
        10 => 3 * 3600,
        11 => 6 * 3600,
        12 => 12 * 3600,
        13 => 1,
        _ => 0,
    };
    let moved = match months {
        Some(months) => return months_later(from, months * count),
        None if seconds == 0 => None,
        None => from.checked_add(seconds * count),
    };
    moved.ok_or(GribProblem::Unsupported {
        section: 4,
        what: "the unit of time",
        value: u64::from(unit),
    })
}

/// The same time of the same day, so many months later.
fn months_later(from: i64, months: i64) -> Result<i64, GribProblem> {
    let (days, clock) = (from.div_euclid(DAY), from.rem_euclid(DAY));
    // The year is found by way of its first day, the month likewise.
    let first_of = |month: i64| {
        let (year, month) = (month.div_euclid(12), month.rem_euclid(12) as u8 + 1);
        let day = 1;
        days_since_1970(Date { year, month, day })
    };
    let wrong = |problem: &str| GribProblem::damaged(4, problem);
    // A month has less than 31 days on average: this is one too many at most, or one too few.
    let mut month = 1970 * 12 + (days as f64 / 30.436_875).floor() as i64;
    while first_of(month).map_err(wrong)? > days {
        month -= 1;
    }
    while first_of(month + 1).map_err(wrong)? <= days {
        month += 1;
    }
    let day = days - first_of(month).map_err(wrong)?;
    Ok((first_of(month + months).map_err(wrong)? + day) * DAY + clock)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(year: i64, month: u8, day: u8) -> i64 {
        days_since_1970(Date { year, month, day }).map_or(0, |days| days * DAY)
    }

    #[test]
    fn months_are_those_of_the_calendar() {
        assert_eq!(at(1970, 1, 2), DAY);
        for (from, unit, count, to) in [
            (at(2020, 1, 31) + 60, 1, 30, at(2020, 2, 1) + 6 * 3600 + 60),
            (at(2020, 1, 1), 3, 2, at(2020, 3, 1)),
            (at(2019, 11, 15) + 7, 3, 3, at(2020, 2, 15) + 7),
            (at(1999, 12, 31), 4, 1, at(2000, 12, 31)),
            (at(1961, 7, 1), 6, 1, at(1991, 7, 1)),
            (at(2020, 3, 1), 3, -1, at(2020, 2, 1)),
        ] {
            assert_eq!(later(from, unit, count), Ok(to), "{unit} {count}");
        }
        assert!(later(0, 200, 1).is_err());
    }
}
