//! The storage contract, each operation in one hop to a thread that may wait, but for reads that have nothing to wait for.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, KeyForm,
    ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

use tokio::task::coop::consume_budget;

use crate::blocking::{Lost, run, run_with, settle};
use crate::error;
use crate::list::ListWalk;
use crate::settings::Fsync;
use crate::store::Store;
use crate::upload;
use crate::write::Order;

/// Objects listed in the first hop and in later ones: the first answer comes soon.
const FIRST_PAGE: usize = 32;
/// Each hop lists so many times as many as the one before, up to so many.
const GROWTH: usize = 8;
const PAGE: usize = 4096;
/// Deletions in one hop.
const BATCH: usize = 64;
/// Batches of deletions at once.
const BATCHES: usize = 4;

/// A directory as a store. Clones share one handle.
#[derive(Clone)]
pub struct LocalStorage(pub(crate) Arc<Store>);

impl fmt::Display for LocalStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.path.display())
    }
}

impl fmt::Debug for LocalStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStorage")
            .field("path", &self.0.path)
            .field("fsync", &self.0.fsync)
            .field("read_only", &self.0.read_only)
            .field("locks", &self.0.locks)
            .finish_non_exhaustive()
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for LocalStorage {
    fn place(&self) -> Option<String> {
        Some(self.0.place())
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(KeyForm::ObjectStorePath);
        capabilities.user_metadata = false;
        capabilities.host_dates = true;
        capabilities.writable = !self.0.read_only;
        capabilities.durable = self.0.fsync != Fsync::None;
        let conditions = self.0.promises_conditions();
        capabilities.conditional_create = conditions;
        capabilities.conditional_update = conditions;
        capabilities.conditional_delete = conditions;
        capabilities
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        // A task that finds all of its chunks in the cache would never give way to another.
        consume_budget().await;
        if let Some(object) = self.0.get_cached(key, &options) {
            return Ok(object);
        }
        let wanted = key.clone();
        let work = move |store: &Store| store.get(&wanted, &options);
        run(&self.0, &self.0.reads, "read", key.as_str(), work).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        let wanted = key.clone();
        let work = move |store: &Store| store.head(&wanted);
        run(&self.0, &self.0.reads, "read", key.as_str(), work).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        // Local files keep neither content type nor user metadata.
        let order = Order {
            key: key.clone(),
            mode: options.mode,
            class: options.class,
        };
        match payload {
            Payload::Bytes(bytes) => {
                let work = move |store: &Store, (): &mut ()| store.put_bytes(&order, &bytes);
                let done = run_with(&self.0, &self.0.writes, (), work).await;
                settle(&self.0, key, done.map(|((), result)| result))
            }
            Payload::Stream { size, stream } => upload::put(&self.0, order, size, stream).await,
        }
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let store = Arc::clone(&self.0);
        let first = Some((ListWalk::new(&options), FIRST_PAGE));
        stream::unfold(first, move |state| {
            let store = Arc::clone(&store);
            async move {
                let (walk, count) = state?;
                let work = move |store: &Store, walk: &mut ListWalk| walk.advance(store, count);
                let (mut walk, result) = match run_with(&store, &store.reads, walk, work).await {
                    Ok(done) => done,
                    Err(lost) => {
                        let error = lost.to_error("list", &store.name());
                        return Some((stream::iter(vec![Err(error)]), None));
                    }
                };
                let mut page = walk.take();
                let next = match result {
                    Ok(true) => None,
                    Ok(false) => Some((walk, PAGE.min(GROWTH * count))),
                    Err(error) => {
                        page.push(Err(error));
                        None
                    }
                };
                Some((stream::iter(page), next))
            }
        })
        .flatten()
        .boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let store = Arc::clone(&self.0);
        deletions
            .ready_chunks(BATCH)
            .map(move |batch| delete_batch(Arc::clone(&store), batch))
            .buffered(BATCHES)
            .flat_map(stream::iter)
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        let (source, target) = (from.clone(), to.clone());
        let work = move |store: &Store, (): &mut ()| store.copy(&source, &target, &options);
        let done = run_with(&self.0, &self.0.writes, (), work).await;
        settle(&self.0, to, done.map(|((), result)| result))
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        let work = |store: &Store| store.advice();
        let advice = run(&self.0, &self.0.reads, "read", &self.0.name(), work).await?;
        Ok(vec![advice])
    }

    async fn sync(&self) -> Result<(), StorageError> {
        let work = |store: &Store| store.durability.sync(store);
        run(&self.0, &self.0.writes, "flush", &self.0.name(), work).await
    }

    /// `None` only while the process has no file descriptor left.
    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        match self.0.get(key, options) {
            Err(error) if error::is_exhausted(&error) => None,
            result => Some(result),
        }
    }
}

type Deleted = (Key, Result<DeleteOutcome, StorageError>);

async fn delete_batch(store: Arc<Store>, batch: Vec<Deletion>) -> Vec<Deleted> {
    let batch = Arc::new(batch);
    let mut done: Vec<Deleted> = Vec::with_capacity(batch.len());
    while done.len() < batch.len() {
        let before = done.len();
        let hop_batch = Arc::clone(&batch);
        let work = move |store: &Store, done: &mut Vec<Deleted>| {
            while let Some(deletion) = hop_batch.get(done.len()) {
                match store.delete(deletion) {
                    // Tried again by the caller, from this one on.
                    Err(error) if error::is_exhausted(&error) => return Err(error),
                    result => done.push((deletion.key.clone(), result)),
                }
            }
            Ok(())
        };
        match run_with(&store, &store.writes, done, work).await {
            Ok((back, Ok(()))) => done = back,
            Ok((back, Err(error))) => {
                done = back;
                let key = batch[done.len()].key.clone();
                done.push((key, Err(error)));
            }
            Err(lost) => {
                // How far it came is not known.
                let untouched = before == 0 && matches!(lost, Lost::NeverRan);
                tracing::error!(?lost, before, "a batch of deletions was lost");
                return batch
                    .iter()
                    .map(|deletion| {
                        let key = &deletion.key;
                        let error = lost.to_error("delete", key.as_str());
                        let result = match untouched {
                            true => Err(error),
                            false => {
                                store.note_unknown(key);
                                Ok(DeleteOutcome::Unknown(error))
                            }
                        };
                        (key.clone(), result)
                    })
                    .collect();
            }
        }
    }
    done
}
