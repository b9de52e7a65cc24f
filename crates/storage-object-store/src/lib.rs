//! Every store of the crate [`object_store`] as a [`Storage`](icefield_storage::Storage): Azure, plain web servers, and a user's own.
//!
//! ```
//! use std::sync::Arc;
//! use icefield_storage_object_store::AdapterOptions;
//! use object_store::memory::InMemory;
//!
//! let storage = AdapterOptions::default().open(Arc::new(InMemory::new()));
//! ```
//!
//! [`object_store`] asks less of a store than the contract does, and says less about what happened. What it
//! leaves open is a field of [`AdapterOptions`]; what it cannot say is an error or an outcome in doubt, never
//! a guess. One request is the business of this crate; trying again, reading back and all the rest is
//! [`RemoteStorage`](icefield_storage::remote::RemoteStorage).
//!
//! - [`AdapterOptions::open`] takes any `Arc<dyn ObjectStore>`. Switch its own retries off.
//! - `AzureBuilder` (feature `azure`) opens a container of Azure Blob Storage.
//! - `HttpBuilder` (feature `http`) reads what a web server offers and the pages on which it lists its directories, and
//!   `redirect_of` asks where one points to.

mod adapter;
mod fault;
mod list;
mod open;
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
mod index;
#[cfg(feature = "azure")]
mod names;
#[cfg(any(feature = "azure", feature = "http"))]
mod public;
#[cfg(feature = "http")]
mod redirect;

#[cfg(feature = "azure")]
pub use azure::{AzureBuilder, AzureEnvironment};
#[cfg(feature = "http")]
pub use http::HttpBuilder;
#[cfg(feature = "http")]
pub use index::IndexEntry;
pub use options::AdapterOptions;
#[cfg(any(feature = "azure", feature = "http"))]
pub use public::is_public;
#[cfg(feature = "http")]
pub use redirect::redirect_of;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
