//! Reading references of kerchunk. The expected dumps were checked by `interop/archive_check.py`: zarr-python and xarray
//! find in them what they find through kerchunk's own reader.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::common::damage::Numbers;
use crate::common::{dump, said};
use async_trait::async_trait;
use icefield_core::NodePath;
use icefield_ingest::{
    Archive, ArchiveChunks, ArchiveFile, ArchiveNode, OpenUrl, SourceError, read_kerchunk,
};
use icefield_storage::{Key, PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};

/// Files by URL.
#[derive(Clone)]
struct Files(Arc<dyn Storage>);

#[async_trait]
impl OpenUrl for Files {
    async fn open(&self, url: &str) -> Result<ArchiveFile, SourceError> {
        let key = url.strip_prefix("mem://m/").unwrap_or(url);
        let key = Key::parse(key).map_err(|error| SourceError::damaged(url, error.to_string()))?;
        ArchiveFile::open(Arc::clone(&self.0), &key, url).await
    }
}

impl Files {
    async fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        for (name, bytes) in files {
            let key = Key::parse(name).unwrap();
            let put = storage.put(&key, bytes.clone().into(), PutMode::Overwrite.into());
            let _ = put.await.unwrap();
        }
        Self(storage)
    }

    async fn fixtures() -> Self {
        let names = [
            "first.bin",
            "data/3.bin",
            "data/4.bin",
            "small.h5",
            "alone.nc",
        ];
        let files: Vec<(&str, Vec<u8>)> = names.iter().map(|name| (*name, fixture(name))).collect();
        Self::new(&files).await
    }

    async fn read(&self, name: &str, text: impl Into<Vec<u8>>) -> Result<Archive, SourceError> {
        let key = Key::parse(name.strip_prefix("mem://m/").unwrap_or(name)).unwrap();
        let put = self
            .0
            .put(&key, text.into().into(), PutMode::Overwrite.into());
        let _ = put.await.unwrap();
        let file = ArchiveFile::open(Arc::clone(&self.0), &key, name)
            .await
            .unwrap();
        read_kerchunk(file, self).await
    }
}

fn fixture(name: &str) -> Vec<u8> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kerchunk");
    fs::read(directory.join(name)).unwrap()
}

/// References of one array of four chunks of one byte, with more of them.
fn references(more: Value) -> Value {
    let array = json!({
        "zarr_format": 2, "shape": [4], "chunks": [1], "dtype": "|u1", "order": "C", "fill_value": 0,
        "filters": null, "compressor": null,
    });
    let mut references = json!({"a/.zarray": array.to_string()});
    for (key, value) in more.as_object().unwrap() {
        references[key] = value.clone();
    }
    references
}

async fn read(document: &Value) -> Result<Archive, SourceError> {
    let files = Files::new(&[("d/x.bin", vec![1, 2, 3, 4]), ("y.bin", vec![5])]).await;
    files
        .read("mem://m/d/refs.json", document.to_string())
        .await
}

async fn problem(document: &Value) -> String {
    said::said(&read(document).await.unwrap_err())
}

/// Chunks of the array: coordinate, URL, offset and length.
fn rows(archive: &Archive) -> Vec<(u32, String, u64, u64)> {
    let ArchiveNode::Array(array) = &archive.nodes[&NodePath::parse("/a").unwrap()] else {
        panic!("an array");
    };
    let (ArchiveChunks::InFiles(extents) | ArchiveChunks::Mixed { extents, .. }) = &array.chunks
    else {
        panic!("{:?}", array.chunks);
    };
    let url = |file: u32| archive.files[file as usize].url().to_owned();
    extents
        .rows()
        .map(|row| (row.index[0], url(row.file), row.offset, row.length))
        .collect()
}

#[tokio::test]
async fn references_of_every_kind_are_read_as_expected() {
    let files = Files::fixtures().await;
    for name in ["flat.json", "templates.json", "hdf5.json", "netcdf3.json"] {
        let archive = files.read(name, fixture(name)).await.unwrap();
        let expected: Value =
            serde_json::from_slice(&fixture(&format!("{name}.expected.json"))).unwrap();
        assert_eq!(dump::dump(&archive), expected, "{name}");
    }
}

#[tokio::test]
async fn urls_begin_at_the_references_and_a_url_alone_is_the_whole_file() {
    let document = references(json!({
        "a/0": ["x.bin", 1, 1], "a/1": ["./x.bin", 2, 1], "a/2": ["../y.bin"], "a/3": ["mem://m/y.bin", 0, 1],
    }));
    let archive = read(&document).await.unwrap();
    assert_eq!(archive.files.len(), 2);
    let (x, y) = ("mem://m/d/x.bin".to_owned(), "mem://m/y.bin".to_owned());
    let mut found = rows(&archive);
    found.sort();
    assert_eq!(found[0], (0, x.clone(), 1, 1));
    assert_eq!(found[1], (1, x, 2, 1));
    assert_eq!(found[2].0, 2);
    assert_eq!(found[3].0, 3);
    assert!(
        found[2].1.ends_with("y.bin") && found[3].1 == y,
        "{found:?}"
    );
}

