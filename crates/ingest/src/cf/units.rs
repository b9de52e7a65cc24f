//! The attribute `units` of a time: `hours since 2020-02-01 12:00`.

use serde_json::Value;

use super::calendar::{Calendar, Date};
use super::error::TimeError;

/// Nanoseconds of a day.
pub(super) const DAY: i128 = 86_400_000_000_000;
const HOUR: i128 = DAY / 24;
pub(super) const MINUTE: i128 = HOUR / 60;
pub(super) const SECOND: i128 = MINUTE / 60;

/// A unit of time since a moment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TimeUnits {
    /// The attribute as it is.
    text: String,
    calendar: Calendar,
    /// Nanoseconds of the unit.
    pub(super) unit: i128,
    /// The moment, in nanoseconds since day 0 of the calendar.
    pub(super) reference: i128,
}

/// Returns whether the attribute `units` says a time since a moment, well written or not.
pub(crate) fn is_time(units: &str) -> bool {
    units
        .split_whitespace()
        .any(|word| word.eq_ignore_ascii_case("since"))
}

impl TimeUnits {
    /// Reads the attributes of a variable.
    ///
    /// # Errors
    /// [`TimeError::Units`], [`TimeError::Calendar`].
    pub(crate) fn parse(units: &str, calendar: Option<&str>) -> Result<Self, TimeError> {
        let calendar = match calendar {
            None => Calendar::Standard,
            Some(name) => Calendar::parse(name).ok_or_else(|| TimeError::Calendar {
                calendar: name.to_owned(),
            })?,
        };
        let refuse = |problem: String| TimeError::Units {
            units: units.to_owned(),
            problem,
        };
        let words: Vec<&str> = units.split_whitespace().collect();
        let [unit, since, moment @ ..] = &words[..] else {
            return Err(refuse("they are no unit of time since a date".to_owned()));
        };
        if !since.eq_ignore_ascii_case("since") || moment.is_empty() {
            return Err(refuse("they are no unit of time since a date".to_owned()));
        }
        let unit = length(unit, calendar).map_err(refuse)?;
        let reference = moment_of(&moment.join(" "), calendar).map_err(refuse)?;
        Ok(Self {
            text: units.to_owned(),
            calendar,
            unit,
            reference,
        })
    }

