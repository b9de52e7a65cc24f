//! A single request and its answer, before anything is tried again.

use std::fmt;

use bytes::Bytes;

use crate::options::{
    Body, GetOptions, Object, ObjectClass, ObjectMeta, PutMode, PutOptions, Written,
};
use crate::{Condition, DeleteOutcome, StorageError, UnreadableName, Version};

/// The possible effect of an attempt that failed, by which the layer decides whether it repeats the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The store asked to be left alone for a while; nothing was done. 429, and a 503 that says so.
    Throttled,
    /// Nothing was done, and the same request may succeed: 409, credentials that have to be renewed.
    NotDone,
    /// Nothing was done, since there was no connection: no server listens, or the host has no address. Of a store
    /// that has never answered it is believed sooner than of one that has.
    Unreachable,
    /// The effect is unknown: the connection broke or went silent, 408, and what begins with a 5, but for 501.
    InDoubt,
    /// The state that the request builds on is not there any more: an earlier attempt may have used it up. An upload that
    /// was finished, or has to begin again.
    Vanished,
    /// Nothing was done, and the same request will not succeed.
    Final,
}

/// The reason why an attempt got no answer.
#[derive(Debug)]
pub struct Fault {
    /// The possible effect of the attempt.
    pub kind: FaultKind,
    /// The error that the caller gets if the request is not repeated.
    pub error: StorageError,
}

impl Fault {
    /// Returns a fault of this kind.
    pub fn new(kind: FaultKind, error: StorageError) -> Self {
        Self { kind, error }
    }

    /// Returns the kind of an HTTP status, by the one table of repeated requests that all backends share. `None` for a
    /// status that is no failure.
    pub fn kind_of_status(status: u16) -> Option<FaultKind> {
        match status {
            0..=399 => None,
            429 => Some(FaultKind::Throttled),
            // Another client's conditional write was under way: nothing was decided.
            409 => Some(FaultKind::NotDone),
            501 => Some(FaultKind::Final),
            // Any of these may come from something in between, which had handed the request on: also a 503, unless
            // the store itself says what it means by it.
            408 | 500..=599 => Some(FaultKind::InDoubt),
            _ => Some(FaultKind::Final),
        }
    }
}

impl From<StorageError> for Fault {
    fn from(error: StorageError) -> Self {
        Self::new(FaultKind::Final, error)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.error.source()
    }
}

/// A write as it is sent, the same in every attempt.
#[derive(Clone, Debug)]
pub struct WriteRequest {
    /// The condition.
    pub mode: PutMode,
    /// The kind of object.
    pub class: ObjectClass,
    /// Content type.
    pub content_type: Option<&'static str>,
    /// The caller's user metadata.
    pub user_metadata: Vec<(String, String)>,
    /// The id of this write among all others: 26 letters and digits. It is stored as user metadata with the object, so
    /// that the layer recognises its own write after a lost answer.
    pub write_id: String,
}

impl WriteRequest {
    pub(super) fn new(options: PutOptions, write_id: String) -> Self {
        Self {
            mode: options.mode,
            class: options.class,
            content_type: options.content_type,
            user_metadata: options.user_metadata.into_iter().collect(),
            write_id,
        }
    }
}

/// The answer of a store to a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is stored.
    Done(Written),
    /// The condition did not hold; a missing object does not meet [`PutMode::Update`].
    Refused,
}

/// An object, and the id of the write that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The object.
    pub meta: ObjectMeta,
    /// The id of the write, if this layer made it and the store keeps user metadata.
    pub write_id: Option<String>,
    /// Its ETag, where the store has them.
    pub etag: Option<String>,
}

impl Stored {
    /// Answers a read of no bytes, which cannot be asked for over HTTP, by what is known of the object. `agree`
    /// says whether a version that is wanted and one that was found are of one state.
    ///
    /// # Errors
    /// The conditions, as [`GetOptions::check`]; a fault if there are bytes to read.
    pub fn without_body(
        self,
        options: &GetOptions,
        agree: impl Fn(&Version, &Version) -> bool,
    ) -> Result<Object, Fault> {
        let mut options = options.clone();
        for condition in [&mut options.if_match, &mut options.if_none_match] {
            if let Some(Condition::Version(wanted)) = condition
                && agree(wanted, &self.meta.version)
            {
                *wanted = self.meta.version.clone();
            }
        }
        let range = options.check(&self.meta, self.etag.as_deref())?;
        if range.start < range.end {
            // It has changed since.
            let error = StorageError::WrongLength {
                key: self.meta.key,
                expected: range.end - range.start,
                found: 0,
            };
            return Err(Fault::new(FaultKind::NotDone, error));
        }
        Ok(Object {
            meta: self.meta,
            range,
            body: Body::Bytes(Bytes::new()),
        })
    }
}

/// One page of a list: objects in the order of the store, and the token of the next page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The objects, and the entries that are no objects. None is left out.
    pub entries: Vec<Result<ObjectMeta, UnreadableName>>,
    /// The token of the next page; `None` on the last one.
    pub next: Option<String>,
}

/// An upload in parts that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The store's name for it.
    pub id: String,
}

/// One part of an upload, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// From 1.
    pub number: u32,
    /// The store's token of it.
    pub tag: String,
}

/// The outcome of a deletion in one attempt.
pub type Deleted = Result<DeleteOutcome, Fault>;

/// The limits of a store: the most that it takes, and the least that it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// The size of the largest object that one put can make, in bytes.
    pub put_bytes: u64,
    /// The size of the smallest part of an upload, except the last one, in bytes.
    pub part_bytes: u64,
    /// The number of parts of one upload. Zero: the store has no uploads in parts, and takes an object of any size in
    /// one put.
    pub parts: u32,
    /// The number of keys of one delete request.
    pub delete_keys: usize,
}

impl Limits {
    /// Returns the limits of a store that takes each object in one put, of at most this many bytes, and deletes one at
    /// a time.
    pub fn whole(put_bytes: u64) -> Self {
        Self {
            put_bytes,
            part_bytes: 0,
            parts: 0,
            delete_keys: 1,
        }
    }

    /// Adds uploads in parts: the least size of a part in bytes, and the largest number of parts.
    #[must_use]
    pub fn with_parts(mut self, part_bytes: u64, parts: u32) -> Self {
        (self.part_bytes, self.parts) = (part_bytes, parts);
        self
    }

    /// Sets the number of keys of one delete request.
    #[must_use]
    pub fn with_delete_keys(mut self, keys: usize) -> Self {
        self.delete_keys = keys.max(1);
        self
    }
}
