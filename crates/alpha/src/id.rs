//! Ids of this generation: 16 random bytes, 26 characters of Crockford's base 32.

use std::fmt;
use std::str::FromStr;

use base32::Alphabet;
use icefield_format::IdError;
use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

/// The number of bytes in an id.
pub const ID_LEN: usize = 16;
/// Characters in its text.
const TEXT_LEN: usize = 26;

/// The id of a snapshot, a manifest or a chunk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AlphaId([u8; ID_LEN]);

impl AlphaId {
    /// Returns the id with these bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; ID_LEN]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for AlphaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&base32::encode(Alphabet::Crockford, &self.0))
    }
}

impl fmt::Debug for AlphaId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for AlphaId {
    type Err = IdError;

    /// Only the text that an id is printed as: it is also the name of a file.
    fn from_str(text: &str) -> Result<Self, IdError> {
        if text.len() != TEXT_LEN {
            return Err(IdError::Length {
                expected: TEXT_LEN,
                found: text.len(),
            });
        }
        let decoded = base32::decode(Alphabet::Crockford, text);
        let Some(bytes) = decoded.and_then(|bytes| bytes.try_into().ok()) else {
            let is_bad = |(_, byte): &(usize, u8)| {
                !b"0123456789ABCDEFGHJKMNPQRSTVWXYZ".contains(&byte.to_ascii_uppercase())
            };
            let (position, byte) = text.bytes().enumerate().find(is_bad).unwrap_or_default();
            return Err(IdError::Character { position, byte });
        };
        let id = Self(bytes);
        match id.to_string() == text {
            true => Ok(id),
            false => Err(IdError::Padding),
        }
    }
}

impl<'de> Deserialize<'de> for AlphaId {
    /// The text, or an array of the bytes: so the schemas have it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Id;
        impl<'de> Visitor<'de> for Id {
            type Value = AlphaId;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the 26 characters of an id, or its 16 bytes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<AlphaId, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut bytes: A) -> Result<AlphaId, A::Error> {
                let mut id = [0; ID_LEN];
                for (at, byte) in id.iter_mut().enumerate() {
                    let next = bytes.next_element()?;
                    *byte = next.ok_or_else(|| de::Error::invalid_length(at, &self))?;
                }
                match bytes.next_element::<u8>()? {
                    None => Ok(AlphaId(id)),
                    Some(_) => Err(de::Error::invalid_length(ID_LEN + 1, &self)),
                }
            }
        }
        deserializer.deserialize_any(Id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_are_one_id() {
        let id = AlphaId::from_bytes(std::array::from_fn(|at| at as u8));
        let text = "000G40R40M30E209185GR38E1W";
        assert_eq!(id.to_string(), text);
        assert_eq!(text.parse(), Ok(id));
        for json in [
            format!("{text:?}"),
            "[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]".to_owned(),
        ] {
            assert_eq!(serde_json::from_str::<AlphaId>(&json).unwrap(), id);
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "000G40R40M30E209185GR38E1",
            "000G40R40M30E209185GR38E1WW",
            "000g40r40m30e209185gr38e1w",
            "OOOG40R40M30E209185GR38E1W",
            "000G40R40M30E209185GR38E1X",
            "000G40R40M30E209185GR38E1U",
        ] {
            assert!(text.parse::<AlphaId>().is_err(), "{text}");
        }
        let byte = |count: usize| format!("[{}]", vec!["1"; count].join(","));
        for json in [byte(15), byte(17), "[256]".to_owned(), "7".to_owned()] {
            assert!(serde_json::from_str::<AlphaId>(&json).is_err(), "{json}");
        }
    }
}
