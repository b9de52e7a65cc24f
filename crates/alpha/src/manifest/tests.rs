use bytes::Bytes;

use super::*;

const ID: &str = "000G40R40M30E209185GR38E1W";

/// The example of the specification's description, and one virtual chunk of each state.
fn example() -> Vec<u8> {
    let mut bytes = b"\x91\x84\x92\x02\x91\x00\x81\xa6Inline\xc4\x03\x01\x02\xff".to_vec();
    bytes.extend_from_slice(b"\x92\x02\x91\xcd\x01\x2c\x81\xa3Ref\x93\xba");
    bytes.extend_from_slice(ID.as_bytes());
    bytes.extend_from_slice(b"\x00\xcd\x03\xe8");
    bytes.extend_from_slice(b"\x92\x03\x90\x81\xa7Virtual\x93\xa7s3://b/\x05\x06");
    bytes.extend_from_slice(b"\x92\x04\x90\x81\xa7Virtual\x93\x81\xa8Absolute\xa7s3://b/\x05\x06");
    bytes
}

fn read(bytes: &[u8]) -> Result<Manifest, AlphaError> {
    Manifest::decode(bytes, Layout::Code, "m/x")
}

#[test]
fn every_payload_of_both_states_is_read() {
    let manifest = read(&example()).unwrap();
    let of = |node| manifest.of(node);
    assert_eq!(of(2)[0].index[..], [0]);
    assert_eq!(
        of(2)[0].payload,
        Payload::Inline(Bytes::from_static(&[1, 2, 255]))
    );
    assert_eq!(of(2)[1].index[..], [300]);
    let native = Payload::Native {
        id: ID.parse().unwrap(),
        offset: 0,
        length: 1000,
    };
    assert_eq!(of(2)[1].payload, native);
    assert_eq!(of(3)[0].index.len(), 0);
    assert_eq!(of(3)[0].payload, of(4)[0].payload);
    assert!(of(1).is_empty() && of(5).is_empty());
}

#[test]
fn no_part_of_it_is_a_manifest_and_no_changed_byte_makes_it_panic() {
    let whole = example();
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_err(), "{length} bytes");
    }
    for at in 0..whole.len() {
        for value in 0..=255 {
            let mut changed = whole.clone();
            changed[at] = value;
            let _ = read(&changed);
        }
    }
}

#[test]
fn json_keys_are_pairs_or_texts() {
    let payload = format!(r#"{{"Ref": {{"id": "{ID}", "offset": 1, "length": 2}}}}"#);
    let inline = r#"{"Inline": [1, 255]}"#;
    let pairs = format!(r#"{{"chunks": [[[2, [0, 1]], {payload}], [[1, []], {inline}]]}}"#);
    let object = format!(r#"{{"chunks": {{"[1, []]": {inline}, "[2,[0,1]]": {payload}}}}}"#);
    let [pairs, object] = [pairs, object]
        .map(|text| Manifest::decode(text.as_bytes(), Layout::Literal, "m/x").unwrap());
    assert_eq!(pairs.entries(), object.entries());
    assert_eq!(pairs.of(1).len(), 1);
}

#[test]
fn each_broken_rule_is_named() {
    let (overflow, inline) = (u64::MAX, r#"{"Inline": [1]}"#);
    for (chunks, said) in [
        (
            format!("[[[1, [0]], {inline}], [[1, [0]], {inline}]]"),
            "chunk [0] of node 1 is there twice",
        ),
        (
            r#"[[[1, [0]], {"Inline": []}]]"#.to_owned(),
            "chunk [0] of node 1 is 0 bytes from 0",
        ),
        (
            format!(r#"[[[1, [0]], {{"Virtual": ["s3://b/x", {overflow}, 1]}}]]"#),
            "1 bytes from 18446744073709551615",
        ),
        (
            r#"[[[1, [0]], {"Elsewhere": []}]]"#.to_owned(),
            "unknown variant `Elsewhere`",
        ),
        (
            r#"[[[1, [0]], {"Virtual": [{"Relative": "x"}, 0, 1]}]]"#.to_owned(),
            "unknown variant `Relative`",
        ),
        (format!("[[[1, [4294967296]], {inline}]]"), "4294967296"),
        (format!("[[[1], {inline}]]"), "invalid length 1"),
        (format!("[[[1, [], 1], {inline}]]"), "invalid length 3"),
    ] {
        let text = format!(r#"{{"chunks": {chunks}}}"#);
        let error = Manifest::decode(text.as_bytes(), Layout::Literal, "m/x").unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("m/x is damaged") && text.contains(said),
            "{text}"
        );
    }
}
