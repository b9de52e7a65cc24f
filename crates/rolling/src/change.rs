//! Changes of a dimension.

use std::fmt;
use std::str::FromStr;

use crate::RollingError;

/// A change of the two ends of a dimension, counted in elements. Elements come in first, then others are removed.
///
/// ```
/// use icefield_rolling::{Change, Keep};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let next_day = Change::append(24).and_keep(Keep::Span("7 days".parse()?));
/// assert_eq!(next_day.append, 24);
/// assert_eq!(Change::roll(2).to_string(), "2 in at the end, 2 out at the start");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Change {
    /// The number of elements that come in at the end.
    pub append: u64,
    /// The number of elements that come in at the start.
    pub prepend: u64,
    /// The number of elements that are removed at the start.
    pub trim_start: u64,
    /// The number of elements that are removed at the end.
    pub trim_end: u64,
    /// The most that stays. The excess is removed at the start, or at the end if elements come in at the start.
    pub keep: Option<Keep>,
    /// The labels of the elements that come in, in their order. Without them, regular axes continue with their step.
    pub labels: Option<Vec<f64>>,
}

/// The largest part of a window that stays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// This many elements. If chunks would have to be cut, and elements are not masked, the window keeps the whole
    /// chunk.
    Count(u64),
    /// Elements less than so much time from the newest element, or from the oldest if elements come in there; rounded up
    /// to whole chunks, too.
    Span(Duration),
}

/// A length of time, in seconds. Text such as `7 days`, `36h` or `1.5 hours` converts into one.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Duration(pub f64);

impl Change {
    /// Returns the change by which elements come in at the end.
    pub fn append(elements: u64) -> Self {
        Self {
            append: elements,
            ..Self::default()
        }
    }

    /// Returns the change by which elements come in at the start.
    pub fn prepend(elements: u64) -> Self {
        Self {
            prepend: elements,
            ..Self::default()
        }
    }

    /// Returns the change by which elements are removed at the start and at the end.
    pub fn trim(start: u64, end: u64) -> Self {
        Self {
            trim_start: start,
            trim_end: end,
            ..Self::default()
        }
    }

    /// Returns the change by which elements come in at the end, and as many are removed at the start; with a negative
    /// number, the reverse.
    pub fn roll(elements: i64) -> Self {
        let count = elements.unsigned_abs();
        match elements >= 0 {
            true => Self::append(count).and_trim(count, 0),
            false => Self::prepend(count).and_trim(0, count),
        }
    }

    /// Sets the numbers of elements that are removed.
    pub fn and_trim(mut self, start: u64, end: u64) -> Self {
        (self.trim_start, self.trim_end) = (start, end);
        self
    }

    /// Sets the most that stays.
    pub fn and_keep(mut self, keep: Keep) -> Self {
        self.keep = Some(keep);
        self
    }

    /// Sets the labels of the elements that come in.
    pub fn with_labels(mut self, labels: impl IntoIterator<Item = f64>) -> Self {
        self.labels = Some(labels.into_iter().collect());
        self
    }

    pub(crate) fn check(&self) -> Result<(), RollingError> {
        let problem = match self {
            it if it.append > 0 && it.prepend > 0 => {
                "elements can come in at the end or at the start, not at both in one change"
            }
            it if it.append > 0 && it.trim_end > 0 => {
                "elements cannot come in and go at the end in one change"
            }
            it if it.prepend > 0 && it.trim_start > 0 => {
                "elements cannot come in and go at the start in one change"
            }
            it if it.keep.is_some() && it.trim_start + it.trim_end > 0 => {
                "how much is trimmed and how much is kept cannot both be said"
            }
            _ => return Ok(()),
        };
        Err(RollingError::Contradiction { problem })
    }
}

/// The change, in words.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        for (count, what) in [
            (self.append, "in at the end"),
            (self.prepend, "in at the start"),
            (self.trim_start, "out at the start"),
            (self.trim_end, "out at the end"),
        ] {
            if count > 0 {
                parts.push(format!("{count} {what}"));
            }
        }
        match self.keep {
            None => {}
            Some(Keep::Count(count)) => parts.push(format!("at most {count} kept")),
            Some(Keep::Span(span)) => parts.push(format!("at most {span} kept")),
        }
        match parts.is_empty() {
            true => f.write_str("nothing"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}

/// Seconds of one of the units that CF knows, but for months and years, which have no one length.
pub(crate) fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit.trim().to_ascii_lowercase().as_str() {
        "milliseconds" | "millisecond" | "millisec" | "millisecs" | "msec" | "ms" => 1e-3,
        "microseconds" | "microsecond" => 1e-6,
        "nanoseconds" | "nanosecond" | "ns" => 1e-9,
        "seconds" | "second" | "sec" | "secs" | "s" => 1.0,
        "minutes" | "minute" | "min" | "mins" => 60.0,
        "hours" | "hour" | "hr" | "hrs" | "h" => 3600.0,
        "days" | "day" | "d" => 86_400.0,
        "weeks" | "week" => 604_800.0,
        _ => return None,
    })
}

impl FromStr for Duration {
    type Err = String;

    /// Reads `7 days`, `36h`, `1.5 hours`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let end = text
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let problem =
            || format!("{text:?} is no length of time, such as \"7 days\" or \"36 hours\"");
        let number: f64 = number.parse().map_err(|_| problem())?;
        let seconds = number * seconds_of(unit).ok_or_else(problem)?;
        match seconds.is_finite() && seconds > 0.0 {
            true => Ok(Self(seconds)),
            false => Err(problem()),
        }
    }
}

impl FromStr for Keep {
    type Err = String;

    /// Reads a number of elements, or a [`Duration`].
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim().parse() {
            Ok(count) => Ok(Self::Count(count)),
            Err(_) => text.parse().map(Self::Span),
        }
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} seconds", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read() {
        for (text, seconds) in [
            ("7 days", 604_800.0),
            ("36h", 129_600.0),
            (" 1.5 hours ", 5400.0),
        ] {
            assert_eq!(text.parse(), Ok(Duration(seconds)), "{text}");
        }
        for text in [
            "",
            "days",
            "7",
            "7 moons",
            "0 days",
            "1 month",
            "-1 day",
            "1e999 days",
        ] {
            assert!(text.parse::<Duration>().is_err(), "{text}");
        }
        assert_eq!("56".parse(), Ok(Keep::Count(56)));
        assert_eq!("2 weeks".parse(), Ok(Keep::Span(Duration(1_209_600.0))));
    }
}
