//! The vectors in memory, and what their expectations say.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use icefield_alpha::{AlphaRepository, Import, ImportError, ImportReport};
use icefield_core::Repository;
use icefield_storage::Storage;
use icefield_storage_memory::MemoryStorage;
use icefield_testkit::fixtures;
use serde_json::Value;
use sha2::{Digest, Sha256};

pub(crate) const VECTORS: [&str; 4] = [
    "alpha-a",
    "alpha-b",
    "alpha-literal-messagepack",
    "alpha-literal-json",
];

pub(crate) fn memory() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::new())
}

/// A vector in memory, and its expectation.
pub(crate) async fn load(name: &str) -> (Arc<dyn Storage>, Value) {
    let storage = memory();
    let expected = fixtures::load(name, &storage).await;
    (storage, expected)
}

pub(crate) async fn import(
    from: &Arc<dyn Storage>,
    to: &Arc<dyn Storage>,
) -> Result<(Repository, ImportReport), ImportError> {
    let source = AlphaRepository::open(Arc::clone(from)).await?;
    let to = Repository::builder(Arc::clone(to)).spec_version(icefield_testkit::versions::spec());
    Import::new(source).run(to).await
}

pub(crate) fn object(value: &Value) -> BTreeMap<String, Value> {
    let object = value.as_object().unwrap();
    let items = object.iter();
    items
        .map(|(key, item)| (key.clone(), item.clone()))
        .collect()
}

/// The expected document: the expectations write absent attributes as null.
pub(crate) fn document(expected: &Value) -> Value {
    let mut document = expected.clone();
    if document["attributes"].is_null() {
        document.as_object_mut().unwrap().remove("attributes");
    }
    document
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
}

/// The Zarr key of a chunk, relative to its array.
pub(crate) fn chunk_key(index: &[u32]) -> String {
    let mut key = "c".to_owned();
    for coordinate in index {
        write!(key, "/{coordinate}").unwrap();
    }
    key
}
