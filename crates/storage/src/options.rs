//! Options and answers of the storage operations.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use crate::{Condition, Key, Prefix, StorageError, Version};

/// Which bytes of an object to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum GetRange {
    /// The whole object.
    #[default]
    All,
    /// Half open; both ends must lie within the object, else the read is
    /// [`StorageError::RangeNotSatisfiable`]. Never padded, never cut.
    Bounded(Range<u64>),
    /// From an offset, at most the size of the object, to the end.
    From(u64),
    /// The last bytes of the object; asking for more than there are is an error.
    Suffix(u64),
}

impl GetRange {
    /// Returns the half-open range within an object of `size` bytes, or `None` if it is not contained in it.
    pub fn resolve(&self, size: u64) -> Option<Range<u64>> {
        match *self {
            Self::All => Some(0..size),
            Self::Bounded(Range { start, end }) => {
                (start <= end && end <= size).then_some(start..end)
            }
            Self::From(start) => (start <= size).then_some(start..size),
            Self::Suffix(length) => size.checked_sub(length).map(|start| start..size),
        }
    }
}

/// Options of [`Storage::get`](crate::Storage::get).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct GetOptions {
    /// The bytes to read.
    pub range: GetRange,
    /// Read only if the object is still in this state, else [`StorageError::PreconditionFailed`].
    pub if_match: Option<Condition>,
    /// Read only if the object is *not* in this state, else [`StorageError::NotModified`].
    pub if_none_match: Option<Condition>,
    /// Read only if the object was not written after this time, else [`StorageError::PreconditionFailed`].
    pub if_unmodified_since: Option<SystemTime>,
    /// Read only if the object has no more bytes than this, else [`StorageError::ObjectTooLarge`].
    pub max_size: Option<u64>,
}

impl GetOptions {
    /// Returns the options for one range.
    pub fn range(range: GetRange) -> Self {
        Self {
            range,
            ..Self::default()
        }
    }

    /// Decides the conditions and the range against a stored object, in the one order that all backends
    /// follow: first what must hold, then news, then the range. `etag` is the object's ETag, where the
    /// backend has one. Returns the bytes to read, half open. The size comes last but for the range.
    ///
    /// # Errors
    /// [`StorageError::PreconditionFailed`], [`StorageError::NotModified`],
    /// [`StorageError::ObjectTooLarge`], [`StorageError::RangeNotSatisfiable`].
    pub fn check(&self, meta: &ObjectMeta, etag: Option<&str>) -> Result<Range<u64>, StorageError> {
        let key = || meta.key.clone();
        let matches = |condition: &Condition| match condition {
            Condition::Version(version) => *version == meta.version,
            Condition::ETag(text) => etag == Some(text.as_str()),
        };
        if self
            .if_match
            .as_ref()
            .is_some_and(|condition| !matches(condition))
            || self
                .if_unmodified_since
                .is_some_and(|time| meta.last_modified.is_none_or(|written| written > time))
        {
            return Err(StorageError::PreconditionFailed { key: key() });
        }
        if self.if_none_match.as_ref().is_some_and(matches) {
            return Err(StorageError::NotModified { key: key() });
        }
        self.check_size(meta)
    }

    /// Decides the size and the range alone, as [`GetOptions::check`] does after the conditions.
    ///
    /// # Errors
    /// [`StorageError::ObjectTooLarge`], [`StorageError::RangeNotSatisfiable`].
    pub fn check_size(&self, meta: &ObjectMeta) -> Result<Range<u64>, StorageError> {
        if let Some(limit) = self.max_size.filter(|limit| meta.size > *limit) {
            return Err(StorageError::ObjectTooLarge {
                key: meta.key.clone(),
                size: meta.size,
                limit,
            });
        }
        self.range
            .resolve(meta.size)
            .ok_or_else(|| StorageError::RangeNotSatisfiable {
                key: meta.key.clone(),
                wanted: format!("{:?}", self.range),
                size: meta.size,
            })
    }

    /// Returns the options with the condition that the object is still in this state.
    #[must_use]
    pub fn with_if_match(mut self, condition: impl Into<Condition>) -> Self {
        self.if_match = Some(condition.into());
        self
    }

    /// Returns the options with the condition that the object is not in this state.
    #[must_use]
    pub fn with_if_none_match(mut self, condition: impl Into<Condition>) -> Self {
        self.if_none_match = Some(condition.into());
        self
    }

