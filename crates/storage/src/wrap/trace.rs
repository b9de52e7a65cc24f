//! Tells `tracing` what is asked of a store.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use tracing::{Instrument, Level, Span, enabled, event};

use crate::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

/// The target of every span and event, for filters: `RUST_LOG=icefield::storage=debug`.
const TARGET: &str = "icefield::storage";

/// Reports each operation on another store as a `tracing` span, closed by one event with key, bytes and
/// outcome, at level `DEBUG` under the target `icefield::storage`.
///
/// Keys are escaped. User metadata, bodies, versions and the causes of errors are left out: the first three
/// are the user's, and the last may quote a request with its credentials.
#[derive(Clone, Debug)]
pub struct TracingStorage {
    inner: Arc<dyn Storage>,
}

impl TracingStorage {
    /// Returns `inner`, reported.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner }
    }
}

impl fmt::Display for TracingStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A wrapper that watches a store changes nothing about it, and the store's name stands in messages for people.
        self.inner.fmt(f)
    }
}

/// One operation under way. Dropped before its end, it reports that it was abandoned.
struct Operation {
    verb: &'static str,
    key: String,
    span: Span,
    done: bool,
}

impl Operation {
    fn begin(verb: &'static str, key: &impl fmt::Debug) -> Self {
        if !enabled!(target: TARGET, Level::DEBUG) {
            return Self {
                verb,
                key: String::new(),
                span: Span::none(),
                done: true,
            };
        }
        let key = format!("{key:?}");
        Self {
            verb,
            span: tracing::debug_span!(target: TARGET, "storage", verb, key),
            key,
            done: false,
        }
    }

    fn end(&mut self, bytes: Option<u64>, outcome: &str) {
        if !self.done {
            self.done = true;
            let (verb, key) = (self.verb, self.key.as_str());
            event!(target: TARGET, parent: &self.span, Level::DEBUG, verb, key, bytes, outcome);
        }
    }

    fn fail(&mut self, error: &StorageError) {
        if !self.done {
            // `Display` names key and kind; what the store said stays in `source`.
            self.end(None, &format!("error: {error}"));
        }
    }

    fn put(&mut self, bytes: Option<u64>, result: &Result<PutOutcome, StorageError>) {
        match result {
            Ok(PutOutcome::Written(_)) => self.end(bytes, "written"),
            Ok(PutOutcome::Refused) => self.end(bytes, "refused"),
            Ok(PutOutcome::Unknown(_)) => self.end(bytes, "unknown"),
            Err(error) => self.fail(error),
        }
    }

    fn get(&mut self, result: &Result<Object, StorageError>) {
        match result {
            Ok(object) => self.end(Some(object.range.end - object.range.start), "read"),
            Err(error) => self.fail(error),
        }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.end(None, "abandoned");
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for TracingStorage {
    fn place(&self) -> Option<String> {
        self.inner.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        let mut operation = Operation::begin("get", key);
        let span = operation.span.clone();
        let result = self.inner.get(key, options).instrument(span).await;
        operation.get(&result);
        result
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        let mut operation = Operation::begin("head", key);
        let span = operation.span.clone();
        let result = self.inner.head(key).instrument(span).await;
        match &result {
            Ok(meta) => operation.end(Some(meta.size), "found"),
            Err(error) => operation.fail(error),
        }
        result
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let mut operation = Operation::begin("put", key);
        let span = operation.span.clone();
        let bytes = payload.size();
        let result = self.inner.put(key, payload, options).instrument(span).await;
        operation.put(bytes, &result);
        result
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let operation = Operation::begin("list", &options.prefix);
        let start = (self.inner.list(options), operation, 0_u64, 0_u64);
        stream::unfold(
            start,
            |(mut items, mut operation, objects, unreadable)| async move {
                let item = items.next().instrument(operation.span.clone()).await;
                let (mut objects, mut unreadable) = (objects, unreadable);
                match &item {
                    Some(Ok(_)) => objects += 1,
                    Some(Err(error)) if error.is_unreadable_key() => unreadable += 1,
                    Some(Err(error)) => operation.fail(error),
                    None if unreadable == 0 => operation.end(None, &format!("{objects} objects")),
                    None => {
                        operation.end(None, &format!("{objects} objects, {unreadable} unreadable"));
                    }
                }
                item.map(|item| (item, (items, operation, objects, unreadable)))
            },
        )
        .boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        // A batch has no single beginning per key, so each answer is reported as it comes.
        self.inner
            .delete(deletions)
            .inspect(|(key, result)| {
                let mut operation = Operation::begin("delete", key);
                match result {
                    Ok(DeleteOutcome::Deleted) => operation.end(None, "deleted"),
                    Ok(DeleteOutcome::Refused) => operation.end(None, "refused"),
                    Ok(DeleteOutcome::Unknown(_)) => operation.end(None, "unknown"),
                    Err(error) => operation.fail(error),
                }
            })
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        let mut operation = Operation::begin("copy", &(from, to));
        let span = operation.span.clone();
        let result = self.inner.copy(from, to, options).instrument(span).await;
        operation.put(None, &result);
        result
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        let mut operation = Operation::begin("sync", &"");
        let span = operation.span.clone();
        let result = self.inner.sync().instrument(span).await;
        match &result {
            Ok(()) => operation.end(None, "durable"),
            Err(error) => operation.fail(error),
        }
        result
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let mut operation = Operation::begin("get", key);
        let result = operation
            .span
            .in_scope(|| self.inner.try_get_blocking(key, options));
        match &result {
            Some(result) => operation.get(result),
            // Not an operation: the caller asks again with `get`.
            None => operation.done = true,
        }
        result
    }
}
