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

mod error;
mod read;
mod type_code;
mod write;

use serde_json::Value;

use crate::budget::Budget;

pub use error::FlexBuffersError;
pub use write::encode_flexbuffers;

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

#[cfg(test)]
mod tests;
