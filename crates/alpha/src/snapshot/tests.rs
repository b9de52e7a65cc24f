use serde_json::json;

use super::*;

/// A snapshot field by field, with a group and an array of so many dimensions, which have two names.
fn example_of(rank: u8) -> Vec<u8> {
    let lengths = |length| [vec![0x90 | rank], vec![length; usize::from(rank)]].concat();
    let id = "000G40R40M30E209185GR38E1W";
    let text = |text: &str| {
        let mut bytes = match u8::try_from(text.len()).unwrap() {
            short @ 0..32 => vec![0xa0 | short],
            long => vec![0xd9, long],
        };
        bytes.extend_from_slice(text.as_bytes());
        bytes
    };
    let metadata = [
        vec![0x93],
        text(id),
        text("2024-09-10T20:26:40.123456789Z"),
        text("m"),
    ]
    .concat();
    [
        vec![0x97, 0x01, 0x01, 0x91],
        metadata.clone(),
        metadata,
        text("2024-09-10T20:26:40Z"),
        vec![0x81],
        text("p"),
        vec![0x81],
        text("a"),
        vec![0xff, 0x82],
        text("/"),
        vec![0x94, 0x01],
        text("/"),
        vec![0xc0],
        text("Group"),
        text("/a"),
        vec![0x94, 0x02],
        text("/a"),
        vec![0x81],
        text("Inline"),
        vec![0x82],
        text("k"),
        vec![0x01],
        text("z"),
        vec![0x92, 0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xc0, 0x81],
        text("Array"),
        vec![0x92, 0x98],
        lengths(4),
        text("float64"),
        lengths(2),
        text("Slash"),
        vec![0x81],
        text("float64")
            .iter()
            .map(|it| if *it == b'f' { b'F' } else { *it })
            .collect(),
        vec![0xcb, 0, 0, 0, 0, 0, 0, 0, 0, 0x92, 0x92],
        text("bytes"),
        vec![0x81],
        text("endian"),
        text("little"),
        vec![0x92],
        text("x"),
        vec![0xc0, 0xc0, 0x92],
        text("x"),
        vec![0xc0, 0x91, 0x93],
        text(id),
        vec![0x90, 0x90],
    ]
    .concat()
}

fn example() -> Vec<u8> {
    example_of(2)
}

fn id() -> AlphaId {
    "000G40R40M30E209185GR38E1W".parse().unwrap()
}

fn read(bytes: &[u8]) -> Result<Snapshot, AlphaError> {
    Snapshot::decode(bytes, Layout::Code, id(), "s/x")
}

#[test]
fn the_example_is_read_and_its_documents_are_made_again() {
    let snapshot = read(&example()).unwrap();
    assert_eq!(snapshot.message, "m");
    assert_eq!(snapshot.properties["p"], json!({"a": -1}));
    let documents: Vec<Value> = snapshot
        .nodes()
        .iter()
        .map(|node| serde_json::from_slice(&node.document).unwrap())
        .collect();
    assert_eq!(
        documents[0],
        json!({"zarr_format": 3, "node_type": "group"})
    );
    assert_eq!(
        documents[1],
        json!({
            "zarr_format": 3, "node_type": "array", "shape": [4, 4], "data_type": "float64",
            "attributes": {"k": 1, "z": [1.5, null]},
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 2]}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": 0.0, "dimension_names": ["x", null],
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "x"}],
        })
    );
    assert_eq!(snapshot.nodes()[1].manifests, [id()]);
}

#[test]
fn an_array_with_a_name_too_many_is_none() {
    let error = read(&example_of(1)).unwrap_err().to_string();
    assert!(
        error.contains("1 dimensions, `dimension_names` 2"),
        "{error}"
    );
}

#[test]
fn no_part_of_it_is_a_snapshot() {
    let whole = example();
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_err(), "{length} bytes");
    }
    let longer = [&whole[..], b"\xc0"].concat();
    let Err(AlphaError::Damaged { key, rule }) = read(&longer) else {
        panic!("taken");
    };
    assert_eq!(key, "s/x");
    assert!(matches!(*rule, Rule::Trailing { bytes: 1 }));
}

