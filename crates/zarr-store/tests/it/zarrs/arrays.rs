//! Arrays of `zarrs` on sessions: what one session writes, another one reads after the commit.

use std::time::Duration;

use futures::TryStreamExt;
use icefield_core::SessionError;
use icefield_storage::wrap::LatencyStorage;
use icefield_zarr_store::{BlockingError, ZarrStoreError};
use zarrs::array::Array;
use zarrs_storage::{
    ListableStorageTraits, ReadableStorageTraits, StorageError, StoreKey, StorePrefix,
    WritableStorageTraits, discover_children,
};

use super::*;

const ZSTD: &str = r#"[{"name": "bytes", "configuration": {"endian": "little"}},
    {"name": "zstd", "configuration": {"level": 3, "checksum": false}}]"#;

const SHARDED: &str = r#"[{"name": "sharding_indexed", "configuration": {
    "chunk_shape": [2, 2],
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}},
        {"name": "zstd", "configuration": {"level": 3, "checksum": false}}],
    "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]}}]"#;

/// Eight by six numbers in chunks of four by four, spelt and encoded in every way.
fn arrays() -> Vec<(String, String)> {
    let mut arrays = vec![];
    for (number, encoding) in [
        r#"{"name": "default", "configuration": {"separator": "/"}}"#,
        r#"{"name": "default", "configuration": {"separator": "."}}"#,
        r#"{"name": "v2", "configuration": {"separator": "/"}}"#,
        r#"{"name": "v2", "configuration": {"separator": "."}}"#,
    ]
    .into_iter()
    .enumerate()
    {
        for (name, codecs) in [("zstd", ZSTD), ("sharded", SHARDED)] {
            let document = format!(
                r#"{{"zarr_format": 3, "node_type": "array", "shape": [8, 6], "data_type": "float32",
                    "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [4, 4]}}}},
                    "chunk_key_encoding": {encoding}, "fill_value": -1.0, "codecs": {codecs}}}"#
            );
            arrays.push((format!("/{name}/c/a{number}"), document));
        }
    }
    arrays
}

fn create(store: &Arc<ZarrStore>, path: &str, document: &str) -> Array<ZarrStore> {
    let metadata = serde_json::from_str(document).unwrap();
    Array::new_with_metadata(Arc::clone(store), path, metadata).unwrap()
}

fn numbers() -> Vec<f32> {
    (0..48_u8).map(f32::from).collect()
}

/// The contents of a session after the writes below: all but chunk 1, 0, and one number changed.
fn expected() -> Vec<f32> {
    let mut expected = numbers();
    for row in 4..8 {
        expected[row * 6..row * 6 + 4].fill(-1.0);
    }
    expected[1] = 1000.0;
    expected
}

#[test]
fn sync_arrays_survive_the_commit() {
    let runtime = runtime();
    let repository = runtime.block_on(repository());
    let blocking =
        |session| Arc::new(ZarrStore::new(session).with_runtime(runtime.handle().clone()));
    let store = blocking(runtime.block_on(writable(&repository)));
    for (path, document) in arrays() {
        let array = create(&store, &path, &document);
        array.store_metadata().unwrap();
        array
            .store_array_subset(&[0..8, 0..6], &numbers()[..])
            .unwrap();
        array
            .store_array_subset(&[0..1, 1..2], &[1000.0_f32][..])
            .unwrap();
        array.erase_chunk(&[1, 0]).unwrap();
        let read: Vec<f32> = array.retrieve_array_subset(&array.subset_all()).unwrap();
        assert_eq!(read, expected(), "{path}");
    }
    runtime.block_on(commit(&store));

    let store = blocking(runtime.block_on(reopened(&repository)));
    for (path, _) in arrays() {
        let array = Array::open(Arc::clone(&store), &path).unwrap();
        let read: Vec<f32> = array.retrieve_array_subset(&array.subset_all()).unwrap();
        assert_eq!(read, expected(), "{path}");
        let read: Vec<f32> = array.retrieve_array_subset(&[0..2, 1..3]).unwrap();
        assert_eq!(read, [1000.0, 2.0, 7.0, 8.0], "{path}");
        let refused = array.store_chunk(&[0, 0], &[0.0_f32; 16][..]);
        assert!(refused.unwrap_err().to_string().contains("read only"));
    }
}

