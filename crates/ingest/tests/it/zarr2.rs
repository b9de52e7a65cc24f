//! Reading Zarr trees on a store. The expected dumps were checked by `interop/archive_check.py`: zarr-python and xarray
//! find in them what they find in the trees.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common::damage::Numbers;
use crate::common::dump;
use base64::Engine as _;
use icefield_core::{NodeMetadata, NodePath};
use icefield_ingest::nczarr::ReadOptions;
use icefield_ingest::{Archive, ArchiveNode, SourceError, read_zarr};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Key, Prefix, PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};

type Tree = BTreeMap<String, Vec<u8>>;

fn fixture(name: &str) -> Vec<u8> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/zarr2");
    fs::read(directory.join(name)).unwrap()
}

fn tree(name: &str) -> Tree {
    let found: BTreeMap<String, String> = serde_json::from_slice(&fixture(name)).unwrap();
    let decode = |text: String| {
        base64::engine::general_purpose::STANDARD
            .decode(text)
            .unwrap()
    };
    found
        .into_iter()
        .map(|(key, text)| (key, decode(text)))
        .collect()
}

async fn read_below(tree: &Tree, prefix: &str, url: &str) -> Result<Archive, SourceError> {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let prefix = Prefix::parse(prefix).unwrap();
    for (key, bytes) in tree {
        let key = prefix.key(key).unwrap();
        let put = storage.put(&key, bytes.clone().into(), PutMode::Create.into());
        let _ = put.await.unwrap();
    }
    let beside = Key::parse("beside/.zgroup").unwrap();
    let _ = storage
        .put(&beside, "{}".into(), PutMode::Create.into())
        .await
        .unwrap();
    read_zarr(storage, &prefix, url, ReadOptions::default()).await
}

async fn read(tree: &Tree) -> Result<Archive, SourceError> {
    read_below(tree, "some/tree", "s3://b/some/tree").await
}

fn small(array: Value, attributes: Value) -> Tree {
    let mut document = json!({
        "zarr_format": 2, "shape": [4], "chunks": [2], "dtype": "<i4", "order": "C", "fill_value": 0,
        "filters": null, "compressor": null,
    });
    for (field, value) in array.as_object().unwrap() {
        document[field] = value.clone();
    }
    Tree::from([
        ("a/.zarray".to_owned(), document.to_string().into_bytes()),
        ("a/.zattrs".to_owned(), attributes.to_string().into_bytes()),
        ("a/0".to_owned(), vec![0; 8]),
    ])
}

async fn problem(tree: &Tree) -> String {
    read(tree).await.unwrap_err().to_string()
}

async fn document(tree: &Tree) -> Value {
    let archive = read(tree).await.unwrap();
    let node = &archive.nodes[&NodePath::parse("/a").unwrap()];
    serde_json::from_slice(&node.document()).unwrap()
}

#[tokio::test]
async fn trees_of_every_kind_are_read_as_expected() {
    for name in ["types", "filters", "xarray", "consolidated", "format3"] {
        let archive = read_below(&tree(&format!("{name}.json")), "some", ".")
            .await
            .unwrap();
        let expected: Value =
            serde_json::from_slice(&fixture(&format!("{name}.json.expected.json"))).unwrap();
        assert_eq!(dump::dump(&archive), expected, "{name}");
        for node in archive.nodes.values() {
            NodeMetadata::parse_new(&node.document(), 1 << 20).unwrap();
        }
    }
}

#[tokio::test]
async fn a_chunk_is_an_object_that_is_read_in_its_listed_state() {
    let archive = read(&small(json!({}), json!({}))).await.unwrap();
    let file = &archive.files[0];
    assert_eq!((file.url(), file.size()), ("s3://b/some/tree/a/0", 8));
    assert_eq!(file.read(0..8).await.unwrap(), vec![0; 8]);
}

