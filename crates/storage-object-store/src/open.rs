//! Opening a store of the crate `object_store` as a storage.

use std::sync::Arc;

use icefield_storage::remote::RemoteStorage;
use icefield_storage::{Clock, Entropy, SystemClock, SystemEntropy};
use object_store::ObjectStore;

use crate::AdapterOptions;
use crate::adapter::Adapter;

impl AdapterOptions {
    /// Returns the store as a [`Storage`](icefield_storage::Storage), on the system's clock. Sends no request.
    pub fn open(self, store: Arc<dyn ObjectStore>) -> RemoteStorage {
        self.open_with(store, Arc::new(SystemClock), Arc::new(SystemEntropy))
    }

    /// Returns the store as a [`Storage`](icefield_storage::Storage) with these sources of time and randomness.
    pub fn open_with(
        self,
        store: Arc<dyn ObjectStore>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> RemoteStorage {
        let mut settings = self.settings.clone();
        settings.sort_lists |= !self.ordered_lists;
        RemoteStorage::with_sources(Adapter::new(store, self), settings, clock, entropy)
    }

    /// Returns the store as a storage whose lists come page by page, with the store's own tokens.
    #[cfg(feature = "azure")]
    pub(crate) fn open_in_pages(
        self,
        store: Arc<object_store::azure::MicrosoftAzure>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> RemoteStorage {
        let settings = self.settings.clone();
        let shared: Arc<dyn ObjectStore> = Arc::<_>::clone(&store) as _;
        let mut adapter = Adapter::new(shared, self);
        adapter.pages = Some(store);
        RemoteStorage::with_sources(adapter, settings, clock, entropy)
    }
}