#[tokio::test]
async fn async_arrays_survive_the_commit() {
    let repository = repository().await;
    let store = Arc::new(ZarrStore::new(writable(&repository).await));
    for (path, document) in arrays() {
        let array = create(&store, &path, &document);
        array.async_store_metadata().await.unwrap();
        array
            .async_store_array_subset(&[0..8, 0..6], &numbers()[..])
            .await
            .unwrap();
        array
            .async_store_array_subset(&[0..1, 1..2], &[1000.0_f32][..])
            .await
            .unwrap();
        array.async_erase_chunk(&[1, 0]).await.unwrap();
        let read: Vec<f32> = array
            .async_retrieve_array_subset(&array.subset_all())
            .await
            .unwrap();
        assert_eq!(read, expected(), "{path}");
    }
    commit(&store).await;

    let store = Arc::new(ZarrStore::new(reopened(&repository).await));
    for (path, _) in arrays() {
        let array = Array::async_open(Arc::clone(&store), &path).await.unwrap();
        let read: Vec<f32> = array
            .async_retrieve_array_subset(&array.subset_all())
            .await
            .unwrap();
        assert_eq!(read, expected(), "{path}");
        let read: Vec<f32> = array
            .async_retrieve_array_subset(&[0..2, 1..3])
            .await
            .unwrap();
        assert_eq!(read, [1000.0, 2.0, 7.0, 8.0], "{path}");
    }
    let keys: Vec<String> = ZarrStore::list_prefix(&store, "zstd/")
        .try_collect()
        .await
        .unwrap();
    assert_eq!(
        keys,
        [
            "zstd/c/a0/c/0/0",
            "zstd/c/a0/c/0/1",
            "zstd/c/a0/c/1/1",
            "zstd/c/a0/zarr.json",
            "zstd/c/a1/c.0.0",
            "zstd/c/a1/c.0.1",
            "zstd/c/a1/c.1.1",
            "zstd/c/a1/zarr.json",
            "zstd/c/a2/0/0",
            "zstd/c/a2/0/1",
            "zstd/c/a2/1/1",
            "zstd/c/a2/zarr.json",
            "zstd/c/a3/0.0",
            "zstd/c/a3/0.1",
            "zstd/c/a3/1.1",
            "zstd/c/a3/zarr.json",
        ]
    );
}

#[test]
fn sync_reads_of_local_data_need_no_runtime_and_writes_do() {
    let runtime = runtime();
    let repository = runtime.block_on(repository());
    let store = runtime.block_on(async {
        let store = ZarrStore::new(writable(&repository).await);
        let (path, document) = &arrays()[0];
        let array = create(&Arc::new(store.clone()), path, document);
        array.async_store_metadata().await.unwrap();
        array
            .async_store_array_subset(&[0..8, 0..6], &numbers()[..])
            .await
            .unwrap();
        commit(&store).await;
        Arc::new(ZarrStore::new(reopened(&repository).await))
    });
    drop(runtime);
    let array = Array::open(Arc::clone(&store), &arrays()[0].0).unwrap();
    let read: Vec<f32> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    assert_eq!(read, numbers());
    let key = StoreKey::new("zstd/c/a0/c/0/0").unwrap();
    let refused = WritableStorageTraits::erase(&*store, &key).unwrap_err();
    assert_eq!(refused.to_string(), BlockingError::NoRuntime.to_string());
}

#[test]
fn sync_reads_of_data_far_away_go_through_the_runtime() {
    let runtime = runtime();
    let near = MemoryStorage::new();
    let (path, document) = &arrays()[1];
    let store = runtime.block_on(async {
        let repository = Repository::create(Arc::new(near.clone())).await.unwrap();
        let store = Arc::new(ZarrStore::new(writable(&repository).await));
        let array = create(&store, path, document);
        array.async_store_metadata().await.unwrap();
        array
            .async_store_array_subset(&[0..8, 0..6], &numbers()[..])
            .await
            .unwrap();
        commit(&store).await;
        let far = LatencyStorage::new(Arc::new(near), Duration::ZERO);
        let repository = Repository::open(Arc::new(far)).await.unwrap();
        ZarrStore::new(repository.read_session(BranchName::main()).await.unwrap())
    });
    let alone = Array::open(Arc::new(store.clone()), path).unwrap();
    let refused = alone.retrieve_chunk::<Vec<f32>>(&[0, 0]).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains(&BlockingError::NoRuntime.to_string()),
        "{refused}"
    );

    let store = store.with_runtime(runtime.handle().clone());
    let array = Array::open(Arc::new(store.clone()), path).unwrap();
    let read: Vec<f32> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    assert_eq!(read, numbers());
    let read: Vec<f32> = array.retrieve_array_subset(&[0..2, 1..3]).unwrap();
    assert_eq!(read, [1.0, 2.0, 7.0, 8.0]);

    // The same from a worker of that very runtime.
    let path = path.clone();
    let on_worker = runtime.spawn(async move {
        let array = Array::open(Arc::new(store), &path).unwrap();
        array.retrieve_chunk::<Vec<f32>>(&[0, 0]).unwrap()
    });
    assert_eq!(
        runtime.block_on(on_worker).unwrap()[..4],
        [0.0, 1.0, 2.0, 3.0]
    );
}