#[tokio::test]
async fn an_array_may_be_the_root() {
    let tree = small(json!({}), json!({}));
    let tree: Tree = tree
        .iter()
        .map(|(key, bytes)| (key[2..].to_owned(), bytes.clone()))
        .collect();
    for prefix in ["some/tree", ""] {
        let archive = read_below(&tree, prefix, "s3://b").await.unwrap();
        let node = archive.nodes.get(&NodePath::root()).unwrap();
        assert!(matches!(node, ArchiveNode::Array(_)));
        assert_eq!(archive.files[0].url(), "s3://b/0");
    }
}

#[tokio::test]
async fn no_chunk_is_asked_for() {
    let inner: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
    let counting = CountingStorage::new(inner);
    let storage: Arc<dyn Storage> = Arc::new(counting.clone());
    let mut tree = small(json!({"shape": [1000], "chunks": [1]}), json!({}));
    tree.extend((0..1000).map(|number| (format!("a/{number}"), vec![0; 4])));
    for (key, bytes) in tree {
        let key = Key::parse(&key).unwrap();
        let put = storage.put(&key, bytes.into(), PutMode::Create.into());
        let _ = put.await.unwrap();
    }
    counting.reset();
    let archive = read_zarr(storage, &Prefix::all(), "s3://b", ReadOptions::default())
        .await
        .unwrap();
    assert_eq!(archive.files.len(), 1000);
    let counts = counting.snapshot().total;
    assert_eq!((counts.list, counts.get, counts.head), (1, 2, 0));
}

#[tokio::test]
async fn what_has_no_counterpart_is_refused_by_name() {
    let cases = [
        (json!({"dtype": [["x", "<f4"]]}), "structures"),
        (json!({"dtype": "|O"}), "Python objects"),
        (json!({"dtype": "<f16"}), "<f16"),
        (
            json!({"dtype": "|O", "filters": [{"id": "pickle"}]}),
            "pickle",
        ),
        (
            json!({"dtype": "|O", "filters": [{"id": "json2"}]}),
            "json2",
        ),
        (
            json!({"dtype": "|O", "filters": [{"id": "msgpack2"}]}),
            "msgpack2",
        ),
        (json!({"filters": [{"id": "categorize"}]}), "categorize"),
        (
            json!({"compressor": {"id": "imagecodecs_jpeg2k"}}),
            "imagecodecs_jpeg2k",
        ),
        (json!({"compressor": {"level": 1}}), "no id"),
        (
            json!({"filters": [{"id": "zlib"}, {"id": "delta", "dtype": "<i4"}]}),
            "delta",
        ),
        (json!({"filters": [{"id": "vlen-utf8"}]}), "vlen-utf8"),
        (json!({"order": "A"}), "order"),
        (json!({"shape": [4, 4]}), "dimensions"),
        (json!({"shape": [-4]}), "shape"),
        (json!({"chunks": [0]}), "length 0"),
        (json!({"fill_value": 0.5}), "fill value"),
        (json!({"dimension_separator": "-"}), "dimension_separator"),
        (json!({"zarr_format": 1}), "zarr_format"),
    ];
    for (array, part) in cases {
        let found = problem(&small(array, json!({}))).await;
        assert!(
            found.starts_with("/a of s3://b/some/tree cannot"),
            "{found}"
        );
        assert!(found.contains(part), "{found}");
    }
}

#[tokio::test]
async fn xarray_masks_as_before() {
    let names = json!({"_ARRAY_DIMENSIONS": ["x"]});
    let found = document(&small(json!({"fill_value": 7}), names.clone())).await;
    assert_eq!(found["attributes"], json!({"_FillValue": 7}));
    assert_eq!(found["dimension_names"], json!(["x"]));
    // Nothing is masked that was not.
    let found = document(&small(json!({"fill_value": null}), names)).await;
    assert_eq!(found["attributes"], json!({}));
    let found = document(&small(json!({"fill_value": 7}), json!({}))).await;
    assert_eq!(found["attributes"], json!({}));
    let alone = json!({"_FillValue": [-9999.0]});
    let found = document(&small(json!({"fill_value": null}), alone)).await;
    assert_eq!(
        (&found["attributes"], &found["fill_value"]),
        (&json!({"_FillValue": -9999}), &json!(0))
    );
}

