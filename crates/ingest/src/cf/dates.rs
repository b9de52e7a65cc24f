//! Moments as dates, and dates as periods.

use std::ops::Range;

use super::calendar::{Calendar, Date};
use super::conversion::{Number, moment};
use super::error::TimeError;
use super::units::{DAY, MINUTE, SECOND, TimeUnits, moment_of};

impl TimeUnits {
    /// Returns the moment of a number, in nanoseconds since day 0; `None` if it is too far away.
    pub(crate) fn moment(&self, number: f64) -> Option<i128> {
        moment(Number::Float(number), self)
    }

    /// Returns the date of a number, and the time of day if it is not midnight: `2015-02-16T12:00`. `None` if the calendar has
    /// no such date.
    pub(crate) fn date(&self, number: f64) -> Option<String> {
        // Floats far from their reference do not hold every nanosecond.
        let seconds = self
            .moment(number)?
            .checked_add(SECOND / 2)?
            .div_euclid(SECOND);
        let day = i64::try_from(seconds.div_euclid(DAY / SECOND)).ok()?;
        let Date { year, month, day } = self.calendar().date(day)?;
        let (hour, minute, second) = {
            let second = seconds.rem_euclid(DAY / SECOND);
            (second / 3600, second / 60 % 60, second % 60)
        };
        let sign = if year < 0 { "-" } else { "" };
        let date = format!("{sign}{:04}-{month:02}-{day:02}", year.abs());
        Some(match (hour, minute, second) {
            (0, 0, 0) => date,
            (_, _, 0) => format!("{date}T{hour:02}:{minute:02}"),
            _ => format!("{date}T{hour:02}:{minute:02}:{second:02}"),
        })
    }

    /// Returns the moments that a date names: a month, a day, or a minute.
    ///
    /// # Errors
    /// [`TimeError::Units`] if the text is no date of the calendar.
    pub(crate) fn period(&self, text: &str) -> Result<Range<i128>, TimeError> {
        let refuse = |problem: String| TimeError::Units {
            units: text.to_owned(),
            problem,
        };
        let start = moment_of(text, self.calendar()).map_err(refuse)?;
        let digits = text.trim_start_matches(['-', '+']);
        let length = match digits.split('-').count() {
            _ if digits.contains([':', 'T', 't', ' ']) => MINUTE,
            2 => self.month_length(start),
            _ => DAY,
        };
        Ok(start..start + length)
    }

    /// The length of the month that begins at a moment.
    fn month_length(&self, start: i128) -> i128 {
        let day = start.div_euclid(DAY) as i64;
        let month_of = |day: i64| self.calendar().date(day).map(|date| date.month);
        let first = month_of(day);
        let days = (1..32).find(|days| month_of(day + days) != first);
        i128::from(days.unwrap_or(31)) * DAY
    }
}

impl Calendar {
    /// Returns the date of a day; the inverse of [`Calendar::day_number`]. `None` if it is too far away.
    pub(crate) fn date(self, number: i64) -> Option<Date> {
        let first_of = |year: i64| {
            let year = match year {
                year if self.lacks_year_zero() && year <= 0 => year - 1,
                year => year,
            };
            let date = Date {
                year,
                month: 1,
                day: 1,
            };
            Some((self.day_number(date).ok()?, year))
        };
        // The last year that does not begin after the day.
        let (mut low, mut high) = (-9_000_000, 9_000_000);
        if first_of(low)?.0 > number || first_of(high)?.0 <= number {
            return None;
        }
        while high - low > 1 {
            let middle = (low + high) / 2;
            match first_of(middle)?.0 <= number {
                true => low = middle,
                false => high = middle,
            }
        }
        let (_, year) = first_of(low)?;
        let month = (1..=12).rev().find(|month| {
            let date = Date {
                year,
                month: *month,
                day: 1,
            };
            self.day_number(date).is_ok_and(|first| first <= number)
        })?;
        let mut days = (1..=31).map(|day| Date { year, month, day });
        days.find(|date| self.day_number(*date) == Ok(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(units: &str, calendar: &str) -> TimeUnits {
        TimeUnits::parse(units, Some(calendar)).expect("units of time")
    }

    #[test]
    fn dates_are_the_inverse_of_day_numbers() {
        for name in [
            "standard",
            "proleptic_gregorian",
            "julian",
            "noleap",
            "all_leap",
            "360_day",
        ] {
            let calendar = Calendar::parse(name).expect("a calendar");
            for year in [-5, -1, 1, 4, 1500, 1582, 1900, 2000, 2015] {
                for (month, day) in (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day)))
                {
                    let date = Date { year, month, day };
                    if let Ok(number) = calendar.day_number(date) {
                        assert_eq!(calendar.date(number), Some(date), "{name}");
                    }
                }
            }
            assert_eq!(calendar.date(i64::MAX), None);
            assert_eq!(calendar.date(i64::MIN), None);
        }
    }

    #[test]
    fn numbers_are_shown_as_dates() {
        let hours = units("hours since 2015-01-01", "standard");
        assert_eq!(hours.date(0.0).as_deref(), Some("2015-01-01"));
        assert_eq!(hours.date(-11.5).as_deref(), Some("2014-12-31T12:30"));
        let seconds = units("seconds since 1970-01-01", "gregorian");
        assert_eq!(seconds.date(61.0).as_deref(), Some("1970-01-01T00:01:01"));
        assert_eq!(
            seconds.date(1_424_088_000.000_001).as_deref(),
            Some("2015-02-16T12:00")
        );
        assert_eq!(hours.date(f64::NAN), None);
        assert_eq!(hours.date(1e300), None);
        let days = units("days since 2000-01-01", "360_day");
        assert_eq!(days.date(59.0).as_deref(), Some("2000-02-30"));
    }

    #[test]
    fn dates_name_periods() {
        let days = units("days since 2015-01-01", "standard");
        let first = days.moment(0.0).expect("a moment");
        let period = |text| {
            let period: Range<i128> = days.period(text).expect("a period");
            (period.start - first, period.end - period.start)
        };
        assert_eq!(period("2015-02"), (31 * DAY, 28 * DAY));
        assert_eq!(period("2015-02-02"), (32 * DAY, DAY));
        assert_eq!(period("2015-01-01T00:01"), (MINUTE, MINUTE));
        assert!(days.period("2015-13").is_err() && days.period("2015-02-30").is_err());
    }
}
