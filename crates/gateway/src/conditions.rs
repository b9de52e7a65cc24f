//! Conditions of a request, as RFC 9110 has them, by entity tag. Values have no time of their own, so that dates are ignored.

use http::header::{HeaderMap, HeaderName, IF_MATCH, IF_NONE_MATCH, IF_RANGE};

/// The consequence of the conditions of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The value is sent.
    Send,
    /// The client has it: 304.
    NotModified,
    /// The client wants another one: 412.
    Failed,
}

/// Compares the conditions with a strong tag, quotes included.
pub(crate) fn verdict(headers: &HeaderMap, tag: &str) -> Verdict {
    if headers.contains_key(IF_MATCH) && !tags(headers, &IF_MATCH).any(|it| it == "*" || it == tag)
    {
        return Verdict::Failed;
    }
    // Weak comparison: a proxy that compressed a value made its tag weak.
    let is_same = |found: &str| found == "*" || found.strip_prefix("W/").unwrap_or(found) == tag;
    match tags(headers, &IF_NONE_MATCH).any(is_same) {
        true => Verdict::NotModified,
        false => Verdict::Send,
    }
}

/// Returns whether a range of the value may be sent: only if the client has the rest of this very value.
pub(crate) fn allows_range(headers: &HeaderMap, tag: &str) -> bool {
    let condition = headers.get(IF_RANGE);
    condition.is_none_or(|found| found.as_bytes().trim_ascii() == tag.as_bytes())
}

/// The tags of a header, which may come several times. Tags have no commas inside: ours have none, and another's that has
/// is no tag of ours.
fn tags<'a>(headers: &'a HeaderMap, name: &'a HeaderName) -> impl Iterator<Item = &'a str> {
    let lists = headers.get_all(name).into_iter();
    lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use http::header::HeaderValue;

    use super::*;

    fn with(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn if_none_match_compares_weakly() {
        for (value, expected) in [
            ("\"a\"", Verdict::NotModified),
            ("W/\"a\"", Verdict::NotModified),
            ("\"x\", \"a\"", Verdict::NotModified),
            ("*", Verdict::NotModified),
            ("\"b\"", Verdict::Send),
            ("a", Verdict::Send),
        ] {
            assert_eq!(verdict(&with(IF_NONE_MATCH, value), "\"a\""), expected);
        }
    }

    #[test]
    fn if_match_compares_strongly() {
        for (value, expected) in [
            ("\"a\"", Verdict::Send),
            ("*", Verdict::Send),
            ("\"b\", \"a\"", Verdict::Send),
            ("W/\"a\"", Verdict::Failed),
            ("\"b\"", Verdict::Failed),
        ] {
            assert_eq!(verdict(&with(IF_MATCH, value), "\"a\""), expected);
        }
    }

    #[test]
    fn a_range_of_another_value_is_not_sent() {
        assert!(allows_range(&HeaderMap::new(), "\"a\""));
        assert!(allows_range(&with(IF_RANGE, "\"a\""), "\"a\""));
        for other in ["\"b\"", "W/\"a\"", "Tue, 01 Sep 2026 00:00:00 GMT"] {
            assert!(!allows_range(&with(IF_RANGE, other), "\"a\""));
        }
    }
}
