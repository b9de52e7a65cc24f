//! One stored object, and what a write brings along.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::SystemTime;

use bytes::Bytes;
use md5::{Digest, Md5};

/// One version of an object.
#[derive(Clone, Debug)]
pub struct StoredObject {
    /// Its bytes.
    pub bytes: Bytes,
    /// The entity tag as it stands in a header: with its quotes, and `W/` if it is weak.
    pub etag: String,
    /// The number of this version; no two versions in a world share one.
    pub generation: u64,
    /// Counts the changes to the attributes of this version, from 1.
    pub metageneration: u64,
    /// When it was written, by the clock of its world.
    pub last_modified: SystemTime,
    /// The attributes that came with the write.
    pub attributes: Attributes,
    pub(crate) sums: OnceLock<Sums>,
}

impl StoredObject {
    /// Returns the checksums: computed once, as by stores, so that a read of a part costs no pass over the whole.
    pub(crate) fn sums(&self) -> Sums {
        *self.sums.get_or_init(|| Sums {
            md5: md5(&self.bytes),
            crc32c: crc32c::crc32c(&self.bytes),
        })
    }
}

/// The checksums of an object's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) md5: [u8; 16],
    pub(crate) crc32c: u32,
}

/// The attributes that a write gives an object besides its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// The media type.
    pub content_type: Option<String>,
    /// The coding of the bytes.
    pub content_encoding: Option<String>,
    /// The storage class.
    pub storage_class: Option<String>,
    /// User metadata, keys without any `x-amz-meta-` or `x-goog-meta-`.
    pub metadata: BTreeMap<String, String>,
    /// Tags, which only S3 has.
    pub tags: BTreeMap<String, String>,
}

/// An object that is not stored yet.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Its bytes.
    pub bytes: Bytes,
    /// Its attributes.
    pub attributes: Attributes,
    /// The entity tag, if it is not to follow from the bytes.
    pub etag: Option<String>,
}

impl Draft {
    /// Returns a draft of these bytes with no attributes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        Self {
            bytes: bytes.into(),
            ..Self::default()
        }
    }
}

/// How entity tags are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EtagStyle {
    /// The MD5 of the bytes, as on AWS without encryption. A write of the same bytes keeps the tag: a
    /// condition on it does not tell the two versions apart, and both of two writers may win.
    #[default]
    Md5,
    /// Something that is no MD5 and differs from version to version, as with encryption.
    Opaque,
    /// Like `Opaque`, and marked as weak.
    Weak,
}

impl EtagStyle {
    /// Returns the tag of a version in this style; `md5` is what it would be on AWS.
    pub(crate) fn tag(self, md5: &str, generation: u64) -> String {
        match self {
            Self::Md5 => format!("\"{md5}\""),
            Self::Opaque => format!("\"opaque/{generation:x}+{}\"", &md5[..6]),
            Self::Weak => format!("W/\"opaque/{generation:x}+{}\"", &md5[..6]),
        }
    }
}

/// Returns the MD5 of `bytes`.
pub(crate) fn md5(bytes: &[u8]) -> [u8; 16] {
    Md5::digest(bytes).into()
}

/// Returns `bytes` in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
