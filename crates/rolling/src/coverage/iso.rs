//! Dates and times as attributes have them, read and written in the style of the one that was there.

use super::calendar::{Moment, SECOND, date_of, days_of, zone_of};

/// How a moment was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Style {
    /// `2015-01-01T00:00:00`, not `20150101T000000`.
    is_extended: bool,
    /// The character between date and time; `None` if there was no time.
    between: Option<char>,
    /// Parts of the time: hours, minutes, seconds.
    parts: usize,
    /// Digits of a fraction.
    digits: usize,
    zone: String,
}

/// Reads a date of ISO 8601, with a time or without.
pub(super) fn parse(text: &str) -> Option<(Moment, Style)> {
    let text = text.trim();
    if !text.is_ascii() {
        return None;
    }
    let at = text.find(['T', ' ']);
    let (date, rest) = match at {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, ""),
    };
    let is_extended = date.contains('-');
    let days = match is_extended {
        true => {
            let mut parts = date.split('-');
            let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
            if parts.next().is_some() || year.len() != 4 {
                return None;
            }
            days_of(digits(year)?, of_two(month)?, of_two(day)?)?
        }
        false if date.len() == 8 => days_of(
            digits(&date[..4])?,
            of_two(&date[4..6])?,
            of_two(&date[6..])?,
        )?,
        false => return None,
    };
    let zone_at = rest.find(['Z', '+', '-', 'U', ' ']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone_at);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    if at.is_some() && time.is_empty() || fraction.len() > 9 {
        return None;
    }
    let numbers: Vec<u32> = match time {
        "" => Vec::new(),
        _ if time.contains(':') => time.split(':').map(of_two).collect::<Option<_>>()?,
        _ if time.len() % 2 == 0 => (0..time.len() / 2)
            .map(|at| of_two(&time[2 * at..2 * at + 2]))
            .collect::<Option<_>>()?,
        _ => return None,
    };
    let of_clock = |at: usize| i128::from(numbers.get(at).copied().unwrap_or(0));
    let (hours, minutes, seconds) = (of_clock(0), of_clock(1), of_clock(2));
    if numbers.len() > 3 || hours > 24 || minutes > 59 || seconds > 59 {
        return None;
    }
    if !fraction.is_empty() && numbers.len() < 3 {
        return None;
    }
    let nanoseconds: i128 = match fraction {
        "" => 0,
        _ => i128::from(digits(&format!("{fraction:0<9}"))?),
    };
    let seconds = i128::from(days) * 86_400 + hours * 3600 + minutes * 60 + seconds;
    let east = i128::from(zone_of(zone.trim())?) * 60;
    let style = Style {
        is_extended,
        between: at.map(|at| char::from(text.as_bytes()[at])),
        parts: numbers.len(),
        digits: fraction.len(),
        zone: zone.to_owned(),
    };
    Some(((seconds - east) * SECOND + nanoseconds, style))
}

fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok()).flatten()
}

fn of_two(text: &str) -> Option<u32> {
    (text.len() == 2).then_some(())?;
    digits(text).and_then(|number| u32::try_from(number).ok())
}

impl Style {
    /// Writes a moment in this style, with what the style lacks if the moment would be another one without. `None` for years
    /// that four digits do not hold.
    pub(super) fn write(&self, moment: Moment) -> Option<String> {
        let east = i128::from(zone_of(self.zone.trim())?) * 60;
        let local = moment.checked_add(east * SECOND)?;
        let days = i64::try_from(local.div_euclid(86_400 * SECOND)).ok()?;
        let (year, month, day) = date_of(days)?;
        let within = local.rem_euclid(86_400 * SECOND);
        let (seconds, rest) = (within / SECOND, within % SECOND);
        let clock = [seconds / 3600, seconds / 60 % 60, seconds % 60];
        let mut text = match self.is_extended {
            true => format!("{year:04}-{month:02}-{day:02}"),
            false => format!("{year:04}{month:02}{day:02}"),
        };
        let needed = match clock {
            _ if rest > 0 => 3,
            [0, 0, 0] => 0,
            [_, 0, 0] => 1,
            [_, _, 0] => 2,
            _ => 3,
        };
        let mut parts = self.parts.max(needed);
        if self.between.is_none() && parts > 0 {
            parts = 3;
        }
        if parts == 0 {
            return Some(text);
        }
        text.push(self.between.unwrap_or('T'));
        for (number, part) in clock.iter().take(parts).enumerate() {
            if number > 0 && self.is_extended {
                text.push(':');
            }
            text.push_str(&format!("{part:02}"));
        }
        let fraction = format!("{rest:09}");
        let needed = fraction.trim_end_matches('0').len();
        let fraction = &fraction[..needed.max(self.digits)];
        if !fraction.is_empty() {
            text.push('.');
            text.push_str(fraction);
        }
        match self.between {
            Some(_) => text.push_str(&self.zone),
            None => text.push('Z'),
        }
        Some(text)
    }
}

