//! The two traits: what a tree of keys and values can be asked, and what can be done to it.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{BoxStream, TryStreamExt};
use icefield_storage::GetRange;

use crate::{TreeError, TreeKey, TreePrefix};

/// A value in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key.
    pub key: TreeKey,
    /// The number of bytes of the value.
    pub size: u64,
}

/// A value or prefix directly below a prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Child {
    /// A value.
    Key(Entry),
    /// A prefix with at least one key somewhere below it.
    Prefix(TreePrefix),
}

/// The values and prefixes directly below a prefix, collected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Children {
    /// The keys of the values, in byte order.
    pub keys: Vec<TreeKey>,
    /// The prefixes, in byte order.
    pub prefixes: Vec<TreePrefix>,
}

/// A Zarr store that can be read and listed. Object safe: held as `Arc<dyn ReadTree>`.
///
/// The future of each method can be dropped at any time; nothing is left behind.
#[async_trait]
pub trait ReadTree: fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Reads several ranges of one value, all of the same state of the value; `None` if there is no such value, also if
    /// keys lie below it. Ranges come in the order of the request. An empty list of ranges asks whether the value
    /// exists.
    ///
    /// # Errors
    /// [`TreeError::Range`] if a range is not contained in the value: it is never cut, never padded.
    async fn get_ranges(
        &self,
        key: &TreeKey,
        ranges: &[GetRange],
    ) -> Result<Option<Vec<Bytes>>, TreeError>;

    /// Returns the number of bytes of a value without reading it; `None` if there is none.
    ///
    /// # Errors
    /// The errors of the store. An absent key is no error.
    async fn size(&self, key: &TreeKey) -> Result<Option<u64>, TreeError>;

    /// Lists the values below a prefix in byte order of their keys.
    ///
    /// Values that exist during the whole walk are listed exactly once; others may or may not be. A prefix that
    /// holds nothing is an empty list. After an error the stream ends.
    fn list(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Entry, TreeError>>;

    /// Lists what lies directly below a prefix, in byte order of its text (`a/` after `a.b`). A prefix without a key
    /// anywhere below it is not listed.
    fn list_dir(&self, prefix: &TreePrefix) -> BoxStream<'static, Result<Child, TreeError>>;

    /// Reads a value, or one range of it; `None` if there is none.
    ///
    /// # Errors
    /// As [`ReadTree::get_ranges`].
    async fn get(&self, key: &TreeKey, range: GetRange) -> Result<Option<Bytes>, TreeError> {
        let values = self.get_ranges(key, std::slice::from_ref(&range)).await?;
        Ok(values.and_then(|mut values| values.pop()))
    }

    /// Reads ranges of many values, in order; keys may repeat. `None` for each key that is absent.
    ///
    /// # Errors
    /// As [`ReadTree::get_ranges`].
    async fn get_partial_values(
        &self,
        wanted: &[(TreeKey, GetRange)],
    ) -> Result<Vec<Option<Bytes>>, TreeError> {
        let mut values = Vec::with_capacity(wanted.len());
        for (key, range) in wanted {
            values.push(self.get(key, range.clone()).await?);
        }
        Ok(values)
    }

    /// Collects [`ReadTree::list_dir`].
    ///
    /// # Errors
    /// As the list.
    async fn children(&self, prefix: &TreePrefix) -> Result<Children, TreeError> {
        let mut children = Children::default();
        let mut list = self.list_dir(prefix);
        while let Some(child) = list.try_next().await? {
            match child {
                Child::Key(entry) => children.keys.push(entry.key),
                Child::Prefix(prefix) => children.prefixes.push(prefix),
            }
        }
        Ok(children)
    }
}

/// A Zarr store that can be written, too. Object safe: held as `Arc<dyn WriteTree>`.
///
/// A reader sees the old or the new complete value, never a mix. Nothing is atomic over several keys.
#[async_trait]
pub trait WriteTree: ReadTree {
    /// Stores a value in place of the present one, if any.
    ///
    /// # Errors
    /// Nothing was changed, except after [`TreeError::InDoubt`] and [`TreeError::NotDurable`].
    async fn set(&self, key: &TreeKey, value: Bytes) -> Result<(), TreeError>;

    /// Stores a value unless there is one; returns whether it did. Among any number of writers one wins.
    ///
    /// # Errors
    /// As [`WriteTree::set`].
    async fn set_if_not_exists(&self, key: &TreeKey, value: Bytes) -> Result<bool, TreeError>;

    /// Erases a value; an absent one counts as erased.
    ///
    /// # Errors
    /// [`TreeError::AboveKeys`] for a key with others below it: that is for [`WriteTree::erase_prefix`].
    async fn erase(&self, key: &TreeKey) -> Result<(), TreeError>;

    /// Erases every key below a prefix; the prefix of all keys empties the store. Not atomic.
    ///
    /// # Errors
    /// The errors of the store. Some keys may have been erased.
    async fn erase_prefix(&self, prefix: &TreePrefix) -> Result<(), TreeError>;

    /// Erases values, one after the other.
    ///
    /// # Errors
    /// As [`WriteTree::erase`]; the values before the one that failed are erased.
    async fn erase_values(&self, keys: &[TreeKey]) -> Result<(), TreeError> {
        for key in keys {
            self.erase(key).await?;
        }
        Ok(())
    }

    /// Writes parts of a value at their offsets in bytes: reads, changes and writes the whole value, so that a reader
    /// sees all parts or none. A gap between the end of the value and a part is filled with zeros; an absent value
    /// counts as empty. Of two calls at the same time on one key, one may be lost.
    ///
    /// # Errors
    /// As [`ReadTree::get`] and [`WriteTree::set`]; [`TreeError::TooLong`].
    async fn set_partial(&self, key: &TreeKey, parts: &[(u64, Bytes)]) -> Result<(), TreeError> {
        if parts.is_empty() {
            return Ok(());
        }
        let mut value = Vec::from(self.get(key, GetRange::All).await?.unwrap_or_default());
        for (offset, part) in parts {
            let too_long = || TreeError::TooLong {
                store: self.to_string(),
                key: key.clone(),
                size: offset.saturating_add(part.len() as u64),
            };
            let start = usize::try_from(*offset).map_err(|_| too_long())?;
            let end = start.checked_add(part.len()).ok_or_else(too_long)?;
            if end > value.len() {
                value
                    .try_reserve(end - value.len())
                    .map_err(|_| too_long())?;
                value.resize(end, 0);
            }
            value[start..end].copy_from_slice(part);
        }
        self.set(key, value.into()).await
    }

    /// Writes parts of many values; as [`WriteTree::set_partial`] for each key, in order of first mention.
    ///
    /// # Errors
    /// As [`WriteTree::set_partial`]; values before the one that failed are changed.
    async fn set_partial_values(&self, parts: &[(TreeKey, u64, Bytes)]) -> Result<(), TreeError> {
        let mut by_key: Vec<(&TreeKey, Vec<(u64, Bytes)>)> = Vec::new();
        for (key, offset, part) in parts {
            let part = (*offset, part.clone());
            match by_key.iter_mut().find(|(known, _)| *known == key) {
                Some((_, parts)) => parts.push(part),
                None => by_key.push((key, vec![part])),
            }
        }
        for (key, parts) in by_key {
            self.set_partial(key, &parts).await?;
        }
        Ok(())
    }
}