    /// Returns the options with the condition that the object has no more bytes than this.
    #[must_use]
    pub fn with_max_size(mut self, bytes: u64) -> Self {
        self.max_size = Some(bytes);
        self
    }

    /// Returns the options with the condition that the object was not written after this time.
    #[must_use]
    pub fn with_if_unmodified_since(mut self, time: SystemTime) -> Self {
        self.if_unmodified_since = Some(time);
        self
    }
}

impl From<GetRange> for GetOptions {
    fn from(range: GetRange) -> Self {
        Self::range(range)
    }
}

/// What is known of a stored object without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// The object's key.
    pub key: Key,
    /// Size of the whole object in bytes.
    pub size: u64,
    /// The state that this description belongs to.
    pub version: Version,
    /// When the store says the object was written, by the store's clock. [`Storage::head`](crate::Storage::head)
    /// and lists always tell it; of an object that was read it is `None` where only a further request would.
    pub last_modified: Option<SystemTime>,
}

/// One object, or one range of it, as read.
#[derive(Debug)]
pub struct Object {
    /// Describes the whole object, whatever range was read.
    pub meta: ObjectMeta,
    /// The bytes that the body holds, half open.
    pub range: Range<u64>,
    /// The bytes.
    pub body: Body,
}

/// Bytes allocated at most before any have come.
const FIRST_ALLOCATION: usize = 64 << 20;

impl Object {
    /// Returns the bytes, having checked that they are as many as [`Object::range`] promises.
    ///
    /// # Errors
    /// [`StorageError::WrongLength`] if the body ended early or went on too long; whatever the
    /// transport reports.
    pub async fn bytes(self) -> Result<Bytes, StorageError> {
        let expected = self.range.end - self.range.start;
        let bytes = match self.body {
            Body::Bytes(bytes) => bytes,
            Body::Stream(mut stream) => {
                // What the store claims is not believed before it is there.
                let claimed = usize::try_from(expected).unwrap_or(usize::MAX);
                let mut buffer = Vec::with_capacity(claimed.min(FIRST_ALLOCATION));
                while let Some(part) = stream.try_next().await? {
                    buffer.extend_from_slice(&part);
                    if buffer.len() as u64 > expected {
                        break;
                    }
                }
                buffer.into()
            }
        };
        if bytes.len() as u64 == expected {
            Ok(bytes)
        } else {
            Err(StorageError::WrongLength {
                key: self.meta.key,
                expected,
                found: bytes.len() as u64,
            })
        }
    }
}

/// The bytes of an [`Object`]: at once, or as they arrive.
pub enum Body {
    /// All of them.
    Bytes(Bytes),
    /// Parts, in order.
    Stream(BoxStream<'static, Result<Bytes, StorageError>>),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

/// The bytes of a put: at once, or as a stream whose size may be unknown.
pub enum Payload {
    /// All of them; a put of these can be repeated.
    Bytes(Bytes),
    /// Parts, in order. The put stores nothing if the stream fails, or if it yields another number of
    /// bytes than `size` says.
    Stream {
        /// The number of bytes, where known.
        size: Option<u64>,
        /// The parts.
        stream: BoxStream<'static, Result<Bytes, StorageError>>,
    },
}

impl Payload {
    /// Returns the number of bytes, where it is known beforehand.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Stream { size, .. } => *size,
        }
    }

    /// Collects the bytes into memory; `key` is named if they are not as many as promised.
    ///
    /// # Errors
    /// [`StorageError::WrongLength`]; whatever the stream yields.
    pub async fn collect(self, key: &Key) -> Result<Bytes, StorageError> {
        let (size, mut stream) = match self {
            Self::Bytes(bytes) => return Ok(bytes),
            Self::Stream { size, stream } => (size, stream),
        };
        let mut buffer = Vec::with_capacity(size.map_or(0, |size| size.min(1 << 24) as usize));
        while let Some(part) = stream.try_next().await? {
            buffer.extend_from_slice(&part);
            if size.is_some_and(|size| buffer.len() as u64 > size) {
                break;
            }
        }
        match size {
            Some(expected) if expected != buffer.len() as u64 => Err(StorageError::WrongLength {
                key: key.clone(),
                expected,
                found: buffer.len() as u64,
            }),
            _ => Ok(buffer.into()),
        }
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::Stream { size, .. } => write!(f, "Stream({size:?})"),
        }
    }
}

