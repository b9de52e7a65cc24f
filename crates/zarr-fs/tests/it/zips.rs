//! Zip files written by us.

use futures::StreamExt;
use futures::stream;
use icefield_zarr_fs::{Bytes, GetRange, ReadTree, TreeError, ZipError, ZipLayout, ZipTree};
use icefield_zarr_fs::{TEMPORARY, ZipWriter};

use crate::world::{dir, get, key, list, names, prefix, words, world};

#[tokio::test]
async fn values_come_back_in_order_and_in_ranges() {
    let world = world();
    let path = world.outer.path().join("t.zip");
    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    for (name, value) in [
        ("zarr.json", "{}"),
        ("b/c/0", "chunk"),
        ("a", ""),
        ("żółw/x y", "v"),
    ] {
        zip.add(&key(name), value.into()).await.unwrap();
    }
    zip.finish().await.unwrap();
    let tree = ZipTree::open(&path).unwrap();
    assert_eq!(
        list(&tree, "").await,
        ["a", "b/c/0", "zarr.json", "żółw/x y"]
    );
    let (keys, prefixes) = dir(&tree, "").await;
    assert_eq!(keys, ["a", "zarr.json"]);
    assert_eq!(prefixes, ["b/", "żółw/"]);
    assert_eq!(get(&tree, "a").await.as_deref(), Some(&b""[..]));
    assert_eq!(get(&tree, "b").await, None);
    assert_eq!(get(&tree, "b/c").await, None);
    let part = tree
        .get(&key("b/c/0"), GetRange::Bounded(1..3))
        .await
        .unwrap();
    assert_eq!(part.as_deref(), Some(&b"hu"[..]));
}

#[tokio::test]
async fn streamed_values_have_any_length() {
    let world = world();
    let path = world.outer.path().join("t.zip");
    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    let parts = |count: usize| {
        let part = Bytes::from(vec![7; 100_000]);
        stream::iter((0..count).map(move |_| Ok(part.clone()))).boxed()
    };
    zip.add_stream(&key("large"), parts(50)).await.unwrap();
    zip.add_stream(&key("none"), parts(0)).await.unwrap();
    zip.finish().await.unwrap();
    let tree = ZipTree::open(&path).unwrap();
    assert_eq!(tree.size(&key("large")).await.unwrap(), Some(5_000_000));
    assert_eq!(get(&tree, "large").await.unwrap().len(), 5_000_000);
    assert_eq!(get(&tree, "none").await.as_deref(), Some(&b""[..]));
}

#[tokio::test]
async fn more_entries_than_fit_without_zip64() {
    let world = world();
    let path = world.outer.path().join("t.zip");
    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    for at in 0..66_000 {
        zip.add(&key(&format!("c/{at}")), "v".into()).await.unwrap();
    }
    zip.finish().await.unwrap();
    let tree = ZipTree::open(&path).unwrap();
    assert_eq!(list(&tree, "").await.len(), 66_000);
    assert_eq!(get(&tree, "c/65999").await.as_deref(), Some(&b"v"[..]));
}

#[tokio::test]
#[ignore = "writes more than 4 GiB; run by `cargo xtask test`, stage `large`"]
async fn an_entry_and_a_file_of_more_than_4_gib() {
    let world = world();
    let path = world.outer.path().join("t.zip");
    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    let part = Bytes::from(vec![0; 1 << 24]);
    let parts = stream::iter((0..257).map(move |_| Ok(part.clone())));
    zip.add_stream(&key("large"), parts.boxed()).await.unwrap();
    zip.add(&key("after"), "small".into()).await.unwrap();
    zip.finish().await.unwrap();
    let tree = ZipTree::open(&path).unwrap();
    assert_eq!(tree.size(&key("large")).await.unwrap(), Some(257 << 24));
    assert_eq!(get(&tree, "after").await.as_deref(), Some(&b"small"[..]));
    let end = tree.get(&key("large"), GetRange::Suffix(3)).await.unwrap();
    assert_eq!(end.as_deref(), Some(&[0, 0, 0][..]));
}

#[tokio::test]
async fn a_file_with_a_top_folder_has_entries_for_its_folders() {
    let world = world();
    let path = world.outer.path().join("t.zip");
    let layout = ZipLayout::TopFolder(prefix("name/"));
    let mut zip = ZipWriter::create(&path, layout.clone()).await.unwrap();
    for name in [".zgroup", "g/.zgroup", "g/v/.zarray", "g/v/0"] {
        zip.add(&key(name), "{}".into()).await.unwrap();
    }
    zip.finish().await.unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let archive = rawzip::ZipArchive::from_slice(&bytes).unwrap();
    let mut entries = archive.entries();
    let mut written = Vec::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        let name = entry.file_path();
        written.push(String::from_utf8(name.as_bytes().to_vec()).unwrap());
    }
    let expected = [
        "name/",
        "name/.zgroup",
        "name/g/",
        "name/g/.zgroup",
        "name/g/v/",
        "name/g/v/.zarray",
        "name/g/v/0",
    ];
    assert_eq!(written, expected);
    let tree = ZipTree::open(&path).unwrap();
    assert_eq!(tree.layout(), &layout);
    assert_eq!(
        list(&tree, "").await,
        [".zgroup", "g/.zgroup", "g/v/.zarray", "g/v/0"]
    );
}

#[tokio::test]
async fn what_is_there_stays_until_the_new_file_is_complete() {
    let world = world();
    let path = world.outer.path().join("t.zip");
    std::fs::write(&path, "old").unwrap();
    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    zip.add(&key("a"), "v".into()).await.unwrap();
    let beside = names(world.outer.path());
    assert!(
        beside.iter().any(|name| name.starts_with(TEMPORARY)),
        "{beside:?}"
    );
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    drop(zip);
    assert_eq!(names(world.outer.path()), ["base", "t.zip"]);

    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    let twice = {
        zip.add(&key("a"), "v".into()).await.unwrap();
        zip.add(&key("a"), "w".into()).await.unwrap_err()
    };
    assert!(
        words(&twice).contains("written already"),
        "{}",
        words(&twice)
    );
    let backslash = zip.add(&key("a\\b"), "w".into()).await.unwrap_err();
    assert!(matches!(
        backslash,
        TreeError::Zip {
            source: ZipError::Backslash { .. },
            ..
        }
    ));
    // Neither harms what is there; a value that breaks off does.
    zip.add(&key("b"), "v".into()).await.unwrap();
    let lost = || TreeError::Lost {
        action: "read",
        name: "x".to_owned(),
    };
    let broken = stream::iter([Ok(Bytes::from("half")), Err(lost())]).boxed();
    let refused = zip.add_stream(&key("c"), broken).await.unwrap_err();
    assert!(matches!(refused, TreeError::Lost { .. }), "{refused}");
    let refused = zip.finish().await.unwrap_err();
    assert!(matches!(
        refused,
        TreeError::Zip {
            source: ZipError::Broken,
            ..
        }
    ));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(names(world.outer.path()), ["base", "t.zip"]);
}

#[tokio::test]
async fn the_same_values_make_the_same_file() {
    let world = world();
    let mut files = Vec::new();
    for name in ["1.zip", "2.zip"] {
        let path = world.outer.path().join(name);
        let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
        zip.add(&key("a/b"), "v".into()).await.unwrap();
        zip.finish().await.unwrap();
        files.push(std::fs::read(path).unwrap());
    }
    assert_eq!(files[0], files[1]);
}
