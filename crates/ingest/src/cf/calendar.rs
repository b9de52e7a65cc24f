//! The calendars of the CF conventions (1.11, §4.4.2), as counts of days.

/// Which dates there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Calendar {
    /// Julian before 1582-10-15, Gregorian from then on: `standard` or `gregorian`.
    Standard,
    ProlepticGregorian,
    Julian,
    /// No 29 February: `noleap` or `365_day`.
    NoLeap,
    /// A 29 February in every year: `all_leap` or `366_day`.
    AllLeap,
    /// Twelve months of 30 days.
    Days360,
    /// Gregorian, with leap seconds.
    Utc,
    /// Gregorian, with days of 86,400 seconds.
    Tai,
    /// No dates: one moment of one year for ever.
    None,
}

/// The first day of the Gregorian calendar, as a Julian day number.
const GREGORIAN: i64 = 2_299_161;

/// Days of the months of a year without and with 29 February.
const MONTHS: [[u8; 12]; 2] = [
    [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
    [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31],
];

/// A day of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Date {
    /// As the calendar counts: without a year 0 in the calendars standard and julian.
    pub(crate) year: i64,
    /// From 1.
    pub(crate) month: u8,
    /// From 1.
    pub(crate) day: u8,
}

impl Calendar {
    /// Returns the calendar that an attribute names, in letters of either case.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name.trim().to_ascii_lowercase().as_str() {
            "standard" | "gregorian" => Self::Standard,
            "proleptic_gregorian" => Self::ProlepticGregorian,
            "julian" => Self::Julian,
            "noleap" | "365_day" => Self::NoLeap,
            "all_leap" | "366_day" => Self::AllLeap,
            "360_day" => Self::Days360,
            "utc" => Self::Utc,
            "tai" => Self::Tai,
            "none" => Self::None,
            _ => return None,
        })
    }

    /// Returns the name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::ProlepticGregorian => "proleptic_gregorian",
            Self::Julian => "julian",
            Self::NoLeap => "noleap",
            Self::AllLeap => "all_leap",
            Self::Days360 => "360_day",
            Self::Utc => "utc",
            Self::Tai => "tai",
            Self::None => "none",
        }
    }

    /// Returns whether the years before 1 are -1, -2 and so on.
    pub(crate) fn lacks_year_zero(self) -> bool {
        matches!(self, Self::Standard | Self::Julian)
    }

    /// Returns the number of a day. Of the calendars with the dates of history it is the Julian day number; of the others
    /// it is counted from the year 0.
    ///
    /// # Errors
    /// The calendar has no such day.
    pub(crate) fn day_number(self, date: Date) -> Result<i64, &'static str> {
        let Date { year, month, day } = date;
        if !(1..=12).contains(&month) {
            return Err("a year has twelve months");
        }
        if year.abs() > 10_000_000 {
            return Err("the year is too far away");
        }
        if self.lacks_year_zero() && year == 0 {
            return Err("its calendar has no year 0");
        }
        let years = match self.lacks_year_zero() && year < 0 {
            true => year + 1,
            false => year,
        };
        let index = usize::from(month - 1);
        let days = match self {
            Self::Days360 => 30,
            Self::AllLeap => MONTHS[1][index],
            Self::NoLeap => MONTHS[0][index],
            Self::Julian => MONTHS[usize::from(years.rem_euclid(4) == 0)][index],
            Self::Standard if date < GREGORIAN_BEGIN => {
                MONTHS[usize::from(years.rem_euclid(4) == 0)][index]
            }
            _ => MONTHS[usize::from(is_leap(years))][index],
        };
        if !(1..=days).contains(&day) {
            return Err("the month has no such day");
        }
        let in_year = |leap: usize| -> i64 {
            let before = MONTHS[leap][..index].iter().map(|it| i64::from(*it));
            before.sum::<i64>() + i64::from(day) - 1
        };
        Ok(match self {
            Self::Days360 => years * 360 + i64::from(month - 1) * 30 + i64::from(day) - 1,
            Self::NoLeap => years * 365 + in_year(0),
            Self::AllLeap => years * 366 + in_year(1),
            Self::Julian => julian(years, month, day),
            Self::Standard if date >= GREGORIAN_BEGIN => gregorian(years, month, day),
            Self::Standard if date > JULIAN_END => {
                return Err("its calendar goes on from 1582-10-04 to 1582-10-15");
            }
            Self::Standard => julian(years, month, day),
            Self::ProlepticGregorian | Self::Utc | Self::Tai | Self::None => {
                gregorian(years, month, day)
            }
        })
    }

    /// Returns the first day on which all programs agree about the dates of the calendar; `None` if they always do.
    pub(crate) fn agreed_from(self) -> Option<i64> {
        (self == Self::Standard).then_some(GREGORIAN)
    }

    /// Returns whether two calendars have the same dates from 1582-10-15 on.
    pub(crate) fn agrees_with(self, other: Self) -> bool {
        let is_gregorian = |it: Self| matches!(it, Self::Standard | Self::ProlepticGregorian);
        self == other || is_gregorian(self) && is_gregorian(other)
    }
}

