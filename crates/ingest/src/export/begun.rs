//! The state with which an export by several processes begins, in bytes that can be sent.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::measures::Measured;
use super::target::Staged;
use crate::error::ExportError;

/// The form that this version writes and reads.
pub(super) const VERSION: u32 = 1;

/// An export that has begun, from [`Export::begin`](crate::Export::begin): the knowledge that its parts need, in bytes
/// that can be sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BegunExport {
    pub(super) version: u32,
    /// Where the chunks of a directory go meanwhile; `None` for a tree on a storage backend.
    pub(super) staged: Option<Staged>,
    /// The version that every part must see.
    pub(super) seen: String,
    pub(super) measured: Measured,
}

impl BegunExport {
    /// Encodes it as JSON, with a version number, without credentials.
    ///
    /// # Errors
    /// [`ExportError::Begun`] for a path that is no text.
    pub fn to_bytes(&self) -> Result<Bytes, ExportError> {
        let bytes = serde_json::to_vec(self);
        Ok(bytes.map_err(|error| unreadable(error.to_string()))?.into())
    }

    /// Decodes it.
    ///
    /// # Errors
    /// [`ExportError::Begun`] if the bytes are damaged or of another version.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ExportError> {
        let read: Self =
            serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
        match read.version {
            VERSION => Ok(read),
            other => Err(unreadable(format!("it has the form {other}"))),
        }
    }
}

/// Bytes that say something else than they should.
pub(super) fn unreadable(problem: String) -> ExportError {
    ExportError::Begun { problem }
}
