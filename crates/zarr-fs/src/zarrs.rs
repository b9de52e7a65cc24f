//! The storage traits of the crate `zarrs`, so that its arrays read and write trees.
//!
//! | trait promise | here |
//! |---|---|
//! | a missing key is `Ok(None)` | also a directory |
//! | a range past the end is an error | `InvalidByteRangeError` |
//! | `erase` is idempotent | yes; of a key with others below it an error |
//! | listings are sorted | by bytes |
//! | partial writes | read, change and write the whole value; a gap is filled with zeros; a reader never sees half |

mod async_traits;
mod sync_traits;
mod wait;

use std::fmt;
use std::sync::Arc;

use icefield_storage::{GetRange, with_causes};
use tokio::runtime::Handle;
use zarrs_storage::byte_range::{ByteRange, InvalidByteRangeError};
use zarrs_storage::{
    StorageError, StoreKey, StoreKeyError, StoreKeys, StoreKeysPrefixes, StorePrefix,
};

use crate::{Children, ReadTree, TreeError, TreeKey, TreePrefix};

/// A tree with the storage traits of the crate `zarrs`: readable and listable if it is a [`ReadTree`], writable if it
/// is a [`WriteTree`](crate::WriteTree).
///
/// Blocking calls on directories and zip files need nothing. Those on a [`StorageTree`](crate::StorageTree) over a
/// network need [`ZarrsTree::with_runtime`].
pub struct ZarrsTree<T: ?Sized> {
    tree: Arc<T>,
    runtime: Option<Handle>,
}

impl<T: ?Sized> ZarrsTree<T> {
    /// Returns the adapter.
    pub fn new(tree: Arc<T>) -> Self {
        Self {
            tree,
            runtime: None,
        }
    }

    /// Returns the adapter with a runtime on which blocking calls run their work. Best one with threads of its own.
    #[must_use]
    pub fn with_runtime(mut self, runtime: Handle) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Returns the tree.
    pub fn tree(&self) -> &Arc<T> {
        &self.tree
    }
}

impl<T: ?Sized> Clone for ZarrsTree<T> {
    fn clone(&self) -> Self {
        Self {
            tree: Arc::clone(&self.tree),
            runtime: self.runtime.clone(),
        }
    }
}

impl<T: ReadTree + ?Sized> fmt::Debug for ZarrsTree<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ZarrsTree({:?})", self.tree)
    }
}

/// An end beyond 2^64 is beyond every value, so it may as well be 2^64 - 1.
fn range_of(range: ByteRange) -> GetRange {
    match range {
        ByteRange::FromStart(0, None) => GetRange::All,
        ByteRange::FromStart(offset, None) => GetRange::From(offset),
        ByteRange::FromStart(start, Some(length)) => {
            GetRange::Bounded(start..start.saturating_add(length))
        }
        ByteRange::Suffix(length) => GetRange::Suffix(length),
    }
}

fn zarrs_range(range: &GetRange) -> ByteRange {
    match range {
        GetRange::All => ByteRange::FromStart(0, None),
        GetRange::From(offset) => ByteRange::FromStart(*offset, None),
        GetRange::Bounded(bytes) => {
            ByteRange::FromStart(bytes.start, Some(bytes.end.saturating_sub(bytes.start)))
        }
        GetRange::Suffix(length) => ByteRange::Suffix(*length),
    }
}

impl From<TreeError> for StorageError {
    /// Keeps the kinds that `zarrs` knows; of the others, the text of the error and of all its causes.
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::Range { wanted, size, .. } => {
                InvalidByteRangeError::new(zarrs_range(&wanted), size).into()
            }
            TreeError::ReadOnly { .. } => Self::ReadOnly,
            error => Self::Other(with_causes(&error)),
        }
    }
}

fn key_of(key: &StoreKey) -> Result<TreeKey, StorageError> {
    TreeKey::parse(key.as_str()).map_err(|_| StoreKeyError::from(key.to_string()).into())
}

fn prefix_of(prefix: &StorePrefix) -> Result<TreePrefix, StorageError> {
    Ok(TreePrefix::parse(prefix.as_str()).map_err(TreeError::from)?)
}

fn keys(keys: impl IntoIterator<Item = TreeKey>) -> Result<StoreKeys, StorageError> {
    let keys = keys.into_iter().map(|key| StoreKey::new(key.as_str()));
    Ok(keys.collect::<Result<_, _>>()?)
}

fn keys_and_prefixes(children: Children) -> Result<StoreKeysPrefixes, StorageError> {
    let prefixes = children.prefixes.iter();
    let prefixes = prefixes.map(|prefix| StorePrefix::new(prefix.as_str()));
    Ok(StoreKeysPrefixes::new(
        keys(children.keys)?,
        prefixes.collect::<Result<_, _>>()?,
    ))
}