const GREGORIAN_BEGIN: Date = Date {
    year: 1582,
    month: 10,
    day: 15,
};
const JULIAN_END: Date = Date {
    year: 1582,
    month: 10,
    day: 4,
};

fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// The months since March of the year in which that March lies, and that year: a leap day is the last of such a year.
fn from_march(year: i64, month: u8) -> (i64, i64) {
    match month {
        1 | 2 => (year - 1, i64::from(month) + 9),
        _ => (year, i64::from(month) - 3),
    }
}

/// The Julian day number of a day of the Gregorian calendar, extended to all years.
fn gregorian(year: i64, month: u8, day: u8) -> i64 {
    let (year, months) = from_march(year, month);
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 1 March of the year 0 is day 1,721,120.
    1_721_120 + 365 * year + leaps + (153 * months + 2) / 5 + i64::from(day) - 1
}

/// The Julian day number of a day of the Julian calendar.
fn julian(year: i64, month: u8, day: u8) -> i64 {
    let (year, months) = from_march(year, month);
    1_721_118 + 365 * year + year.div_euclid(4) + (153 * months + 2) / 5 + i64::from(day) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(calendar: &str, year: i64, month: u8, day: u8) -> Result<i64, &'static str> {
        let calendar = Calendar::parse(calendar).expect("a calendar");
        calendar.day_number(Date { year, month, day })
    }

    #[test]
    fn days_of_history_are_julian_day_numbers() {
        assert_eq!(day("standard", 2000, 1, 1), Ok(2_451_545));
        assert_eq!(day("proleptic_gregorian", 1970, 1, 1), Ok(2_440_588));
        assert_eq!(day("Gregorian", 1582, 10, 15), Ok(GREGORIAN));
        assert_eq!(day("gregorian", 1582, 10, 4), Ok(GREGORIAN - 1));
        assert!(day("standard", 1582, 10, 10).is_err());
        assert_eq!(day("julian", -4713, 1, 1), Ok(0));
        assert_eq!(day("standard", -4713, 1, 1), Ok(0));
        assert_eq!(day("proleptic_gregorian", -4713, 11, 24), Ok(0));
        assert!(day("standard", 0, 1, 1).is_err());
        assert!(day("proleptic_gregorian", 0, 1, 1).is_ok());
    }

    #[test]
    fn each_calendar_has_its_days() {
        for (calendar, year, month, last) in [
            ("360_day", 2001, 2, 30),
            ("noleap", 2000, 2, 28),
            ("365_day", 1999, 12, 31),
            ("all_leap", 2001, 2, 29),
            ("366_day", 2001, 4, 30),
            ("julian", 1900, 2, 29),
            ("standard", 1900, 2, 28),
            ("standard", 1500, 2, 29),
            ("proleptic_gregorian", 1500, 2, 28),
            ("tai", 2004, 2, 29),
        ] {
            assert!(day(calendar, year, month, last).is_ok(), "{calendar}");
            assert!(day(calendar, year, month, last + 1).is_err(), "{calendar}");
        }
        assert!(day("360_day", 2000, 13, 1).is_err());
        assert!(Calendar::parse("mayan").is_none());
    }

    /// Of two days that follow one another the numbers do so, whatever the calendar.
    #[test]
    fn days_are_counted_without_gaps() {
        for calendar in [
            "standard",
            "proleptic_gregorian",
            "julian",
            "noleap",
            "all_leap",
            "360_day",
        ] {
            let mut before = None;
            for year in (-9..=9)
                .chain(1498..1502)
                .chain(1580..1584)
                .chain(1898..1905)
            {
                if let (Some(_), 1498 | 1580 | 1898) = (before, year) {
                    before = None;
                }
                for (month, at) in (1..=12).flat_map(|month| (1..=31).map(move |at| (month, at))) {
                    let Ok(number) = day(calendar, year, month, at) else {
                        continue;
                    };
                    if let Some(before) = before {
                        assert_eq!(number, before + 1, "{calendar} {year}-{month}-{at}");
                    }
                    before = Some(number);
                }
            }
        }
    }
}
