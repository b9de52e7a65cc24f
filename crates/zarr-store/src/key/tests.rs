use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::ChunkKeyProblem;

const SLASH: ChunkKeyEncoding = ChunkKeyEncoding::Default { separator: '/' };
const DOT: ChunkKeyEncoding = ChunkKeyEncoding::Default { separator: '.' };
const V2_SLASH: ChunkKeyEncoding = ChunkKeyEncoding::V2 { separator: '/' };
const V2_DOT: ChunkKeyEncoding = ChunkKeyEncoding::V2 { separator: '.' };

fn path(text: &str) -> NodePath {
    NodePath::parse(text).unwrap()
}

/// Parses against arrays given by path, encoding and rank.
fn parse_in(
    arrays: &[(&str, ChunkKeyEncoding, usize)],
    key: &str,
) -> Result<ZarrKey, ZarrStoreError> {
    let arrays: BTreeMap<NodePath, ChunkKeys> = arrays
        .iter()
        .map(|(at, encoding, rank)| (path(at), ChunkKeys::new(*encoding, *rank)))
        .collect();
    parse(key, |path| Ok(arrays.get(path).copied()))
}

fn chunk(array: &str, index: &[u32]) -> ZarrKey {
    ZarrKey::Chunk {
        array: path(array),
        index: index.into(),
    }
}

#[test]
fn texts_that_are_no_keys_are_errors_before_anything_is_looked_up() {
    for (key, rule) in [
        ("", KeyError::Empty),
        ("/", KeyError::EmptySegment),
        ("a/", KeyError::EmptySegment),
        ("/a", KeyError::EmptySegment),
        ("a//b", KeyError::EmptySegment),
        ("//", KeyError::EmptySegment),
        ("zarr.json/", KeyError::EmptySegment),
        ("/zarr.json", KeyError::EmptySegment),
        (".", KeyError::DotSegment),
        ("..", KeyError::DotSegment),
        ("../zarr.json", KeyError::DotSegment),
        ("a/./zarr.json", KeyError::DotSegment),
        ("a/../../x", KeyError::DotSegment),
    ] {
        let parsed = parse(key, |path| panic!("{path} was looked up for {key:?}"));
        match parsed {
            Err(ZarrStoreError::InvalidKey { key: named, source }) => {
                assert_eq!((named.as_str(), source), (key, rule));
            }
            other => panic!("{key:?} gave {other:?}"),
        }
    }
}

#[test]
fn metadata_keys_name_nodes() {
    for (key, node) in [
        ("zarr.json", "/"),
        ("a/zarr.json", "/a"),
        ("c/zarr.json", "/c"),
        ("a/b c/ü/zarr.json", "/a/b c/ü"),
        ("zarr.json/zarr.json", "/zarr.json"),
        (".zgroup/zarr.json", "/.zgroup"),
        ("c/0/zarr.json", "/c/0"),
        (".../zarr.json", "/..."),
    ] {
        assert_eq!(parse_in(&[], key).unwrap(), ZarrKey::Metadata(path(node)));
        assert_eq!(metadata_key(&path(node)), key);
    }
    assert_ne!(
        parse_in(&[], "azarr.json").unwrap(),
        ZarrKey::Metadata(path("/a"))
    );
}

#[test]
fn v2_metadata_is_recognised_by_its_last_segment() {
    for name in [".zgroup", ".zarray", ".zattrs", ".zmetadata"] {
        for key in [name.to_owned(), format!("a/b/{name}")] {
            assert_eq!(
                parse_in(&[("/a", SLASH, 1)], &key).unwrap(),
                ZarrKey::V2Metadata
            );
        }
    }
}

