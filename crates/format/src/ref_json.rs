//! `ref.json`, the pointer of a branch or tag: `{"snapshot":"1CECHNKREP0F1RSTCMT0"}`.

use bytes::Bytes;
use serde::Deserialize;

use crate::error::{FormatError, FormatFile};
use crate::id::SnapshotId;

#[derive(Deserialize)]
struct RefFile {
    // An owned text: a borrowed one could not be read from JSON with escapes.
    snapshot: String,
}

/// Returns the 35 bytes of a ref file.
#[must_use]
pub fn encode_ref(snapshot: SnapshotId) -> Bytes {
    Bytes::from(format!("{{\"snapshot\":\"{snapshot}\"}}"))
}

/// Returns the bytes of a ref file that no other nonce makes: 35 as of [`encode_ref`], and 32 of white space, which readers
/// of JSON pass over.
#[must_use]
pub fn encode_ref_with_nonce(snapshot: SnapshotId, nonce: u64) -> Bytes {
    const SPACES: [u8; 4] = *b" \t\n\r";
    let mut file = encode_ref(snapshot).to_vec();
    file.extend((0..32).map(|at| SPACES[(nonce >> (2 * at) & 3) as usize]));
    file.into()
}

/// Reads the snapshot that a ref file points at. White space and unknown keys are ignored.
///
/// # Errors
/// `Empty`, `InvalidRef` for other JSON, `InvalidRefId` for a text that is no snapshot id.
pub fn decode_ref(bytes: &[u8]) -> Result<SnapshotId, FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty {
            file: FormatFile::Ref,
        });
    }
    let file: RefFile = serde_json::from_slice(bytes).map_err(FormatError::InvalidRef)?;
    file.snapshot.parse().map_err(FormatError::InvalidRefId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_35_bytes() {
        let bytes = encode_ref(SnapshotId::INITIAL);
        assert_eq!(bytes, &br#"{"snapshot":"1CECHNKREP0F1RSTCMT0"}"#[..]);
        assert_eq!(decode_ref(&bytes).unwrap(), SnapshotId::INITIAL);
    }

    #[test]
    fn files_with_different_nonces_differ_and_mean_the_same() {
        let id = SnapshotId::INITIAL;
        let files = [0, 1, 2, 3, 1 << 62, 1 << 63, u64::MAX];
        let files = files.map(|nonce| encode_ref_with_nonce(id, nonce));
        for (at, file) in files.iter().enumerate() {
            assert_eq!((file.len(), decode_ref(file).unwrap()), (67, id));
            assert!(!files[..at].contains(file) && *file != encode_ref(id));
        }
    }

    #[test]
    fn other_json_of_the_same_meaning_is_read() {
        let loose = br#" { "other": [1], "snapshot": "1cechnkrep0f\u0031rstcmt0" } "#;
        assert_eq!(decode_ref(loose).unwrap(), SnapshotId::INITIAL);
    }

    #[test]
    fn d60_refs_that_point_nowhere() {
        assert!(matches!(decode_ref(b""), Err(FormatError::Empty { .. })));
        for other in [
            &b"{}"[..],
            b"[]",
            b"null",
            b"{\"snapshot\":1}",
            b"\xff",
            b"{\"snapshot\":\"x\"} x",
        ] {
            assert!(
                matches!(decode_ref(other), Err(FormatError::InvalidRef(_))),
                "{other:?}"
            );
        }
        let twice = br#"{"snapshot":"1CECHNKREP0F1RSTCMT0","snapshot":"00000000000000000000"}"#;
        assert!(matches!(decode_ref(twice), Err(FormatError::InvalidRef(_))));
        assert!(matches!(
            decode_ref(br#"{"snapshot":"main"}"#),
            Err(FormatError::InvalidRefId(_))
        ));
    }

    #[test]
    fn d45_ref_truncated_at_every_byte() {
        let bytes = encode_ref(SnapshotId::INITIAL);
        for end in 0..bytes.len() {
            assert!(decode_ref(&bytes[..end]).is_err(), "{end}");
        }
    }
}
