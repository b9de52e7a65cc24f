//! Paths of nodes in the hierarchy, and their two sort orders.
//!
//! A path begins with `/`; the root is `/` alone; segments are any UTF-8 but `/`, never empty, `.`
//! or `..`. Case matters and nothing is normalised. Snapshots sort nodes by the bytes of the whole
//! string, in which a child need not follow its parent: `/a` < `/a-b` < `/a/b` < `/ab`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Longest path in bytes. The format sets no limit; one keeps a hostile file from costing much per
/// node.
pub const MAX_PATH_LEN: usize = 64 * 1024;
/// Most segments in a path.
pub const MAX_PATH_SEGMENTS: usize = 1024;

/// Tells which rule of paths a text breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathError {
    /// The text does not begin with `/`.
    #[error("a node path begins with `/`")]
    NotAbsolute,
    /// Two slashes in a row, or one at the end.
    #[error("a node path has no empty segment and no slash at its end")]
    EmptySegment,
    /// A segment is `.` or `..`.
    #[error("a node path has no segment `.` or `..`")]
    DotSegment,
    /// The text is longer than [`MAX_PATH_LEN`].
    #[error("a node path of {length} bytes is longer than {MAX_PATH_LEN}")]
    TooLong {
        /// Bytes of the text.
        length: usize,
    },
    /// There are more segments than [`MAX_PATH_SEGMENTS`].
    #[error("a node path has more than {MAX_PATH_SEGMENTS} segments")]
    TooDeep,
}

/// The absolute path of a node. Cheap to clone; compares by the bytes of the whole string.
///
/// ```
/// use icefield_format::NodePath;
///
/// # fn main() -> Result<(), icefield_format::PathError> {
/// let path = NodePath::parse("/ocean/temperature")?;
/// assert_eq!(path.name(), "temperature");
/// assert_eq!(path.parent(), Some(NodePath::parse("/ocean")?));
/// assert!(NodePath::root().is_ancestor_of(&path));
/// assert!(NodePath::parse("ocean").is_err(), "paths begin with a slash");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodePath(Arc<str>);

/// Checks a text against the rules of node paths.
pub(crate) fn check(text: &str) -> Result<(), PathError> {
    let Some(relative) = text.strip_prefix('/') else {
        return Err(PathError::NotAbsolute);
    };
    if relative.is_empty() {
        return Ok(());
    }
    if text.len() > MAX_PATH_LEN {
        return Err(PathError::TooLong { length: text.len() });
    }
    let mut count = 0;
    for segment in relative.split('/') {
        match segment {
            "" => return Err(PathError::EmptySegment),
            "." | ".." => return Err(PathError::DotSegment),
            _ => count += 1,
        }
    }
    if count > MAX_PATH_SEGMENTS {
        Err(PathError::TooDeep)
    } else {
        Ok(())
    }
}

impl NodePath {
    /// Returns the path of the root node, `/`.
    #[must_use]
    pub fn root() -> Self {
        Self(Arc::from("/"))
    }

    /// Parses an absolute path.
    ///
    /// # Errors
    /// Names the rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        check(text)?;
        Ok(Self(Arc::from(text)))
    }

    /// Wraps a text that [`check`] has passed, such as one in a decoded snapshot.
    pub(crate) fn from_checked(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// Returns the whole path.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Tells whether this is the root.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// Returns the last segment; empty for the root.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the path one segment up; none for the root.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        match self.0.rfind('/') {
            Some(0) | None => Some(Self::root()),
            Some(at) => Some(Self(Arc::from(&self.0[..at]))),
        }
    }

    /// Appends one segment, or several with `/` between them.
    ///
    /// # Errors
    /// Names the rule that the result would break; an empty text is [`PathError::EmptySegment`].
    pub fn join(&self, relative: &str) -> Result<Self, PathError> {
        if relative.is_empty() {
            return Err(PathError::EmptySegment);
        }
        let base = if self.is_root() { "" } else { self.as_str() };
        Self::parse(&format!("{base}/{relative}"))
    }

    /// Tells whether `other` is strictly below this path.
    #[must_use]
    pub fn is_ancestor_of(&self, other: &Self) -> bool {
        if self.is_root() {
            return !other.is_root();
        }
        other
            .0
            .strip_prefix(self.as_str())
            .is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the paths above this one, the parent first, the root last.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> + use<> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Returns the segments, outermost first; none for the root.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|segment| !segment.is_empty())
    }

    /// Compares segment by segment, so that a node's descendants follow it at once: `/a` < `/a/b` <
    /// `/a-b`.
    ///
    /// Snapshots are *not* in this order; compare with `==`, `<` for theirs.
    #[must_use]
    pub fn cmp_segments(&self, other: &Self) -> Ordering {
        self.segments().cmp(other.segments())
    }
}

impl fmt::Display for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for NodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl FromStr for NodePath {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl TryFrom<&str> for NodePath {
    type Error = PathError;

    fn try_from(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl AsRef<str> for NodePath {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> NodePath {
        NodePath::parse(text).unwrap()
    }

    #[test]
    fn rules_are_checked() {
        assert_eq!(NodePath::parse(""), Err(PathError::NotAbsolute));
        assert_eq!(NodePath::parse("a"), Err(PathError::NotAbsolute));
        assert_eq!(NodePath::parse("/a/"), Err(PathError::EmptySegment));
        assert_eq!(NodePath::parse("//"), Err(PathError::EmptySegment));
        assert_eq!(NodePath::parse("/a/../b"), Err(PathError::DotSegment));
        assert_eq!(NodePath::parse("/."), Err(PathError::DotSegment));
        let long = format!("/{}", "x".repeat(MAX_PATH_LEN));
        assert_eq!(
            NodePath::parse(&long),
            Err(PathError::TooLong {
                length: MAX_PATH_LEN + 1
            })
        );
        assert_eq!(
            NodePath::parse(&"/x".repeat(MAX_PATH_SEGMENTS + 1)),
            Err(PathError::TooDeep)
        );
        assert!(NodePath::parse("/ü {x}/...").is_ok());
    }

    #[test]
    fn family_relations() {
        let leaf = path("/a/b/c");
        assert_eq!(leaf.name(), "c");
        assert_eq!(
            leaf.ancestors().collect::<Vec<_>>(),
            [path("/a/b"), path("/a"), NodePath::root()]
        );
        assert_eq!(NodePath::root().parent(), None);
        assert_eq!(NodePath::root().name(), "");
        assert!(path("/a").is_ancestor_of(&leaf) && !leaf.is_ancestor_of(&leaf));
        assert!(!path("/a/b").is_ancestor_of(&path("/a/bc")));
        assert!(
            NodePath::root().is_ancestor_of(&leaf)
                && !NodePath::root().is_ancestor_of(&NodePath::root())
        );
        assert_eq!(NodePath::root().join("a/b"), Ok(path("/a/b")));
        assert_eq!(path("/a").join(""), Err(PathError::EmptySegment));
        assert_eq!(path("/a").join("/b"), Err(PathError::EmptySegment));
    }

    #[test]
    fn the_two_orders_differ() {
        let mut paths = ["/ab", "/a/b", "/a.b", "/a-b", "/a"].map(path);
        paths.sort();
        assert_eq!(
            paths.each_ref().map(NodePath::as_str),
            ["/a", "/a-b", "/a.b", "/a/b", "/ab"]
        );
        paths.sort_by(NodePath::cmp_segments);
        assert_eq!(
            paths.each_ref().map(NodePath::as_str),
            ["/a", "/a/b", "/a-b", "/a.b", "/ab"]
        );
    }
}
