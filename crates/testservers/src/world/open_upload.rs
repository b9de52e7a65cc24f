//! Uploads that are neither complete nor aborted, and the limits of their parts.

use std::collections::BTreeMap;
use std::time::SystemTime;

use bytes::Bytes;

use super::object::Attributes;

/// An upload that is neither complete nor aborted.
#[derive(Clone, Debug)]
pub struct OpenUpload {
    /// Where the object will be.
    pub bucket: String,
    /// The key that it will have.
    pub key: String,
    /// The attributes that it will have.
    pub attributes: Attributes,
    /// When it was begun.
    pub initiated: SystemTime,
    /// The parts that are there, by number.
    pub parts: BTreeMap<i32, UploadedPart>,
}

/// One part of an upload.
#[derive(Clone, Debug)]
pub struct UploadedPart {
    /// Its bytes.
    pub bytes: Bytes,
    /// Its entity tag, quoted.
    pub etag: String,
    /// When it arrived.
    pub last_modified: SystemTime,
}

/// How large and how many parts may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartLimits {
    /// The least size of a part that is not the last.
    pub min_part: usize,
    /// The most parts of an upload.
    pub max_parts: i32,
    /// The most bytes of one put or part.
    pub max_put: usize,
}

impl Default for PartLimits {
    fn default() -> Self {
        Self {
            min_part: 5 << 20,
            max_parts: 10_000,
            max_put: 5 << 30,
        }
    }
}
