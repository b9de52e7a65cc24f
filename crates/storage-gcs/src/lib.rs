//! Google Cloud Storage as a [`Storage`](icefield_storage::Storage).
//!
//! ```no_run
//! use icefield_storage_gcs::GcsBuilder;
//!
//! # async fn example() -> Result<(), icefield_storage::StorageError> {
//! let storage = GcsBuilder::new("ocean").environment().open().await?;
//! # Ok(())
//! # }
//! ```
//!
//! One request is the business of this crate, by Google's own client: bytes go over HTTP, all the rest over gRPC.
//! Trying again, reading back and everything else that makes a storage of requests is
//! [`RemoteStorage`](icefield_storage::remote::RemoteStorage), so the client's own retries are off.
//!
//! **Versions** are generations: numbers that belong to one write each.

mod bucket;
mod builder;
mod copy;
mod credentials;
mod fault;
mod object;
mod read;
mod write;

pub use builder::GcsBuilder;
pub use credentials::{Token, TokenSource};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
