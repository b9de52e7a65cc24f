//! Bodies of objects: MessagePack as the code of that time wrote it, or JSON by the schemas of the specification.
//!
//! Both are read straight into the types that they are for, so that memory grows with what was read, never with what
//! a length says.

use serde::de::DeserializeOwned;

use crate::error::{AlphaError, Rule};
use crate::layout::Layout;

/// Deepest nesting that is read, so that hostile bytes cannot exhaust the stack. JSON has its own, 128.
const MAX_DEPTH: usize = 160;
/// Largest snapshot or manifest that is read, in bytes.
pub(crate) const MAX_OBJECT: u64 = 1 << 30;

/// Reads the body of a snapshot or manifest.
///
/// The code wrote MessagePack, and the text of the specification leaves the encoding open: in its layout, a body that
/// begins like JSON is that. None of ours in MessagePack begins so.
pub(crate) fn decode<T: DeserializeOwned>(
    bytes: &[u8],
    layout: Layout,
    key: &str,
    what: &'static str,
) -> Result<T, AlphaError> {
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    match (layout, first) {
        (Layout::Literal, Some(b'{' | b'[')) => json(bytes, key, what),
        _ => messagepack(bytes, key, what),
    }
}

fn messagepack<T: DeserializeOwned>(
    bytes: &[u8],
    key: &str,
    what: &'static str,
) -> Result<T, AlphaError> {
    let mut rest = bytes;
    let mut deserializer = rmp_serde::Deserializer::new(&mut rest);
    deserializer.set_max_depth(MAX_DEPTH);
    let value = T::deserialize(&mut deserializer);
    drop(deserializer);
    let left = rest.len();
    let value = value.map_err(|error| {
        let rule = Rule::Encoding {
            what,
            form: "MessagePack",
            offset: bytes.len() - left,
            problem: error.to_string(),
        };
        AlphaError::damaged(key, rule)
    })?;
    match left {
        0 => Ok(value),
        bytes => Err(AlphaError::damaged(key, Rule::Trailing { bytes })),
    }
}

/// Reads a JSON document.
pub(crate) fn json<T: DeserializeOwned>(
    bytes: &[u8],
    key: &str,
    what: &'static str,
) -> Result<T, AlphaError> {
    serde_json::from_slice(bytes).map_err(|error| {
        let before = bytes.split_inclusive(|byte| *byte == b'\n');
        let lines: usize = before
            .take(error.line().saturating_sub(1))
            .map(<[u8]>::len)
            .sum();
        let rule = Rule::Encoding {
            what,
            form: "JSON",
            offset: lines.saturating_add(error.column()),
            problem: error.to_string(),
        };
        AlphaError::damaged(key, rule)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn rule(bytes: &[u8]) -> Rule {
        match decode::<Vec<u32>>(bytes, Layout::Code, "m/x", "numbers") {
            Err(AlphaError::Damaged { rule, .. }) => *rule,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_length_says_is_not_allocated() {
        for bytes in [
            &b""[..],
            b"\xdd\xff\xff\xff\xff\x01",
            b"\xdc\xff\xff\x01",
            b"\x92\x01",
            b"\xdb\xff\xff\xff\xff",
            b"\xc6\xff\xff\xff\xff",
            b"\xc1",
        ] {
            assert!(matches!(rule(bytes), Rule::Encoding { .. }), "{bytes:?}");
        }
        assert!(matches!(
            rule(b"\x91\x01\xc0\xc0"),
            Rule::Trailing { bytes: 2 }
        ));
    }

    #[test]
    fn depth_is_limited() {
        for bytes in [vec![0x91; 1 << 20], vec![b'['; 1 << 20]] {
            let read = decode::<Value>(&bytes, Layout::Literal, "s/x", "value");
            assert!(read.is_err());
            let ignored = decode::<serde::de::IgnoredAny>(&bytes, Layout::Literal, "s/x", "value");
            assert!(ignored.is_err());
        }
    }

    #[test]
    fn json_is_read_in_the_layout_of_the_text_only() {
        let body = b" \n[1, 2]";
        let read: Vec<u32> = decode(body, Layout::Literal, "m/x", "numbers").unwrap();
        assert_eq!(read, [1, 2]);
        assert!(matches!(
            rule(body),
            Rule::Encoding {
                form: "MessagePack",
                ..
            }
        ));
    }
}
