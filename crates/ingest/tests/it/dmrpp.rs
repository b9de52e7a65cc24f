//! DMR++ documents. Those of files were written by `interop/archive_dmrpp.py` from what h5py says of the files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use icefield_ingest::{
    Archive, ArchiveArray, ArchiveFile, ArchiveNode, ArchiveOptions, ArchiveSource, OpenUrl,
    SourceError, read_dmrpp, read_hdf5,
};
use icefield_storage::wrap::CountingStorage;
use icefield_storage::{Key, PutMode, Storage};
use icefield_storage_memory::MemoryStorage;
use serde_json::{Value, json};

use crate::common::{path, said, values};

const HEAD: &str = r#"<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="t""#;

fn fixture(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dmrpp");
    std::fs::read(directory.join(name)).unwrap()
}

/// Files below `mem://m/d/`; no others are granted.
struct Files(CountingStorage);

#[async_trait]
impl OpenUrl for Files {
    async fn open(&self, url: &str) -> Result<ArchiveFile, SourceError> {
        let Some(key) = url.strip_prefix("mem://m/d/") else {
            return Err(SourceError::damaged(url, "access to it was not granted"));
        };
        let storage: Arc<dyn Storage> = Arc::new(self.0.clone());
        ArchiveFile::open(storage, &Key::parse(key).unwrap(), url).await
    }
}

impl Files {
    async fn new(files: &[(&str, Vec<u8>)]) -> Self {
        let storage = CountingStorage::new(Arc::new(MemoryStorage::new()));
        for (name, bytes) in files {
            let key = Key::parse(name).unwrap();
            let put = storage.put(&key, bytes.clone().into(), PutMode::Overwrite.into());
            let _ = put.await.unwrap();
        }
        Self(storage)
    }

    async fn read(&self, name: &str) -> Result<Archive, SourceError> {
        let file = self.open(&format!("mem://m/d/{name}")).await.unwrap();
        read_dmrpp(file, self, ArchiveOptions::default()).await
    }
}

/// Reads a document within a root element, beside a file `t` of 1000 bytes.
async fn read(root: &str, inner: &str) -> Result<Archive, SourceError> {
    let document = format!("{root}>{inner}</Dataset>").into_bytes();
    let files = [("t.dmrpp", document), ("t", vec![7; 1000])];
    Files::new(&files).await.read("t.dmrpp").await
}

async fn problem(inner: &str) -> String {
    said::said(&read(HEAD, inner).await.unwrap_err())
}

fn array<'a>(archive: &'a Archive, name: &str) -> &'a ArchiveArray {
    match &archive.nodes[&path(name)] {
        ArchiveNode::Array(array) => array,
        ArchiveNode::Group(_) => panic!("{name} is a group"),
    }
}

#[tokio::test]
async fn values_are_those_of_h5py_and_the_file_is_not_read() {
    let expected: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_slice(&fixture("expected.json")).unwrap();
    assert_eq!(expected.len(), 2);
    for (name, arrays) in expected {
        let document = format!("{name}.dmrpp");
        let files = [(&*name, fixture(&name)), (&*document, fixture(&document))];
        let files = Files::new(&files).await;
        let archive = files.read(&document).await.unwrap();
        let seen = files.0.snapshot().total;
        assert_eq!((seen.head, seen.get), (2, 1), "only the document: {seen:?}");
        let found = archive.nodes.iter();
        let found = found.filter(|(_, node)| matches!(node, ArchiveNode::Array(_)));
        let found: Vec<String> = found.map(|(path, _)| path.to_string()).collect();
        assert_eq!(found, arrays.keys().cloned().collect::<Vec<_>>());
        let source = ArchiveSource::new(name, archive);
        for (at, expected) in arrays {
            let here = path(&at);
            let array = array(source.archive(), &at);
            assert_eq!(json!(array.shape), expected["shape"], "{at}");
            if expected["dtype"] == "string" {
                assert_eq!(
                    json!(values::texts(&source, &here).await),
                    expected["texts"]
                );
                continue;
            }
            let found = values::fixed(&source, &here).await;
            assert_eq!(values::sha256(&found), expected["sha256"], "{at}");
        }
    }
}