#[test]
fn the_hierarchy_decides_what_a_letter_means() {
    let root = [("/", SLASH, 2)];
    assert_eq!(parse_in(&root, "c/0/1").unwrap(), chunk("/", &[0, 1]));
    assert_eq!(parse_in(&[("/", SLASH, 0)], "c").unwrap(), chunk("/", &[]));
    assert_eq!(parse_in(&[("/", V2_DOT, 0)], "0").unwrap(), chunk("/", &[]));

    // An array named `c`, at the root and in a group.
    let named_c = [("/c", SLASH, 1), ("/g/c", SLASH, 1), ("/v/c", V2_SLASH, 1)];
    assert_eq!(parse_in(&named_c, "c/c/3").unwrap(), chunk("/c", &[3]));
    assert_eq!(parse_in(&named_c, "g/c/c/3").unwrap(), chunk("/g/c", &[3]));
    assert_eq!(parse_in(&named_c, "v/c/3").unwrap(), chunk("/v/c", &[3]));
    for key in ["c/3", "g/c/3", "v/c/c/3", "c", "g/c"] {
        assert!(
            matches!(parse_in(&named_c, key).unwrap(), ZarrKey::Nothing(_)),
            "{key}"
        );
    }

    // The reference takes this for chunk 0/0 of `/ab`.
    assert!(matches!(
        parse_in(&[("/ab", SLASH, 2)], "abc/0/0").unwrap(),
        ZarrKey::Nothing(KeyMismatch::NoArray)
    ));
    // A group with a child that looks like a chunk directory.
    let child = [("/g/c/0", SLASH, 1)];
    assert_eq!(
        parse_in(&child, "g/c/0/c/7").unwrap(),
        chunk("/g/c/0", &[7])
    );
    assert!(matches!(
        parse_in(&child, "g/c/0").unwrap(),
        ZarrKey::Nothing(_)
    ));
}

#[test]
fn each_array_is_asked_for_its_own_encoding() {
    let arrays = [
        ("/a", SLASH, 2),
        ("/b", DOT, 2),
        ("/d", V2_SLASH, 2),
        ("/e", V2_DOT, 2),
    ];
    for (key, array) in [
        ("a/c/1/2", "/a"),
        ("b/c.1.2", "/b"),
        ("d/1/2", "/d"),
        ("e/1.2", "/e"),
    ] {
        assert_eq!(parse_in(&arrays, key).unwrap(), chunk(array, &[1, 2]));
        for (other, ..) in arrays.iter().filter(|(other, ..)| *other != array) {
            let key = format!("{}{}", &other[1..], &key[1..]);
            assert!(
                matches!(parse_in(&arrays, &key).unwrap(), ZarrKey::Nothing(_)),
                "{key}"
            );
        }
    }
}

#[test]
fn what_names_nothing_says_why() {
    let arrays = [("/x", SLASH, 2), ("/s", SLASH, 0)];
    let reason = |key: &str| match parse_in(&arrays, key).unwrap() {
        ZarrKey::Nothing(KeyMismatch::NotAChunk {
            array,
            example,
            source,
        }) => (array.to_string(), example, source),
        other => panic!("{key} gave {other:?}"),
    };
    let x = |problem| ("/x".to_owned(), "x/c/0/0".to_owned(), problem);
    assert_eq!(
        reason("x/c/0"),
        x(ChunkKeyProblem::Rank {
            expected: 2,
            found: 1
        })
    );
    assert_eq!(
        reason("x/c"),
        x(ChunkKeyProblem::Rank {
            expected: 2,
            found: 0
        })
    );
    assert_eq!(
        reason("x/c/0/00"),
        x(ChunkKeyProblem::Number("00".to_owned()))
    );
    assert_eq!(
        reason("x/c/+1/0"),
        x(ChunkKeyProblem::Number("+1".to_owned()))
    );
    assert_eq!(
        reason("x/c/1e0/0"),
        x(ChunkKeyProblem::Number("1e0".to_owned()))
    );
    assert_eq!(reason("x/0.0"), x(ChunkKeyProblem::Form));
    assert_eq!(
        reason("s/c/0"),
        (
            "/s".to_owned(),
            "s/c".to_owned(),
            ChunkKeyProblem::Rank {
                expected: 0,
                found: 1
            }
        )
    );
    assert_eq!(
        parse_in(&arrays, "foo").unwrap(),
        ZarrKey::Nothing(KeyMismatch::NoArray)
    );
}

