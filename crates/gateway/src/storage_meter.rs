//! The storage operations of a server, counted for its metrics; and the proof that it only reads.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt};
use icefield::storage::wrap::ReadOnlyStorage;
use icefield::storage::{
    Advice, Body, Bytes, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key,
    ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;

use crate::steps::Operation;

/// Counts the storage operations of a server. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct StorageMeter {
    pub(crate) operations: Family<OperationLabels, Counter>,
    pub(crate) bytes: Counter,
}

/// An operation, and how it went.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OperationLabels {
    op: &'static str,
    outcome: &'static str,
}

impl StorageMeter {
    /// Returns a store without its writes, with its reads counted: the one that a repository is opened on to be served.
    pub fn over(&self, storage: Arc<dyn Storage>) -> Arc<dyn Storage> {
        Arc::new(MeteredStorage {
            inner: ReadOnlyStorage::new(storage),
            meter: self.clone(),
        })
    }

    /// Counts an operation, and returns the word for its outcome.
    fn count<T>(&self, op: &'static str, result: &Result<T, StorageError>) -> &'static str {
        let outcome = match result {
            Ok(_) => "ok",
            Err(StorageError::NotFound { .. }) => "not_found",
            Err(error) if error.is_retryable() => "unavailable",
            Err(_) => "error",
        };
        self.operations
            .get_or_create(&OperationLabels { op, outcome })
            .inc();
        outcome
    }
}

/// A store that takes no writes and counts its reads.
#[derive(Debug)]
struct MeteredStorage {
    inner: ReadOnlyStorage,
    meter: StorageMeter,
}

impl MeteredStorage {
    fn counted(&self, object: Object) -> Object {
        let bytes = self.meter.bytes.clone();
        let count = move |part: &Bytes| {
            bytes.inc_by(part.len() as u64);
        };
        let body = match object.body {
            Body::Bytes(bytes) => {
                count(&bytes);
                Body::Bytes(bytes)
            }
            Body::Stream(parts) => Body::Stream(
                parts
                    .inspect(move |part| {
                        if let Ok(part) = part {
                            count(part);
                        }
                    })
                    .boxed(),
            ),
        };
        Object { body, ..object }
    }
}

impl fmt::Display for MeteredStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for MeteredStorage {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        let operation = Operation::begin("storage get", key.as_str());
        let object = self.inner.get(key, options).await;
        operation.end(self.meter.count("get", &object));
        object.map(|object| self.counted(object))
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        let operation = Operation::begin("storage head", key.as_str());
        let head = self.inner.head(key).await;
        operation.end(self.meter.count("head", &head));
        head
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let outcome = self.inner.put(key, payload, options).await;
        self.meter.count("put", &outcome);
        outcome
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        self.meter.count("list", &Ok(()));
        self.inner.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        self.inner.delete(deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.inner.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let object = self.inner.try_get_blocking(key, options)?;
        // The read is over when it is known that there is one: its span has no duration.
        let operation = Operation::begin("storage get", key.as_str());
        operation.end(self.meter.count("get", &object));
        Some(object.map(|object| self.counted(object)))
    }
}
