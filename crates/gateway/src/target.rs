//! The target of a request: the path of its URL as decoded segments, and its query.

use percent_encoding::percent_decode_str;

/// Why a path is no target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TargetError {
    /// A `%` without two hexadecimal digits.
    #[error("the path has a `%` that is not followed by two hexadecimal digits: write %25")]
    Percent,
    /// A segment that is no text.
    #[error("the path does not decode to UTF-8")]
    Utf8,
}

/// The path of a URL.
///
/// Segments are split first and decoded once, each on its own, so that `%2F` stays inside its segment. Empty segments are
/// dropped: obstore joins `…/main/` and a key with two slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    segments: Vec<String>,
    is_directory: bool,
    query: Vec<(String, String)>,
}

impl Target {
    /// Reads the path and the query of a request.
    pub(crate) fn parse(path: &str, query: Option<&str>) -> Result<Self, TargetError> {
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let pairs = query.unwrap_or_default().split('&');
        let pairs = pairs.filter(|pair| !pair.is_empty());
        Ok(Self {
            segments: segments.map(decode).collect::<Result<_, _>>()?,
            is_directory: path.ends_with('/'),
            query: pairs
                .map(|pair| {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    Ok((decode(name)?, decode(value)?))
                })
                .collect::<Result<_, _>>()?,
        })
    }

    /// The decoded segments.
    pub(crate) fn segments(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// Whether the path ends with a slash.
    pub(crate) fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// The first value of a parameter of the query.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let mut pairs = self.query.iter();
        let found = pairs.find(|(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    /// All values of a parameter of the query.
    pub(crate) fn parameters<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let pairs = self.query.iter();
        pairs
            .filter(move |(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Joins segments to a key of a Zarr store. `None` if a segment holds a slash of its own, which no part of a key can.
pub(crate) fn key_of(segments: &[&str]) -> Option<String> {
    let is_plain = !segments.iter().any(|segment| segment.contains('/'));
    is_plain.then(|| segments.join("/"))
}

fn decode(text: &str) -> Result<String, TargetError> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'%') {
        let digits = rest.get(at + 1..at + 3).ok_or(TargetError::Percent)?;
        if !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(TargetError::Percent);
        }
        rest = &rest[at + 3..];
    }
    let decoded = percent_decode_str(text).decode_utf8();
    Ok(decoded.map_err(|_| TargetError::Utf8)?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(path: &str) -> Vec<String> {
        Target::parse(path, None).unwrap().segments
    }

    #[test]
    fn segments_are_split_before_they_are_decoded() {
        assert_eq!(segments("/a%2Fb/c"), ["a/b", "c"]);
        assert_eq!(segments("/main//zarr.json"), ["main", "zarr.json"]);
        assert_eq!(segments("/a%2525"), ["a%25"]);
        assert_eq!(
            segments("/main%402015/%C3%BC%20%23%3F"),
            ["main@2015", "ü #?"]
        );
        assert!(segments("/").is_empty());
        assert_eq!(key_of(&["a", "b"]).as_deref(), Some("a/b"));
        assert_eq!(key_of(&["a/b"]), None);
    }

    #[test]
    fn a_path_that_cannot_be_decoded_is_refused() {
        for path in ["/%", "/%4", "/%zz", "/a%+1"] {
            assert_eq!(Target::parse(path, None), Err(TargetError::Percent));
        }
        assert_eq!(Target::parse("/%ff", None), Err(TargetError::Utf8));
    }

    #[test]
    fn parameters_repeat() {
        let target = Target::parse("/x/", Some("path=%2Fa&path=%2Fb&q=")).unwrap();
        assert!(target.is_directory());
        assert_eq!(target.parameter("q"), Some(""));
        assert_eq!(target.parameter("z"), None);
        assert_eq!(target.parameters("path").collect::<Vec<_>>(), ["/a", "/b"]);
    }
}
