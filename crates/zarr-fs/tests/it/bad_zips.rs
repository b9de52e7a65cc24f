//! Zip files that are refused, each with the broken rule. Made by hand: no program writes such files.

use flate2::{Compression, write::DeflateEncoder};
use icefield_storage::{Key, Payload, PutMode, PutOutcome, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_fs::{GetRange, ReadTree, TreeError, ZipError, ZipLimits, ZipTree};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use crate::world::{World, get, key, list, words, world};

/// One entry, as its headers have it.
#[derive(Clone)]
struct Raw {
    name: Vec<u8>,
    local_name: Option<Vec<u8>>,
    flags: u16,
    method: u16,
    crc: u32,
    size: u32,
    data: Vec<u8>,
    mode: u32,
    /// Where the directory says that it begins, if not where it does.
    offset: Option<u32>,
}

fn stored(name: &str, data: &str) -> Raw {
    Raw {
        name: name.into(),
        local_name: None,
        flags: 0,
        method: 0,
        crc: rawzip::crc32(data.as_bytes()),
        size: data.len() as u32,
        data: data.into(),
        mode: 0,
        offset: None,
    }
}

fn deflated(name: &str, data: &[u8]) -> Raw {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(data).unwrap();
    Raw {
        method: 8,
        crc: rawzip::crc32(data),
        size: data.len() as u32,
        data: encoder.finish().unwrap(),
        ..stored(name, "")
    }
}

fn zip(entries: &[Raw]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let offset = entry.offset.unwrap_or(file.len() as u32);
        let fixed = |out: &mut Vec<u8>, name: &[u8]| {
            out.extend(entry.flags.to_le_bytes());
            out.extend(entry.method.to_le_bytes());
            out.extend([0; 4]);
            out.extend(entry.crc.to_le_bytes());
            out.extend((entry.data.len() as u32).to_le_bytes());
            out.extend(entry.size.to_le_bytes());
            out.extend((name.len() as u16).to_le_bytes());
            out.extend([0; 2]);
        };
        let local = entry.local_name.as_ref().unwrap_or(&entry.name);
        file.extend(b"PK\x03\x04\x14\0");
        fixed(&mut file, local);
        file.extend(local);
        file.extend(&entry.data);
        directory.extend(b"PK\x01\x02\x14\x03\x14\0");
        fixed(&mut directory, &entry.name);
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&entry.name);
    }
    let (count, start) = (entries.len() as u16, file.len() as u32);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0; 2]);
    file
}

/// Opens a file on the disk, and the same on a storage backend, which must say the same.
async fn open(world: &World, bytes: &[u8]) -> Result<ZipTree, TreeError> {
    let path = world.outer.path().join("bad.zip");
    std::fs::write(&path, bytes).unwrap();
    let there = on_storage(&path, bytes).await;
    let here = ZipTree::open(path);
    match (&here, &there) {
        (Ok(here), Ok(there)) => assert_eq!(list(here, "").await, list(there, "").await),
        (Err(here), Err(there)) => assert_eq!(words(here), words(there)),
        (here, there) => panic!("{here:?} {there:?}"),
    }
    here
}

async fn on_storage(path: &Path, bytes: &[u8]) -> Result<ZipTree, TreeError> {
    let storage = Arc::new(MemoryStorage::new());
    let object = Key::parse("some/bad.zip").unwrap();
    let payload = Payload::from(bytes.to_vec());
    let put = storage.put(&object, payload, PutMode::Create.into()).await;
    assert!(matches!(put, Ok(PutOutcome::Written(_))), "{put:?}");
    let meta = storage.head(&object).await.unwrap();
    ZipTree::builder(path).open_on(storage, meta).await
}