    /// Reads the attributes `units` and `calendar` of a document's `attributes`; `None` if it has no units of time.
    pub(crate) fn of(attributes: &Value) -> Option<Result<Self, TimeError>> {
        let units = attributes["units"].as_str().filter(|it| is_time(it))?;
        Some(Self::parse(units, attributes["calendar"].as_str()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// Returns the text with the next finer unit, or with nanoseconds.
    pub(crate) fn finer(&self) -> String {
        let name = [("hours", HOUR), ("minutes", MINUTE), ("seconds", SECOND)];
        let name = name.iter().find(|(_, unit)| *unit < self.unit);
        let name = name.map_or("nanoseconds", |(name, _)| name);
        let moment = self.text.split_whitespace().skip(1).collect::<Vec<_>>();
        format!("{name} {}", moment.join(" "))
    }

    /// Returns the first moment on which all programs agree, in nanoseconds since day 0.
    pub(super) fn agreed_from(&self) -> Option<i128> {
        self.calendar.agreed_from().map(|day| i128::from(day) * DAY)
    }
}

/// The nanoseconds of a unit.
fn length(unit: &str, calendar: Calendar) -> Result<i128, String> {
    let lower = unit.to_ascii_lowercase();
    Ok(match lower.as_str() {
        "week" | "weeks" => 7 * DAY,
        "day" | "days" | "d" => DAY,
        "hour" | "hours" | "hr" | "hrs" | "h" => HOUR,
        "minute" | "minutes" | "min" | "mins" => MINUTE,
        "second" | "seconds" | "sec" | "secs" | "s" => SECOND,
        "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msec" | "msecs" | "ms" => {
            SECOND / 1000
        }
        "microsecond" | "microseconds" | "microsec" | "microsecs" | "us" => SECOND / 1_000_000,
        "nanosecond" | "nanoseconds" | "nanosec" | "nanosecs" | "ns" => 1,
        "month" | "months" if calendar == Calendar::Days360 => 30 * DAY,
        "common_year" | "common_years" if calendar == Calendar::NoLeap => 365 * DAY,
        "month" | "months" | "year" | "years" | "common_year" | "common_years" => {
            let name = calendar.name();
            return Err(format!(
                "{unit} have no fixed length in the calendar {name}"
            ));
        }
        _ => return Err(format!("{unit:?} is no unit of time")),
    })
}

/// A date and what follows it, in nanoseconds since day 0.
pub(super) fn moment_of(text: &str, calendar: Calendar) -> Result<i128, String> {
    let refuse = || format!("{text:?} is no date");
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '-'))
        .unwrap_or(rest.len());
    let (date, rest) = rest.split_at(end);
    let parts: Option<Vec<i64>> = date.split('-').map(|it| it.parse().ok()).collect();
    let parts = parts.ok_or_else(refuse)?;
    let (year, month, day) = match parts[..] {
        [year] => (year, 1, 1),
        [year, month] => (year, month, 1),
        [year, month, day] => (year, month, day),
        _ => return Err(refuse()),
    };
    let small = |number: i64| u8::try_from(number).map_err(|_| refuse());
    let date = Date {
        year: sign * year,
        month: small(month)?,
        day: small(day)?,
    };
    let day = calendar
        .day_number(date)
        .map_err(|problem| format!("{text:?} is no date: {problem}"))?;
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix(['T', 't']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => rest,
        Some(_) => return Err(refuse()),
        None => rest,
    };
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.')))
        .unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let since_midnight = time_of_day(clock).ok_or_else(refuse)?;
    let offset = zone_of(zone.trim()).ok_or_else(|| format!("{zone:?} is no time zone"))?;
    Ok(i128::from(day) * DAY + since_midnight - offset)
}

/// `12`, `12:30`, `12:30:59.5` or nothing, in nanoseconds.
fn time_of_day(text: &str) -> Option<i128> {
    if text.is_empty() {
        return Some(0);
    }
    let mut parts = text.split(':');
    let mut next = |most: i128| -> Option<i128> {
        let number: i128 = match parts.next() {
            Some(text) => text.parse().ok()?,
            None => 0,
        };
        (0..most).contains(&number).then_some(number)
    };
    let (hours, minutes) = (next(24)?, next(60)?);
    let seconds = match parts.next() {
        None => 0,
        Some(text) => nanoseconds(text).filter(|it| *it < MINUTE)?,
    };
    match parts.next() {
        Some(_) => None,
        None => Some(hours * HOUR + minutes * MINUTE + seconds),
    }
}

/// Seconds with a fraction. Digits beyond nanoseconds must be zeros.
fn nanoseconds(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let seconds: i128 = whole.parse().ok()?;
    let (fraction, rest) = fraction.split_at_checked(9).unwrap_or((fraction, ""));
    if rest.contains(|c: char| c != '0') || fraction.contains(|c: char| !c.is_ascii_digit()) {
        return None;
    }
    let digits: i128 = match fraction {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    let scale = 10_i128.pow(9 - fraction.len() as u32);
    Some(seconds * SECOND + digits * scale)
}

/// How far a time zone is ahead, in nanoseconds: `Z`, `UTC`, `+01:00`, `-0330`, `-5` or nothing.
fn zone_of(text: &str) -> Option<i128> {
    if text.is_empty() || ["z", "utc", "gmt"].contains(&text.to_ascii_lowercase().as_str()) {
        return Some(0);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+')?),
    };
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some((hours, minutes)), _) => (hours, minutes),
        (None, 3 | 4) => digits.split_at_checked(digits.len() - 2)?,
        (None, _) => (digits, "0"),
    };
    let number = |text: &str, most: i128| -> Option<i128> {
        let number: i128 = text.parse().ok()?;
        (0..most).contains(&number).then_some(number)
    };
    Some(sign * (number(hours, 24)? * HOUR + number(minutes, 60)? * MINUTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(units: &str, calendar: &str) -> TimeUnits {
        TimeUnits::parse(units, Some(calendar)).expect("units of time")
    }

    #[test]
    fn one_moment_in_many_spellings() {
        let expected = parsed("hours since 2000-01-01", "standard").reference;
        for units in [
            "hours since 2000-01-01 00:00:00",
            "Hours Since 2000-1-1 0:0:0.0",
            "h since 2000-01-01T00:00:00Z",
            "hr since 2000-01-01 00:00:00 UTC",
            "hours since 2000-01-01 01:00:00 +01:00",
            "hours since 1999-12-31 20:30 -0330",
            "hours since 1999-12-31 19:00:00.000000 -5",
            "hours since 2000",
            "hours  since  2000-01",
        ] {
            let found = parsed(units, "standard");
            assert_eq!((found.reference, found.unit), (expected, HOUR), "{units}");
        }
        let half = parsed("s since 2000-01-01 00:00:00.5", "standard");
        assert_eq!(half.reference - expected, SECOND / 2);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for (units, calendar) in [
            ("K", "standard"),
            ("hours", "standard"),
            ("hours since", "standard"),
            ("hours since yesterday", "standard"),
            ("fortnights since 2000-01-01", "standard"),
            ("months since 2000-01-01", "standard"),
            ("years since 2000-01-01", "noleap"),
            ("hours since 2001-02-29", "standard"),
            ("hours since 2000-01-01 24:00", "standard"),
            ("hours since 2000-01-01 00:00:61", "standard"),
            ("hours since 2000-01-01 00:00:00 Mars", "standard"),
            ("hours since 2000-01-01-01", "standard"),
            ("hours since 0000-01-01", "standard"),
            ("hours since 99999999999999999999-01-01", "standard"),
            ("s since 2000-01-01 00:00:00.0000000001", "standard"),
            ("hours since 2000-01-01", "mayan"),
        ] {
            let found = TimeUnits::parse(units, Some(calendar));
            assert!(found.is_err(), "{units}: {found:?}");
        }
        assert_eq!(parsed("months since 2000-01-01", "360_day").unit, 30 * DAY);
        assert_eq!(parsed("common_years since 2000", "noleap").unit, 365 * DAY);
        assert!(parsed("days since 0000-01-01", "proleptic_gregorian").unit == DAY);
    }

    #[test]
    fn finer_units_are_named() {
        let finer = |units: &str| parsed(units, "standard").finer();
        assert_eq!(finer("days since 2000-01-01"), "hours since 2000-01-01");
        assert_eq!(finer("minutes since 2000"), "seconds since 2000");
        assert_eq!(finer("s since 2000"), "nanoseconds since 2000");
    }
}