impl<B: Into<Bytes>> From<B> for Payload {
    fn from(bytes: B) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// What must hold for a put to take effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PutMode {
    /// Nothing: the object is created or replaced.
    #[default]
    Overwrite,
    /// There is no object under the key.
    Create,
    /// The object is in exactly this state. A missing object fails the condition.
    Update(Version),
}

/// What kind of object is written; selects storage class, tags and durability in the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ObjectClass {
    /// Small objects that a repository cannot do without.
    #[default]
    Metadata,
    /// Chunk payloads. A put of class `Chunk` in mode [`PutMode::Create`] under a fresh random name may
    /// be written in place: torn by a crash, it is garbage that nothing references.
    Chunk,
}

/// Options of [`Storage::put`](crate::Storage::put).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PutOptions {
    /// What must hold for the put to take effect.
    pub mode: PutMode,
    /// The kind of object.
    pub class: ObjectClass,
    /// Content type, where the store keeps one.
    pub content_type: Option<&'static str>,
    /// User metadata, where the store keeps it.
    pub user_metadata: BTreeMap<String, String>,
}

impl PutOptions {
    /// Returns options with `mode` for an object of class metadata.
    pub fn mode(mode: PutMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// Returns the options with another class.
    #[must_use]
    pub fn with_class(mut self, class: ObjectClass) -> Self {
        self.class = class;
        self
    }

    /// Returns the options with a content type.
    #[must_use]
    pub fn with_content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = Some(content_type);
        self
    }

    /// Returns the options with one more item of user metadata.
    #[must_use]
    pub fn with_user_metadata(mut self, name: &str, value: &str) -> Self {
        self.user_metadata.insert(name.to_owned(), value.to_owned());
        self
    }
}

impl From<PutMode> for PutOptions {
    fn from(mode: PutMode) -> Self {
        Self::mode(mode)
    }
}

/// What became of a put or a copy. An error, in contrast, means that nothing was written.
#[derive(Debug)]
#[must_use = "a write may have been refused, or its outcome may be unknown"]
pub enum PutOutcome {
    /// The object is stored.
    Written(Written),
    /// The condition did not hold; nothing was written.
    Refused,
    /// The store may or may not have taken the write, now or later. Read the object to find out;
    /// clean up nothing.
    Unknown(StorageError),
}

/// A write that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The state that the write made.
    pub version: Version,
    /// The store's own time of the write, where its reply says it.
    pub store_time: Option<SystemTime>,
}

impl PutOutcome {
    /// Returns the outcome of a write that made `version`.
    pub fn written(version: Version) -> Self {
        Self::Written(Written {
            version,
            store_time: None,
        })
    }
}

/// Options of [`Storage::copy`](crate::Storage::copy).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CopyOptions {
    /// Copy only this state of the source; another one makes the copy [`PutOutcome::Refused`].
    pub source_version: Option<Version>,
    /// What must hold at the destination.
    pub mode: PutMode,
}

impl CopyOptions {
    /// Returns options with `mode` that copy any state of the source.
    pub fn mode(mode: PutMode) -> Self {
        Self {
            source_version: None,
            mode,
        }
    }

    /// Returns the options with the condition that the source is in this state.
    #[must_use]
    pub fn with_source_version(mut self, version: Version) -> Self {
        self.source_version = Some(version);
        self
    }
}

impl From<PutMode> for CopyOptions {
    fn from(mode: PutMode) -> Self {
        Self::mode(mode)
    }
}

/// Options of [`Storage::list`](crate::Storage::list).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ListOptions {
    /// Only keys below this prefix.
    pub prefix: Prefix,
    /// Only keys after this one in byte order; the key need not exist.
    pub start_after: Option<Key>,
}

impl ListOptions {
    /// Returns the options for all keys below `prefix`.
    pub fn prefix(prefix: Prefix) -> Self {
        Self {
            prefix,
            start_after: None,
        }
    }

    /// Returns the options that begin after `key`.
    #[must_use]
    pub fn with_start_after(mut self, key: Key) -> Self {
        self.start_after = Some(key);
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

/// What became of one [`Deletion`]. An error, in contrast, means that nothing was deleted.
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
