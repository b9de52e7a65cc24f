//! Prefixes of keys, and the chunks whose keys lie below them.

use std::ops::Range;

use icefield_core::{NodePath, Session};

use crate::KeyError;
use crate::ZarrStoreError;
use crate::chunk_keys::ChunkKeys;
use crate::chunk_keys::directory;
use crate::key::{MAX_CHUNK_SEGMENTS, check_segments, chunk_keys_of, node_path};

/// A checked prefix: empty, or whole segments each followed by `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    text: String,
    path: NodePath,
}

impl Prefix {
    /// Parses a prefix as the store specification has it; without its final `/` it is an error.
    pub(crate) fn parse(text: &str) -> Result<Self, ZarrStoreError> {
        match text.strip_suffix('/') {
            Some(segments) => Self::of_segments(text, segments),
            None if text.is_empty() => Self::of_directory(text),
            None => Err(invalid(text, KeyError::NoFinalSlash)),
        }
    }

    /// Parses the name of a directory, with or without a final `/`; the empty text is the root.
    pub(crate) fn of_directory(text: &str) -> Result<Self, ZarrStoreError> {
        if text.is_empty() {
            return Ok(Self {
                text: String::new(),
                path: NodePath::root(),
            });
        }
        Self::of_segments(text, text.strip_suffix('/').unwrap_or(text))
    }

    fn of_segments(text: &str, segments: &str) -> Result<Self, ZarrStoreError> {
        check_segments(segments)
            .and_then(|()| node_path(segments))
            .map(|path| Self {
                text: format!("{segments}/"),
                path,
            })
            .map_err(|source| invalid(text, source))
    }

    /// The prefix itself.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The path of the node whose keys lie directly below the prefix, should there be one.
    pub(crate) fn path(&self) -> &NodePath {
        &self.path
    }

    /// Finds the array strictly above the prefix of which chunk keys may lie below it: for `a/c/3/`, the chunks
    /// of `/a` in row 3.
    pub(crate) fn chunks_of_ancestor(
        &self,
        session: &Session,
    ) -> Result<Option<ChunkScope>, ZarrStoreError> {
        for array in self.path.ancestors().take(MAX_CHUNK_SEGMENTS) {
            let Some(keys) = chunk_keys_of(session, &array)? else {
                continue;
            };
            let above = directory(&array).len();
            let below = self.text[above..].trim_end_matches('/');
            if let Some(leading) = keys.decode_directory(below) {
                return Ok(Some(ChunkScope {
                    array,
                    keys,
                    leading,
                }));
            }
        }
        Ok(None)
    }

    /// Finds the array at the prefix itself, with all its chunks.
    pub(crate) fn chunks_of_node(
        &self,
        session: &Session,
    ) -> Result<Option<ChunkScope>, ZarrStoreError> {
        let keys = chunk_keys_of(session, &self.path)?;
        Ok(keys.map(|keys| ChunkScope::all(self.path.clone(), keys)))
    }
}

fn invalid(prefix: &str, source: KeyError) -> ZarrStoreError {
    ZarrStoreError::InvalidPrefix {
        prefix: prefix.to_owned(),
        source,
    }
}

/// The chunks of an array that have the given leading coordinates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChunkScope {
    pub(crate) array: NodePath,
    pub(crate) keys: ChunkKeys,
    /// Empty: all chunks.
    pub(crate) leading: Vec<u32>,
}

impl ChunkScope {
    pub(crate) fn all(array: NodePath, keys: ChunkKeys) -> Self {
        Self {
            array,
            keys,
            leading: Vec::new(),
        }
    }

    /// Returns whether a chunk belongs to the scope. One of another rank, left over from a change of the
    /// array's metadata in the middle of a listing, does not.
    pub(crate) fn contains(&self, index: &[u32]) -> bool {
        index.len() == self.keys.rank() && index.starts_with(&self.leading)
    }

    /// Returns the box that the chunks lie in. It does not end with the grid, which another task may change.
    pub(crate) fn within(&self) -> Vec<Range<u32>> {
        let rows = self.leading.iter().map(|at| *at..at.saturating_add(1));
        let rest = self.keys.rank().saturating_sub(self.leading.len());
        rows.chain(std::iter::repeat_n(0..u32::MAX, rest)).collect()
    }

    /// Returns the key of a chunk.
    pub(crate) fn key(&self, index: &[u32]) -> String {
        let mut key = directory(&self.array);
        self.keys.encode(index, &mut key);
        key
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_whole_segments() {
        assert_eq!(Prefix::parse("").unwrap().path(), &NodePath::root());
        let prefix = Prefix::parse("a/b/").unwrap();
        assert_eq!((prefix.as_str(), prefix.path().as_str()), ("a/b/", "/a/b"));
        for (text, rule) in [
            ("a", KeyError::NoFinalSlash),
            ("a/b", KeyError::NoFinalSlash),
            ("/", KeyError::EmptySegment),
            ("/a/", KeyError::EmptySegment),
            ("a//", KeyError::EmptySegment),
            ("a//b/", KeyError::EmptySegment),
            ("../", KeyError::DotSegment),
            ("a/./", KeyError::DotSegment),
        ] {
            match Prefix::parse(text) {
                Err(ZarrStoreError::InvalidPrefix { prefix, source }) => {
                    assert_eq!((prefix.as_str(), source), (text, rule));
                }
                other => panic!("{text:?} gave {other:?}"),
            }
        }
    }

    #[test]
    fn a_directory_may_lack_its_slash() {
        assert_eq!(
            Prefix::of_directory("a").unwrap(),
            Prefix::parse("a/").unwrap()
        );
        assert_eq!(
            Prefix::of_directory("a/").unwrap(),
            Prefix::parse("a/").unwrap()
        );
        assert_eq!(
            Prefix::of_directory("").unwrap(),
            Prefix::parse("").unwrap()
        );
        assert!(Prefix::of_directory("/").is_err() && Prefix::of_directory("a//").is_err());
    }
}
