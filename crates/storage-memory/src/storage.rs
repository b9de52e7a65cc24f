//! The storage contract over objects in memory.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use icefield_storage::{
    Advice, Capabilities, Clock, CopyOptions, DeleteOutcome, Deletion, GetOptions, Key, KeyForm,
    ListOptions, Object, ObjectMeta, Payload, PutOptions, PutOutcome, Storage, StorageError,
};

use crate::Attributes;
use crate::state::StoreState;

/// Objects listed under one lock.
const PAGE: usize = 1000;

/// A store in the memory of this process. Clones share their objects.
#[derive(Clone)]
pub struct MemoryStorage(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) state: Mutex<StoreState>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) key_form: KeyForm,
    pub(crate) host_dates: bool,
    pub(crate) remote: bool,
}

impl MemoryStorage {
    /// Returns a store of its own that begins with the present objects, versions included: a test can
    /// try many endings of one beginning.
    #[must_use]
    pub fn duplicate(&self) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(self.state().clone()),
            clock: Arc::clone(&self.0.clock),
            key_form: self.0.key_form,
            host_dates: self.0.host_dates,
            remote: self.0.remote,
        }))
    }

    /// Returns what the last put said about an object besides its bytes, `None` if there is no object.
    pub fn attributes(&self, key: &Key) -> Option<Attributes> {
        self.state().attributes(key)
    }

    /// Puts an object of `size` bytes under a name that is no key, as other programs leave them in a bucket: a list yields
    /// it as [`StorageError::UnreadableKey`]. Returns whether it did so; a name that is a key is for [`Storage::put`].
    pub fn plant_unreadable(&self, name: &[u8], size: u64) -> bool {
        self.state().plant_unreadable(name, size)
    }

    /// Takes away what [`MemoryStorage::plant_unreadable`] put under a name. Returns whether it was there.
    pub fn remove_unreadable(&self, name: &[u8]) -> bool {
        self.state().remove_unreadable(name)
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        // No method of `State` leaves it half changed, so a panic elsewhere under the lock is harmless.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> SystemTime {
        self.0.clock.now()
    }
}

impl fmt::Display for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("memory")
    }
}

impl fmt::Debug for MemoryStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStorage")
            .field("objects", &self.state().len())
            .field("key_form", &self.0.key_form)
            .finish_non_exhaustive()
    }
}

#[deny(clippy::missing_trait_methods)]
#[async_trait]
impl Storage for MemoryStorage {
    fn place(&self) -> Option<String> {
        Some(format!("memory:{:p}", Arc::as_ptr(&self.0)))
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::full(self.0.key_form);
        capabilities.host_dates = self.0.host_dates;
        capabilities.remote = self.0.remote;
        capabilities.durable = false;
        capabilities
    }

    async fn get(&self, key: &Key, options: GetOptions) -> Result<Object, StorageError> {
        self.state().get(key, &options)
    }

    async fn head(&self, key: &Key) -> Result<ObjectMeta, StorageError> {
        self.state().head(key)
    }

    async fn put(
        &self,
        key: &Key,
        payload: Payload,
        options: PutOptions,
    ) -> Result<PutOutcome, StorageError> {
        let bytes = payload.collect(key).await?;
        let now = self.now();
        let attributes = Attributes {
            content_type: options.content_type,
            user_metadata: options.user_metadata,
        };
        Ok(self.state().put(key, bytes, attributes, &options.mode, now))
    }

    fn list(&self, options: ListOptions) -> BoxStream<'static, Result<ObjectMeta, StorageError>> {
        let store = self.clone();
        stream::unfold(Some(options), move |next| {
            let page = next.map(|options| {
                let (page, last) = store.state().list_page(&options, PAGE);
                let next =
                    last.map(|last| ListOptions::prefix(options.prefix).with_start_after(last));
                (stream::iter(page), next)
            });
            std::future::ready(page)
        })
        .flatten()
        .boxed()
    }

    fn delete(
        &self,
        deletions: BoxStream<'static, Deletion>,
    ) -> BoxStream<'static, (Key, Result<DeleteOutcome, StorageError>)> {
        let store = self.clone();
        deletions
            .map(move |deletion| {
                let outcome = store.state().delete(&deletion);
                (deletion.key, Ok(outcome))
            })
            .boxed()
    }

    async fn copy(
        &self,
        from: &Key,
        to: &Key,
        options: CopyOptions,
    ) -> Result<PutOutcome, StorageError> {
        let now = self.now();
        self.state().copy(from, to, &options, now)
    }

    async fn advice(&self) -> Result<Vec<Advice>, StorageError> {
        Ok(Vec::new())
    }

    async fn sync(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn try_get_blocking(
        &self,
        key: &Key,
        options: &GetOptions,
    ) -> Option<Result<Object, StorageError>> {
        Some(self.state().get(key, options))
    }
}
