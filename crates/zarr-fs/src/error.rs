//! Errors of operations on a tree. That a key is absent is an answer, not an error.

use std::io;
use std::ops::RangeInclusive;

use icefield_storage::{GetRange, StorageError};

use crate::{KeyError, NameError, TreeKey, ZipError};

/// The reason why an operation on a tree failed. Nothing was changed, unless the variant says otherwise.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The text is no key or prefix, whatever the store.
    #[error(transparent)]
    InvalidKey(#[from] KeyError),
    /// The store cannot have a value of this name.
    #[error("{store} cannot hold the key {key:?}")]
    Name {
        /// The store.
        store: String,
        /// The key.
        key: String,
        /// The rule that it breaks.
        source: NameError,
    },
    /// The value does not contain the range.
    #[error("bytes {wanted:?} of {key} in {store} do not exist: the value has {size} bytes")]
    Range {
        /// The store.
        store: String,
        /// The key.
        key: TreeKey,
        /// The range as asked for.
        wanted: GetRange,
        /// Bytes of the value.
        size: u64,
    },
    /// The value has another size than the caller required.
    #[error("{key} in {store} has {size} bytes, and {} were expected", bounds(.wanted))]
    Size {
        /// The store.
        store: String,
        /// The key.
        key: TreeKey,
        /// Bytes of the value.
        size: u64,
        /// The number that it should have.
        wanted: RangeInclusive<u64>,
    },
    /// Another program wrote into a value, in place, while it was being read. Read again.
    #[error("{key} in {store} changed while it was being read: read it again")]
    Changed {
        /// The store.
        store: String,
        /// The key.
        key: TreeKey,
    },
    /// The value would lie below another value, which this store cannot have.
    #[error(
        "cannot store {key} in {store}: {parent} is a value, and no key can lie below it; erase it first"
    )]
    BelowAValue {
        /// The store.
        store: String,
        /// The key that was to be stored.
        key: TreeKey,
        /// The key that is in the way.
        parent: String,
    },
    /// The value would stand where keys lie below, which this store cannot have.
    #[error(
        "{key} in {store} is a directory that holds {below}: no value can be there; erase the prefix {key}/ first"
    )]
    AboveKeys {
        /// The store.
        store: String,
        /// The key that was to be stored or erased.
        key: TreeKey,
        /// A key below it, or what else is in the directory.
        below: String,
    },
    /// The file system does not distinguish the key from another one that differs in case.
    #[error(
        "cannot store {key} in {store}: the file system ignores case, and {existing:?} is there already"
    )]
    CaseCollision {
        /// The store.
        store: String,
        /// The key that was to be stored.
        key: TreeKey,
        /// The name that is in the way.
        existing: String,
    },
    /// A symbolic link stands on the way, and links are not followed.
    #[error(
        "{name} in {store} is a symbolic link, which is not followed: put what it points to in its place, or open the tree with links followed"
    )]
    Link {
        /// The store.
        store: String,
        /// The path below the base.
        name: String,
    },
    /// A symbolic link leads out of the base.
    #[error("{name} in {store} is a symbolic link that leads out of the tree")]
    LinkOutside {
        /// The store.
        store: String,
        /// The path below the base.
        name: String,
    },
    /// The name leads to something that is no file.
    #[error("{name} in {store} is {found}, not a file: it is never opened")]
    NotAFile {
        /// The store.
        store: String,
        /// The path below the base.
        name: String,
        /// Its kind: `a FIFO`, …
        found: &'static str,
    },
    /// The base is not a directory.
    #[error("{store} is not a directory")]
    NotADirectory {
        /// The store.
        store: String,
    },
    /// The base does not exist, and the tree was opened with the condition that it must.
    #[error("{store} does not exist")]
    Missing {
        /// The store.
        store: String,
    },
    /// The store, or this handle on it, takes no writes.
    #[error("{store} is read-only: open it with write access, or write elsewhere")]
    ReadOnly {
        /// The store.
        store: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {name} in {store}")]
    Io {
        /// The action that was attempted: `read`, `write`, …
        action: &'static str,
        /// The store.
        store: String,
        /// The key or directory.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The value is stored, but making it survive a loss of power failed.
    #[error("{name} in {store} is changed, but it could not be made durable")]
    NotDurable {
        /// The store.
        store: String,
        /// The key.
        name: String,
        /// The error of the system.
        source: io::Error,
    },
    /// The file is not a readable zip file, or breaks one of the rules for zip files that hold a tree.
    #[error("{store} is not a zip file that can be read as a tree")]
    Zip {
        /// The file.
        store: String,
        /// The broken rule.
        source: ZipError,
    },
    /// The storage backend failed.
    #[error("cannot {action} {name} in {store}")]
    Storage {
        /// The action that was attempted.
        action: &'static str,
        /// The store.
        store: String,
        /// The key or prefix.
        name: String,
        /// The error of the backend.
        source: Box<StorageError>,
    },
    /// The store gave no answer to a write. Read the key to find out.
    #[error("whether {name} in {store} was changed is unknown: read it to find out")]
    InDoubt {
        /// The store.
        store: String,
        /// The key.
        name: String,
        /// The error of the backend.
        source: Box<StorageError>,
    },
    /// A value is, or would be, too long to be held in memory.
    #[error("{key} in {store} has {size} bytes, too many to be held in memory")]
    TooLong {
        /// The store.
        store: String,
        /// The key.
        key: TreeKey,
        /// Bytes of the value.
        size: u64,
    },
    /// The thread that should do the work is gone.
    #[error("cannot {action} {name}: the runtime is shutting down, or the work panicked")]
    Lost {
        /// The action that was attempted.
        action: &'static str,
        /// The store.
        name: String,
    },
}

fn bounds(sizes: &RangeInclusive<u64>) -> String {
    match sizes.start() == sizes.end() {
        true => sizes.end().to_string(),
        false => format!("{} to {}", sizes.start(), sizes.end()),
    }
}

impl TreeError {
    /// Returns the kind of the operating system's error, where one is the cause.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } | Self::NotDurable { source, .. } => Some(source.kind()),
            Self::ReadOnly { .. } => Some(io::ErrorKind::ReadOnlyFilesystem),
            Self::Zip {
                source: ZipError::Io(source),
                ..
            } => Some(source.kind()),
            _ => None,
        }
    }
}
