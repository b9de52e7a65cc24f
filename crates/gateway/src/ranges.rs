//! The `Range` of a request, as RFC 9110 has it, for a value whose length is known.

use std::ops::Range;

/// The part of a value that a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All of it: no range, several ranges, or one that is not understood.
    Whole,
    /// One part, not empty.
    Part(Range<u64>),
    /// A range that begins behind the end.
    Nothing,
}

/// Reads a `Range` header for a value of `length` bytes. Of several ranges a server may send the whole value, and no client
/// of Zarr needs more.
pub(crate) fn wanted(header: Option<&str>, length: u64) -> Wanted {
    let Some((unit, ranges)) = header.and_then(|header| header.split_once('=')) else {
        return Wanted::Whole;
    };
    if !unit.trim().eq_ignore_ascii_case("bytes") || ranges.contains(',') {
        return Wanted::Whole;
    }
    let Some((start, end)) = ranges.trim().split_once('-') else {
        return Wanted::Whole;
    };
    let (start, end) = (start.trim(), end.trim());
    let range = match (number(start), number(end)) {
        (Some(start), Some(last)) if start <= last => start..last.saturating_add(1).min(length),
        (Some(start), None) if end.is_empty() => start..length,
        (None, Some(suffix)) if start.is_empty() => length.saturating_sub(suffix)..length,
        _ => return Wanted::Whole,
    };
    match range.is_empty() {
        true => Wanted::Nothing,
        false => Wanted::Part(range),
    }
}

/// A number of digits alone. One beyond 64 bits lies behind every end.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_clamped_to_the_value() {
        for (header, expected) in [
            ("bytes=0-0", Wanted::Part(0..1)),
            ("bytes=2-4", Wanted::Part(2..5)),
            ("bytes=2-", Wanted::Part(2..10)),
            ("bytes=-3", Wanted::Part(7..10)),
            ("bytes=-30", Wanted::Part(0..10)),
            ("bytes=8-50", Wanted::Part(8..10)),
            ("bytes=0-99999999999999999999", Wanted::Part(0..10)),
            ("Bytes = 1-2", Wanted::Part(1..3)),
            ("bytes=10-", Wanted::Nothing),
            ("bytes=99999999999999999999-", Wanted::Nothing),
            ("bytes=10-20", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
        ] {
            assert_eq!(wanted(Some(header), 10), expected, "{header}");
        }
        assert_eq!(wanted(Some("bytes=-5"), 0), Wanted::Nothing);
    }

    #[test]
    fn ranges_that_are_not_understood_are_ignored() {
        for header in [
            "bytes=0-1,3-4",
            "items=0-1",
            "bytes=4-2",
            "bytes=-",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes",
            "",
        ] {
            assert_eq!(wanted(Some(header), 10), Wanted::Whole, "{header}");
        }
        assert_eq!(wanted(None, 10), Wanted::Whole);
    }
}