#[test]
fn no_changed_byte_makes_it_panic() {
    let whole = example();
    for at in 0..whole.len() {
        for value in [
            0x00, 0x7f, 0x80, 0x90, 0xa0, 0xc0, 0xc1, 0xc6, 0xcf, 0xdb, 0xdd, 0xdf, 0xff,
        ] {
            let mut changed = whole.clone();
            changed[at] = value;
            let _ = read(&changed);
        }
    }
}

fn replaced(from: &str, to: &str) -> Result<Snapshot, AlphaError> {
    let text = json_text().replacen(from, to, 1);
    assert_ne!(text, json_text(), "{from}");
    Snapshot::decode(text.as_bytes(), Layout::Literal, id(), "s/x")
}

fn json_text() -> String {
    let id = id().to_string();
    let array = json!({"Array": [{
        "shape": [4], "data_type": "int32", "chunk_shape": [2], "chunk_key_encoding": "Slash",
        "fill_value": {"Int32": 7}, "codecs": [{"name": "bytes", "configuration": null}],
        "storage_transformers": null, "dimension_names": null}, [{"object_id": id}]]});
    let by = json!({"id": id, "written_at": "2024-09-10T20:26:40Z", "message": "m"});
    json!({
        "total_parents": 1, "short_term_parents": 1, "short_term_history": [by], "metadata": by,
        "started_at": "2024-09-10T20:26:40Z", "properties": {},
        "nodes": {
            "/a": {"id": 2, "path": "/a", "user_attributes": null, "node_data": array},
            "/g": {"id": 3, "path": "/g", "user_attributes": {"Inline": {}}, "node_data": "Group"},
        },
    })
    .to_string()
}

#[test]
fn json_has_the_names_of_the_fields() {
    let read = Snapshot::decode(json_text().as_bytes(), Layout::Literal, id(), "s/x").unwrap();
    assert_eq!(read.nodes().len(), 2);
    let path = NodePath::parse("/a").unwrap();
    let node = read.node(&path).unwrap();
    assert_eq!(node.array.as_ref().unwrap().chunk_counts, [2]);
}

#[test]
fn each_broken_rule_is_named() {
    for (from, to, said) in [
        (
            "\"total_parents\":1",
            "\"total_parents\":2",
            "it has 2 ancestors, tells of 1, and lists 1",
        ),
        (
            "\"path\":\"/a\"",
            "\"path\":\"/b\"",
            "the node at /a says that it is at \"/b\"",
        ),
        ("\"/a\":{", "\"a\":{", "\"a\" is the path of no node"),
        ("\"id\":3", "\"id\":2", "two nodes with number 2"),
        ("\"Slash\"", "\"Dot\"", "the chunk key encoding of /a"),
        (
            "\"Slash\"",
            "\"Other\"",
            "no snapshot can be read from its JSON",
        ),
        (
            "{\"Int32\":7}",
            "{\"Int64\":7}",
            "the fill value of /a is of another type",
        ),
        (
            "\"shape\":[4]",
            "\"shape\":[4,4]",
            "the metadata of /a are those of no Zarr array",
        ),
        (
            "\"chunk_shape\":[2]",
            "\"chunk_shape\":[0]",
            "a chunk length is 0",
        ),
        (
            "{\"Inline\":{}}",
            "{\"Ref\":[1,2,[]]}",
            "the attributes of /g are in a file of their own",
        ),
        ("\"Group\"", "\"Tree\"", "unknown variant `Tree`"),
    ] {
        let error = replaced(from, to).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("s/x ") && text.contains(said), "{text}");
    }
    let other = AlphaId::from_bytes([1; 16]);
    let error = Snapshot::decode(json_text().as_bytes(), Layout::Literal, other, "s/x");
    assert!(
        error
            .unwrap_err()
            .to_string()
            .contains("it is snapshot 000G40R40M30E209185GR38E1W")
    );
}

#[test]
fn an_array_has_no_children() {
    let error = replaced("\"/g\":{\"id\":3,", "\"/a/g\":{\"id\":3,");
    assert!(error.is_err());
    let text = json_text().replace("\"/g\"", "\"/a/b/g\"");
    let error = Snapshot::decode(text.as_bytes(), Layout::Literal, id(), "s/x").unwrap_err();
    assert!(
        error
            .to_string()
            .contains("/a/b/g is below /a, which is an array"),
        "{error}"
    );
}
