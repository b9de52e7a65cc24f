//! Keys and prefixes of a Zarr store: what a text must be like before any file is touched.

use std::borrow::Borrow;
use std::sync::Arc;

/// The reason why a text is not a key or prefix of a Zarr store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The key is empty, which only a prefix may be.
    #[error("a key of a Zarr store must not be empty")]
    Empty,
    /// `/a`, `a/` or `a//b` as a key; `/` or `a//` as a prefix.
    #[error(
        "{text:?} has an empty segment: keys are relative, without leading, trailing or doubled `/`"
    )]
    EmptySegment {
        /// The refused text.
        text: String,
    },
    /// A segment is `.` or `..`.
    #[error("{text:?} has the segment {segment:?}, which would walk the directory tree")]
    DotSegment {
        /// The refused text.
        text: String,
        /// The segment: `.` or `..`.
        segment: String,
    },
    /// The text contains a NUL character.
    #[error("{text:?} contains a NUL character")]
    Nul {
        /// The refused text.
        text: String,
    },
    /// A prefix does not end in a slash, which the standard leaves undefined.
    #[error("prefix {text:?} does not end in `/`: only the prefix of all keys is empty")]
    NoSlash {
        /// The refused text.
        text: String,
    },
}

fn check(segments: &str, text: &str) -> Result<(), KeyError> {
    let owned = || text.to_owned();
    if segments.contains('\0') {
        return Err(KeyError::Nul { text: owned() });
    }
    for segment in segments.split('/') {
        match segment {
            "" => return Err(KeyError::EmptySegment { text: owned() }),
            "." | ".." => {
                return Err(KeyError::DotSegment {
                    text: owned(),
                    segment: segment.to_owned(),
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The name of one value: segments between slashes, case-sensitive, taken letter by letter.
///
/// ```
/// use icefield_zarr_fs::{TreeKey, TreePrefix};
///
/// # fn main() -> Result<(), icefield_zarr_fs::KeyError> {
/// let key = TreeKey::parse("ocean/zarr.json")?;
/// assert!(key.is_below(&TreePrefix::parse("ocean/")?));
/// assert!(TreeKey::parse("ocean/../secret").is_err());
/// # Ok(())
/// # }
/// ```
///
/// # Invariants
/// Not empty; no empty, `.` or `..` segment; no NUL. Joined to a base it cannot leave the base. The store limits the
/// length of a segment.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreeKey(Arc<str>);

impl TreeKey {
    /// Checks `text` and makes it a key.
    ///
    /// # Errors
    /// The [`KeyError`] that names the broken rule.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if text.is_empty() {
            return Err(KeyError::Empty);
        }
        check(text, text)?;
        Ok(Self(text.into()))
    }

    /// Iterates over the segments between the slashes; there is at least one.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns whether the key lies below `prefix`, whole segments compared.
    pub fn is_below(&self, prefix: &TreePrefix) -> bool {
        self.0.starts_with(&*prefix.0)
    }
}

/// The keys that begin with some segments: `a/b/`, or empty for every key of the store.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TreePrefix(Arc<str>);

impl TreePrefix {
    /// Checks `text`, which ends in `/` or is empty, and makes it a prefix.
    ///
    /// # Errors
    /// The [`KeyError`] that names the broken rule.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        if !text.is_empty() {
            let Some(segments) = text.strip_suffix('/') else {
                return Err(KeyError::NoSlash {
                    text: text.to_owned(),
                });
            };
            check(segments, text)?;
        }
        Ok(Self(text.into()))
    }

    /// Returns the prefix of every key.
    pub fn all() -> Self {
        Self::default()
    }

    /// Returns whether this is the prefix of every key.
    pub fn is_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the segments; there are none in the prefix of every key.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split_terminator('/')
    }

    /// Returns the key of one more segment, or of several, below this prefix.
    ///
    /// # Errors
    /// As [`TreeKey::parse`].
    pub fn key(&self, rest: &str) -> Result<TreeKey, KeyError> {
        TreeKey::parse(&format!("{}{rest}", self.0))
    }

    /// Returns the prefix one segment below this one.
    ///
    /// # Errors
    /// As [`TreePrefix::parse`].
    pub fn join(&self, segment: &str) -> Result<Self, KeyError> {
        Self::parse(&format!("{}{segment}/", self.0))
    }
}

icefield_storage::checked_text!(TreeKey, KeyError);
icefield_storage::checked_text!(TreePrefix, KeyError);

impl Borrow<str> for TreeKey {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for TreePrefix {
    fn borrow(&self) -> &str {
        &self.0
    }
}
