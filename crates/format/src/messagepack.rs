//! Values of snapshot metadata: JSON in the form of MessagePack.
//!
//! The subset: nil, bool, the shortest form of an integer, 64-bit float, str, array, map with
//! string keys; no bin and no ext. 32-bit floats are read, too. A float that is not a number is
//! read as null, JSON has none.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::budget::Budget;
use crate::error::MessagePackError;

/// Deepest nesting that is written. The same as that of JSON texts, through which values come in.
const MAX_DEPTH_WRITTEN: usize = 128;
/// Deepest nesting that is read, so that hostile bytes cannot exhaust the stack.
const MAX_DEPTH_READ: usize = 256;

/// Reads a value, within a budget of memory.
pub(crate) fn decode(bytes: &[u8], budget: &Budget) -> Result<Value, MessagePackError> {
    let fail = |error| MessagePackError::Decode(Box::new(error));
    let mut rest = bytes;
    budget
        .spend_on(&mut deserializer(&mut rest))
        .map_err(fail)?;
    let mut rest = bytes;
    let value = Value::deserialize(&mut deserializer(&mut rest)).map_err(fail)?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(MessagePackError::Trailing(rest.len()))
    }
}

fn deserializer<'a, 'b>(
    bytes: &'a mut &'b [u8],
) -> rmp_serde::Deserializer<rmp_serde::decode::ReadReader<&'a mut &'b [u8]>> {
    let mut deserializer = rmp_serde::Deserializer::new(bytes);
    deserializer.set_max_depth(MAX_DEPTH_READ);
    deserializer
}

/// Writes a value. Objects are sorted by their keys, so that equal values have equal bytes.
pub(crate) fn encode(value: &Value) -> Result<Vec<u8>, MessagePackError> {
    let fail = |error| MessagePackError::Encode(Box::new(error));
    if is_deeper_than(value, MAX_DEPTH_WRITTEN) {
        return Err(fail(rmp_serde::encode::Error::DepthLimitExceeded));
    }
    let mut bytes = Vec::new();
    Sorted(value)
        .serialize(&mut rmp_serde::Serializer::new(&mut bytes))
        .map_err(fail)?;
    Ok(bytes)
}

/// A value whose objects are written in the order of their keys. In memory they have that order or the
/// one of insertion, depending on a feature of `serde_json` that any crate of the program may turn on.
struct Sorted<'a>(&'a Value);

impl Serialize for Sorted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Sorted)),
            Value::Object(items) => {
                let mut items: Vec<_> = items
                    .iter()
                    .map(|(key, value)| (key, Sorted(value)))
                    .collect();
                items.sort_unstable_by_key(|(key, _)| *key);
                serializer.collect_map(items)
            }
            plain => plain.serialize(serializer),
        }
    }
}

fn is_deeper_than(value: &Value, limit: usize) -> bool {
    let Some(below) = limit.checked_sub(1) else {
        return true;
    };
    match value {
        Value::Array(items) => items.iter().any(|item| is_deeper_than(item, below)),
        Value::Object(items) => items.values().any(|item| is_deeper_than(item, below)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn decode(bytes: &[u8]) -> Result<Value, MessagePackError> {
        super::decode(bytes, &Budget::new(1 << 20))
    }

    #[test]
    fn values_take_the_shortest_form() {
        for (value, bytes) in [
            (json!(null), &b"\xc0"[..]),
            (json!(true), b"\xc3"),
            (json!(127), b"\x7f"),
            (json!(200), b"\xcc\xc8"),
            (json!(-5), b"\xfb"),
            (json!(u64::MAX), b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
            (json!(1.5), b"\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"),
            (json!("é"), b"\xa2\xc3\xa9"),
            (json!([1, []]), b"\x92\x01\x90"),
            (json!({"is_root": true}), b"\x81\xa7is_root\xc3"),
        ] {
            assert_eq!(encode(&value).unwrap(), bytes, "{value}");
            assert_eq!(decode(bytes).unwrap(), value);
        }
    }

    #[test]
    fn objects_are_written_in_the_order_of_their_keys() {
        // With `preserve_order`, which some crates turn on, the maps keep the order of insertion.
        let object = |keys: &[&str]| {
            let items = keys.iter().map(|key| ((*key).to_owned(), json!(1)));
            Value::Object(items.collect())
        };
        let bytes = b"\x91\x83\xa1a\x01\xa1b\x01\xa1c\x01";
        for keys in [["c", "b", "a"], ["a", "b", "c"], ["b", "a", "c"]] {
            assert_eq!(encode(&json!([object(&keys)])).unwrap(), bytes);
        }
    }

    #[test]
    fn what_is_not_json_is_refused() {
        for (what, bytes) in [
            ("nothing", &b""[..]),
            ("bin", b"\xc4\x01a"),
            ("ext", b"\xd4\x01a"),
            ("map with a number as key", b"\x81\x01\x01"),
            ("array without its items", b"\x92\x01"),
            ("array of four billion items", b"\xdd\xff\xff\xff\xff\x01"),
            ("two values", b"\xc3\xc3"),
            ("invalid UTF-8", b"\xa1\xff"),
        ] {
            assert!(decode(bytes).is_err(), "{what}");
        }
    }

    #[test]
    fn depth_is_limited_both_ways() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
        let deepest = nested(MAX_DEPTH_WRITTEN - 1);
        assert_eq!(decode(&encode(&deepest).unwrap()).unwrap(), deepest);
        assert!(encode(&nested(MAX_DEPTH_WRITTEN)).is_err());
        assert!(decode(&[0x91; 100_000]).is_err());
    }
}
