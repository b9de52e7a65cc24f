//! The store on sessions of in-memory repositories.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod costs;
mod erase;
mod fletcher32;
mod keys;
mod list;
mod model;
mod ranges;
mod values;
mod zarrs;

use std::fmt::Debug;
use std::sync::Arc;

use futures::TryStreamExt;
use icefield_core::{BranchName, CommitOutcome, Repository};
use icefield_storage_memory::MemoryStorage;
use icefield_zarr_store::{ZarrStore, ZarrStoreError};

const GROUP: &str = r#"{"zarr_format": 3, "node_type": "group"}"#;

/// The metadata of an array of bytes with chunks of one element per dimension.
fn array(shape: &[u64], encoding: &str) -> String {
    let chunks = vec![1; shape.len()];
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": {shape:?}, "data_type": "uint8",
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": {chunks:?}}}}},
            "chunk_key_encoding": {encoding}, "fill_value": 0, "codecs": [{{"name": "bytes"}}]}}"#
    )
}

const SLASH: &str = r#"{"name": "default", "configuration": {"separator": "/"}}"#;
const DOT: &str = r#"{"name": "default", "configuration": {"separator": "."}}"#;
const V2_SLASH: &str = r#"{"name": "v2", "configuration": {"separator": "/"}}"#;
const V2_DOT: &str = r#"{"name": "v2", "configuration": {"separator": "."}}"#;

async fn repository() -> Repository {
    Repository::create(Arc::new(MemoryStorage::new()))
        .await
        .unwrap()
}

async fn writable(repository: &Repository) -> ZarrStore {
    ZarrStore::new(repository.write_session(BranchName::main()).await.unwrap())
}

/// The store of a new session on a new repository.
async fn store() -> ZarrStore {
    writable(&repository().await).await
}

async fn committed(store: &ZarrStore) {
    let outcome = store.session().commit("test").await.unwrap();
    assert!(
        matches!(outcome, CommitOutcome::Committed(_)),
        "{outcome:?}"
    );
}

/// Stores each value, in order.
async fn set_all<K: AsRef<str>, V: Into<String>>(
    store: &ZarrStore,
    values: impl IntoIterator<Item = (K, V)>,
) {
    for (key, value) in values {
        let key = key.as_ref();
        let value: String = value.into();
        if let Err(error) = store.set(key, value.into()).await {
            panic!("set {key}: {error:?}");
        }
    }
}

async fn all_keys(store: &ZarrStore) -> Vec<String> {
    store.list().try_collect().await.unwrap()
}

async fn keys_below(store: &ZarrStore, prefix: &str) -> Vec<String> {
    store.list_prefix(prefix).try_collect().await.unwrap()
}

/// The whole story that an error tells, cause by cause.
fn story<T: Debug>(result: Result<T, ZarrStoreError>) -> String {
    let error = result.expect_err("an error");
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