/// Two readings of the same arrays give the same text.
#[tokio::test]
async fn arrays_are_described_as_the_reader_of_hdf5_does() {
    let (name, document) = ("every_kind.h5", "every_kind.h5.dmrpp");
    let files = [(name, fixture(name)), (document, fixture(document))];
    let files = Files::new(&files).await;
    let archive = files.read(document).await.unwrap();
    let file = files.open("mem://m/d/every_kind.h5").await.unwrap();
    let original = read_hdf5(file, Default::default()).await.unwrap();
    for (path, node) in &original.nodes {
        // Their elements have other types there, which are copied; one chunk of `mask` is decoded either way.
        if ["/names", "/word", "/texts"].contains(&path.as_str()) {
            continue;
        }
        let (ours, theirs) = (archive.nodes[path].document(), node.document());
        let parsed = |document: &[u8]| serde_json::from_slice::<Value>(document).unwrap();
        assert_eq!(parsed(&ours), parsed(&theirs), "{path}");
        if let (ArchiveNode::Array(ours), ArchiveNode::Array(theirs)) = (&archive.nodes[path], node)
        {
            assert_eq!(ours.not_virtual().is_none(), theirs.not_virtual().is_none());
        }
    }
    assert_eq!(archive.nodes.len(), original.nodes.len());
}

#[tokio::test]
async fn values_in_the_document_need_no_file() {
    let document = "inline.h5.dmrpp";
    let files = Files::new(&[(document, fixture(document))]).await;
    let source = ArchiveSource::new("inline", files.read(document).await.unwrap());
    assert_eq!(source.archive().files.len(), 0);
    let latitudes: Vec<u8> = (0..91).flat_map(|it| f64::from(it).to_le_bytes()).collect();
    assert_eq!(values::fixed(&source, &path("/Latitude")).await, latitudes);
    let words = values::texts(&source, &path("/words")).await;
    assert_eq!(words[..3], ["Parting", "is such", "sweet"]);
    assert_eq!((words.len(), &*words[11]), (12, "sweet sorrow"));
    assert_eq!(values::fixed(&source, &path("/clouds")).await, [0, 2, 0]);
    let clouds = array(source.archive(), "/clouds");
    assert_eq!(
        clouds.attributes["enum_members"],
        json!({ "clear": 0, "cloudy": 2 })
    );
    assert_eq!(clouds.dimension_names, [Some("phony_dim_2".to_owned())]);
}

