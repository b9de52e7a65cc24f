//! The answer to a read, and the metadata of an object.

use std::ops::Range;
use std::time::SystemTime;

use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::BoxStream;

use crate::{Key, StorageError, Version};

/// The description of a stored object, known without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectMeta {
    /// The key of the object.
    pub key: Key,
    /// The size of the whole object in bytes.
    pub size: u64,
    /// The version that this description belongs to.
    pub version: Version,
    /// The time of the last write, by the store's clock. [`Storage::head`](crate::Storage::head) and lists always give
    /// it; a read gives `None` where that would cost another request.
    pub last_modified: Option<SystemTime>,
}

/// One object, or one range of it, as read.
#[derive(Debug)]
pub struct Object {
    /// The description of the whole object, whatever range was read.
    pub meta: ObjectMeta,
    /// The range that the body holds, half open.
    pub range: Range<u64>,
    /// The bytes of the range.
    pub body: Body,
}

/// Bytes allocated at most before any have come.
const FIRST_ALLOCATION: usize = 64 << 20;

impl Object {
    /// Returns the bytes of the body, after checking that they are as many as [`Object::range`] promises.
    ///
    /// # Errors
    /// [`StorageError::WrongLength`] if the body ended early or was too long; the errors of the transport.
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

/// The bytes of an [`Object`]: in memory, or as they arrive.
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