#[tokio::test]
async fn numbers_that_json_lacks_are_read() {
    let mut tree = small(json!({"dtype": "<f4", "fill_value": "NaN"}), json!({}));
    tree.insert(
        "a/.zattrs".to_owned(),
        br#"{"_FillValue": NaN, "range": [-Infinity, 1]}"#.to_vec(),
    );
    let found = document(&tree).await;
    let attributes = json!({"_FillValue": "AAAAAAAA+H8=", "range": ["-Infinity", 1]});
    assert_eq!(found["attributes"], attributes);
}

#[tokio::test]
async fn what_lies_among_the_chunks_is_a_chunk_or_an_error() {
    let with = |key: &str, bytes: &[u8]| {
        let mut tree = small(json!({}), json!({}));
        tree.insert(key.to_owned(), bytes.to_vec());
        tree
    };
    assert!(
        problem(&with("a/2", b"x"))
            .await
            .contains("/a has [2] chunks")
    );
    assert!(
        problem(&with("a/01", b"x"))
            .await
            .contains("keys such as 0")
    );
    assert!(problem(&with("a/1", b"")).await.contains("a/1 is empty"));
    assert_eq!(
        read(&with("a/.DS_Store", b"x")).await.unwrap().files.len(),
        1
    );
    assert_eq!(read(&with("README.md", b"x")).await.unwrap().files.len(), 1);
    assert!(
        problem(&with("a/.zarray", b"[]"))
            .await
            .contains("not a JSON object")
    );
    assert!(problem(&with("a/.zarray", b"{")).await.contains("not JSON"));
    assert!(
        problem(&with(".zmetadata", b"{}"))
            .await
            .contains("metadata")
    );
    assert!(
        problem(&Tree::new())
            .await
            .contains("no zarr.json and no .zgroup")
    );
}

#[tokio::test]
async fn damaged_documents_are_read_or_refused() {
    let mut numbers = Numbers(0xdead_beef);
    for name in ["types.json", "filters.json", "xarray.json", "format3.json"] {
        let documents: Tree = tree(name)
            .into_iter()
            .filter(|(_, bytes)| bytes.first() == Some(&b'{'))
            .collect();
        let keys: Vec<&String> = documents.keys().collect();
        for _ in 0..500 {
            // One node and its attributes are enough.
            let key = keys[numbers.below(keys.len())];
            let mut bytes = documents[key].clone();
            match numbers.below(4) {
                0 => bytes.truncate(numbers.below(bytes.len())),
                _ => numbers.damage(&mut bytes),
            }
            let one = Tree::from([(key.clone(), bytes)]);
            if let Ok(archive) = read(&one).await {
                let arrays = archive
                    .nodes
                    .values()
                    .filter(|node| matches!(node, ArchiveNode::Array(_)));
                arrays.for_each(|node| drop(node.document()));
            }
        }
    }
}

/// A tree with an array of two dimensions whose chunks are stored from -1 and 3 on.
fn moved(attributes: Value) -> Tree {
    let array = json!({"shape": [4, 3], "chunks": [2, 3]});
    let mut tree = small(array, attributes);
    tree.remove("a/0");
    for key in ["-2.3", "-1.3", "0.3", "1.3", "0.4"] {
        tree.insert(format!("a/{key}"), vec![0; 24]);
    }
    tree
}

