//! Options of puts and copies, and their outcomes.

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use crate::{Key, StorageError, Version};

/// The bytes of a put: in memory, or as a stream whose size may be unknown. Bytes, vectors and texts convert into one.
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
    /// Returns the number of bytes; `None` for a stream of unknown size.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Stream { size, .. } => *size,
        }
    }

    /// Collects the bytes into memory. `key` is named if they are not as many as promised.
    ///
    /// # Errors
    /// [`StorageError::WrongLength`]; the errors of the stream.
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

/// The condition under which a put takes effect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PutMode {
    /// No condition: the object is created or replaced.
    #[default]
    Overwrite,
    /// The key holds no object. Of any number of concurrent puts, one succeeds.
    Create,
    /// The object is in exactly this state. A missing object fails the condition.
    Update(Version),
}

/// The kind of object that is written; selects storage class, tags and durability in the backend.
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
    /// The condition for the put to take effect.
    pub mode: PutMode,
    /// The kind of object, by which the backend chooses storage class, tags and durability.
    pub class: ObjectClass,
    /// The content type, for stores that keep one.
    pub content_type: Option<&'static str>,
    /// The user metadata, for stores that keep it.
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

    /// Sets the kind of object.
    #[must_use]
    pub fn with_class(mut self, class: ObjectClass) -> Self {
        self.class = class;
        self
    }

    /// Sets the content type.
    #[must_use]
    pub fn with_content_type(mut self, content_type: &'static str) -> Self {
        self.content_type = Some(content_type);
        self
    }

    /// Adds one item of user metadata.
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

/// The outcome of a put or a copy. An error, in contrast, means that nothing was written.
#[derive(Debug)]
#[must_use = "a write may have been refused, or its outcome may be unknown"]
pub enum PutOutcome {
    /// The object is stored, in the version given.
    Written(Written),
    /// The condition did not hold. Nothing was written.
    Refused,
    /// The store may or may not have taken the write, now or later. Read the object to find out;
    /// clean up nothing.
    Unknown(StorageError),
}

/// The acknowledgement of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The version that the write created: the condition of the next [`PutMode::Update`].
    pub version: Version,
    /// The time of the write by the store's clock, if its reply contains one.
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

/// The options of [`Storage::copy`](crate::Storage::copy).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CopyOptions {
    /// The version of the source to copy; another one makes the copy [`PutOutcome::Refused`]. `None` copies any
    /// version.
    pub source_version: Option<Version>,
    /// The condition at the destination.
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

    /// Adds the condition that the source is in this version.
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
