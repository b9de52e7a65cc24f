//! Dimensions: named, owned by one group, shared by variables.

use std::fmt;

/// A named dimension, which several variables may share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// The last segment of its path.
    pub name: String,
    /// The length in elements; for an unlimited dimension, the longest extent written so far.
    pub length: u64,
    /// Whether the dimension may grow.
    pub is_unlimited: bool,
}

/// The absolute path of a dimension: the group that owns it, and its name, as `/x` or `/g/h/x`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DimensionPath(String);

impl DimensionPath {
    /// Returns the path of a dimension of a group; the root's path may be `/` or empty.
    pub fn new(group: &str, name: &str) -> Self {
        Self(format!("{}/{name}", group.trim_end_matches('/')))
    }

    /// Reads an absolute path; `None` for a relative one, and one without a name.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('/')?;
        let is_whole = rest.split('/').all(|segment| !segment.is_empty());
        is_whole.then(|| Self(text.to_owned()))
    }

    /// Returns the path of the group that owns it, `/` for the root.
    pub fn group(&self) -> &str {
        match self.0.rsplit_once('/') {
            Some(("", _)) | None => "/",
            Some((group, _)) => group,
        }
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DimensionPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
