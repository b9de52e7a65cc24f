//! The files of branches and tags.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::body::json;
use crate::{AlphaError, AlphaId};

/// Largest file of a ref that is read, in bytes: the properties of a commit are in it, too.
pub(crate) const MAX_REF: u64 = 64 << 20;

/// The contents of the file of a branch or tag.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RefFile {
    /// The snapshot.
    pub snapshot: AlphaId,
    /// The time when the ref was written, as RFC 3339 text. The last code of that time did not write it.
    #[serde(default)]
    pub timestamp: Option<String>,
    /// The properties of the commit, a second time; likewise.
    #[serde(default)]
    pub properties: Map<String, Value>,
}

impl RefFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`AlphaError::Damaged`] with this key.
    pub fn decode(bytes: &[u8], key: &str) -> Result<Self, AlphaError> {
        json(bytes, key, "ref")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_states_are_read_and_ids_in_both_forms() {
        let id = AlphaId::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        let decode = |text: &str| RefFile::decode(text.as_bytes(), "r/x");
        let plain = decode(r#"{"snapshot":"000G40R40M30E209185GR38E1W"}"#).unwrap();
        assert_eq!((plain.snapshot, plain.timestamp), (id, None));
        let full = r#"{"snapshot":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],
            "timestamp":"2024-09-18T12:00:35.123456Z","properties":{"who":"me"}}"#;
        let full = decode(full).unwrap();
        assert_eq!(full.snapshot, id);
        assert_eq!(
            full.timestamp.as_deref(),
            Some("2024-09-18T12:00:35.123456Z")
        );
        assert_eq!(full.properties["who"], "me");
        for damaged in ["", "{}", r#"{"snapshot":"x"}"#, r#"{"snapshot":7}"#, "[1]"] {
            let error = decode(damaged).unwrap_err().to_string();
            assert!(error.starts_with("r/x is damaged: no ref"), "{error}");
        }
    }
}
