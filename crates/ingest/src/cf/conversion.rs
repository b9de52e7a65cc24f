//! Numbers of times in other units.

use serde_json::Value;

use super::calendar::Calendar;
use super::error::TimeError;
use super::units::TimeUnits;

/// The type of the numbers of a time, little-endian as chunks are decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberType {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
}

/// A number of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Number {
    Whole(i128),
    Float(f64),
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
        }
    }
}

impl NumberType {
    /// Reads the `data_type` of a document.
    pub(crate) fn of(data_type: &Value) -> Option<Self> {
        Some(match data_type.as_str()? {
            "int8" => Self::Signed(1),
            "int16" => Self::Signed(2),
            "int32" => Self::Signed(4),
            "int64" => Self::Signed(8),
            "uint8" => Self::Unsigned(1),
            "uint16" => Self::Unsigned(2),
            "uint32" => Self::Unsigned(4),
            "uint64" => Self::Unsigned(8),
            "float32" => Self::Float(4),
            "float64" => Self::Float(8),
            _ => return None,
        })
    }

    /// Returns the bytes of a number.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Signed(bytes) | Self::Unsigned(bytes) | Self::Float(bytes) => bytes,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Signed(1) => "int8",
            Self::Signed(2) => "int16",
            Self::Signed(4) => "int32",
            Self::Signed(_) => "int64",
            Self::Unsigned(1) => "uint8",
            Self::Unsigned(2) => "uint16",
            Self::Unsigned(4) => "uint32",
            Self::Unsigned(_) => "uint64",
            Self::Float(4) => "float32",
            Self::Float(_) => "float64",
        }
    }

    /// Reads a number of so many little-endian bytes.
    pub(crate) fn read(self, bytes: &[u8]) -> Number {
        let mut all = [0; 8];
        let length = bytes.len().min(8);
        all[..length].copy_from_slice(&bytes[..length]);
        let bits = u64::from_le_bytes(all);
        let unused = 64 - 8 * length as u32;
        match self {
            Self::Signed(_) => Number::Whole(i128::from((bits << unused).cast_signed() >> unused)),
            Self::Unsigned(_) => Number::Whole(i128::from(bits)),
            Self::Float(4) => Number::Float(f64::from(f32::from_bits(bits as u32))),
            Self::Float(_) => Number::Float(f64::from_bits(bits)),
        }
    }

    /// Writes a number as little-endian bytes; `None` if the type does not have it.
    pub(crate) fn written(self, number: Number) -> Option<Vec<u8>> {
        let whole = |number: Number| match number {
            Number::Whole(number) => Some(number),
            Number::Float(number) => {
                let near = number.abs() < 2e18 && number.fract() == 0.0;
                near.then_some(number as i128)
            }
        };
        Some(match self {
            Self::Signed(bytes) => {
                let number = i64::try_from(whole(number)?).ok()?;
                let bits = 64 - 8 * bytes as u32;
                if number << bits >> bits != number {
                    return None;
                }
                number.to_le_bytes()[..bytes].to_vec()
            }
            Self::Unsigned(bytes) => {
                let number = u64::try_from(whole(number)?).ok()?;
                let bits = 64 - 8 * bytes as u32;
                if number << bits >> bits != number {
                    return None;
                }
                number.to_le_bytes()[..bytes].to_vec()
            }
            Self::Float(bytes) => {
                let (float, is_same) = match number {
                    Number::Float(number) => (number, true),
                    Number::Whole(number) => (number as f64, number as f64 as i128 == number),
                };
                if !is_same {
                    return None;
                }
                if bytes == 8 {
                    return Some(float.to_le_bytes().to_vec());
                }
                let single = float as f32;
                if !float.is_nan() && f64::from(single) != float {
                    return None;
                }
                single.to_le_bytes().to_vec()
            }
        })
    }
}

/// Converts numbers of one array to those of another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversion {
    from: TimeUnits,
    from_type: NumberType,
    to: TimeUnits,
    to_type: NumberType,
}

impl Conversion {
    /// Checks that moments of the one calendar are moments of the other.
    ///
    /// # Errors
    /// [`TimeError::Calendars`], [`TimeError::Moment`].
    pub(crate) fn new(
        (from, from_type): (TimeUnits, NumberType),
        (to, to_type): (TimeUnits, NumberType),
    ) -> Result<Self, TimeError> {
        let (one, other) = (from.calendar(), to.calendar());
        if !one.agrees_with(other) {
            return Err(TimeError::Calendars {
                from: one.name(),
                to: other.name(),
            });
        }
        let problem = match one {
            Calendar::Utc => "its leap seconds are not known here",
            Calendar::None => "it has no dates",
            _ => "",
        };
        if !problem.is_empty() && from.reference != to.reference {
            let calendar = one.name();
            return Err(TimeError::Moment { calendar, problem });
        }
        Ok(Self {
            from,
            from_type,
            to,
            to_type,
        })
    }

