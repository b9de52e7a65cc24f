use proptest::prelude::*;
use serde_json::json;

use super::read::MAX_DEPTH_READ;
use super::write::MAX_DEPTH_WRITTEN;
use super::*;

fn decode(document: &[u8]) -> Result<Value, FlexBuffersError> {
    decode_flexbuffers(document, 1 << 20)
}

#[test]
fn values_have_their_smallest_form() {
    for (value, document) in [
        (json!(null), &[0, 0, 1][..]),
        (json!(true), &[1, 26 << 2, 1]),
        (json!(200), &[200, 2 << 2, 1]),
        (json!(-5), &[0xfb, 1 << 2, 1]),
        (json!(300), &[0x2c, 1, 2 << 2 | 1, 2]),
        (json!(-129), &[0x7f, 0xff, 1 << 2 | 1, 2]),
        (json!(1.5), &[0, 0, 0xc0, 0x3f, 3 << 2 | 2, 4]),
        (
            json!(0.1),
            &[
                0x9a,
                0x99,
                0x99,
                0x99,
                0x99,
                0x99,
                0xb9,
                0x3f,
                3 << 2 | 3,
                8,
            ],
        ),
        (json!("é"), &[2, 0xc3, 0xa9, 0, 3, 5 << 2, 1]),
        (json!([]), &[0, 0, 10 << 2, 1]),
        (json!([1, -1]), &[2, 1, 0xff, 2 << 2, 1 << 2, 4, 10 << 2, 1]),
        (
            json!({"is_root": true}),
            b"is_root\0\x01\x09\x01\x01\x01\x01\x68\x02\x24\x01",
        ),
    ] {
        assert_eq!(encode_flexbuffers(&value).unwrap(), document, "{value}");
        assert_eq!(decode(document).unwrap(), value);
    }
}

