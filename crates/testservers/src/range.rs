//! The `Range` header, for servers whose protocol crate does not read it.

use std::ops::Range;

/// The result of a `Range` header for an object of some length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// There is no range, or none that makes sense: all of it.
    All,
    /// These bytes.
    Part(Range<usize>),
    /// Bytes that are not there.
    Nothing,
}

/// Reads a header.
pub(crate) fn asked(header: Option<&str>, length: usize) -> Asked {
    let Some((first, last)) = header
        .and_then(|header| header.strip_prefix("bytes="))
        .and_then(|range| range.split_once('-'))
    else {
        return Asked::All;
    };
    match (first.parse::<usize>(), last.parse::<usize>()) {
        (Err(_), Ok(suffix)) if first.is_empty() => {
            if suffix == 0 || length == 0 {
                return Asked::Nothing;
            }
            Asked::Part(length.saturating_sub(suffix)..length)
        }
        (Ok(first), _) if first >= length => Asked::Nothing,
        (Ok(first), Ok(last)) if first <= last => {
            Asked::Part(first..last.saturating_add(1).min(length))
        }
        (Ok(first), Err(_)) if last.is_empty() => Asked::Part(first..length),
        _ => Asked::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (header, range) in [
            ("bytes=2-4", Asked::Part(2..5)),
            ("bytes=2-99", Asked::Part(2..10)),
            ("bytes=7-", Asked::Part(7..10)),
            ("bytes=-3", Asked::Part(7..10)),
            ("bytes=-30", Asked::Part(0..10)),
            ("bytes=-0", Asked::Nothing),
            ("bytes=10-", Asked::Nothing),
            ("bytes=5-4", Asked::All),
            ("lines=1-2", Asked::All),
        ] {
            assert_eq!(asked(Some(header), 10), range, "{header}");
        }
        assert_eq!(asked(Some("bytes=-1"), 0), Asked::Nothing);
        assert_eq!(asked(None, 10), Asked::All);
    }
}
