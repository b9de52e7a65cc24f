//! The answer to a read, and the metadata of an object.

use std::ops::Range;
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use crate::{Key, StorageError, Version};

/// The facts about a stored object that are known without reading it.
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
                // The length that the store claims is not believed before the bytes are there.
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
