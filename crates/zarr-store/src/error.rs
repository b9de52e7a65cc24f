//! Errors of operations on the store. That a key is absent is an answer, not an error.

use icefield_core::{ByteRange, SessionError};

use crate::{KeyError, KeyMismatch};

/// The reason why an operation on a [`ZarrStore`](crate::ZarrStore) failed. Nothing was changed. An absent key is no
/// error: it is `None`.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ZarrStoreError {
    /// The text is no key, whatever the hierarchy.
    #[error("{key:?} is not a key of a Zarr store")]
    InvalidKey {
        /// The text.
        key: String,
        /// The rule that it breaks.
        source: KeyError,
    },
    /// The text is no prefix, whatever the hierarchy.
    #[error("{prefix:?} is not a prefix of keys of a Zarr store")]
    InvalidPrefix {
        /// The text.
        prefix: String,
        /// The rule that it breaks.
        source: KeyError,
    },
    /// The key to be stored names no value that a session can hold.
    #[error("cannot store {key:?}, which is neither metadata nor a chunk of an array")]
    NothingNamed {
        /// The key.
        key: String,
        /// The reason for which it names nothing.
        source: KeyMismatch,
    },
    /// The key to be stored belongs to metadata of Zarr v2.
    #[error(
        "cannot store {key:?}: it belongs to Zarr v2, and a session holds Zarr v3 only, under `zarr.json`"
    )]
    V2Metadata {
        /// The key.
        key: String,
    },
    /// The value does not contain the range.
    #[error("bytes {} of {key:?} do not exist: the value has {length} bytes", text_of(*range))]
    RangeOutOfValue {
        /// The key.
        key: String,
        /// The range as asked for.
        range: ByteRange,
        /// Bytes of the value.
        length: u64,
    },
    /// The session refused or failed.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A blocking call could not wait for its result.
    #[error(transparent)]
    Blocking(#[from] BlockingError),
}

fn text_of(range: ByteRange) -> String {
    match range {
        ByteRange::All => "0..".to_owned(),
        ByteRange::From { offset } => format!("{offset}.."),
        ByteRange::Range { start, end } => format!("{start}..{end}"),
        ByteRange::Suffix { length } => format!("-{length}.."),
    }
}

/// The reason why a blocking call could not wait for its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BlockingError {
    /// The store has no runtime.
    #[error(
        "this needs a runtime to wait for: give the store one with `with_runtime`, or call the async method"
    )]
    NoRuntime,
    /// The calling thread would have to run the work that it waits for.
    #[error(
        "waiting here would block the thread that does the work: call the async method, or use `spawn_blocking`"
    )]
    OnRuntimeThread,
    /// The runtime was shut down, or the work panicked. It is not known whether the work had an effect: read to find
    /// out.
    #[error("the work was dropped before it was done: its runtime was shut down, or it panicked")]
    Dropped,
}