    pub(crate) fn source_type(&self) -> NumberType {
        self.from_type
    }

    pub(crate) fn target_type(&self) -> NumberType {
        self.to_type
    }

    /// Converts a number that is no missing one, to the little-endian bytes of the other array.
    ///
    /// # Errors
    /// [`TimeError::Inexact`], [`TimeError::BeforeGregorian`].
    pub(crate) fn converted(&self, value: Number) -> Result<Vec<u8>, TimeError> {
        let inexact = || TimeError::Inexact {
            value: value.to_string(),
            from: self.from.text().to_owned(),
            data_type: self.to_type.name(),
            to: self.to.text().to_owned(),
            finer: self.to.finer(),
        };
        let moment = moment(value, &self.from).ok_or_else(inexact)?;
        let agreed = [&self.from, &self.to];
        let agreed = agreed.iter().filter_map(|it| it.agreed_from()).max();
        if agreed.is_some_and(|agreed| moment < agreed) {
            return Err(TimeError::BeforeGregorian {
                value: value.to_string(),
                units: self.from.text().to_owned(),
            });
        }
        let since = moment.checked_sub(self.to.reference).ok_or_else(inexact)?;
        let number = match self.to_type {
            NumberType::Float(_) => Number::Float(since as f64 / self.to.unit as f64),
            _ if since % self.to.unit != 0 => return Err(inexact()),
            _ => Number::Whole(since / self.to.unit),
        };
        let bytes = match (self.to_type, number) {
            (NumberType::Float(4), Number::Float(number)) => (number as f32).to_le_bytes().to_vec(),
            (kind, number) => kind.written(number).ok_or_else(inexact)?,
        };
        // A float is what readers make of it: the same nanosecond.
        match self::moment(self.to_type.read(&bytes), &self.to) {
            Some(again) if again == moment => Ok(bytes),
            _ => Err(inexact()),
        }
    }
}

