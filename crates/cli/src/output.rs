//! The output of commands: aligned text, or one JSON document.

pub(crate) mod escape;
pub(crate) mod table;

use std::io::{self, BufWriter, Write};
use std::time::SystemTime;

use icefield::Location;
use jiff::Timestamp;
use serde::Serialize;

use crate::args::OutputFormat;
use crate::failure::Failure;

/// The version of every JSON document. It changes when a member changes its meaning or goes away, not when one is
/// added.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// A document under its version.
#[derive(Serialize)]
struct Document<'a, T> {
    schema_version: u32,
    #[serde(flatten)]
    facts: &'a T,
}

/// The destination of a command's output: standard output, except in tests.
pub(crate) struct Output {
    out: BufWriter<Box<dyn Write>>,
    json: bool,
}

impl Output {
    pub(crate) fn new(format: OutputFormat) -> Self {
        Self::to(io::stdout().lock(), format)
    }

    pub(crate) fn to(out: impl Write + 'static, format: OutputFormat) -> Self {
        Self {
            out: BufWriter::new(Box::new(out)),
            json: format.json,
        }
    }

    /// Prints facts as JSON if the command line asks for it, else as the text that `text` writes.
    pub(crate) fn facts<T: Serialize>(
        &mut self,
        facts: &T,
        text: impl FnOnce(&T, &mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        if self.json {
            let document = Document {
                schema_version: SCHEMA_VERSION,
                facts,
            };
            serde_json::to_writer_pretty(&mut self.out, &document).map_err(io::Error::from)?;
            writeln!(self.out)?;
        } else {
            text(facts, &mut self.out)?;
        }
        Ok(self.out.flush()?)
    }

    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Returns the writer, for text that is printed incrementally.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        &mut self.out
    }

    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        Ok(self.out.flush()?)
    }
}

/// Returns a time as RFC 3339 in microseconds, the precision of the format, so that it works in `REF@TIME`.
pub(crate) fn time(time: SystemTime) -> String {
    match Timestamp::try_from(time) {
        Ok(time) => format!("{time:.6}"),
        Err(_) => "beyond the calendar".to_owned(),
    }
}

/// Returns a number of bytes with a unit; the exact number if that is as short.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1023.95 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// Options of URLs whose values hold no secrets and may be printed.
const SHOWN: [&str; 9] = [
    "anonymous",
    "endpoint",
    "path_style",
    "preset",
    "region",
    "requester_pays",
    "sort_lists",
    "trust_conditions",
    "user_project",
];

/// Returns the printable form of a location: the given text without the parts of a URL that may hold a secret.
pub(crate) fn location(location: &Location) -> String {
    let text = location.as_str();
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    if location.path().is_some() {
        return text.to_owned();
    }
    let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let mut shown = match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}{path}"),
        None => format!("{scheme}://{place}"),
    };
    for (at, option) in options.split('&').filter(|it| !it.is_empty()).enumerate() {
        shown.push(if at == 0 { '?' } else { '&' });
        match option.split_once('=') {
            Some((name, _)) if !SHOWN.contains(&name) => shown.push_str(&format!("{name}=…")),
            _ => shown.push_str(option),
        }
    }
    shown
}

/// Returns a number with the singular or the plural of a word.
pub(crate) fn count(number: u64, one: &str, several: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {several}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_may_be_a_secret_in_a_location_is_not_shown() {
        for (text, shown) in [
            ("x", "x"),
            ("/a b?c=d@e", "/a b?c=d@e"),
            ("memory:", "memory:"),
            ("s3://sea/x", "s3://sea/x"),
            (
                "s3://sea?region=eu&anonymous",
                "s3://sea?region=eu&anonymous",
            ),
            (
                "s3://sea/x?secret=k&region=eu",
                "s3://sea/x?secret=…&region=eu",
            ),
            ("http://me:k@host:1/x", "http://…@host:1/x"),
        ] {
            let parsed = Location::parse(text).expect(text);
            assert_eq!(location(&parsed), shown);
        }
    }

    #[test]
    fn times_have_microseconds() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_micros(1_421_366_400_000_007);
        assert_eq!(time(moment), "2015-01-16T00:00:00.000007Z");
        assert_eq!(time(SystemTime::UNIX_EPOCH), "1970-01-01T00:00:00.000000Z");
    }

    #[test]
    fn bytes_are_short() {
        let shown = [0, 1, 1023, 1024, 1536, 1 << 20, (1 << 20) - 1, u64::MAX].map(bytes);
        assert_eq!(
            shown,
            [
                "0 B", "1 B", "1023 B", "1.0 KiB", "1.5 KiB", "1.0 MiB", "1.0 MiB", "16.0 EiB"
            ]
        );
    }
}