#[tokio::test]
async fn h110_a_sync_write_on_the_runtime_that_would_do_it_is_an_error() {
    let store = ZarrStore::new(writable(&repository().await).await);
    let store = store.with_runtime(tokio::runtime::Handle::current());
    let key = StoreKey::new("zarr.json").unwrap();
    let refused = WritableStorageTraits::set(&store, &key, "{}".into()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        BlockingError::OnRuntimeThread.to_string()
    );
    assert!(ReadableStorageTraits::get(&store, &key).unwrap().is_none());
}

#[test]
fn errors_keep_the_kinds_that_zarrs_knows() {
    let runtime = runtime();
    let store = runtime.block_on(async { ZarrStore::new(writable(&repository().await).await) });
    let store = store.with_runtime(runtime.handle().clone());
    let key = |text: &str| StoreKey::new(text).unwrap();
    let set = |name: &str, value: &str| {
        WritableStorageTraits::set(&store, &key(name), value.as_bytes().to_vec().into())
    };
    assert!(matches!(
        set("a/../b", "x"),
        Err(StorageError::InvalidStoreKey(_))
    ));
    let invalid = ListableStorageTraits::list_dir(&store, &StorePrefix::new("a//").unwrap());
    assert!(matches!(invalid, Err(StorageError::StorePrefixError(_))));
    let Err(StorageError::Other(text)) = set("a/c/0", "x") else {
        panic!()
    };
    assert!(
        text.ends_with(": no part of it is the path of an array"),
        "{text}"
    );
    let Err(StorageError::Other(text)) = set("zarr.json", "{") else {
        panic!()
    };
    assert!(text.contains("JSON"), "{text}");
    let read_only = StorageError::from(ZarrStoreError::from(SessionError::ReadOnly));
    assert!(matches!(read_only, StorageError::ReadOnly));

    set("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#).unwrap();
    let huge = [(3, "x"), (u64::MAX, "y")].map(|(offset, value)| (offset, value.into()));
    let refused = WritableStorageTraits::set_partial_many(
        &store,
        &key("zarr.json"),
        Box::new(huge.into_iter()),
    );
    assert!(
        matches!(refused, Err(StorageError::Other(_))),
        "{refused:?}"
    );
    let overflowing = zarrs_storage::byte_range::ByteRange::FromStart(u64::MAX, Some(2));
    let refused = ReadableStorageTraits::get_partial(&store, &key("zarr.json"), overflowing);
    assert!(matches!(
        refused,
        Err(StorageError::InvalidByteRangeError(_))
    ));
}

#[test]
fn children_are_discovered() {
    let runtime = runtime();
    let store = runtime.block_on(async { ZarrStore::new(writable(&repository().await).await) });
    let store = Arc::new(store.with_runtime(runtime.handle().clone()));
    for (path, document) in arrays() {
        create(&store, &path, &document).store_metadata().unwrap();
    }
    let children = |prefix: &str| {
        let prefixes = discover_children(&store, &StorePrefix::new(prefix).unwrap()).unwrap();
        prefixes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(children(""), ["sharded/", "zstd/"]);
    assert_eq!(children("zstd/"), ["zstd/c/"]);
    assert_eq!(
        children("zstd/c/"),
        ["zstd/c/a0/", "zstd/c/a1/", "zstd/c/a2/", "zstd/c/a3/"]
    );
    assert!(children("zstd/c/a0/").is_empty());
}
