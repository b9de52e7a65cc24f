//! The moments that numbers of a coordinate of time stand for, where its calendar is the one of the world.

use crate::change::seconds_of;
use serde_json::Value;

/// Nanoseconds since 1970-01-01T00:00:00Z.
pub(super) type Moment = i128;

pub(super) const SECOND: Moment = 1_000_000_000;
const DAY: Moment = 86_400 * SECOND;

/// The first day of the Gregorian calendar, in days since 1970: what the standard calendar has before it is Julian.
const GREGORIAN: i64 = -141_427;

/// How numbers stand for moments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calendar {
    /// Where 0 is.
    reference: Moment,
    /// How far 1 is from it.
    unit: Moment,
    /// Whether days before the Gregorian calendar are of another one.
    is_mixed: bool,
}

impl Calendar {
    /// Of the document of an array; the error says why the calendar is unknown.
    pub(super) fn of(document: &Value) -> Result<Self, String> {
        let attribute = |name: &str| document.get("attributes")?.get(name)?.as_str();
        let Some(units) = attribute("units") else {
            return Self::of_type(document)
                .ok_or_else(|| "it has no `units` such as \"hours since 1970-01-01\"".to_owned());
        };
        let understood = || {
            let (unit, since) = units.split_once(" since ")?;
            let unit = nanoseconds(seconds_of(unit)?)?;
            Some((unit, reference(since)?))
        };
        let (unit, reference) =
            understood().ok_or_else(|| format!("its `units` {units:?} have no fixed length"))?;
        let calendar = attribute("calendar").unwrap_or("standard");
        let is_mixed = match calendar.to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => true,
            "proleptic_gregorian" => false,
            _ => {
                return Err(format!(
                    "its calendar {calendar:?} has dates that are not those of ISO 8601"
                ));
            }
        };
        let calendar = Self {
            reference,
            unit,
            is_mixed,
        };
        match calendar.shown(reference) {
            Some(_) => Ok(calendar),
            None => Err(format!("its `units` {units:?} begin before 1582-10-15")),
        }
    }

    /// Of an array of moments.
    fn of_type(document: &Value) -> Option<Self> {
        let data_type = document.get("data_type")?;
        if data_type.get("name")?.as_str()? != "numpy.datetime64" {
            return None;
        }
        Some(Self {
            reference: 0,
            unit: nanoseconds(crate::labels::seconds_of_type(data_type)?)?,
            is_mixed: false,
        })
    }

    /// The moment, if it is one whose date is the same in every calendar that this may be.
    fn shown(self, moment: Moment) -> Option<Moment> {
        let is_shown = !self.is_mixed || moment.div_euclid(DAY) >= i128::from(GREGORIAN);
        is_shown.then_some(moment)
    }

    pub(super) fn of_whole(self, number: i128) -> Option<Moment> {
        let moment = number.checked_mul(self.unit)?.checked_add(self.reference)?;
        self.shown(moment)
    }

    /// Of a number that is rounded: to the millisecond, which is what days as floats are good for.
    pub(super) fn of_float(self, number: f64) -> Option<Moment> {
        const MILLISECOND: f64 = 1e6;
        let nanoseconds = number * self.unit as f64;
        if !nanoseconds.is_finite() || nanoseconds.abs() > 1e30 {
            return None;
        }
        let rounded = (nanoseconds / MILLISECOND).round() as i128 * 1_000_000;
        self.shown(rounded.checked_add(self.reference)?)
    }

    /// The number of a moment, and what is left if it is not whole.
    pub(super) fn number(self, moment: Moment) -> (i128, Moment) {
        let from = moment.saturating_sub(self.reference);
        (from.div_euclid(self.unit), from.rem_euclid(self.unit))
    }

    pub(super) fn float(self, moment: Moment) -> f64 {
        let (whole, rest) = self.number(moment);
        whole as f64 + rest as f64 / self.unit as f64
    }
}

fn nanoseconds(seconds: f64) -> Option<Moment> {
    let nanoseconds = (seconds * 1e9).round();
    (1.0..1e24)
        .contains(&nanoseconds)
        .then_some(nanoseconds as Moment)
}

/// The moment behind `since`: a date, a time if there is one, and a zone if there is one.
fn reference(text: &str) -> Option<Moment> {
    let text = text.trim();
    let (date, rest) = match text.find([' ', 'T']) {
        Some(at) => (&text[..at], text[at + 1..].trim()),
        None => (text.trim_end_matches('Z'), ""),
    };
    let (sign, digits) = match date.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, date),
    };
    let mut parts = digits.split('-');
    let mut part = || parts.next()?.parse::<u32>().ok();
    let (year, month, day) = (part()?, part()?, part()?);
    if parts.next().is_some() {
        return None;
    }
    let days = days_of(sign * i64::from(year), month, day)?;
    let zone_at = rest.find(['Z', '+', '-', ' ', 'U']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let mut seconds = 0.0;
    let mut parts = time.split(':');
    for (unit, most) in [(3600.0, 24.0), (60.0, 60.0), (1.0, 61.0)] {
        match parts.next() {
            None | Some("") => break,
            Some(part) => {
                let number: f64 = part.parse().ok()?;
                if !(0.0..most).contains(&number) {
                    return None;
                }
                seconds += number * unit;
            }
        }
    }
    if parts.next().is_some() {
        return None;
    }
    let time = nanoseconds(seconds + 1.0)? - SECOND;
    let east = zone_of(zone.trim())?;
    Some(i128::from(days) * DAY + time - i128::from(east) * 60 * SECOND)
}