#[tokio::test]
async fn an_offset_says_where_the_chunks_of_a_window_are_stored() {
    let archive = read(&moved(json!({"_offset": [-1, 3], "units": "K"}))).await;
    let archive = archive.unwrap();
    let ArchiveNode::Array(array) = &archive.nodes[&NodePath::parse("/a").unwrap()] else {
        panic!("no array");
    };
    let attributes = json!({"origin": [-2, 9], "units": "K"});
    assert_eq!(Value::from(array.attributes.clone()), attributes);
    let icefield_ingest::ArchiveChunks::InFiles(extents) = &array.chunks else {
        panic!("not in files");
    };
    let mut found: Vec<(Vec<u32>, &str)> = extents
        .rows()
        .map(|row| (row.index.to_vec(), archive.files[row.file as usize].url()))
        .collect();
    found.sort();
    let url = |key| format!("s3://b/some/tree/a/{key}");
    assert_eq!(
        found,
        [(vec![0, 0], &*url("-1.3")), (vec![1, 0], &*url("0.3")),]
    );
    let [warning] = &archive.warnings[..] else {
        panic!("{:?}", archive.warnings);
    };
    assert!(
        warning.starts_with("3 chunks of /a were left out"),
        "{warning}"
    );
}

#[tokio::test]
async fn an_attribute_of_that_name_may_be_something_else() {
    for other in [json!(0.5), json!("K"), json!([0.5])] {
        let found = document(&small(json!({}), json!({"_offset": other}))).await;
        assert_eq!(found["attributes"], json!({"_offset": other}));
    }
    let found = document(&small(json!({}), json!({"_offset": [0]}))).await;
    assert_eq!(found["attributes"], json!({"origin": [0]}));
}

#[tokio::test]
async fn offsets_that_do_not_fit_are_refused_by_name() {
    let slashes = json!({"shape": [4, 3], "chunks": [2, 3], "dimension_separator": "/"});
    let mut slashes = small(slashes, json!({"_offset": [1, 0]}));
    slashes.remove("a/0");
    for (tree, words) in [
        (
            moved(json!({"_offset": [1]})),
            "it has 2 dimensions: correct it",
        ),
        (slashes, "that no offset applies to"),
        (
            moved(json!({"_offset": [i64::MAX, 0]})),
            "an index that large",
        ),
        (
            moved(json!({"_offset": [1, 0], "origin": [0, 0]})),
            "remove the one that is wrong",
        ),
    ] {
        let problem = problem(&tree).await;
        assert!(
            problem.contains("/a") && problem.contains(words),
            "{problem}"
        );
    }
    for key in [
        "a/-1",
        "a/-01.3",
        "a/+1.3",
        "a/-1.3.0",
        "a/--1.3",
        "a/-1.99999999999999999999",
    ] {
        let mut tree = moved(json!({"_offset": [-1, 3]}));
        tree.insert(key.to_owned(), vec![0; 24]);
        let problem = problem(&tree).await;
        assert!(
            problem.contains("2 whole numbers with dots between"),
            "{problem}"
        );
    }
    // Without the attribute, such a key is none.
    let problem = problem(&moved(json!({}))).await;
    assert!(problem.contains("-1.3"), "{problem}");
}

#[tokio::test]
async fn a_window_that_is_half_moved_is_refused() {
    let at = |offset: i64| json!({"_offset": [offset], "_ARRAY_DIMENSIONS": ["time"]});
    let mut tree = small(json!({}), at(3));
    tree.remove("a/0");
    let mut other = |name: &str, array: Value, attributes: Value| {
        for (key, bytes) in small(array, attributes) {
            if key != "a/0" {
                tree.insert(key.replacen('a', name, 1), bytes);
            }
        }
        tree.clone()
    };
    // Other chunks, the same element.
    let whole = other("b", json!({"chunks": [6]}), at(1));
    read(&whole).await.unwrap();
    // Of another group, it is another dimension.
    let whole = other("g/c", json!({}), at(5));
    read(&whole).await.unwrap();
    let torn = other("c", json!({}), at(2));
    let problem = problem(&torn).await;
    assert!(
        problem.contains("/c") && problem.contains("it begins at element 4 of time, and /a at 6"),
        "{problem}"
    );
}

