//! Names in a store that are no keys, and things in it that are no objects.

use std::fmt::Write as _;

use crate::{
    DIRECTORY_MARKER, Key, KeyError, MAX_KEY_BYTES, MAX_SEGMENT_BYTES, Prefix, StorageError,
};

/// The name of something that a list cannot give as an object. Backends make one, and yield it as
/// [`StorageError::UnreadableKey`].
///
/// It keeps the bytes of the name, so that lists stay in byte order also where the name is not UTF-8.
///
/// ```
/// use icefield_storage::UnreadableName;
///
/// assert!(UnreadableName::parse(b"chunks/1", 10).is_ok());
/// let name = UnreadableName::parse(b"a//b", 10).unwrap_err();
/// assert_eq!(name.name(), b"a//b");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadableName {
    name: Vec<u8>,
    problem: String,
}

impl UnreadableName {
    /// Returns the name, relative to the root of the store, with the rule that it breaks: a clause such as `it is a
    /// symbolic link`.
    pub fn new(name: impl Into<Vec<u8>>, problem: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            problem: problem.into(),
        }
    }

    /// Returns the key that is the name of an object of `size` bytes.
    ///
    /// # Errors
    /// The name, if it is no key.
    pub fn parse(name: &[u8], size: u64) -> Result<Key, Self> {
        let Ok(text) = std::str::from_utf8(name) else {
            return Err(Self::new(name, "its name is not UTF-8"));
        };
        Key::parse(text).map_err(|error| {
            let is_marker = size == 0 && (text.is_empty() || text.ends_with('/'));
            match is_marker {
                true => Self::new(name, DIRECTORY_MARKER),
                false => Self::new(name, problem(&error)),
            }
        })
    }

    /// Returns the bytes of the name, relative to the root of the store.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns the rule that is broken.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Returns whether the name lies below `prefix`, whole segments compared.
    pub fn is_below(&self, prefix: &Prefix) -> bool {
        let rest = self.name.strip_prefix(prefix.as_str().as_bytes());
        prefix.is_all() || rest.is_some_and(|rest| rest.starts_with(b"/"))
    }

    /// Returns whether the name comes after `key` in byte order.
    pub fn is_after(&self, key: &Key) -> bool {
        *self.name > *key.as_str().as_bytes()
    }
}

impl From<UnreadableName> for StorageError {
    fn from(unreadable: UnreadableName) -> Self {
        Self::UnreadableKey {
            raw: escaped(&unreadable.name),
            problem: unreadable.problem,
        }
    }
}

/// Returns the text of a name; bytes that are not UTF-8 become `\xff`.
fn escaped(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for part in name.utf8_chunks() {
        text.push_str(part.valid());
        for byte in part.invalid() {
            // Cannot fail: the target is memory.
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// Returns the broken rule as a clause about the object.
fn problem(error: &KeyError) -> String {
    match error {
        KeyError::Empty => "its name is empty".to_owned(),
        KeyError::EmptySegment { .. } => {
            "its name begins or ends with `/`, or has a doubled one".to_owned()
        }
        KeyError::DotSegment { segment, .. } => format!("its name has the segment `{segment}`"),
        KeyError::Nul { .. } => "its name has a NUL byte".to_owned(),
        KeyError::TooLong { length, .. } => {
            format!("its name has {length} bytes, more than the {MAX_KEY_BYTES} of a key")
        }
        KeyError::SegmentTooLong { length, .. } => format!(
            "a segment of its name has {length} bytes, more than the {MAX_SEGMENT_BYTES} of a key"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_broken_rule_is_named() {
        let long = "x".repeat(256);
        let longer = vec!["y".repeat(200); 6].join("/");
        for (name, size, says) in [
            (&b"a/"[..], 0, "directory marker"),
            (b"", 0, "directory marker"),
            (b"a/", 1, "ends with `/`"),
            (b"/a", 0, "begins"),
            (b"a//b", 0, "doubled"),
            (b"a/../b", 0, "`..`"),
            (b"a/.", 0, "`.`"),
            (b"a\0b", 0, "NUL"),
            (b"a\xff", 0, "UTF-8"),
            (long.as_bytes(), 0, "256 bytes"),
            (longer.as_bytes(), 0, "1205 bytes"),
        ] {
            let unreadable = UnreadableName::parse(name, size).expect_err("no key");
            assert_eq!(unreadable.name(), name);
            assert!(unreadable.problem().contains(says), "{unreadable:?}");
        }
        assert!(UnreadableName::parse(b".DS_Store", 1).is_ok());
    }

    #[test]
    fn names_compare_by_whole_segments_and_bytes() {
        let prefix = |text| Prefix::parse(text).expect("valid");
        let name = |name: &[u8]| UnreadableName::new(name, "it is odd");
        assert!(name(b"a/b/").is_below(&prefix("a/b")));
        assert!(!name(b"a/bc/").is_below(&prefix("a/b")));
        assert!(name(b"\xff").is_below(&Prefix::all()));
        let key = Key::parse("a/z").expect("valid");
        assert!(name(b"a/\xff").is_after(&key) && !name(b"a/").is_after(&key));
        assert!(matches!(
            name(b"a/\xff\xc3\xa9").into(),
            StorageError::UnreadableKey { raw, .. } if raw == "a/\\xff\u{e9}"
        ));
    }
}
