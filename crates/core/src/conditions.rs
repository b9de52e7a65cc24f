//! Conditions of the configuration on arrays: what rules of splitting and of preloading have in common.

use regex::Regex;

/// The properties of an array that conditions test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArrayName<'a> {
    /// From the root, as `/a/b`.
    pub(crate) path: &'a str,
    pub(crate) dimensions: Option<&'a [Option<String>]>,
}

impl ArrayName<'_> {
    /// The last segment of the path.
    fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }
}

/// A regular expression that a path or a name is searched with.
#[derive(Clone, Debug)]
pub(crate) enum Pattern {
    Path(Regex),
    Name(Regex),
}

impl Pattern {
    /// Compiles what the configuration says of paths. None, with a warning, if it is no regular expression: what it was
    /// meant for is then decided as if it were not there, since conditions are advice and no rule of the format.
    pub(crate) fn path(regex: &str) -> Option<Self> {
        compiled(regex).map(Self::Path)
    }

    /// As [`Pattern::path`], of the last segment.
    pub(crate) fn name(regex: &str) -> Option<Self> {
        compiled(regex).map(Self::Name)
    }

    pub(crate) fn fits(&self, array: &ArrayName<'_>) -> bool {
        match self {
            Self::Path(regex) => regex.is_match(array.path),
            Self::Name(regex) => regex.is_match(array.name()),
        }
    }
}

/// Compiles a regular expression of the configuration, as [`Pattern::path`].
pub(crate) fn compiled(regex: &str) -> Option<Regex> {
    let compiled = Regex::new(regex);
    compiled
        .inspect_err(|error| {
            tracing::warn!(regex, %error, "the configuration has a condition that is no regular expression");
        })
        .ok()
}