/// A program that moves a window writes the attributes of its arrays, and not always the copies of all documents.
#[tokio::test]
async fn offsets_are_taken_from_where_they_are_changed() {
    let mut tree = moved(json!({"_offset": [0, 3]}));
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let copies = json!({"zarr_consolidated_format": 1, "metadata": {
        "a/.zarray": parse(&tree["a/.zarray"]), "a/.zattrs": parse(&tree["a/.zattrs"]),
    }});
    tree.insert(".zmetadata".to_owned(), copies.to_string().into_bytes());
    assert_eq!(
        document(&tree).await["attributes"],
        json!({"origin": [0, 9]})
    );
    tree.insert("a/.zattrs".to_owned(), br#"{"_offset": [-1, 3]}"#.to_vec());
    assert_eq!(
        document(&tree).await["attributes"],
        json!({"origin": [-2, 9]})
    );
}

#[tokio::test]
async fn texts_that_xarray_no_longer_masks_are_named() {
    let dimensions = json!({"_ARRAY_DIMENSIONS": ["x"]});
    let masked = small(
        json!({"dtype": "|S2", "fill_value": ""}),
        dimensions.clone(),
    );
    let said = read(&masked).await.unwrap().warnings;
    assert!(
        said[0].starts_with("the texts in /a are shown by xarray as missing"),
        "{said:?}"
    );
    for (array, attributes) in [
        (
            json!({"dtype": "|S2", "fill_value": null}),
            dimensions.clone(),
        ),
        (json!({"dtype": "|S2", "fill_value": ""}), json!({})),
        (json!({}), dimensions),
    ] {
        assert!(
            read(&small(array, attributes))
                .await
                .unwrap()
                .warnings
                .is_empty()
        );
    }
}

fn json_of(tree: &Tree, key: &str) -> Value {
    serde_json::from_slice(&tree[key]).unwrap()
}

/// A tree with `.zmetadata`, as it is when that is written.
fn consolidated() -> Tree {
    let mut tree = small(json!({}), json!({"a": 1}));
    tree.insert(".zgroup".to_owned(), br#"{"zarr_format": 2}"#.to_vec());
    let documents = tree.keys().filter(|key| key.contains(".z"));
    let copies = documents.map(|key| (key.clone(), json_of(&tree, key)));
    let all = json!({"zarr_consolidated_format": 1, "metadata": copies.collect::<serde_json::Map<_, _>>()});
    tree.insert(".zmetadata".to_owned(), all.to_string().into_bytes());
    tree
}

fn paths(archive: &Archive) -> Vec<&str> {
    archive.nodes.keys().map(NodePath::as_str).collect()
}

#[tokio::test]
async fn what_is_newer_than_its_consolidated_metadata_is_imported_and_named() {
    let mut tree = consolidated();
    assert_eq!(read(&tree).await.unwrap().warnings, [""; 0]);
    // An array is made, another one grows and gets units.
    for (key, bytes) in small(json!({"shape": [2]}), json!({})) {
        tree.insert(key.replacen('a', "late", 1), bytes);
    }
    let mut grown = json_of(&tree, "a/.zarray");
    grown["shape"] = json!([6]);
    tree.insert("a/.zarray".to_owned(), grown.to_string().into_bytes());
    tree.insert("a/.zattrs".to_owned(), br#"{"units": "K"}"#.to_vec());
    tree.insert("a/2".to_owned(), vec![1; 8]);
    let archive = read(&tree).await.unwrap();
    assert_eq!(paths(&archive), ["/", "/a", "/late"]);
    let found = document(&tree).await;
    assert_eq!(
        (&found["shape"], &found["attributes"]),
        (&json!([6]), &json!({"units": "K"}))
    );
    let [warning] = &archive.warnings[..] else {
        panic!("{:?}", archive.warnings)
    };
    assert!(
        warning.contains("s3://b/some/tree/.zmetadata is out of date for /a, /late: their"),
        "{warning}"
    );
}

#[tokio::test]
async fn what_only_consolidated_metadata_lists_is_imported_if_it_has_chunks_and_named() {
    let mut tree = consolidated();
    tree.remove("a/.zarray");
    tree.remove("a/.zattrs");
    let archive = read(&tree).await.unwrap();
    assert_eq!(paths(&archive), ["/", "/a"]);
    assert!(
        archive.warnings[0].starts_with("there is no document of /a:"),
        "{:?}",
        archive.warnings
    );
    assert_eq!(document(&tree).await["attributes"], json!({"a": 1}));
    // It was deleted, chunks and all.
    tree.remove("a/0");
    let archive = read(&tree).await.unwrap();
    assert_eq!(paths(&archive), ["/"]);
    assert!(
        archive.warnings[0].contains("lists /a, of which the tree has neither"),
        "{:?}",
        archive.warnings
    );
    // There is no other document.
    tree.remove(".zgroup");
    let archive = read(&tree).await.unwrap();
    assert_eq!(paths(&archive), ["/", "/a"]);
    assert!(
        archive.warnings[0].starts_with("the tree has no document but"),
        "{:?}",
        archive.warnings
    );
}

#[tokio::test]
async fn a_root_without_a_document_keeps_the_attributes_of_its_copy() {
    let mut tree = consolidated();
    let mut all = json_of(&tree, ".zmetadata");
    all["metadata"][".zattrs"] = json!({"title": "x"});
    tree.insert(".zmetadata".to_owned(), all.to_string().into_bytes());
    tree.remove(".zgroup");
    let archive = read(&tree).await.unwrap();
    assert!(
        archive.warnings[0].starts_with("there is no document of /:"),
        "{:?}",
        archive.warnings
    );
    let ArchiveNode::Group(attributes) = &archive.nodes[&NodePath::root()] else {
        panic!("a group")
    };
    assert_eq!(attributes["title"], "x");
}

#[tokio::test]
async fn copies_in_a_group_of_format_3_hide_nothing() {
    let mut tree = Tree::new();
    let array = json!({
        "zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8", "fill_value": 0,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": ["bytes"],
    });
    let copies = json!({"x": array, "lost": array, "gone": array});
    let group = json!({"zarr_format": 3, "node_type": "group", "consolidated_metadata": {
        "kind": "inline", "must_understand": false, "metadata": copies,
    }});
    let mut grown = array.clone();
    grown["shape"] = json!([3]);
    for (key, document) in [("", &group), ("x/", &grown), ("late/", &array)] {
        tree.insert(format!("{key}zarr.json"), document.to_string().into_bytes());
    }
    for key in ["x/c/2", "late/c/0", "lost/c/1"] {
        tree.insert(key.to_owned(), vec![1]);
    }
    let archive = read(&tree).await.unwrap();
    assert_eq!(paths(&archive), ["/", "/late", "/lost", "/x"]);
    let [changed, adopted, gone] = &archive.warnings[..] else {
        panic!("{:?}", archive.warnings)
    };
    assert!(
        changed.contains("s3://b/some/tree/zarr.json is out of date for /late, /x: their"),
        "{changed}"
    );
    assert!(
        adopted.starts_with("there is no document of /lost:"),
        "{adopted}"
    );
    assert!(gone.contains("lists /gone, of which"), "{gone}");
}

#[tokio::test]
async fn a_tree_of_two_formats_is_refused_unless_its_nodes_have_documents_of_both() {
    let group = br#"{"zarr_format": 3, "node_type": "group"}"#.to_vec();
    let mut below = small(json!({}), json!({}));
    below.insert("three/zarr.json".to_owned(), group.clone());
    let mut above = small(json!({}), json!({}));
    above.insert("zarr.json".to_owned(), group.clone());
    for tree in [below, above] {
        let refused = problem(&tree).await;
        assert!(
            refused.contains("a/.zarray belongs to Zarr format 2")
                && refused.contains("zarr.json to format 3"),
            "{refused}"
        );
    }
    let both = Tree::from([
        (".zgroup".to_owned(), br#"{"zarr_format": 2}"#.to_vec()),
        (".zattrs".to_owned(), br#"{"format": 2}"#.to_vec()),
        ("zarr.json".to_owned(), group),
    ]);
    let archive = read(&both).await.unwrap();
    assert!(
        archive.warnings[0].starts_with("1 documents of format 2"),
        "{:?}",
        archive.warnings
    );
}

#[tokio::test]
async fn what_belongs_to_no_array_is_counted() {
    let mut tree = small(json!({}), json!({}));
    for key in ["b/0", "README.md", "a/.DS_Store"] {
        tree.insert(key.to_owned(), vec![1]);
    }
    let ignored = read(&tree).await.unwrap().ignored;
    assert_eq!(ignored.count(), 3);
    assert!(
        ignored
            .examples()
            .contains(&"s3://b/some/tree/b/0".to_owned()),
        "{ignored:?}"
    );
}

#[tokio::test]
async fn values_that_are_not_quite_those_of_the_document_are_named() {
    let mut tree = small(json!({}), json!({}));
    let attributes =
        br#"{"big": [1, 123456789012345678901234567890], "range": {"to": Infinity}, "small": 7}"#;
    tree.insert("a/.zattrs".to_owned(), attributes.to_vec());
    let warnings = read(&tree).await.unwrap().warnings;
    assert!(
        warnings[0].starts_with("the attribute \"big\" of /a has whole numbers"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].starts_with("the attribute \"range\" of /a has numbers that JSON lacks"),
        "{warnings:?}"
    );
    assert_eq!(warnings.len(), 2);
    // Of a copy, if it stands in for the document.
    let mut tree = consolidated();
    let all = String::from_utf8(tree[".zmetadata"].clone()).unwrap();
    let all = all.replace("{\"a\":1}", "{\"a\":NaN}");
    assert!(all.contains("NaN"), "{all}");
    tree.insert(".zmetadata".to_owned(), all.into_bytes());
    let lossy = "the attribute \"a\" of /a has numbers that JSON lacks";
    let said = read(&tree).await.unwrap().warnings;
    assert!(!said.iter().any(|it| it.starts_with(lossy)), "{said:?}");
    tree.remove("a/.zarray");
    tree.remove("a/.zattrs");
    let said = read(&tree).await.unwrap().warnings;
    assert!(said[0].starts_with(lossy), "{said:?}");
    // No other document is there.
    tree.remove(".zgroup");
    let said = read(&tree).await.unwrap().warnings;
    assert!(said[0].starts_with(lossy), "{said:?}");
}

#[tokio::test]
async fn a_field_that_need_not_be_understood_is_left_out_by_name_and_another_one_is_refused() {
    for node in ["group", "array"] {
        let mut document = json!({
            "zarr_format": 3, "node_type": node, "foo": {"name": "x", "must_understand": false},
        });
        if node == "array" {
            let more = json!({
                "shape": [2], "data_type": "uint8", "fill_value": 0, "codecs": ["bytes"],
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
                "chunk_key_encoding": {"name": "default"},
            });
            document
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
        }
        let tree = |document: &Value| {
            Tree::from([("a/zarr.json".to_owned(), document.to_string().into_bytes())])
        };
        let warnings = read(&tree(&document)).await.unwrap().warnings;
        assert!(
            warnings[0].starts_with("the field \"foo\" of the document of /a"),
            "{warnings:?}"
        );
        document["foo"]["must_understand"] = true.into();
        let refused = problem(&tree(&document)).await;
        assert!(
            refused.contains("the field \"foo\", which must be understood"),
            "{refused}"
        );
    }
}