/// Minutes east of Greenwich.
pub(super) fn zone_of(text: &str) -> Option<i32> {
    if ["", "Z", "UTC", "GMT"].contains(&text) {
        return Some(0);
    }
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None if digits.len() == 4 && is_number(digits) => digits.split_at(2),
        None => (digits, "0"),
    };
    if !is_number(hours) || !is_number(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// Days since 1970-01-01 of a date of the Gregorian calendar, before its time as well; `None` if there is no such date.
pub(super) fn days_of(year: i64, month: u32, day: u32) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap => 29,
        2 => 28,
        _ => return None,
    };
    if !(1..=length).contains(&day) || year.abs() > 9_999_999 {
        return None;
    }
    // Years that begin in March end with the day that leap years have more.
    let (year, month) = match month {
        1 | 2 => (year - 1, month + 9),
        _ => (year, month - 3),
    };
    let before = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let within = (i64::from(month) * 153 + 2) / 5 + i64::from(day) - 1;
    Some(before + within - 719_468)
}

/// The date of a day, counted from 1970-01-01; `None` for years that four digits do not hold.
pub(super) fn date_of(days: i64) -> Option<(i64, u32, u32)> {
    let starts = |year: i64| days_of(year, 1, 1);
    if days < starts(0)? || days >= starts(10_000)? {
        return None;
    }
    // The guess is off by one at most.
    let guess = 1970 + (days as f64 / 365.2425).floor() as i64;
    let year = (guess - 1..=guess + 1)
        .rev()
        .find(|year| starts(*year).is_some_and(|first| first <= days))?;
    let month = (1..=12)
        .rev()
        .find(|month| days_of(year, *month, 1).is_some_and(|first| first <= days))?;
    let day = days - days_of(year, month, 1)? + 1;
    Some((year, month, u32::try_from(day).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn time(units: &str, calendar: &str) -> Value {
        json!({"data_type": "float64", "attributes": {"units": units, "calendar": calendar}})
    }

    #[test]
    fn days_and_dates_are_each_others_inverse() {
        assert_eq!(days_of(1970, 1, 1), Some(0));
        assert_eq!(days_of(2000, 3, 1), Some(11_017));
        assert_eq!(days_of(1582, 10, 15), Some(GREGORIAN));
        assert_eq!(days_of(1900, 2, 29), None);
        assert_eq!(days_of(2000, 2, 29), Some(11_016));
        assert_eq!(days_of(2015, 13, 1), None);
        for days in (-719_528..2_932_897).step_by(31) {
            let (year, month, day) = date_of(days).expect("four digits");
            assert_eq!(days_of(year, month, day), Some(days));
        }
        assert_eq!(date_of(2_932_896), Some((9999, 12, 31)));
        for days in [i64::MIN, -719_529, 2_932_897, i64::MAX] {
            assert_eq!(date_of(days), None);
        }
    }

    #[test]
    fn numbers_stand_for_moments() {
        for (units, number, days) in [
            ("days since 1970-01-02", 1.0, 2.0),
            ("hours since 1970-1-1 12:00:00", 12.0, 1.0),
            ("seconds since 1970-01-01T00:00:00Z", 86_400.0, 1.0),
            ("hours since 1970-01-01 00:00:0.0", 36.0, 1.5),
            ("hours since 1970-01-01 06:00 +6:00", 24.0, 1.0),
            ("days since 1969-12-31 18:00:00 -06:00", 1.0, 1.0),
            ("minutes since 1970-01-01 00:00:00 UTC", 720.0, 0.5),
        ] {
            let calendar = Calendar::of(&time(units, "standard")).expect("understood");
            let moment = calendar.of_float(number).expect("shown");
            assert_eq!(moment as f64 / DAY as f64, days, "{units}");
            assert_eq!(calendar.float(moment), number, "{units}");
        }
    }

    #[test]
    fn calendars_that_cannot_be_shown_say_why() {
        for (units, calendar, why) in [
            ("days since 1970-01-01", "noleap", "\"noleap\""),
            ("days since 1970-01-01", "360_day", "\"360_day\""),
            ("days since 1970-01-01", "julian", "\"julian\""),
            ("months since 1970-01-01", "standard", "no fixed length"),
            ("days since the flood", "standard", "no fixed length"),
            ("days since 1970-02-30", "standard", "no fixed length"),
            ("days", "standard", "no fixed length"),
            ("days since 0001-01-01", "gregorian", "before 1582-10-15"),
        ] {
            let error = Calendar::of(&time(units, calendar)).expect_err("no moments");
            assert!(error.contains(why), "{error}");
        }
        Calendar::of(&time("days since 0001-01-01", "proleptic_gregorian")).expect("understood");
        let standard = Calendar::of(&time("days since 1600-01-01", "standard")).expect("there");
        assert_eq!(standard.of_whole(-10_000), None);
    }
}