#[tokio::test]
async fn a_rule_stands_for_references() {
    let document = json!({
        "version": 1,
        "templates": {"u": "x"},
        "gen": [{"key": "a/{{i}}", "url": "{{u}}.bin", "offset": "{{3 - i}}", "length": "1",
                 "dimensions": {"i": {"start": 1, "stop": 4, "step": 2}}},
                {"key": "a/{{i}}", "url": "{{name}}.bin", "offset": "0", "length": "1",
                 "dimensions": {"i": [0], "name": ["x"]}}],
        "refs": references(json!({})),
    });
    let x = "mem://m/d/x.bin".to_owned();
    let expected = [(1, x.clone(), 2, 1), (3, x.clone(), 0, 1), (0, x, 0, 1)];
    assert_eq!(rows(&read(&document).await.unwrap()), expected);
}

#[tokio::test]
async fn a_rule_shows_that_an_array_with_no_document_but_a_copy_has_chunks() {
    let mut all = references(json!({}));
    let array: Value = serde_json::from_str(all["a/.zarray"].as_str().unwrap()).unwrap();
    all[".zmetadata"] = json!({"metadata": {"a/.zarray": array, "b/.zarray": array}})
        .to_string()
        .into();
    let rule = json!({"key": "b/{{i}}", "url": "x.bin", "dimensions": {"i": {"stop": 1}}});
    let archive = read(&json!({"version": 1, "gen": [rule], "refs": all}))
        .await
        .unwrap();
    assert!(archive.nodes.contains_key(&NodePath::parse("/b").unwrap()));
    assert!(
        archive.warnings[0].starts_with("there is no document of /b:"),
        "{:?}",
        archive.warnings
    );
}

#[tokio::test]
async fn a_rule_that_makes_a_document_is_refused() {
    let all = references(json!({}));
    let rule = json!({"key": "{{n}}/.zarray", "url": "x.bin", "dimensions": {"n": ["b"]}});
    let refused = problem(&json!({"version": 1, "gen": [rule], "refs": all})).await;
    assert!(
        refused.contains("makes the document b/.zarray"),
        "{refused}"
    );
}

#[tokio::test]
async fn documents_among_the_references_count_and_others_are_not_left_out() {
    let mut all = references(json!({"a/0": ["x.bin", 0, 1]}));
    let mut old: Value = serde_json::from_str(all["a/.zarray"].as_str().unwrap()).unwrap();
    old["shape"] = json!([2]);
    all[".zmetadata"] = json!({"metadata": {"a/.zarray": old}}).to_string().into();
    let archive = read(&all).await.unwrap();
    assert!(
        archive.warnings[0].contains(".zmetadata in mem://m/d/refs.json is out of date for /a:"),
        "{:?}",
        archive.warnings
    );
    all["b/0"] = json!(["x.bin", 0, 1]);
    let ignored = read(&all).await.unwrap().ignored;
    assert_eq!(ignored.examples(), ["b/0 in mem://m/d/refs.json"]);
    // Of a document that is only there, the chunk shows that it counts.
    all[".zmetadata"] = json!({"metadata": {"a/.zarray": old, "b/.zarray": old}})
        .to_string()
        .into();
    let archive = read(&all).await.unwrap();
    assert!(
        archive.warnings[1].starts_with("there is no document of /b:"),
        "{:?}",
        archive.warnings
    );
    all["three/zarr.json"] = json!({"zarr_format": 3, "node_type": "group"});
    let refused = problem(&all).await;
    assert!(
        refused.contains("a/.zarray in mem://m/d/refs.json belongs to Zarr format 2"),
        "{refused}"
    );
}

