//! Directories that change while they are imported, and what lies among chunks and is none.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use crate::common::{Tree, array, group, path, refused, repository};
use futures::TryStreamExt;
use icefield_ingest::{ChunkEntry, ImportError, Source, SourceError, ZarrDirectory};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

/// An array `deep/x` of two chunks in a directory of their own.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.json("zarr.json", &group(json!({})))
        .json("deep/x/zarr.json", &array(&[2, 1], &[1, 1], &["t", "y"]))
        .file("deep/x/c/0/0", [1; 4])
        .file("deep/x/c/1/0", [2; 5]);
    tree
}

#[tokio::test]
async fn a_chunk_that_is_not_what_was_listed_any_more_is_an_error() {
    let tree = tree();
    let source = tree.source();
    let hierarchy = source.hierarchy().await.unwrap();
    let x = path("/deep/x");
    let array = hierarchy.nodes[&x].array().unwrap();
    let listed: Vec<_> = source.chunks(&x, array).try_collect().await.unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed.contains(&ChunkEntry::Chunk {
        index: vec![1, 0].into(),
        length: 5
    }));
    let read = async || source.read_chunk(&x, array, &[1, 0], 5).await;
    assert_eq!(read().await.unwrap(), [2; 5][..]);

    let file = tree.path().join("deep/x/c/1/0");
    let name = file.display().to_string();
    let changed = async || match read().await {
        Err(SourceError::Changed { name }) => name,
        other => panic!("{other:?}"),
    };
    for length in [4, 6, 0] {
        fs::write(&file, vec![3; length]).unwrap();
        assert_eq!(changed().await, name);
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(changed().await, name);
    mknodat(CWD, &file, FileType::Fifo, Mode::RUSR, 0).unwrap();
    assert_eq!(changed().await, name);
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(changed().await, name);
    fs::remove_dir(&file).unwrap();
    symlink("../0/0", &file).unwrap();
    let link = read().await.unwrap_err();
    assert!(
        matches!(&link, SourceError::Link { name: at } if *at == name),
        "{link}"
    );
}

#[tokio::test]
async fn what_lies_among_chunks_and_is_none_is_refused_by_name() {
    type Put = fn(&Tree);
    let cases: [(Put, &str, &str); 4] = [
        (
            |tree| {
                let odd = OsStr::from_bytes(b"deep/x/c/0/\xff");
                fs::write(tree.path().join(odd), "v").unwrap();
            },
            "deep/x/c/0/\u{fffd}",
            "its name is not UTF-8",
        ),
        (
            |tree| {
                let hidden = OsStr::from_bytes(b"deep/x/.\xff");
                fs::create_dir(tree.path().join(hidden)).unwrap();
            },
            "deep/x/.\u{fffd}",
            "its name is not UTF-8",
        ),
        (
            |tree| drop(UnixListener::bind(tree.path().join("deep/x/c/0/1")).unwrap()),
            "deep/x/c/0/1",
            "it is not a regular file",
        ),
        (
            |tree| fs::create_dir_all(tree.path().join("deep/x/c/0/1")).unwrap(),
            "deep/x/c/0/1",
            "it is a directory where a chunk should be",
        ),
    ];
    for (put, name, problem) in cases {
        let tree = tree();
        put(&tree);
        let error = refused(tree.import(), &repository().await).await;
        let ImportError::Source(SourceError::NotAChunk {
            name: at,
            problem: why,
        }) = &error
        else {
            panic!("{error:?}");
        };
        assert!(at.ends_with(name), "{at}");
        assert_eq!(why, problem);
    }
}

#[tokio::test]
async fn a_link_in_the_place_of_a_directory_is_not_gone_into() {
    let tree = tree();
    let source = tree.source();
    let hierarchy = source.hierarchy().await.unwrap();
    let x = path("/deep/x");
    let array = hierarchy.nodes[&x].array().unwrap();
    fs::rename(tree.path().join("deep"), tree.path().join("other")).unwrap();
    symlink("other", tree.path().join("deep")).unwrap();
    let listed: Result<Vec<_>, _> = source.chunks(&x, array).try_collect().await;
    assert!(
        matches!(listed, Err(SourceError::Link { .. })),
        "{listed:?}"
    );
    let read = source.read_chunk(&x, array, &[1, 0], 5).await;
    assert!(matches!(read, Err(SourceError::Link { .. })), "{read:?}");
}

#[tokio::test]
async fn the_directory_is_the_one_that_was_opened() {
    let (first, second, ways) = (tree(), Tree::new(), Tree::new());
    second.json("zarr.json", &group(json!({"title": "second"})));
    let latest = ways.path().join("latest");
    symlink(first.path(), &latest).unwrap();
    let source = ZarrDirectory::open(&latest).unwrap();
    fs::remove_file(&latest).unwrap();
    symlink(second.path(), &latest).unwrap();
    let hierarchy = source.hierarchy().await.unwrap();
    assert!(hierarchy.nodes.contains_key(&path("/deep/x")));
    assert_eq!(source.to_string(), latest.display().to_string());
}

#[tokio::test]
async fn nodes_below_a_name_that_is_not_utf_8_are_not_left_out() {
    for below in ["", "a", "a/b"] {
        let tree = tree();
        let odd = tree
            .path()
            .join(OsStr::from_bytes(b"deep/\xff"))
            .join(below);
        fs::create_dir_all(&odd).unwrap();
        fs::write(odd.join("zarr.json"), "{}").unwrap();
        let error = refused(tree.import(), &repository().await).await;
        let ImportError::Source(SourceError::NodeName { name, .. }) = &error else {
            panic!("{error:?}");
        };
        let expected = format!("deep/\u{fffd}/{below}");
        assert!(name.ends_with(expected.trim_end_matches('/')), "{name}");
    }
}

#[tokio::test]
async fn numbers_that_json_lacks_become_texts() {
    let tree = Tree::new();
    let document = array(&[2], &[2], &["t"]).to_string();
    let document = document.replacen(
        '{',
        r#"{"attributes": {"missing_value": NaN, "range": [-Infinity, 1]},"#,
        1,
    );
    let root = r#"{"zarr_format": 3, "node_type": "group", "attributes": {"bound": Infinity}}"#;
    tree.file("zarr.json", root)
        .file("x/zarr.json", document)
        .file("x/c/0", [1; 2]);
    let hierarchy = tree.source().hierarchy().await.unwrap();
    let attributes = |at: &str| {
        let document = hierarchy.nodes[&path(at)].document();
        let document: serde_json::Value = serde_json::from_slice(document).unwrap();
        document["attributes"].clone()
    };
    assert_eq!(attributes("/"), json!({ "bound": "Infinity" }));
    let texts = json!({ "missing_value": "NaN", "range": ["-Infinity", 1] });
    assert_eq!(attributes("/x"), texts);
    assert_eq!(hierarchy.warnings.len(), 3, "{:?}", hierarchy.warnings);
    assert!(
        hierarchy
            .warnings
            .iter()
            .all(|it| it.contains("JSON lacks"))
    );
}
