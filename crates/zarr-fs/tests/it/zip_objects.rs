//! Zip files on a storage backend: the same as on the disk, by few requests.

use std::path::Path;
use std::sync::Arc;

use icefield_storage::wrap::CountingStorage;
use icefield_storage::{GetRange, Key, ObjectMeta, Payload, PutMode, PutOutcome, Storage};
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_fs::{Bytes, ReadTree, TreeError, ZipLayout, ZipLimits, ZipTree, ZipWriter};

use crate::world::{get, key, list, words, world};

async fn put(bytes: Vec<u8>) -> (CountingStorage, ObjectMeta) {
    let storage = CountingStorage::new(Arc::new(MemoryStorage::new()));
    let object = Key::parse("some/x.zip").unwrap();
    let put = storage.put(&object, Payload::from(bytes), PutMode::Overwrite.into());
    assert!(matches!(put.await, Ok(PutOutcome::Written(_))));
    let meta = storage.head(&object).await.unwrap();
    storage.reset();
    (storage, meta)
}

async fn open(bytes: Vec<u8>) -> (CountingStorage, ZipTree) {
    let (storage, meta) = put(bytes).await;
    let tree = ZipTree::builder("x.zip").open_on(Arc::new(storage.clone()), meta);
    let tree = tree.await.unwrap();
    (storage, tree)
}

#[tokio::test]
async fn files_of_other_programs_are_the_same_here_and_there() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    for name in [
        "netcdf-c-attrs.zip",
        "netcdf-c-chunks.zip",
        "netcdf-c-groups.zip",
        "zarr-python-v2.zip",
        "zarr-python-v3.zip",
        "zipped-nczarr-groups.zip",
    ] {
        let path = fixtures.join(name);
        let bytes = std::fs::read(&path).unwrap();
        let here = ZipTree::builder(&path)
            .last_entry_wins(true)
            .open()
            .unwrap();
        let (storage, meta) = put(bytes.clone()).await;
        let there = ZipTree::builder(&path).last_entry_wins(true);
        let there = there
            .open_on(Arc::new(storage.clone()), meta)
            .await
            .unwrap();
        assert_eq!(here.layout(), there.layout());
        let keys = list(&here, "").await;
        assert_eq!(keys, list(&there, "").await, "{name}");
        for name in keys {
            let value = get(&here, &name).await.unwrap();
            assert_eq!(get(&there, &name).await.unwrap(), value, "{name}");
            let half = GetRange::From(value.len() as u64 / 2);
            let part = there.get(&key(&name), half).await.unwrap().unwrap();
            assert_eq!(part, value[value.len() / 2..], "{name}");
            let place = here.stored(&key(&name)).await.unwrap();
            assert_eq!(there.stored(&key(&name)).await.unwrap(), place);
            if let Some(place) = place {
                assert_eq!(bytes[place.start as usize..place.end as usize], value);
            }
        }
    }
}

async fn many(count: u32, value: usize) -> Vec<u8> {
    let world = world();
    let path = world.outer.path().join("many.zip");
    let mut zip = ZipWriter::create(&path, ZipLayout::Flat).await.unwrap();
    zip.add(&key("zarr.json"), "{}".into()).await.unwrap();
    for number in 0..count {
        let bytes = Bytes::from(vec![number as u8; value]);
        zip.add(&key(&format!("a/c/{number}")), bytes)
            .await
            .unwrap();
    }
    zip.finish().await.unwrap();
    std::fs::read(path).unwrap()
}

#[tokio::test]
async fn a_value_takes_one_request_and_a_long_directory_one_more() {
    let (storage, tree) = open(many(10, 1000).await).await;
    assert_eq!(storage.reset().total.requests(), 1);
    assert_eq!(get(&tree, "a/c/7").await.unwrap(), vec![7; 1000]);
    assert_eq!(storage.reset().total.requests(), 1);
    tree.size(&key("a/c/7")).await.unwrap();
    assert_eq!(get(&tree, "a/c/70").await, None);
    assert_eq!(storage.reset().total.requests(), 0);

    let whole = many(5000, 100).await;
    let length = whole.len() as u64;
    let (storage, tree) = open(whole).await;
    let counts = storage.reset().total;
    assert_eq!(counts.requests(), 2);
    assert!(counts.bytes_read < length, "{counts:?} of {length}");
    assert_eq!(list(&tree, "").await.len(), 5001);
    assert_eq!(get(&tree, "a/c/4999").await.unwrap(), vec![135; 100]);
}

#[tokio::test]
async fn a_directory_beyond_the_limit_is_not_fetched() {
    let whole = many(5000, 1).await;
    let (storage, meta) = put(whole).await;
    let limits = ZipLimits::default().with_names(100_000);
    let tree = ZipTree::builder("x.zip").limits(limits);
    let refused = tree.open_on(Arc::new(storage.clone()), meta).await;
    let refused = words(&refused.unwrap_err());
    assert!(refused.contains("more than 100000 bytes"), "{refused}");
    assert!(storage.reset().total.bytes_read <= 100_000);
}

#[tokio::test]
async fn a_file_that_changes_is_an_error() {
    let (storage, tree) = open(many(3, 10).await).await;
    let object = Key::parse("some/x.zip").unwrap();
    let again = Payload::from(many(3, 11).await);
    let put = storage.put(&object, again, PutMode::Overwrite.into()).await;
    assert!(matches!(put, Ok(PutOutcome::Written(_))));
    let read = tree.get(&key("a/c/0"), GetRange::All).await;
    assert!(matches!(read, Err(TreeError::Storage { .. })), "{read:?}");
}