/// Reads a duration of ISO 8601 whose length is fixed: weeks, days, hours, minutes and seconds.
pub(super) fn parse_duration(text: &str) -> Option<Moment> {
    let text = text.trim().strip_prefix('P')?;
    let (date, time) = text.split_once('T').unwrap_or((text, ""));
    let mut length = 0;
    let mut count = 0;
    for (part, units) in [
        (date, &[('W', 604_800), ('D', 86_400)][..]),
        (time, &[('H', 3600), ('M', 60), ('S', 1)]),
    ] {
        let mut rest = part;
        for (letter, seconds) in units {
            if let Some((number, behind)) = rest.split_once(*letter) {
                length += i128::from(digits(number)?) * seconds * SECOND;
                count += 1;
                rest = behind;
            }
        }
        if !rest.is_empty() {
            return None;
        }
    }
    (count > 0).then_some(length)
}

/// Writes a duration in days and parts of them; `None` for parts of seconds.
pub(super) fn write_duration(length: Moment) -> Option<String> {
    if length < 0 || length % SECOND != 0 {
        return None;
    }
    let seconds = length / SECOND;
    let mut text = String::from("P");
    if seconds >= 86_400 || seconds == 0 {
        text.push_str(&format!("{}D", seconds / 86_400));
    }
    if seconds % 86_400 > 0 {
        text.push('T');
    }
    for (letter, number) in [
        ('H', seconds / 3600 % 24),
        ('M', seconds / 60 % 60),
        ('S', seconds % 60),
    ] {
        if number > 0 {
            text.push_str(&format!("{number}{letter}"));
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_style_of_a_moment_stays() {
        for (text, next) in [
            ("2015-01-31T00:00:00Z", "2015-02-01T00:00:00Z"),
            ("20150131T120000Z", "20150201T120000Z"),
            ("2015-01-31", "2015-02-01"),
            ("20150131", "20150201"),
            ("2015-01-31 06:30", "2015-02-01 06:30"),
            (
                "2015-01-31T23:59:59.50+01:00",
                "2015-02-01T23:59:59.50+01:00",
            ),
            ("2015-01-31T00:00:00 UTC", "2015-02-01T00:00:00 UTC"),
        ] {
            let (moment, style) = parse(text).expect(text);
            assert_eq!(style.write(moment).as_deref(), Some(text));
            assert_eq!(style.write(moment + 86_400 * SECOND).as_deref(), Some(next));
        }
        let (moment, style) = parse("2015-01-31").expect("a date");
        let noon = style.write(moment + 43_200 * SECOND);
        assert_eq!(noon.as_deref(), Some("2015-01-31T12:00:00Z"));
        let (moment, style) = parse("2015-01-31T00Z").expect("an hour");
        let later = style.write(moment + SECOND / 4);
        assert_eq!(later.as_deref(), Some("2015-01-31T00:00:00.25Z"));
        assert_eq!(style.write(moment * 100_000), None);
    }

    #[test]
    fn what_is_no_moment_is_not_taken_for_one() {
        for text in [
            "",
            "soon",
            "2015",
            "2015-02-30",
            "2015-1-1",
            "15-01-01",
            "2015-01-01T",
            "2015-01-01T25:00",
            "2015-01-01T00:60",
            "2015-01-01T000",
            "2015-01-01T00:00:00X",
            "20150101T00:00:00.1234567890Z",
            "2015-01-01-01",
            "２015-01-01",
            "2015-01-01T1:00",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn durations_of_a_fixed_length_are_read_and_written() {
        for (text, seconds) in [
            ("P7D", 604_800),
            ("PT6H", 21_600),
            ("P1DT12H30M5S", 131_405),
            ("P0D", 0),
        ] {
            assert_eq!(parse_duration(text), Some(seconds * SECOND), "{text}");
            assert_eq!(write_duration(seconds * SECOND).as_deref(), Some(text));
        }
        assert_eq!(parse_duration("P1W"), Some(604_800 * SECOND));
        for text in ["", "P", "PT", "P1M", "P1Y", "7D", "P7", "P-1D", "P1H"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
        assert_eq!(write_duration(-SECOND), None);
    }
}
