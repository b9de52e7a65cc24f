//! The storage traits of `zarrs`, judged by its own tests and by its arrays.

use std::sync::Arc;

use icefield_storage::Prefix;
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_fs::{ReadTree, StorageTree, WriteTree, ZarrsTree, ZipTree};
use sha2::{Digest, Sha256};
use zarrs::array::{Array, ArrayBytes};
use zarrs_storage::{ListableStorageTraits, ReadableStorageTraits, StoreKey, store_test};

use crate::exchange::fixture;
use crate::world::world;

#[test]
fn the_sync_suite_passes_on_directories() {
    let world = world();
    let store = ZarrsTree::new(Arc::new(world.tree.clone()));
    store_test::store_write(&store).unwrap();
    store_test::store_read(&store).unwrap();
    store_test::store_list(&store).unwrap();
    store_test::store_list_size(&store).unwrap();
}

#[tokio::test]
async fn the_async_suite_passes_on_directories() {
    let world = world();
    let tree: Arc<dyn WriteTree> = Arc::new(world.tree.clone());
    let store = ZarrsTree::new(tree);
    store_test::async_store_write(&store).await.unwrap();
    store_test::async_store_read(&store).await.unwrap();
    store_test::async_store_list(&store).await.unwrap();
    store_test::async_store_list_size(&store).await.unwrap();
}

fn in_a_bucket() -> StorageTree {
    let below = Prefix::parse("some/where").unwrap();
    StorageTree::new(Arc::new(MemoryStorage::new()), below)
}

#[tokio::test]
async fn the_async_suite_passes_in_buckets() {
    let store = ZarrsTree::new(Arc::new(in_a_bucket()));
    store_test::async_store_write(&store).await.unwrap();
    store_test::async_store_read(&store).await.unwrap();
    store_test::async_store_list(&store).await.unwrap();
    store_test::async_store_list_size(&store).await.unwrap();
}

#[test]
fn the_sync_suite_passes_in_buckets_on_a_runtime() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()
        .unwrap();
    let store = ZarrsTree::new(Arc::new(in_a_bucket())).with_runtime(runtime.handle().clone());
    let suite = move || {
        store_test::store_write(&store).unwrap();
        store_test::store_read(&store).unwrap();
        store_test::store_list(&store).unwrap();
        store_test::store_list_size(&store).unwrap();
    };
    // On the only worker of that very runtime.
    runtime.block_on(async { tokio::spawn(async move { suite() }).await.unwrap() });
}

#[test]
fn zip_files_are_read_and_listed_through_the_traits() {
    let tree = ZipTree::open(fixture("zarr-python-v3.zip")).unwrap();
    let store = ZarrsTree::new(Arc::new(tree));
    let key = StoreKey::new("zarr.json").unwrap();
    let root = ReadableStorageTraits::get(&store, &key).unwrap().unwrap();
    assert!(root.starts_with(b"{"));
    assert_eq!(ListableStorageTraits::list(&store).unwrap().len(), 130);
}

/// The digest of the elements of an array, as `zarrs` reads it.
fn digest(tree: Arc<dyn ReadTree>, path: &str) -> String {
    let array = Array::open(Arc::new(ZarrsTree::new(tree)), path).unwrap();
    let elements: ArrayBytes<'static> = array.retrieve_array_subset(&array.subset_all()).unwrap();
    let bytes = elements.into_fixed().unwrap();
    let digest = Sha256::digest(&*bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The contents of the arrays of a fixture.
fn expected(document: &str, path: &str) -> String {
    let text = std::fs::read(fixture(document)).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&text).unwrap();
    document["arrays"][path]["sha256"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn fs24_zarrs_reads_what_zarr_python_wrote_from_directories_and_zip_files() {
    for path in [
        "/v_i4",
        "/named",
        "/dotkeys",
        "/shard",
        "/transpose",
        "/hole",
    ] {
        let expected = expected("zarr-python-v3.json", path);
        let directory = icefield_zarr_fs::DirectoryTree::open(fixture("zarr-python-v3-dir"));
        assert_eq!(
            digest(Arc::new(directory.unwrap()), path),
            expected,
            "{path}"
        );
        let zip = ZipTree::open(fixture("zarr-python-v3.zip")).unwrap();
        assert_eq!(digest(Arc::new(zip), path), expected, "{path}");
    }
    for path in ["/v_i4", "/slash", "/hole", "/fortran"] {
        let expected = expected("zarr-python-v2.json", path);
        let zip = ZipTree::open(fixture("zarr-python-v2.zip")).unwrap();
        assert_eq!(digest(Arc::new(zip), path), expected, "{path}");
    }
}