#[tokio::test]
async fn attributes_that_an_object_does_not_hold_exactly_are_named() {
    let files = Files::new(&[("x.bin", vec![1])]).await;
    for (value, problem) in [
        ("NaN", "has numbers that JSON lacks"),
        ("123456789012345678901234567890", "has whole numbers"),
    ] {
        let text =
            format!(r#"{{".zgroup": {{"zarr_format": 2}}, ".zattrs": {{"x": {value}, "y": 1}}}}"#);
        let warnings = files.read("refs.json", text).await.unwrap().warnings;
        assert!(
            warnings.len() == 1
                && warnings[0].starts_with(&format!("the attribute \"x\" of / {problem}")),
            "{warnings:?}"
        );
    }
}

#[tokio::test]
async fn consolidated_metadata_that_is_none_is_refused() {
    for copies in ["[]", "7", "{}", r#"{"metadata": []}"#] {
        let mut all = references(json!({}));
        all[".zmetadata"] = copies.into();
        let refused = problem(&all).await;
        assert!(refused.contains("no object \"metadata\""), "{refused}");
    }
}

#[tokio::test]
async fn consolidated_metadata_that_is_the_only_document_is_named() {
    let all = references(json!({}));
    let array: Value = serde_json::from_str(all["a/.zarray"].as_str().unwrap()).unwrap();
    let copies = json!({"metadata": {"a/.zarray": array}}).to_string();
    let archive = read(&json!({".zmetadata": copies, "a/0": ["x.bin", 0, 1]}))
        .await
        .unwrap();
    assert_eq!(rows(&archive).len(), 1);
    assert!(
        archive.warnings[0].starts_with("the tree has no document but .zmetadata in"),
        "{:?}",
        archive.warnings
    );
}

#[tokio::test]
async fn references_that_lead_nowhere_are_refused() {
    let one = |value: Value| references(json!({ "a/0": value }));
    assert!(
        problem(&one(json!(["x.bin", 1, 4])))
            .await
            .contains("which has 4 bytes")
    );
    assert!(
        problem(&one(json!(["x.bin", u64::MAX, 4])))
            .await
            .contains("which has 4 bytes")
    );
    assert!(
        problem(&one(json!(["x.bin", 1, 0])))
            .await
            .contains("0 bytes")
    );
    assert!(
        problem(&one(json!(["z.bin", 1, 1])))
            .await
            .contains("z.bin does not exist")
    );
    assert!(
        problem(&one(json!(["x.bin", 1])))
            .await
            .contains("[url, offset, length]")
    );
    assert!(
        problem(&one(json!(["x.bin", -1, 2])))
            .await
            .contains("not a JSON file of references")
    );
    assert!(
        problem(&one(json!(7)))
            .await
            .contains("[url, offset, length]")
    );
    assert!(
        problem(&one(json!("base64:?")))
            .await
            .contains("not base64")
    );
    assert!(problem(&one(json!(""))).await.contains("empty"));
    assert!(problem(&one(json!({}))).await.contains("an object"));
    assert!(
        problem(&references(json!({"a/9": ["x.bin"]})))
            .await
            .contains("/a has [4] chunks")
    );
    assert!(
        problem(&references(json!({"a/x": ["x.bin"]})))
            .await
            .contains("keys such as 0")
    );
    assert!(problem(&json!({})).await.contains("no document"));
    assert!(
        problem(&json!({"version": 2, "refs": {}}))
            .await
            .contains("version 2")
    );
    assert!(problem(&json!([])).await.contains("not a JSON file"));
}

#[tokio::test]
async fn a_document_may_be_part_of_a_file() {
    let document = references(json!({}))["a/.zarray"]
        .as_str()
        .unwrap()
        .to_owned();
    let length = document.len();
    let files = Files::new(&[
        ("documents", format!("--{document}").into_bytes()),
        ("x.bin", vec![1]),
    ])
    .await;
    let references = json!({"a/.zarray": ["documents", 2, length], "a/0": ["x.bin"]});
    let archive = files
        .read("refs.json", references.to_string())
        .await
        .unwrap();
    assert_eq!(rows(&archive), [(0, "x.bin".to_owned(), 0, 1)]);
    let references = json!({"a/.zarray": ["documents", 2, 1_u64 << 40]});
    assert!(
        files
            .read("refs.json", references.to_string())
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_chunk_has_one_reference() {
    let rule = json!({"key": "a/0", "url": "x.bin", "dimensions": {"i": {"stop": 2}}});
    let document = json!({"version": 1, "refs": references(json!({})), "gen": [rule]});
    assert!(problem(&document).await.contains("twice"));
}

#[tokio::test]
async fn rules_that_are_too_much_are_refused() {
    let with = |rule: Value| json!({"version": 1, "refs": references(json!({})), "gen": [rule]});
    let many = json!({"i": {"stop": 1_u64 << 40}});
    let found = problem(&with(
        json!({"key": "a/{{i}}", "url": "x.bin", "dimensions": many}),
    ))
    .await;
    assert!(found.contains("1099511627776 references"), "{found}");
    let few = json!({"i": {"stop": 1}});
    for key in [
        "a/{{i | int}}",
        "a/{% for x in y %}",
        "a/{{range(3)}}",
        "a/{{i.x}}",
    ] {
        let found = problem(&with(
            json!({"key": key, "url": "x.bin", "dimensions": few}),
        ))
        .await;
        assert!(found.contains("cannot be filled in"), "{found}");
    }
    let offset = json!({"key": "a/0", "url": "x.bin", "offset": "{{0 - 1}}", "length": "1", "dimensions": few});
    assert!(problem(&with(offset)).await.contains("\"-1\""));
}

#[tokio::test]
async fn damaged_references_are_read_or_refused() {
    let files = Files::fixtures().await;
    let mut numbers = Numbers(0x5eed_1234);
    for name in ["flat.json", "templates.json", "hdf5.json", "netcdf3.json"] {
        let whole = fixture(name);
        for length in 0..whole.len() - 2 {
            assert!(files.read("cut.json", &whole[..length]).await.is_err());
        }
        for _ in 0..2000 {
            let mut bytes = whole.clone();
            numbers.damage(&mut bytes);
            if let Ok(archive) = files.read("damaged.json", bytes).await {
                archive
                    .nodes
                    .values()
                    .for_each(|node| drop(node.document()));
            }
        }
    }
}
