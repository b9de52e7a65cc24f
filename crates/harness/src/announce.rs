//! A store that says on standard output what it is about to do, so that a parent process can kill this one
//! at a chosen operation.

use std::fmt;
use std::io::Write;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use icefield_storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

/// Announces each operation as a line `VERB KEY` before it is passed on, and `done` after a write.
#[derive(Debug)]
pub struct Announce(Arc<dyn Storage>);

impl Announce {
    /// Returns `inner`, announced.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self(inner)
    }
}

fn say(verb: &str, key: &dyn fmt::Display) {
    // A parent that has gone does not matter.
    let _ = writeln!(std::io::stdout().lock(), "{verb} {key}");
}

impl fmt::Display for Announce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Storage for Announce {
    fn place(&self) -> Option<String> {
        self.0.place()
    }

    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        say("get", key);
        self.0.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        say("head", key);
        self.0.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        say("put", key);
        let outcome = self.0.put(key, payload, options).await;
        say("done", key);
        outcome
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        say("list", &options.prefix);
        self.0.list(options)
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        say("delete", &"");
        self.0.delete(deletions)
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        say("copy", to);
        self.0.copy(from, to, options).await
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.0.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        say("sync", &"");
        self.0.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        self.0.try_get_blocking(key, options)
    }
}
