//! NCZarr's keys and values, the same on every tree.

use std::sync::Arc;

use icefield_storage::Prefix;
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_fs::{
    Bytes, DirectoryTree, ReadTree, StorageTree, TreeKey, TreePrefix, WriteTree, ZMap, ZMapError,
    ZipLayout, ZipTree, ZipWriter,
};

/// The example of a search in the documentation of NCZarr, and an object of no bytes.
const OBJECTS: [(&str, &str); 5] = [
    ("/.zgroup", "{}"),
    ("/a/.zarray", "{\"a\"}"),
    ("/a/0.0", "0123456789"),
    ("/b/c/0", "x"),
    ("/b/c/1", ""),
];

fn directory(folder: &tempfile::TempDir) -> Arc<dyn WriteTree> {
    Arc::new(DirectoryTree::open(folder.path().join("data")).unwrap())
}

fn memory() -> Arc<dyn WriteTree> {
    let prefix = Prefix::parse("some/data").unwrap();
    Arc::new(StorageTree::new(Arc::new(MemoryStorage::new()), prefix))
}

async fn zip(folder: &tempfile::TempDir, layout: ZipLayout) -> Arc<dyn ReadTree> {
    let path = folder.path().join("data.zip");
    let mut writer = ZipWriter::create(&path, layout).await.unwrap();
    for (key, value) in OBJECTS {
        let key = TreeKey::parse(&key[1..]).unwrap();
        writer.add(&key, value.into()).await.unwrap();
    }
    writer.finish().await.unwrap();
    Arc::new(ZipTree::open(path).unwrap())
}

async fn filled(tree: Arc<dyn WriteTree>) -> ZMap {
    let map = ZMap::create(tree).await.unwrap();
    for (key, value) in OBJECTS {
        map.write(key, value.into()).await.unwrap();
    }
    map
}

/// Checks all that can be read of [`OBJECTS`].
async fn reads(map: &ZMap) {
    let number = |error: ZMapError| error.number();
    for (key, value) in OBJECTS {
        assert!(map.exists(key).await.unwrap(), "{map} {key}");
        assert_eq!(map.len(key).await.unwrap(), value.len() as u64);
        assert_eq!(map.read_all(key).await.unwrap(), value);
    }
    assert_eq!(map.read("/a/0.0", 2, 3).await.unwrap(), "234");
    assert_eq!(map.read("/a/0.0", 0, 10).await.unwrap(), "0123456789");
    assert_eq!(map.read("/a/0.0", 10, 0).await.unwrap(), "");
    assert_eq!(map.read("/b/c/1", 0, 0).await.unwrap(), "");
    for (start, count) in [(8, 3), (11, 0), (u64::MAX, 1)] {
        let error = map.read("/a/0.0", start, count).await.unwrap_err();
        assert_eq!(number(error), -57, "{map} {start} {count}");
    }

    for (path, names) in [
        ("/", &[".zgroup", "a", "b"][..]),
        ("/a", &[".zarray", "0.0"]),
        ("/b", &["c"]),
        ("/b/c", &["0", "1"]),
        ("/b/c/0", &[]),
        ("/c", &[]),
        ("/a/0", &[]),
    ] {
        assert_eq!(map.search(path).await.unwrap(), names, "{map} {path}");
    }

    // Directories, and what is not there at all.
    for (key, below) in [
        ("/", Some("/.zgroup")),
        ("/a", Some("/a/.zarray")),
        ("/b", Some("/b/c/0")),
        ("/c", None),
        ("/a/0", None),
        ("/b/c/0/d", None),
    ] {
        assert!(!map.exists(key).await.unwrap(), "{map} {key}");
        let error = map.len(key).await.unwrap_err();
        assert!(
            matches!(&error, ZMapError::Empty { below: found, .. } if found.as_deref() == below),
            "{map} {key}: {error}"
        );
        assert_eq!(number(error), -139);
        assert_eq!(number(map.read(key, 0, 0).await.unwrap_err()), -139);
        assert_eq!(number(map.read_all(key).await.unwrap_err()), -139);
    }

    for key in [
        "", "a", "a/0.0", "/a/", "//", "/a//b", "/a/\n", "/a/../b", "/a\0",
    ] {
        assert_eq!(number(map.exists(key).await.unwrap_err()), -137, "{key:?}");
        assert_eq!(number(map.len(key).await.unwrap_err()), -137, "{key:?}");
        assert_eq!(number(map.search(key).await.unwrap_err()), -137, "{key:?}");
    }
}