#[test]
fn types_that_only_others_write_are_read() {
    for (what, document, value) in [
        (
            "a vector of integers",
            &[2, 1, 0xff, 2, 11 << 2, 1][..],
            json!([1, -1]),
        ),
        (
            "of unsigned ones",
            &[2, 1, 0xff, 2, 12 << 2, 1],
            json!([1, 255]),
        ),
        (
            "of booleans",
            &[2, 1, 0, 2, 36 << 2, 1],
            json!([true, false]),
        ),
        ("a pair", &[7, 8, 2, 17 << 2, 1], json!([7, 8])),
        (
            "a triple of integers",
            &[0xff, 1, 2, 3, 19 << 2, 1],
            json!([-1, 1, 2]),
        ),
        (
            "a quadruple",
            &[1, 2, 3, 4, 4, 23 << 2, 1],
            json!([1, 2, 3, 4]),
        ),
        ("of keys", b"a\0\x01\x03\x01\x38\x01", json!(["a"])),
        ("of strings", b"\x01a\0\x01\x03\x01\x3c\x01", json!(["a"])),
        ("a key", b"a\0\x02\x10\x01", json!("a")),
        ("a number elsewhere", &[5, 1, 7 << 2, 1], json!(5)),
        ("a wide one", &[0xfe, 0xff, 2, 6 << 2 | 1, 1], json!(-2)),
        ("half a float", &[0, 0x3e, 3 << 2 | 1, 2], json!(1.5)),
        (
            "a float elsewhere",
            &[0, 0, 0xc0, 0x3f, 4, 8 << 2 | 2, 1],
            json!(1.5),
        ),
        ("no number", &[0, 0, 0xc0, 0x7f, 3 << 2 | 2, 4], json!(null)),
    ] {
        assert_eq!(decode(document).unwrap(), value, "{what}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    let at_end = |kind: u8| [9, 9, kind << 2, 1];
    assert_eq!(decode(&[]), Err(FlexBuffersError::NoRoot));
    assert_eq!(decode(&[0, 3]), Err(FlexBuffersError::NoRoot));
    assert_eq!(decode(&[0, 0, 3]), Err(FlexBuffersError::NoRoot));
    assert_eq!(decode(&[0, 0, 8]), Err(FlexBuffersError::NoRoot));
    for kind in (4..=24).chain([36]) {
        let error = decode(&at_end(kind)).unwrap_err();
        assert!(
            matches!(error, FlexBuffersError::OutOfBounds { .. }),
            "{kind}: {error}"
        );
    }
    for kind in [25, 27, 35, 37, 63] {
        let error = decode(&at_end(kind)).unwrap_err();
        assert_eq!(error, FlexBuffersError::Type { at: 1, found: kind });
    }
    let error = decode(&[0, 3 << 2, 1]).unwrap_err();
    assert_eq!(error, FlexBuffersError::Width { at: 0, width: 1 });
    let error = decode(b"\x01\xff\0\x02\x14\x01").unwrap_err();
    assert_eq!(error, FlexBuffersError::Utf8 { at: 1 });
    // Two values, both under `a`.
    let twice = b"a\0\x02\x03\x04\x02\x01\x02\x01\x02\x04\x04\x04\x24\x01";
    let error = decode(twice).unwrap_err();
    assert_eq!(error, FlexBuffersError::DuplicateKey("a".to_owned()));
}

#[test]
fn a_value_that_holds_itself_ends() {
    // A vector of one item, which leads back to the vector.
    let document = [1, 0, 10 << 2, 2, 10 << 2, 1];
    let limit = MAX_DEPTH_READ;
    assert_eq!(decode(&document), Err(FlexBuffersError::TooDeep { limit }));
}

#[test]
fn a_few_bytes_that_stand_for_many_values_are_refused() {
    // Each vector holds the one before it eight times over.
    let mut document = vec![0_u8];
    let mut inner = document.len();
    for _ in 0..30 {
        document.push(8);
        let items = document.len();
        for _ in 0..8 {
            let back = document.len() - inner;
            document.push(back as u8);
        }
        document.extend([10 << 2; 8]);
        inner = items;
    }
    let back = document.len() - inner;
    document.extend([back as u8, 10 << 2, 1]);
    assert_eq!(decode(&document), Err(FlexBuffersError::TooLarge));
}

#[test]
fn depth_is_limited_both_ways() {
    let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let deepest = nested(MAX_DEPTH_WRITTEN - 1);
    assert_eq!(
        decode(&encode_flexbuffers(&deepest).unwrap()).unwrap(),
        deepest
    );
    let limit = MAX_DEPTH_WRITTEN;
    let error = encode_flexbuffers(&nested(MAX_DEPTH_WRITTEN)).unwrap_err();
    assert_eq!(error, FlexBuffersError::TooDeep { limit });
}

#[test]
fn a_key_with_a_zero_byte_is_not_written() {
    let error = encode_flexbuffers(&json!({"a\0b": 1})).unwrap_err();
    assert_eq!(error, FlexBuffersError::ZeroInKey("a\0b".to_owned()));
    let text = json!(["a\0b"]);
    assert_eq!(decode(&encode_flexbuffers(&text).unwrap()).unwrap(), text);
}

#[test]
fn objects_are_written_in_the_order_of_their_keys() {
    let object = |keys: &[&str]| {
        let items = keys.iter().map(|key| ((*key).to_owned(), json!(1)));
        encode_flexbuffers(&Value::Object(items.collect())).unwrap()
    };
    assert_eq!(object(&["b", "a", "é"]), object(&["é", "b", "a"]));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i8>().prop_map(Value::from),
        any::<f32>().prop_map(|float| json!(f64::from(float))),
        any::<f64>().prop_map(|float| json!(float)),
        ".{0,20}".prop_map(Value::from),
        "x{300}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 200, 20, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..20).prop_map(Value::from),
            prop::collection::btree_map("[a-é]{0,6}", inner, 0..20)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read(value in values()) {
        let document = encode_flexbuffers(&value).unwrap();
        prop_assert_eq!(decode_flexbuffers(&document, 64 << 20).unwrap(), value);
    }

    #[test]
    fn no_bytes_make_it_panic(document in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&document);
    }

    #[test]
    fn no_change_makes_it_panic(value in values(), changes in prop::collection::vec(any::<(usize, u8)>(), 1..4)) {
        let mut document = encode_flexbuffers(&value).unwrap();
        for (at, byte) in changes {
            let at = at % document.len();
            document[at] = byte;
        }
        let _ = decode(&document);
    }
}
