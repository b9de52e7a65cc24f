//! Errors of storage operations that had no effect.

use std::io;

use crate::{Key, KeyError};

/// The boxed error of another layer, kept as a cause.
pub type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The problem of an empty object whose name ends in `/`: consoles and file gateways make them to show a folder.
pub const DIRECTORY_MARKER: &str = "it is a directory marker: an empty object whose name ends in `/`, as consoles and \
                                    file gateways leave for a folder";

/// Returns the message of an error and the messages of its causes, each once.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !message.ends_with(&text) {
            message = format!("{message}: {text}");
        }
        cause = error.source();
    }
    message
}

/// The reason why a storage operation failed. Nothing was written or deleted: an effect that is in doubt is
/// [`PutOutcome::Unknown`](crate::PutOutcome::Unknown) or [`DeleteOutcome::Unknown`](crate::DeleteOutcome::Unknown)
/// instead.
///
/// [`is_retryable`](Self::is_retryable) tells whether the same request may succeed later. Backends behind a network
/// have tried again already, within their deadline.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The key holds no object.
    #[error("object {key} does not exist")]
    NotFound {
        /// The key asked for.
        key: Key,
    },
    /// The text is not a key.
    #[error(transparent)]
    InvalidKey(#[from] KeyError),
    /// The object is in another version than a conditional read asked for.
    #[error("object {key} has changed since it was last seen")]
    PreconditionFailed {
        /// The key asked for.
        key: Key,
    },
    /// The object is still in the version that the caller knows.
    #[error("object {key} has not changed")]
    NotModified {
        /// The key asked for.
        key: Key,
    },
    /// The range is not contained in the object.
    #[error("bytes {wanted} of object {key} do not exist: it has {size}")]
    RangeNotSatisfiable {
        /// The key asked for.
        key: Key,
        /// The range as asked for.
        wanted: String,
        /// The size of the object in bytes.
        size: u64,
    },
    /// The object has more bytes than the reader takes.
    #[error("object {key} has {size} bytes, more than the limit of {limit}")]
    ObjectTooLarge {
        /// The key asked for.
        key: Key,
        /// The size of the object in bytes.
        size: u64,
        /// The most that is read.
        limit: u64,
    },
    /// The body did not have the promised length: the connection broke, or the object is damaged.
    #[error("object {key} gave {found} bytes instead of {expected}")]
    WrongLength {
        /// The key asked for.
        key: Key,
        /// The promised number of bytes.
        expected: u64,
        /// The number of bytes that came (or, of a body that was too long, had come when it was given up).
        found: u64,
    },
    /// The store, or this handle on it, takes no writes.
    #[error("{store} is read-only: open it with write access, or write elsewhere")]
    ReadOnly {
        /// The store.
        store: String,
    },
    /// The store refuses the action to this client.
    #[error("no permission to {action} {target}: check its owner, mode or credentials")]
    PermissionDenied {
        /// The action that was attempted: `read`, `write`, …
        action: &'static str,
        /// The object or directory.
        target: String,
        /// The error of the store.
        source: BoxError,
    },
    /// The store cannot do this at all.
    #[error("{store} does not support {what}")]
    Unsupported {
        /// The store.
        store: String,
        /// The missing ability.
        what: String,
    },
    /// The disk is full, or a quota is used up.
    #[error("no space left to write {target}: free some or raise the quota, then try again")]
    NoSpace {
        /// The object or directory.
        target: String,
        /// The error of the store.
        source: BoxError,
    },
    /// The key leads to something that is no object: a directory, a FIFO, a device, a symbolic link.
    #[error("{target} is {found}, not an object of this store")]
    NotAnObject {
        /// The place.
        target: String,
        /// Its kind: `a directory`, …
        found: &'static str,
    },
    /// The store holds something whose name is no key, or that is no object. Only [`Storage::list`] yields this; the list
    /// goes on behind it. Backends make it of an [`UnreadableName`]; [`StorageExt::list_entries`] tells it from the errors
    /// that end a list.
    ///
    /// [`Storage::list`]: crate::Storage::list
    /// [`UnreadableName`]: crate::UnreadableName
    /// [`StorageExt::list_entries`]: crate::StorageExt::list_entries
    #[error(
        "{raw:?} is in the store, but {problem}: rename it or move it away with the store's own tools"
    )]
    UnreadableKey {
        /// The name as the store has it, relative to the root; bytes that are not UTF-8 are escaped.
        raw: String,
        /// The broken rule.
        problem: String,
    },
    /// A setting of the handle does not fit the store.
    #[error("{target}: {problem}; check the setting `{setting}`")]
    Misconfigured {
        /// The store, or the object that was asked for.
        target: String,
        /// The setting to change.
        setting: &'static str,
        /// The problem.
        problem: String,
    },
    /// The store asked for pauses for longer than the caller's deadline.
    #[error(
        "{action} of {target} was put off by the store again and again: it is overloaded, or its limits are low"
    )]
    Throttled {
        /// The action that was attempted.
        action: &'static str,
        /// The object or store.
        target: String,
        /// The error of the store.
        source: BoxError,
    },
    /// The request failed in a way that may pass: a network error, a time-out, an error of the server.
    #[error("{action} of {target} failed for now")]
    Unavailable {
        /// The action that was attempted.
        action: &'static str,
        /// The object, directory or store.
        target: String,
        /// The error of the store.
        source: BoxError,
    },
    /// The request failed, and repeating it does not help.
    #[error("{action} of {target} failed")]
    Failed {
        /// The action that was attempted.
        action: &'static str,
        /// The object, directory or store.
        target: String,
        /// The error of the store.
        source: BoxError,
    },
}

impl StorageError {
    /// Returns whether the error means that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::NotFound { .. })
    }

    /// Returns whether the error is an entry of a list, after which the list goes on.
    pub fn is_unreadable_key(&self) -> bool {
        matches!(self, Self::UnreadableKey { .. })
    }

    /// Returns whether the error names a [directory marker](crate::DIRECTORY_MARKER), which holds no data.
    pub fn is_directory_marker(&self) -> bool {
        matches!(self, Self::UnreadableKey { problem, .. } if problem == DIRECTORY_MARKER)
    }

    /// Returns whether the same request may succeed later: [`Unavailable`](Self::Unavailable),
    /// [`Throttled`](Self::Throttled) and [`WrongLength`](Self::WrongLength).
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Unavailable { .. } | Self::Throttled { .. } | Self::WrongLength { .. }
        )
    }

    /// Converts an operating-system error about one object. "Not found" becomes [`NotFound`](Self::NotFound) with the
    /// key.
    pub fn from_io(action: &'static str, key: &Key, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound { key: key.clone() },
            _ => Self::from_io_at(action, key.as_str(), error),
        }
    }

    /// Converts an operating-system error about something that is not one object. `target` names it in the message.
    pub fn from_io_at(action: &'static str, target: &str, error: io::Error) -> Self {
        let target = target.to_owned();
        match error.kind() {
            io::ErrorKind::PermissionDenied => Self::PermissionDenied {
                action,
                target,
                source: error.into(),
            },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { store: target },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace {
                target,
                source: error.into(),
            },
            io::ErrorKind::IsADirectory => Self::NotAnObject {
                target,
                found: "a directory",
            },
            io::ErrorKind::Interrupted
            | io::ErrorKind::TimedOut
            | io::ErrorKind::WouldBlock
            | io::ErrorKind::ResourceBusy => Self::Unavailable {
                action,
                target,
                source: error.into(),
            },
            _ => Self::Failed {
                action,
                target,
                source: error.into(),
            },
        }
    }
}
