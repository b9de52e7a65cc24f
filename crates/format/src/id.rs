//! Object and node ids: fixed bytes in files, Crockford base 32 in names and messages.
//!
//! Rules of the text form: alphabet `0123456789ABCDEFGHJKMNPQRSTVWXYZ`, most significant bit first,
//! padded on the right with zero bits, no `=`, upper case. 12 bytes make 20 characters, 8 bytes
//! make 13. Decoding accepts lower case and the usual aliases (O for 0, I and L for 1).

use std::fmt;
use std::str::FromStr;

use base32::Alphabet;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Bytes in a snapshot, manifest or chunk id.
pub const OBJECT_ID_LEN: usize = 12;
/// Bytes in a node id.
pub const NODE_ID_LEN: usize = 8;

const ALPHABET: Alphabet = Alphabet::Crockford;

/// The reason why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// The text has another number of characters than the id's.
    #[error("an id of this kind has {expected} characters, not {found}")]
    Length {
        /// Characters that the id has.
        expected: usize,
        /// Characters (bytes, if not ASCII) that were given.
        found: usize,
    },
    /// A character is outside the alphabet.
    #[error("byte {byte:#04x} at position {position} is not in the alphabet of ids")]
    Character {
        /// Where, counted from 0.
        position: usize,
        /// The offending byte.
        byte: u8,
    },
    /// The bits that fill up the last character are not zero, so two texts would name one id.
    #[error("the padding bits of the last character are not zero")]
    Padding,
}

const fn text_len(bytes: usize) -> usize {
    (bytes * 8).div_ceil(5)
}

fn decode<const N: usize>(text: &str) -> Result<[u8; N], IdError> {
    let expected = text_len(N);
    if text.len() != expected {
        return Err(IdError::Length {
            expected,
            found: text.len(),
        });
    }
    let decoded: Option<[u8; N]> =
        base32::decode(ALPHABET, text).and_then(|bytes| bytes.try_into().ok());
    let Some(id) = decoded else {
        return Err(bad_character(text));
    };
    // The library drops the bits that fill up the last character, whatever they are.
    let last = text
        .bytes()
        .next_back()
        .map(|byte| match byte.to_ascii_uppercase() {
            b'O' => b'0',
            b'I' | b'L' => b'1',
            byte => byte,
        });
    if base32::encode(ALPHABET, &id).bytes().next_back() == last {
        Ok(id)
    } else {
        Err(IdError::Padding)
    }
}

/// Finds the character for which the library refused a text.
fn bad_character(text: &str) -> IdError {
    let is_bad = |(_, byte): &(usize, u8)| {
        let one = [*byte, b'0'];
        !std::str::from_utf8(&one).is_ok_and(|one| base32::decode(ALPHABET, one).is_some())
    };
    let (position, byte) = text.bytes().enumerate().find(is_bad).unwrap_or_default();
    IdError::Character { position, byte }
}

macro_rules! id_type {
    ($(#[$doc:meta])* $name:ident, $len:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; $len]);

        impl $name {
            /// Bytes in the id.
            pub const ID_LEN: usize = $len;

            /// Returns the id with these bytes.
            #[must_use]
            pub const fn from_bytes(bytes: [u8; $len]) -> Self {
                Self(bytes)
            }

            /// Returns the bytes of the id, as they are in files.
            #[must_use]
            pub const fn as_bytes(&self) -> &[u8; $len] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&base32::encode(ALPHABET, &self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&base32::encode(ALPHABET, &self.0))
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                decode(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&base32::encode(ALPHABET, &self.0))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl de::Visitor<'_> for Text {
                    type Value = $name;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("the text of an id")
                    }
                    fn visit_str<E: de::Error>(self, text: &str) -> Result<$name, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    };
}

id_type! {
    /// Identifies one snapshot file and its transaction log. Random, save the initial snapshot's
    /// fixed id.
    SnapshotId, OBJECT_ID_LEN
}
id_type! {
    /// Identifies one manifest file. Random and never reused.
    ManifestId, OBJECT_ID_LEN
}
id_type! {
    /// Identifies one chunk object. Random and never reused.
    ChunkId, OBJECT_ID_LEN
}
id_type! {
    /// Identifies a node for as long as it lives. A node deleted and created again at its path gets
    /// a new one.
    NodeId, NODE_ID_LEN
}

impl SnapshotId {
    /// The id of every repository's first snapshot, `1CECHNKREP0F1RSTCMT0`.
    pub const INITIAL: Self = Self([
        0x0b, 0x1c, 0xc8, 0xd6, 0x78, 0x75, 0x80, 0xf0, 0xe3, 0x3a, 0x65, 0x34,
    ]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_specification() {
        assert_eq!(SnapshotId::INITIAL.to_string(), "1CECHNKREP0F1RSTCMT0");
        let counting = ChunkId::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(counting.to_string(), "000G40R40M30E209185G");
        assert_eq!(
            NodeId::from_bytes([0, 1, 2, 3, 4, 5, 6, 7]).to_string(),
            "000G40R40M30E"
        );
        assert_eq!(
            ManifestId::from_bytes([0xff; 12]).to_string(),
            "ZZZZZZZZZZZZZZZZZZZG"
        );
        assert_eq!(
            ManifestId::from_bytes([0; 12]).to_string(),
            "00000000000000000000"
        );
    }

    #[test]
    fn lower_case_and_aliases_are_read() {
        assert_eq!("icechnkrepof1rstcmto".parse(), Ok(SnapshotId::INITIAL));
        assert_eq!("LCECHNKREP0F1RSTCMT0".parse(), Ok(SnapshotId::INITIAL));
    }

    #[test]
    fn bad_texts_are_refused_by_reason() {
        let parse = |text: &str| text.parse::<SnapshotId>().map_err(|e| e.to_string());
        assert!(parse("1CECHNKREP0F1RSTCMT").is_err_and(|e| e.contains("19")));
        assert!(parse("1CECHNKREP0F1RSTCMT00").is_err_and(|e| e.contains("21")));
        assert!(parse("UCECHNKREP0F1RSTCMT0").is_err_and(|e| e.contains("position 0")));
        assert_eq!(
            "1CECHNKREP0F1RSTCMT1".parse::<SnapshotId>(),
            Err(IdError::Padding)
        );
        assert!(parse("é1CECHNKREP0F1RSTCMT").is_err());
    }

    #[test]
    fn text_order_is_byte_order() {
        let low = NodeId::from_bytes([0, 255, 0, 0, 0, 0, 0, 0]);
        let high = NodeId::from_bytes([1, 0, 0, 0, 0, 0, 0, 0]);
        assert!(low < high && low.to_string() < high.to_string());
    }

    #[test]
    fn ids_are_text_in_serde() {
        let json = serde_json::to_string(&SnapshotId::INITIAL).unwrap();
        assert_eq!(json, "\"1CECHNKREP0F1RSTCMT0\"");
        assert_eq!(
            serde_json::from_str::<SnapshotId>(&json).unwrap(),
            SnapshotId::INITIAL
        );
    }
}