/// Checks all that can be written on [`OBJECTS`].
async fn writes(tree: Arc<dyn WriteTree>) {
    let map = filled(Arc::clone(&tree)).await;
    reads(&map).await;
    // A whole value in place of another.
    map.write("/a/0.0", "new".into()).await.unwrap();
    assert_eq!(map.read_all("/a/0.0").await.unwrap(), "new");
    map.write("/a/0.0", "0123456789".into()).await.unwrap();
    // No key with content above another, by whole segments.
    for (key, other) in [
        ("/a", "/a/.zarray"),
        ("/b", "/b/c/0"),
        ("/b/c/0/d", "/b/c/0"),
        ("/b/c/0/d/e/f", "/b/c/0"),
    ] {
        let error = map.write(key, "x".into()).await.unwrap_err();
        assert!(
            matches!(&error, ZMapError::Exists { existing, .. } if existing == other),
            "{map} {key}: {error}"
        );
        assert_eq!(error.number(), -140);
    }
    map.write("/b/c/00", "x".into()).await.unwrap();
    for key in ["/", "b", "/b/"] {
        let error = map.write(key, "x".into()).await.unwrap_err();
        assert_eq!(error.number(), -137, "{key}");
    }

    // A map that is there is opened, not made anew; unless that is asked for.
    let error = ZMap::create(Arc::clone(&tree)).await.unwrap_err();
    assert_eq!(error.number(), -140, "{error}");
    let again = ZMap::open_for_writing(Arc::clone(&tree)).await.unwrap();
    again.close(false).await.unwrap();
    assert!(map.exists("/a/0.0").await.unwrap());
    let anew = ZMap::create_anew(Arc::clone(&tree)).await.unwrap();
    assert_eq!(anew.search("/").await.unwrap(), [""; 0]);

    // Nothing there; nothing of Zarr; and what was deleted.
    let error = ZMap::open_for_writing(Arc::clone(&tree)).await.unwrap_err();
    assert_eq!(error.number(), -141, "{error}");
    anew.write("/some/text", "x".into()).await.unwrap();
    let error = ZMap::open(Arc::<dyn WriteTree>::clone(&tree))
        .await
        .unwrap_err();
    assert_eq!(error.number(), -51, "{error}");
    anew.write("/some/.nczarr", Bytes::from_static(b"{}"))
        .await
        .unwrap();
    let read = ZMap::open(Arc::<dyn WriteTree>::clone(&tree))
        .await
        .unwrap();
    for error in [
        read.write("/x", "x".into()).await.unwrap_err(),
        read.truncate().await.unwrap_err(),
        read.clone().close(true).await.unwrap_err(),
    ] {
        assert_eq!(error.number(), -37, "{error}");
    }
    read.close(false).await.unwrap();
    anew.close(true).await.unwrap();
    let error = ZMap::open(Arc::<dyn WriteTree>::clone(&tree))
        .await
        .unwrap_err();
    assert_eq!(error.number(), -141, "{error}");
}

#[tokio::test]
async fn a_directory_is_a_map() {
    let folder = tempfile::tempdir().unwrap();
    writes(directory(&folder)).await;
}

#[tokio::test]
async fn a_prefix_of_a_backend_is_a_map() {
    writes(memory()).await;
}

#[tokio::test]
async fn a_zip_file_is_a_map_to_read() {
    for top in [None, Some("data")] {
        let folder = tempfile::tempdir().unwrap();
        let layout = match top {
            None => ZipLayout::Flat,
            Some(name) => ZipLayout::TopFolder(TreePrefix::all().join(name).unwrap()),
        };
        let map = ZMap::open(zip(&folder, layout).await).await.unwrap();
        reads(&map).await;
        let error = map.write("/x", "x".into()).await.unwrap_err();
        assert_eq!(error.number(), -37, "{error}");
    }
}

#[tokio::test]
async fn a_value_above_others_is_listed_once() {
    // Only a bucket can have both; another program wrote them.
    let tree = memory();
    for key in ["a", "a/b"] {
        let key = TreeKey::parse(key).unwrap();
        tree.set(&key, "x".into()).await.unwrap();
    }
    let map = ZMap::create(Arc::clone(&tree)).await;
    assert_eq!(map.unwrap_err().number(), -140);
    tree.set(&TreeKey::parse(".zgroup").unwrap(), "{}".into())
        .await
        .unwrap();
    let map = ZMap::open(tree).await.unwrap();
    assert_eq!(map.search("/").await.unwrap(), [".zgroup", "a"]);
    assert_eq!(map.search("/a").await.unwrap(), ["b"]);
    assert!(map.exists("/a").await.unwrap());
}

#[tokio::test]
async fn messages_say_what_to_do() {
    let map = filled(memory()).await;
    let mut messages = Vec::new();
    for key in ["/a", "/c"] {
        messages.push(map.len(key).await.unwrap_err().to_string());
    }
    messages.push(map.write("/a", "x".into()).await.unwrap_err().to_string());
    messages.push(map.len("a").await.unwrap_err().to_string());
    let parts = [
        "has no content of its own: it is a directory that holds /a/.zarray",
        "has no content: nothing is there",
        "choose another name",
        "\"a\" is no key of NCZarr: write a slash before it",
    ];
    for (message, part) in messages.iter().zip(parts) {
        assert!(message.contains(part), "{message}");
    }
}
