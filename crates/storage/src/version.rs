//! Versions of objects, and what conditions compare.

use std::fmt;
use std::sync::Arc;

/// An opaque token of one state of one object: an ETag, a generation, or what a backend makes up.
///
/// Two reads that return the same token returned the same bytes. Tokens are compared for equality
/// only and are never parsed by callers; they go back to the backend byte for byte.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version(Arc<str>);

impl Version {
    /// Wraps a backend's token.
    pub fn new(token: impl Into<Arc<str>>) -> Self {
        Self(token.into())
    }

    /// Returns the backend's token.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Version({})", self.0)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The state of an object that a conditional read asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A version that this backend returned.
    Version(Version),
    /// The text of an ETag as another program recorded it (the `checksum_etag` of a virtual chunk).
    ETag(String),
}

impl From<Version> for Condition {
    fn from(version: Version) -> Self {
        Self::Version(version)
    }
}