#[tokio::test]
async fn the_data_file_is_where_the_document_says() {
    let one = |href: &str| {
        format!(
            r#"<Byte name="a"><Dim size="4"/><dmrpp:chunks><dmrpp:chunk offset="1" nBytes="4"{href}/></dmrpp:chunks></Byte>"#
        )
    };
    for (root, chunk, expected) in [
        ("", "", "mem://m/d/t"),
        (
            r#" dmrpp:href="OPeNDAP_DMRpp_DATA_ACCESS_URL""#,
            "",
            "mem://m/d/t",
        ),
        (r#" dmrpp:href="other""#, "", "mem://m/d/other"),
        (r#" dmrpp:href="mem://m/d/other""#, "", "mem://m/d/other"),
        (r#" dmrpp:href="other""#, r#" href="t""#, "mem://m/d/t"),
    ] {
        let document = format!("{HEAD}{root}>{}</Dataset>", one(chunk)).into_bytes();
        let files = [
            ("t.dmrpp", document),
            ("t", vec![7; 9]),
            ("other", vec![7; 9]),
        ];
        let archive = Files::new(&files).await.read("t.dmrpp").await.unwrap();
        let urls: Vec<&str> = archive.files.iter().map(ArchiveFile::url).collect();
        assert_eq!(urls, [expected], "{root} {chunk}");
    }
    for href in ["s3://secret/file", "../file", "file:///etc/passwd"] {
        let inner = one("");
        let error = read(&format!(r#"{HEAD} dmrpp:href="{href}""#), &inner).await;
        let error = error.unwrap_err();
        assert!(matches!(&error, SourceError::Reference { .. }), "{error:?}");
        let said = said::said(&error);
        assert!(
            said.contains("/a of mem://m/d/t.dmrpp") && said.contains("granted"),
            "{said}"
        );
    }
    let document = format!("{HEAD}>{}</Dataset>", one("")).into_bytes();
    let files = Files::new(&[("plain.xml", document)]).await;
    let error = files.read("plain.xml").await.unwrap_err();
    assert!(said::said(&error).contains("dmrpp:href"), "{error}");
}

#[tokio::test]
async fn dimensions_and_attributes_are_found_by_name() {
    let inner = r#"<Dimension name="x" size="2"/>
        <Attribute name="more" type="Container"><Attribute name="n" type="Int16"><Value value="3"/></Attribute></Attribute>
        <Attribute name="none" type="String"/>
        <Group name="g"><Dimension name="z" size="3"/>
          <Float32 name="v"><Dim name="z"/><Dim name="x"/><Dim name="/g/z"/>
            <Attribute name="_FillValue" type="Float32"><Value>nan</Value></Attribute>
            <Attribute name="DIMENSION_LIST" type="String"><Value>x</Value></Attribute>
            <dmrpp:chunks fillValue="-1.5"><dmrpp:chunkDimensionSizes>1 2 3</dmrpp:chunkDimensionSizes></dmrpp:chunks>
          </Float32>
          <Float32 name="unnamed"><Dim size="3"/><Dim size="3"/><dmrpp:chunks/></Float32>
        </Group>"#;
    let archive = read(HEAD, inner).await.unwrap();
    let v = array(&archive, "/g/v");
    let names: Vec<&str> = v
        .dimension_names
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    assert_eq!(
        (names, v.shape.clone()),
        (vec!["z", "x", "z"], vec![3, 2, 3])
    );
    assert_eq!(v.fill_value, json!(-1.5));
    assert_eq!(json!(v.attributes), json!({ "_FillValue": "AAAAAAAA+H8=" }));
    let unnamed = array(&archive, "/g/unnamed");
    let names: Vec<&str> = unnamed
        .dimension_names
        .iter()
        .flatten()
        .map(String::as_str)
        .collect();
    assert_eq!(names, ["z", "phony_dim_2"]);
    let ArchiveNode::Group(root) = &archive.nodes[&path("/")] else {
        panic!("an array");
    };
    assert_eq!(json!(root), json!({ "more": { "n": 3 }, "none": [] }));
}

#[tokio::test]
async fn a_large_piece_without_filters_becomes_chunks() {
    let inner = r#"<Float64 name="a"><Dim size="40"/><Dim size="65536"/>
        <dmrpp:chunks byteOrder="BE"><dmrpp:chunk offset="16" nBytes="20971520"/></dmrpp:chunks></Float64>"#;
    let document = format!("{HEAD}>{inner}</Dataset>").into_bytes();
    let files = Files::new(&[("t.dmrpp", document), ("t", vec![0; (20 << 20) + 16])]).await;
    let archive = files.read("t.dmrpp").await.unwrap();
    let array = array(&archive, "/a");
    assert_eq!(array.chunk_shape, [8, 65536]);
    let icefield_ingest::ArchiveChunks::InFiles(extents) = &array.chunks else {
        panic!("{:?}", array.chunks);
    };
    let last = extents.rows().last().unwrap();
    assert_eq!((last.index, last.offset), (&[4, 0][..], 16 + (16 << 20)));
}

#[tokio::test]
async fn what_breaks_a_rule_is_named() {
    let chunks = |attributes: &str, sizes: &str, chunk: &str| {
        format!(
            r#"<Int16 name="a"><Dim size="4"/><dmrpp:chunks {attributes}>
            <dmrpp:chunkDimensionSizes>{sizes}</dmrpp:chunkDimensionSizes>{chunk}</dmrpp:chunks></Int16>"#
        )
    };
    let chunk = |more: &str| format!("<dmrpp:chunk {more}/>");
    let whole = r#"offset="0" nBytes="4" chunkPositionInArray="[0]""#;
    for (inner, words) in [
        (chunks("", "2", &chunk(r#"offset="998" nBytes="4" chunkPositionInArray="[0]""#)), "which has 1000 bytes"),
        (chunks("", "2", &chunk(r#"offset="18446744073709551615" nBytes="4" chunkPositionInArray="[0]""#)), "which has 1000 bytes"),
        (chunks("", "2", &chunk(r#"offset="0" nBytes="4" chunkPositionInArray="[1]""#)), "none begins"),
        (chunks("", "2", &chunk(r#"offset="0" nBytes="4" chunkPositionInArray="[4]""#)), "none begins"),
        (chunks("", "2", &chunk(r#"offset="0" nBytes="4" chunkPositionInArray="[0,0]""#)), "none begins"),
        (chunks("", "2", &format!("{0}{0}", chunk(whole))), "twice"),
        (chunks("", "2", &chunk(r#"offset="0" nBytes="5" chunkPositionInArray="[0]""#)), "5 bytes instead of 4"),
        (chunks("", "2", &chunk(r#"offset="0" nBytes="0" chunkPositionInArray="[0]""#)), "without a byte"),
        (chunks("", "2", &chunk(r#"nBytes="4" chunkPositionInArray="[0]""#)), "without offset"),
        (chunks("", "2", &chunk(r#"offset="x" nBytes="4""#)), "where a number belongs"),
        (chunks("", "0", ""), "chunks of"),
        (chunks("", "2 2", ""), "chunks of"),
        (chunks(r#"byteOrder="ME""#, "2", ""), "byte order"),
        (chunks(r#"compressionType="szip""#, "2", ""), "szip"),
        (chunks(r#"fillValue="70000""#, "2", ""), "fill value"),
        (chunks("", "2", "<dmrpp:block/>"), "several blocks"),
        (r#"<Int16 name="a"><Dim name="/x"/><dmrpp:chunks/></Int16>"#.to_owned(), "dimension \"/x\""),
        (r#"<Int16 name="a"><Dim size="4"/></Int16>"#.to_owned(), "neither chunks nor values"),
        (r#"<Int16 name="a"><Dim size="4"/><dmrpp:compact>AAA=</dmrpp:compact></Int16>"#.to_owned(), "instead of 8"),
        (r#"<Int16 name="a"><Dim size="4"/><dmrpp:compact>?</dmrpp:compact></Int16>"#.to_owned(), "base64"),
        (r#"<String name="a"><Dim size="2"/><dmrpp:vlsa><v>x</v></dmrpp:vlsa></String>"#.to_owned(), "should have 2 texts"),
        (r#"<String name="a"><Dim size="2"/><dmrpp:vlsa><v c="18446744073709551615">x</v></dmrpp:vlsa></String>"#.to_owned(), "should have 2 texts"),
        (r#"<String name="a"><Dim size="4000000000"/><dmrpp:vlsa><v c="4000000000">x</v></dmrpp:vlsa></String>"#.to_owned(), "256 MiB"),
        (r#"<String name="a"><Dim size="2"/><dmrpp:chunks><dmrpp:chunk offset="0" nBytes="32"/></dmrpp:chunks></String>"#.to_owned(), "variable length"),
        (r#"<Structure name="a"><Int16 name="b"/></Structure>"#.to_owned(), "Structure"),
        (r#"<Enum name="a" enum="/e"><dmrpp:chunks/></Enum>"#.to_owned(), "enumeration"),
        (r#"<Int16 name="a"><Dim size="18446744073709551615"/><Dim size="3"/><dmrpp:compact/></Int16>"#.to_owned(), "longer than any file"),
        (r#"<Int8 name="a"><Dim size="1152921504606846976"/><dmrpp:chunks><dmrpp:chunk offset="0" nBytes="1152921504606846976"/></dmrpp:chunks></Int8>"#.to_owned(), "longer than any file"),
        (r#"<Int16 name="a"><Attribute name="n" type="Int16"><Value>x</Value></Attribute><dmrpp:chunks/></Int16>"#.to_owned(), "attribute n"),
        (r#"<Int16 name="a"><dmrpp:chunks/></Int16><Int16 name="a"><dmrpp:chunks/></Int16>"#.to_owned(), "two nodes"),
    ] {
        let said = problem(&inner).await;
        assert!(said.contains(words) && said.contains("/a"), "{words}: {said}");
    }
}

#[tokio::test]
async fn what_is_no_document_is_refused() {
    let bomb = r#"<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]><a>&c;</a>"#;
    let deep = "<Group name=\"g\">".repeat(100) + &"</Group>".repeat(100);
    for (document, words) in [
        (bomb.to_owned(), "not XML as DMR++ has it"),
        (format!("{HEAD}><Dim"), "not XML"),
        ("<html></html>".to_owned(), "begins with html"),
        (format!("{HEAD}>{deep}</Dataset>"), "too deep"),
        (format!("{HEAD}><Int16/></Dataset>"), "no name"),
    ] {
        let files = Files::new(&[("t.dmrpp", document.into_bytes())]).await;
        let said = said::said(&files.read("t.dmrpp").await.unwrap_err());
        assert!(said.contains(words), "{words}: {said}");
    }
}

#[tokio::test]
async fn what_is_unsupported_can_be_listed() {
    let inner = r#"<Structure name="s"/><Int8 name="a"><dmrpp:chunks><dmrpp:chunk offset="0" nBytes="1"/></dmrpp:chunks></Int8>"#;
    let document = format!("{HEAD}>{inner}</Dataset>").into_bytes();
    let files = Files::new(&[("t.dmrpp", document), ("t", vec![7; 9])]).await;
    let file = files.open("mem://m/d/t.dmrpp").await.unwrap();
    let options = ArchiveOptions {
        lists_unsupported: true,
        ..ArchiveOptions::default()
    };
    let archive = read_dmrpp(file, &files, options).await.unwrap();
    assert_eq!(archive.unsupported.len(), 1);
    assert_eq!(archive.unsupported[0].path, path("/s"));
    assert!(archive.nodes.contains_key(&path("/a")));
}

/// Changed bytes give an error or values, and never a panic.
#[tokio::test]
async fn changed_bytes_never_stop_the_reader() {
    let (name, whole) = ("every_kind.h5.dmrpp", fixture("every_kind.h5.dmrpp"));
    let data = ("every_kind.h5", fixture("every_kind.h5"));
    let mut numbers = crate::common::damage::Numbers(7);
    for _ in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            let at = numbers.below(bytes.len());
            bytes[at] = b"0123456789<>&\"[]ax "[numbers.below(19)];
        }
        let files = Files::new(&[(name, bytes), data.clone()]).await;
        let _any = files.read(name).await;
    }
}
