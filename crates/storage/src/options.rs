//! Options and answers of the storage operations.

mod object;
mod read;
mod write;

pub use object::{Body, Object, ObjectMeta};
pub use read::{GetOptions, GetRange};
pub use write::{CopyOptions, ObjectClass, Payload, PutMode, PutOptions, PutOutcome, Written};

use crate::{Key, Prefix, StorageError, Version};

/// The options of [`Storage::list`](crate::Storage::list). The default lists all keys.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// The prefix below which keys are listed.
    pub prefix: Prefix,
    /// The key after which the list begins, in byte order; it need not exist.
    pub start_after: Option<Key>,
    /// The prefix at which the list may end: the caller uses neither the keys below it nor those behind them, in byte order. A
    /// store that reads whole directories is spared some; any store may go on.
    pub end_at: Option<Prefix>,
    /// Permits arbitrary versions in the list, for callers that use none. A store that has to read an object to know its
    /// version is spared that.
    pub without_versions: bool,
}

impl ListOptions {
    /// Returns the options for all keys below `prefix`.
    pub fn prefix(prefix: Prefix) -> Self {
        Self {
            prefix,
            start_after: None,
            end_at: None,
            without_versions: false,
        }
    }

    /// Begins the list after `key`.
    #[must_use]
    pub fn with_start_after(mut self, key: Key) -> Self {
        self.start_after = Some(key);
        self
    }

    /// Sets the prefix at which the list may end. It may contain keys below the prefix and behind it nevertheless.
    #[must_use]
    pub fn with_end_at(mut self, prefix: Prefix) -> Self {
        self.end_at = Some(prefix);
        self
    }

    /// Permits arbitrary versions in the list.
    #[must_use]
    pub fn without_versions(mut self) -> Self {
        self.without_versions = true;
        self
    }
}

impl From<Prefix> for ListOptions {
    fn from(prefix: Prefix) -> Self {
        Self::prefix(prefix)
    }
}

/// An object to delete, and optionally the version in which it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The key of the object.
    pub key: Key,
    /// The version to delete; another one, or a missing object, is [`DeleteOutcome::Refused`]. `None` deletes any
    /// version.
    pub version: Option<Version>,
}

impl Deletion {
    /// Returns the deletion of one state of an object.
    pub fn of(key: Key, version: Version) -> Self {
        Self {
            key,
            version: Some(version),
        }
    }
}

impl From<Key> for Deletion {
    fn from(key: Key) -> Self {
        Self { key, version: None }
    }
}

/// The outcome of one [`Deletion`]. An error, in contrast, means that nothing was deleted.
#[derive(Debug)]
#[must_use = "a delete may have been refused, or its outcome may be unknown"]
pub enum DeleteOutcome {
    /// The object is gone. Without a version in the request, a missing object counts as deleted.
    Deleted,
    /// The object was not in the version that the request named.
    Refused,
    /// The store may or may not have deleted the object.
    Unknown(StorageError),
}