#[test]
fn nested_arrays_of_other_writers_do_not_hide_each_other() {
    let nested = [("/a", SLASH, 1), ("/a/c", SLASH, 1)];
    assert_eq!(parse_in(&nested, "a/c/0").unwrap(), chunk("/a", &[0]));
    assert_eq!(parse_in(&nested, "a/c/c/0").unwrap(), chunk("/a/c", &[0]));
}

#[test]
fn long_keys_cost_a_bounded_number_of_lookups() {
    let mut lookups = 0;
    let key = vec!["a"; 60_000].join("/");
    let parsed = parse(&key, |_| {
        lookups += 1;
        Ok(None)
    });
    assert_eq!(parsed.unwrap(), ZarrKey::Nothing(KeyMismatch::NoArray));
    assert!(lookups <= MAX_CHUNK_SEGMENTS);

    for key in [
        "x".repeat(MAX_KEY_LEN + 1),
        format!("{}/zarr.json", "x".repeat(70_000)),
    ] {
        let parsed = parse_in(&[], &key);
        let Err(ZarrStoreError::InvalidKey {
            source: KeyError::TooLong { .. },
            ..
        }) = parsed
        else {
            panic!("{parsed:?}");
        };
    }
}

fn encodings() -> impl Strategy<Value = ChunkKeyEncoding> {
    prop::sample::select(vec![SLASH, DOT, V2_SLASH, V2_DOT])
}

/// Paths out of the segments that are easiest to mistake.
fn paths() -> impl Strategy<Value = NodePath> {
    let segment = prop::sample::select(vec![
        "a",
        "c",
        "0",
        "1",
        "c.0",
        "zarr.json",
        "ü",
        " ",
        "...",
        ".zarray",
    ]);
    prop::collection::vec(segment, 0..4)
        .prop_map(|segments| path(&format!("/{}", segments.join("/"))))
}

proptest! {
    #[test]
    fn a_chunk_key_parses_to_its_chunk(
        array in paths(),
        encoding in encodings(),
        index in prop::collection::vec(any::<u32>(), 0..5),
    ) {
        let key = chunk_key(&array, encoding, &index);
        let keys = ChunkKeys::new(encoding, index.len());
        let parsed = parse(&key, |path| Ok((*path == array).then_some(keys))).unwrap();
        prop_assert_eq!(parsed, ZarrKey::Chunk { array, index: index.into() });
    }

    #[test]
    fn a_key_that_is_a_chunks_is_the_only_one_of_that_chunk(
        key in "[c0-9+e./]{1,12}",
        encoding in encodings(),
        rank in 0..4_usize,
    ) {
        let keys = ChunkKeys::new(encoding, rank);
        let root = |path: &NodePath| Ok(path.is_root().then_some(keys));
        if let Ok(ZarrKey::Chunk { array, index }) = parse(&key, root) {
            prop_assert_eq!(chunk_key(&array, encoding, &index), key);
        }
    }

    #[test]
    fn a_metadata_key_parses_to_its_node(node in paths()) {
        let parsed = parse(&metadata_key(&node), |_| Ok(None)).unwrap();
        prop_assert_eq!(parsed, ZarrKey::Metadata(node));
    }

    #[test]
    fn no_text_panics(key in any::<String>(), encoding in encodings(), rank in 0..4_usize) {
        let keys = ChunkKeys::new(encoding, rank);
        let _ = parse(&key, |_| Ok(Some(keys)));
        let _ = keys.decode(&key);
        let _ = keys.decode_directory(&key);
    }
}
