//! Every store of the crate [`object_store`] as a [`Storage`](icefield_storage::Storage): Azure, plain web servers, and a user's own.
//!
//! ```
//! use std::sync::Arc;
//! use icefield_storage_object_store::{AdapterOptions, ObjectStoreStorage};
//! use object_store::memory::InMemory;
//!
//! let storage = ObjectStoreStorage::new(Arc::new(InMemory::new()), AdapterOptions::default());
//! ```
//!
//! [`object_store`] asks less of a store than the contract does, and says less about what happened. What it
//! leaves open is a field of [`AdapterOptions`]; what it cannot say is an error or an outcome in doubt, never
//! a guess. One request is the business of this crate; trying again, reading back and all the rest is
//! [`RemoteStorage`].
//!
//! - [`ObjectStoreStorage::new`] takes any `Arc<dyn ObjectStore>`. Switch its own retries off.
//! - `ObjectStoreStorage::azure` (feature `azure`) opens a container of Azure Blob Storage.
//! - `ObjectStoreStorage::http` (feature `http`) reads what a web server offers, and `redirect_of` asks where one
//!   points to.

mod adapter;
mod fault;
mod forward;
mod list;
mod options;
mod read;
mod state;
mod write;

#[cfg(feature = "azure")]
mod azure;
#[cfg(any(feature = "azure", feature = "http"))]
mod client;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "http")]
mod redirect;

use std::fmt;
use std::sync::Arc;

use icefield_storage::remote::RemoteStorage;
use icefield_storage::{Clock, Entropy, SystemClock, SystemEntropy};
use object_store::ObjectStore;

use adapter::Adapter;

#[cfg(feature = "azure")]
pub use azure::AzureBuilder;
#[cfg(feature = "http")]
pub use http::HttpBuilder;
pub use options::AdapterOptions;
#[cfg(feature = "http")]
pub use redirect::redirect_of;

/// A store of the crate [`object_store`], or what is below a prefix in it. A cheap shared handle.
#[derive(Clone, Debug)]
pub struct ObjectStoreStorage(RemoteStorage);

impl ObjectStoreStorage {
    /// Returns the store on the system's clock. Sends nothing.
    pub fn new(store: Arc<dyn ObjectStore>, options: AdapterOptions) -> Self {
        let (clock, entropy) = (Arc::new(SystemClock), Arc::new(SystemEntropy));
        Self::with_sources(store, options, clock, entropy)
    }

    /// Returns the store with its waiting done by `clock`, and pauses and write ids drawn from `entropy`.
    pub fn with_sources(
        store: Arc<dyn ObjectStore>,
        options: AdapterOptions,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
    ) -> Self {
        let settings = options.settings.clone();
        let adapter = Adapter::new(store, options);
        Self(RemoteStorage::with_sources(
            adapter, settings, clock, entropy,
        ))
    }

    /// Begins to open a container of Azure Blob Storage.
    #[cfg(feature = "azure")]
    pub fn azure(account: impl Into<String>, container: impl Into<String>) -> AzureBuilder {
        AzureBuilder::new(account.into(), container.into())
    }

    /// Begins to open what a web server offers below a URL, for reading.
    #[cfg(feature = "http")]
    pub fn http(url: impl Into<String>) -> HttpBuilder {
        HttpBuilder::new(url.into())
    }

    /// Returns how many more requests may be in flight now.
    pub fn free_requests(&self) -> usize {
        self.0.free_requests()
    }
}

impl fmt::Display for ObjectStoreStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
