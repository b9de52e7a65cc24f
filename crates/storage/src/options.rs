//! Options and answers of the storage operations.

mod object;
mod read;
mod write;

pub use object::{Body, Object, ObjectMeta};
pub use read::{GetOptions, GetRange};
pub use write::{CopyOptions, ObjectClass, Payload, PutMode, PutOptions, PutOutcome, Written};

use crate::{Key, Prefix, StorageError, Version};

/// Options of [`Storage::list`](crate::Storage::list).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// Only keys below this prefix.
    pub prefix: Prefix,
    /// Only keys after this one in byte order; the key need not exist.
    pub start_after: Option<Key>,
    /// The caller has no use for keys below this prefix and those after them in byte order: a store may end the list before them, or go
    /// on. One that reads whole directories is spared some.
    pub end_at: Option<Prefix>,
    /// Whether the versions are not wanted: they may then be such that no object has them. A store that has to read an
    /// object to know its version is spared that.
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

    /// Returns the options that begin after `key`.
    #[must_use]
    pub fn with_start_after(mut self, key: Key) -> Self {
        self.start_after = Some(key);
        self
    }

    /// Returns the options for a list of which the caller uses nothing below `prefix` and nothing after that. It may get some of it all
    /// the same.
    #[must_use]
    pub fn with_end_at(mut self, prefix: Prefix) -> Self {
        self.end_at = Some(prefix);
        self
    }

    /// Returns the options for a list of which the caller uses no versions.
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

/// One object to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// The object's key.
    pub key: Key,
    /// Delete only this state; another one, or a missing object, is [`DeleteOutcome::Refused`].
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
    /// The object is gone. Without a version in the request, also if it was not there before.
    Deleted,
    /// The object was not in the state that the request named.
    Refused,
    /// The store may or may not have deleted the object.
    Unknown(StorageError),
}
