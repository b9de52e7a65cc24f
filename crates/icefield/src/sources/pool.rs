//! Stores of many folders, of which few are open at a time: each holds descriptors.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use icefield_storage::{
    Advice, Capabilities, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, ListOptions,
    Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};
use tokio::sync::OnceCell;

use crate::{Error, Location, Schemes};

/// Stores that are open at a time, those in use beside them.
pub(super) const OPEN: usize = 16;

type Opened = Arc<OnceCell<Arc<dyn Storage>>>;

/// The stores that were used last.
#[derive(Debug)]
pub(super) struct Pool {
    schemes: Schemes,
    /// The one that was used last is at the end.
    open: Mutex<VecDeque<(Location, Opened)>>,
}

impl Pool {
    pub(super) fn new(schemes: &Schemes) -> Arc<Self> {
        Arc::new(Self {
            schemes: schemes.clone(),
            open: Mutex::default(),
        })
    }

    /// Returns a store that opens itself again whenever it was closed.
    pub(super) async fn storage(
        self: &Arc<Self>,
        location: &Location,
    ) -> Result<Arc<dyn Storage>, Error> {
        let storage = self.opened(location).await?;
        if location.scheme() == "memory" {
            // Empty each time.
            return Ok(storage);
        }
        Ok(Arc::new(Pooled {
            pool: Arc::clone(self),
            location: location.clone(),
            name: storage.to_string(),
            capabilities: storage.capabilities(),
            place: storage.place(),
        }))
    }

    async fn opened(&self, location: &Location) -> Result<Arc<dyn Storage>, Error> {
        let cell = self.cell(location);
        let storage = cell.get_or_try_init(|| self.schemes.storage(location));
        storage.await.map(Arc::clone)
    }

    /// The place of a store among those that are open; it is the last one now.
    fn cell(&self, location: &Location) -> Opened {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().rposition(|(it, _)| it == location);
        let (location, cell) = match at.and_then(|at| open.remove(at)) {
            Some(found) => found,
            None => (location.clone(), Opened::default()),
        };
        if open.len() >= OPEN {
            open.pop_front();
        }
        open.push_back((location, Arc::clone(&cell)));
        cell
    }
}

/// A store that is opened when it is used, unless it still is.
struct Pooled {
    pool: Arc<Pool>,
    location: Location,
    name: String,
    capabilities: Capabilities,
    place: Option<String>,
}

impl Pooled {
    async fn inner(&self) -> Result<Arc<dyn Storage>, StorageError> {
        let opened = self.pool.opened(&self.location).await;
        opened.map_err(|error| StorageError::Failed {
            action: "open again",
            target: self.name.clone(),
            source: error.into(),
        })
    }
}

impl fmt::Debug for Pooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pooled").field(&self.name).finish()
    }
}

impl fmt::Display for Pooled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

#[async_trait]
impl Storage for Pooled {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.inner().await?.get(key, options).await
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.inner().await?.head(key).await
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.inner().await?.put(key, payload, options).await
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let (pool, location, name) = (
            Arc::clone(&self.pool),
            self.location.clone(),
            self.name.clone(),
        );
        let listed = stream::once(async move {
            let opened = pool.opened(&location).await;
            let storage = opened.map_err(|error| StorageError::Failed {
                action: "open again",
                target: name,
                source: error.into(),
            })?;
            Ok::<_, StorageError>(storage.list(options))
        });
        listed.try_flatten().boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let store = self.name.clone();
        let refused = deletions.map(move |deletion| {
            let store = store.clone();
            (deletion.key, Err(StorageError::ReadOnly { store }))
        });
        refused.boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        self.inner().await?.copy(from, to, options).await
    }

    fn place(&self) -> Option<String> {
        self.place.clone()
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        self.inner().await?.advice().await
    }

    async fn sync(&self) -> Result<(), StorageError> {
        self.inner().await?.sync().await
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        let cell = self.pool.cell(&self.location);
        cell.get()?.try_get_blocking(key, options)
    }
}
