//! Keys of objects and prefixes of keys.

use std::borrow::Borrow;
use std::sync::Arc;

/// Longest key in bytes: the limit of S3, kept by every backend so that a repository can move.
pub const MAX_KEY_BYTES: usize = 1024;
/// Longest segment of a key in bytes: the limit of file names on common file systems.
pub const MAX_SEGMENT_BYTES: usize = 255;

/// The reason why a text is not a [`Key`] or a [`Prefix`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The text is empty, which only a prefix may be.
    #[error("an object key must not be empty")]
    Empty,
    /// A slash at the beginning, at the end, or twice in a row: `/a`, `a/` or `a//b`.
    #[error(
        "key {key:?} has an empty segment: keys are relative, without leading, trailing or doubled `/`"
    )]
    EmptySegment {
        /// The refused text.
        key: String,
    },
    /// A segment is `.` or `..`.
    #[error("key {key:?} has the segment {segment:?}, which would walk the directory tree")]
    DotSegment {
        /// The refused text.
        key: String,
        /// The segment: `.` or `..`.
        segment: String,
    },
    /// The text contains a NUL byte.
    #[error("key {key:?} contains a NUL byte")]
    Nul {
        /// The refused text.
        key: String,
    },
    /// The text has more than [`MAX_KEY_BYTES`] bytes.
    #[error("key of {length} bytes is longer than {MAX_KEY_BYTES}: {start:?}…")]
    TooLong {
        /// The first characters of the refused text.
        start: String,
        /// Its length in bytes.
        length: usize,
    },
    /// A segment has more than [`MAX_SEGMENT_BYTES`] bytes.
    #[error("a key segment of {length} bytes is longer than {MAX_SEGMENT_BYTES}: {start:?}…")]
    SegmentTooLong {
        /// The first characters of the refused segment.
        start: String,
        /// Its length in bytes.
        length: usize,
    },
}

fn check(text: &str) -> Result<(), KeyError> {
    let start = |s: &str| s.chars().take(40).collect::<String>();
    if text.len() > MAX_KEY_BYTES {
        return Err(KeyError::TooLong {
            start: start(text),
            length: text.len(),
        });
    }
    if text.contains('\0') {
        return Err(KeyError::Nul {
            key: text.to_owned(),
        });
    }
    for segment in text.split('/') {
        match segment {
            "" => {
                return Err(KeyError::EmptySegment {
                    key: text.to_owned(),
                });
            }
            "." | ".." => {
                return Err(KeyError::DotSegment {
                    key: text.to_owned(),
                    segment: segment.to_owned(),
                });
            }
            _ if segment.len() > MAX_SEGMENT_BYTES => {
                return Err(KeyError::SegmentTooLong {
                    start: start(segment),
                    length: segment.len(),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The name of one object: `/`-separated segments, used verbatim by every backend.
///
/// ```
/// use icefield_storage::{Key, Prefix};
///
/// # fn main() -> Result<(), icefield_storage::KeyError> {
/// let key = Key::parse("refs/branch.main/ref.json")?;
/// assert!(key.is_below(&Prefix::parse("refs")?));
/// assert!(!key.is_below(&Prefix::parse("ref")?), "whole segments are compared");
/// assert!(Key::parse("../secret").is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Invariants
/// Not empty; no empty, `.` or `..` segment; no NUL; at most [`MAX_KEY_BYTES`] bytes with segments of at most
/// [`MAX_SEGMENT_BYTES`]. A backend may therefore join it to a root without leaving the root.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<str>);

impl Key {
    /// Checks `text` and makes it a key.
    ///
    /// # Errors
    /// The [`KeyError`] that names the broken rule.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        check(text)?;
        Ok(Self(text.into()))
    }

    /// Iterates over the segments between the slashes; there is at least one.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns whether the key lies below `prefix`, whole segments compared.
    pub fn is_below(&self, prefix: &Prefix) -> bool {
        self.below(prefix).is_some()
    }

    /// Returns the part of the key after `prefix/`, or `None` if the key does not lie below it.
    pub fn below<'a>(&'a self, prefix: &Prefix) -> Option<&'a str> {
        if prefix.0.is_empty() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&*prefix.0)?.strip_prefix('/')
    }
}

/// A folder of keys, without a trailing slash: empty for all keys, else the same rules as a [`Key`].
///
/// `a/b` is a prefix of `a/b/c`, never of `a/bc` nor of `a/b` itself.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix(Arc<str>);

impl Prefix {
    /// Checks `text` and makes it a prefix; the empty text means all keys.
    ///
    /// # Errors
    /// The [`KeyError`] that names the broken rule.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if !text.is_empty() {
            check(text)?;
        }
        Ok(Self(text.into()))
    }

    /// Returns the prefix of all keys.
    pub fn all() -> Self {
        Self::default()
    }

    /// Returns whether this is the prefix of all keys.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key `prefix/rest`.
    ///
    /// # Errors
    /// As [`Key::parse`].
    pub fn key(&self, rest: &str) -> Result<Key, KeyError> {
        if self.is_all() {
            Key::parse(rest)
        } else {
            Key::parse(&format!("{}/{rest}", self.0))
        }
    }

    /// Returns the prefix `prefix/rest`; an empty `rest` gives the prefix itself.
    ///
    /// # Errors
    /// As [`Prefix::parse`].
    pub fn join(&self, rest: &Self) -> Result<Self, KeyError> {
        match (self.is_all(), rest.is_all()) {
            (true, _) => Ok(rest.clone()),
            (_, true) => Ok(self.clone()),
            _ => Self::parse(&format!("{}/{}", self.0, rest.0)),
        }
    }
}

/// Implements the traits of a checked text for a tuple struct around an `Arc<str>` that has `parse(&str)`. For icefield's own
/// crates.
#[doc(hidden)]
#[macro_export]
macro_rules! checked_text {
    ($name:ident, $error:ty) => {
        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl ::std::fmt::Debug for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                ::std::fmt::Debug::fmt(&*self.0, f)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                Self::parse(text)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $error;

            fn try_from(text: &str) -> Result<Self, $error> {
                Self::parse(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                Self::parse(&text)
            }
        }
    };
}

checked_text!(Key, KeyError);
checked_text!(Prefix, KeyError);

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Prefix {
    fn borrow(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e67_keys_that_could_leave_the_root_are_refused() {
        for bad in [
            "",
            "/",
            "a/",
            "/a",
            "a//b",
            ".",
            "..",
            "a/..",
            "../x",
            "a/../../x",
            "a/./b",
            "a\0b",
        ] {
            assert!(Key::parse(bad).is_err(), "{bad:?}");
        }
        assert!(Key::parse(&"x".repeat(256)).is_err());
        assert!(Key::parse(&vec!["x".repeat(200); 6].join("/")).is_err());
        for good in ["a", "a/b", "...", ".a", "a b/é", "c:\\x", "%2e%2e"] {
            assert_eq!(Key::parse(good).expect(good).as_str(), good);
        }
    }

    #[test]
    fn prefixes_compare_whole_segments() {
        let prefix = Prefix::parse("a/b").expect("valid");
        assert_eq!(
            Key::parse("a/b/c").expect("valid").below(&prefix),
            Some("c")
        );
        assert!(!Key::parse("a/bc").expect("valid").is_below(&prefix));
        assert!(!Key::parse("a/b").expect("valid").is_below(&prefix));
        assert!(Key::parse("a/b").expect("valid").is_below(&Prefix::all()));
    }
}
