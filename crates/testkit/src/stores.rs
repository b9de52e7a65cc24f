//! Looking at a store, and changing it behind the back of the code that uses it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use icefield_storage::{DeleteOutcome, Key, Prefix, PutMode, PutOutcome, Storage, StorageExt};

/// Returns the key of this text.
///
/// # Panics
/// If it is none.
#[track_caller]
pub fn key(text: &str) -> Key {
    Key::parse(text).unwrap_or_else(|error| panic!("{text:?} is no key: {error}"))
}

/// Lists all objects, in byte order.
///
/// # Panics
/// If the store fails.
pub async fn keys(storage: &Arc<dyn Storage>) -> Vec<String> {
    let objects = storage.list_all(&Prefix::default()).await;
    let objects = objects.expect("the store can be listed");
    objects
        .into_iter()
        .map(|meta| meta.key.to_string())
        .collect()
}

/// Lists the objects whose keys begin with a text.
///
/// # Panics
/// If the store fails.
pub async fn keys_below(storage: &Arc<dyn Storage>, start: &str) -> Vec<String> {
    let mut keys = keys(storage).await;
    keys.retain(|key| key.starts_with(start));
    keys
}

/// Reads an object.
///
/// # Panics
/// If there is none, or the store fails.
pub async fn read(storage: &Arc<dyn Storage>, at: &str) -> Bytes {
    let read = storage.read(&key(at)).await;
    let (bytes, _) = read.unwrap_or_else(|error| panic!("cannot read {at}: {error:?}"));
    bytes
}

/// Reads all objects.
///
/// # Panics
/// If the store fails.
pub async fn dump(storage: &Arc<dyn Storage>) -> BTreeMap<String, Bytes> {
    let mut objects = BTreeMap::new();
    for at in keys(storage).await {
        let bytes = read(storage, &at).await;
        objects.insert(at, bytes);
    }
    objects
}

/// Stores an object, over what is there.
///
/// # Panics
/// If the store fails.
pub async fn put(storage: &Arc<dyn Storage>, at: &str, bytes: impl Into<Bytes>) {
    let outcome = storage
        .put(&key(at), bytes.into().into(), PutMode::Overwrite.into())
        .await;
    assert!(
        matches!(outcome, Ok(PutOutcome::Written(_))),
        "cannot write {at}: {outcome:?}"
    );
}

/// Deletes an object.
///
/// # Panics
/// If the store fails.
pub async fn delete(storage: &Arc<dyn Storage>, at: &str) {
    let outcome = storage.delete_one(key(at).into()).await;
    assert!(
        matches!(outcome, Ok(DeleteOutcome::Deleted)),
        "cannot delete {at}: {outcome:?}"
    );
}

/// Copies all objects of one store into another.
///
/// # Panics
/// If a store fails.
pub async fn copy_all(from: &Arc<dyn Storage>, to: &Arc<dyn Storage>) {
    for (at, bytes) in dump(from).await {
        put(to, &at, bytes).await;
    }
}
