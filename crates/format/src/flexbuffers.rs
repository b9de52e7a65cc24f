//! FlexBuffers: the form of metadata values and of the configuration in spec 2 (spec 2, §3 and §3.1).
//!
//! A document is read from its end: the last byte is the width of the root, the one before it the packed type. Everything
//! else is found by going *back* from where it is named, so no chain of values has an end by itself: values may be
//! shared, and a few bytes may stand for any number of them. So a value is charged to a budget before it is made.
//!
//! All types are read but blobs, which JSON has not: null, integers, floats and booleans in place or pointed to, of all
//! widths; keys, strings; maps; vectors without a type, with one, and of a fixed length. Written are null, booleans,
//! integers (unsigned where they are not negative), floats of four bytes where that loses nothing and else of eight,
//! strings, untyped vectors and maps, sorted by the bytes of their keys.

mod read;
mod write;

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::budget::Budget;

pub use write::encode_flexbuffers;

/// Deepest nesting that is read, so that hostile bytes cannot exhaust the stack.
const MAX_DEPTH_READ: usize = 256;
/// Deepest nesting that is written. The same as that of JSON texts, through which values come in.
const MAX_DEPTH_WRITTEN: usize = 128;

/// Types of FlexBuffers: the upper six bits of a packed type.
mod kind {
    pub(super) const NULL: u8 = 0;
    pub(super) const INT: u8 = 1;
    pub(super) const UINT: u8 = 2;
    pub(super) const FLOAT: u8 = 3;
    pub(super) const KEY: u8 = 4;
    pub(super) const STRING: u8 = 5;
    pub(super) const INDIRECT_INT: u8 = 6;
    pub(super) const INDIRECT_UINT: u8 = 7;
    pub(super) const INDIRECT_FLOAT: u8 = 8;
    pub(super) const MAP: u8 = 9;
    pub(super) const VECTOR: u8 = 10;
    /// Vectors of integers, unsigned integers, floats, keys and (deprecated) strings follow.
    pub(super) const VECTOR_INT: u8 = 11;
    pub(super) const VECTOR_STRING: u8 = 15;
    /// Pairs of integers, unsigned integers and floats, then triples and quadruples.
    pub(super) const PAIR_INT: u8 = 16;
    pub(super) const QUADRUPLE_FLOAT: u8 = 24;
    /// 25 are bytes, which JSON has not.
    pub(super) const BOOL: u8 = 26;
    pub(super) const VECTOR_BOOL: u8 = 36;
}

/// Tells why bytes are not the FlexBuffers form of a JSON value, or why a value has none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FlexBuffersError {
    /// There is no root: fewer than three bytes, or a root that does not fit.
    #[error("the document has no root value")]
    NoRoot,
    /// An offset, a length or a text leads out of the document.
    #[error("a value at byte {at} leads out of the document")]
    OutOfBounds {
        /// Where the value is named.
        at: usize,
    },
    /// A type that does not exist, or that JSON has not.
    #[error("a value at byte {at} has the type {found}, which no JSON value has")]
    Type {
        /// Where the value is named.
        at: usize,
        /// The type.
        found: u8,
    },
    /// A width that does not exist, or that a float cannot have.
    #[error("a value at byte {at} has the impossible width {width}")]
    Width {
        /// Where the value is named.
        at: usize,
        /// Its width in bytes.
        width: u64,
    },
    /// A text is not UTF-8.
    #[error("the text at byte {at} is not UTF-8")]
    Utf8 {
        /// Where the text begins.
        at: usize,
    },
    /// A map has a key twice.
    #[error("a map has the key {0:?} twice")]
    DuplicateKey(String),
    /// Values are nested too deeply.
    #[error("values are nested more than {limit} deep")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// The value would take more memory than allowed.
    #[error("the value would take more memory than allowed")]
    TooLarge,
    /// A key that is to be written has a zero byte, with which keys end.
    #[error("the key {0:?} has a zero byte, with which keys end")]
    ZeroInKey(String),
}

/// Reads a document as a JSON value that takes at most `limit` bytes in memory: its texts, and 64 bytes for each value
/// and each key of an object.
///
/// A float that is not a number is read as null, JSON has none.
///
/// # Errors
/// The rule that the document breaks.
///
/// ```
/// use icefield_format::{decode_flexbuffers, encode_flexbuffers};
///
/// let value = serde_json::json!({"is_root": true});
/// let document = encode_flexbuffers(&value)?;
/// assert_eq!(decode_flexbuffers(&document, 1 << 20)?, value);
/// # Ok::<(), icefield_format::FlexBuffersError>(())
/// ```
pub fn decode_flexbuffers(document: &[u8], limit: u64) -> Result<Value, FlexBuffersError> {
    decode(document, &Budget::new(limit))
}

/// Reads a document within a budget of memory.
pub(crate) fn decode(document: &[u8], budget: &Budget) -> Result<Value, FlexBuffersError> {
    read::decode(document, budget)
}