/// The moment of a number, in nanoseconds since day 0 of its calendar. A float is multiplied and rounded, as readers do.
pub(crate) fn moment(value: Number, units: &TimeUnits) -> Option<i128> {
    let since = match value {
        Number::Whole(number) => number.checked_mul(units.unit)?,
        Number::Float(number) => {
            let nanoseconds = (number * units.unit as f64).round_ties_even();
            (nanoseconds.abs() < 1e36).then_some(nanoseconds as i128)?
        }
    };
    since.checked_add(units.reference)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: NumberType = NumberType::Signed(8);
    const DOUBLE: NumberType = NumberType::Float(8);

    fn conversion(
        from: (&str, &str, NumberType),
        to: (&str, &str, NumberType),
    ) -> Result<Conversion, TimeError> {
        let side = |(units, calendar, kind): (&str, &str, NumberType)| {
            let units = TimeUnits::parse(units, Some(calendar)).expect("units of time");
            (units, kind)
        };
        Conversion::new(side(from), side(to))
    }

    fn whole(conversion: &Conversion, value: i128) -> Result<Number, TimeError> {
        let bytes = conversion.converted(Number::Whole(value))?;
        Ok(conversion.target_type().read(&bytes))
    }

    #[test]
    fn whole_numbers_stay_exact_or_are_refused() {
        let months = conversion(
            ("hours since 2020-02-01", "standard", LONG),
            ("hours since 2020-01-01", "gregorian", LONG),
        )
        .expect("one calendar");
        assert_eq!(whole(&months, 0), Ok(Number::Whole(744)));
        assert_eq!(whole(&months, -744), Ok(Number::Whole(0)));
        let days = conversion(
            ("hours since 2020-02-01", "standard", LONG),
            ("days since 2020-01-01", "standard", LONG),
        )
        .expect("one calendar");
        assert_eq!(whole(&days, 48), Ok(Number::Whole(33)));
        let error = whole(&days, 47).expect_err("no whole day").to_string();
        assert!(
            error.contains("47") && error.contains("\"hours since 2020-01-01\""),
            "{error}"
        );
        let short = conversion(
            ("days since 2020-01-01", "standard", LONG),
            (
                "seconds since 2020-01-01",
                "standard",
                NumberType::Signed(2),
            ),
        )
        .expect("one calendar");
        assert!(whole(&short, 1).is_err(), "86,400 is no int16");
    }

    /// Figures of cftime, see `tests/fixtures/times/figures.py`.
    #[test]
    fn numbers_are_those_of_cftime() {
        let rows = include_str!("../../tests/fixtures/times/figures.json");
        let rows: Vec<(String, String, i128, String, i128)> =
            serde_json::from_str(rows).expect("rows");
        assert!(rows.len() > 200);
        for (calendar, from, number, to, expected) in &rows {
            let one = (from.as_str(), calendar.as_str(), LONG);
            let other = (to.as_str(), calendar.as_str(), LONG);
            let found = whole(&conversion(one, other).expect("one calendar"), *number);
            let expected = Ok(Number::Whole(*expected));
            assert_eq!(found, expected, "{calendar}: {number} {from} in {to}");
            // And back.
            let Ok(Number::Whole(there)) = found else {
                continue;
            };
            let back = whole(&conversion(other, one).expect("one calendar"), there);
            assert_eq!(
                back,
                Ok(Number::Whole(*number)),
                "{calendar}: {to} in {from}"
            );
        }
    }

    #[test]
    fn floats_keep_the_nanosecond_or_are_refused() {
        let days = |to: &str| {
            conversion(
                ("days since 2020-02-01", "standard", DOUBLE),
                (to, "standard", DOUBLE),
            )
            .expect("one calendar")
        };
        for hour in 0..24 {
            let value = Number::Float(f64::from(hour) / 24.0);
            let hours = days("hours since 2020-01-01").converted(value);
            let expected = (744.0 + f64::from(hour)).to_le_bytes().to_vec();
            assert_eq!(hours, Ok(expected));
        }
        // Sixty thousand days have no room for the nanoseconds of a seventh of one.
        let far = days("days since 1850-01-01").converted(Number::Float(1.0 / 7.0));
        assert!(far.is_err(), "{far:?}");
        let single = conversion(
            ("hours since 2020-02-01", "standard", DOUBLE),
            ("seconds since 1970-01-01", "standard", NumberType::Float(4)),
        );
        let refused = single.expect("one calendar").converted(Number::Float(1.0));
        assert!(refused.is_err(), "{refused:?}");
    }

    #[test]
    fn calendars_that_differ_are_refused_and_those_that_agree_are_not() {
        let between = |one: &str, other: &str, value: i128| {
            let conversion = conversion(
                ("days since 2000-01-01", one, LONG),
                ("days since 1999-01-01", other, LONG),
            )?;
            whole(&conversion, value)
        };
        assert_eq!(
            between("standard", "proleptic_gregorian", 1),
            Ok(Number::Whole(366))
        );
        assert_eq!(between("noleap", "365_day", 1), Ok(Number::Whole(366)));
        assert_eq!(between("360_day", "360_day", 1), Ok(Number::Whole(361)));
        assert_eq!(between("all_leap", "366_day", 1), Ok(Number::Whole(367)));
        assert_eq!(between("julian", "julian", 1), Ok(Number::Whole(366)));
        assert_eq!(between("tai", "tai", 1), Ok(Number::Whole(366)));
        for (one, other) in [
            ("noleap", "standard"),
            ("julian", "standard"),
            ("tai", "utc"),
        ] {
            let error = between(one, other, 1);
            assert!(
                matches!(error, Err(TimeError::Calendars { .. })),
                "{error:?}"
            );
        }
        for calendar in ["utc", "none"] {
            let error = between(calendar, calendar, 1);
            assert!(matches!(error, Err(TimeError::Moment { .. })), "{error:?}");
        }
        let error = between("standard", "standard", -200_000);
        assert!(
            matches!(error, Err(TimeError::BeforeGregorian { .. })),
            "{error:?}"
        );
        assert!(between("proleptic_gregorian", "proleptic_gregorian", -200_000).is_ok());
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        for (kind, number) in [
            (NumberType::Signed(1), Number::Whole(-128)),
            (NumberType::Unsigned(2), Number::Whole(65_535)),
            (LONG, Number::Whole(i128::from(i64::MIN))),
            (NumberType::Unsigned(8), Number::Whole(i128::from(u64::MAX))),
            (NumberType::Float(4), Number::Float(0.5)),
            (DOUBLE, Number::Float(0.1)),
        ] {
            let bytes = kind.written(number).expect("in range");
            assert_eq!(kind.read(&bytes), number);
        }
        assert_eq!(NumberType::Signed(1).written(Number::Whole(128)), None);
        assert_eq!(NumberType::Unsigned(1).written(Number::Whole(-1)), None);
        assert_eq!(NumberType::Float(4).written(Number::Float(0.1)), None);
        assert_eq!(LONG.written(Number::Float(0.5)), None);
    }
}