async fn refusal(bytes: &[u8]) -> ZipError {
    match open(&world(), bytes).await {
        Err(TreeError::Zip { source, .. }) => source,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_is_made_here_is_good_where_it_should_be() {
    let world = world();
    let bytes = zip(&[
        stored("a", "stored"),
        deflated("b", b"deflated"),
        stored("d/", ""),
    ]);
    let tree = open(&world, &bytes).await.unwrap();
    assert_eq!(get(&tree, "a").await.as_deref(), Some(&b"stored"[..]));
    assert_eq!(get(&tree, "b").await.as_deref(), Some(&b"deflated"[..]));
    assert_eq!(list(&tree, "").await, ["a", "b"]);
    // Something before it, as self-extracting files have.
    let mut behind = b"#!/bin/sh\n".to_vec();
    behind.extend(zip(&[stored("a", "stored")]));
    let tree = open(&world, &behind).await.unwrap();
    assert_eq!(get(&tree, "a").await.as_deref(), Some(&b"stored"[..]));
}

#[tokio::test]
async fn bad_zip_files_are_refused_with_the_broken_rule() {
    let ok = stored("ok", "fine");
    let raw = |name: &[u8]| Raw {
        name: name.into(),
        ..stored("", "v")
    };
    let with = |entries: &[Raw]| zip(&[std::slice::from_ref(&ok), entries].concat());
    let table: Vec<(Vec<u8>, &str)> = vec![
        (b"no zip file".to_vec(), "no zip file, or damaged"),
        (Vec::new(), "no zip file, or damaged"),
        (with(&[stored("../x", "v")]), "walk the directory tree"),
        (with(&[stored("a/../../x", "v")]), "walk the directory tree"),
        (with(&[stored("../", "")]), "walk the directory tree"),
        (with(&[stored("/etc/passwd", "v")]), "empty segment"),
        (with(&[stored("a//b", "v")]), "empty segment"),
        (with(&[stored("", "v")]), "must not be empty"),
        (with(&[stored("a\0b", "v")]), "NUL"),
        (with(&[stored("a\\b", "v")]), "backslash"),
        (with(&[stored("c:\\x", "v")]), "backslash"),
        (with(&[raw(b"\xff\xfe")]), "not UTF-8"),
        (with(&[stored("ok", "again")]), "twice"),
        (with(&[stored("OK", "other")]), "differ in case alone"),
        (
            with(&[stored("Ż", "1"), stored("ż", "2")]),
            "differ in case alone",
        ),
        (with(&[stored("ok/x", "v")]), "below the entry \"ok\""),
        (
            with(&[Raw {
                flags: 1,
                ..stored("e", "v")
            }]),
            "encrypted",
        ),
        (
            with(&[Raw {
                flags: 1 << 6,
                ..stored("e", "v")
            }]),
            "encrypted",
        ),
        (
            with(&[Raw {
                flags: 1 << 13,
                ..stored("e", "v")
            }]),
            "encrypted",
        ),
        (
            with(&[Raw {
                method: 12,
                ..stored("m", "v")
            }]),
            "method 12",
        ),
        (
            with(&[Raw {
                method: 99,
                ..stored("m", "v")
            }]),
            "method 99",
        ),
        (
            with(&[Raw {
                mode: 0o120_777,
                ..stored("l", "ok")
            }]),
            "symbolic link",
        ),
        (
            with(&[Raw {
                mode: 0o010_644,
                ..stored("f", "")
            }]),
            "special file",
        ),
        (with(&[stored("d/", "content")]), "special file"),
        (
            with(&[Raw {
                size: 9,
                ..stored("s", "v")
            }]),
            "stored as it is",
        ),
        (
            with(&[Raw {
                offset: Some(0),
                ..stored("o", "fine")
            }]),
            "overlap",
        ),
        (
            with(&[Raw {
                offset: Some(10),
                ..stored("o", "v")
            }]),
            "overlap",
        ),
        (
            with(&[Raw {
                offset: Some(9_999),
                ..stored("o", "v")
            }]),
            "central directory",
        ),
        (
            with(&[Raw {
                size: 1 << 31,
                ..deflated("bomb", &[0; 5000])
            }]),
            "grows from",
        ),
        (
            with(&[Raw {
                size: u32::MAX - 1,
                ..deflated("bomb", &[0; 5000])
            }]),
            "more than 2147483648",
        ),
    ];
    for (bytes, words_of_it) in table {
        let refused = words(&refusal(&bytes).await);
        assert!(
            refused.contains(words_of_it),
            "{refused} does not say {words_of_it:?}"
        );
    }
}

#[tokio::test]
async fn truncated_files_and_wrong_counts_are_refused() {
    let whole = zip(&[stored("a", "one"), stored("b", "two")]);
    for length in 0..whole.len() {
        let refused = refusal(&whole[..length]).await;
        assert!(
            matches!(refused, ZipError::Damaged { .. }),
            "{length}: {refused}"
        );
    }
    let mut counts = whole.clone();
    let at = whole.len() - 22 + 8;
    counts[at] = 9;
    counts[at + 2] = 9;
    assert!(words(&refusal(&counts).await).contains("9 entries"));
}

#[tokio::test]
async fn entries_that_lie_are_found_out_when_they_are_read() {
    let table = [
        (
            Raw {
                crc: 1,
                ..stored("v", "value")
            },
            "checksum",
        ),
        (
            Raw {
                crc: 1,
                ..deflated("v", b"value")
            },
            "checksum",
        ),
        (
            Raw {
                size: 4,
                ..deflated("v", b"value")
            },
            "another length",
        ),
        (
            Raw {
                size: 6,
                ..deflated("v", b"value")
            },
            "another length",
        ),
        (
            Raw {
                method: 8,
                ..stored("v", "\u{7f}\u{7f}\u{7f}")
            },
            "damaged",
        ),
        (
            Raw {
                local_name: Some(b"w".to_vec()),
                ..stored("v", "value")
            },
            "another name",
        ),
    ];
    for (entry, words_of_it) in table {
        let world = world();
        let bytes = zip(&[entry]);
        let tree = open(&world, &bytes).await.unwrap();
        let read = tree.get(&key("v"), GetRange::All).await;
        let refused = words(&read.unwrap_err());
        let there = on_storage(tree.path(), &bytes).await.unwrap();
        let read = there.get(&key("v"), GetRange::All).await;
        assert_eq!(words(&read.unwrap_err()), refused);
        assert!(
            refused.contains(words_of_it),
            "{refused} does not say {words_of_it:?}"
        );
    }
}

#[tokio::test]
async fn an_entry_whose_own_header_pushes_its_data_into_the_next_is_refused() {
    let world = world();
    let mut bytes = zip(&[stored("v", "value"), stored("w", "next")]);
    // The length of the extra field in the first local header.
    bytes[28] = 4;
    let tree = open(&world, &bytes).await.unwrap();
    let refused = tree.get(&key("v"), GetRange::All).await.unwrap_err();
    assert!(
        words(&refused).contains("reaches into"),
        "{}",
        words(&refused)
    );
    let there = on_storage(tree.path(), &bytes).await.unwrap();
    let read = there.get(&key("v"), GetRange::All).await.unwrap_err();
    assert_eq!(words(&read), words(&refused));
    assert!(there.stored(&key("v")).await.is_err());
    assert!(tree.stored(&key("v")).await.is_err());
    assert_eq!(get(&tree, "w").await.as_deref(), Some(&b"next"[..]));
}

#[tokio::test]
async fn the_last_of_several_entries_counts_when_that_is_asked_for() {
    let world = world();
    let bytes = zip(&[
        stored("a", "old"),
        stored("b", "other"),
        stored("a", "newer"),
    ]);
    assert!(matches!(refusal(&bytes).await, ZipError::Duplicate { name } if name == "a"));
    let path = world.outer.path().join("twice.zip");
    std::fs::write(&path, bytes).unwrap();
    let tree = ZipTree::builder(path).last_entry_wins(true).open().unwrap();
    assert_eq!(get(&tree, "a").await.as_deref(), Some(&b"newer"[..]));
    assert_eq!(list(&tree, "").await, ["a", "b"]);
}

#[test]
fn limits_can_be_set() {
    let world = world();
    let zeros = vec![0; 2 << 20];
    let path = world.outer.path().join("t.zip");
    let bytes = zip(&[deflated("zeros", &zeros), stored("name", "v")]);
    std::fs::write(&path, bytes).unwrap();
    let with = |limits| ZipTree::builder(&path).limits(limits).open();
    // Deflate can do no better: not a bomb by itself.
    with(ZipLimits::default()).unwrap();
    for (limits, words_of_it) in [
        (ZipLimits::default().with_ratio(100), "more than 100 times"),
        (
            ZipLimits::default().with_entry_size(1 << 20),
            "more than 1048576",
        ),
        (ZipLimits::default().with_entries(1), "more than 1 entries"),
        (ZipLimits::default().with_names(6), "more than 6 bytes"),
    ] {
        let refused = words(&with(limits).unwrap_err());
        assert!(refused.contains(words_of_it), "{refused}");
    }
}
