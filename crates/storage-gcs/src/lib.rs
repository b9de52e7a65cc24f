//! Google Cloud Storage as a [`Storage`](icefield_storage::Storage).
//!
//! ```no_run
//! use icefield_storage_gcs::GcsStorage;
//!
//! # async fn example() -> Result<(), icefield_storage::StorageError> {
//! let storage = GcsStorage::builder("ocean").environment().open().await?;
//! # Ok(())
//! # }
//! ```
//!
//! One request is the business of this crate, by Google's own client: bytes go over HTTP, all the rest over gRPC.
//! Trying again, reading back and everything else that makes a storage of requests is
//! [`RemoteStorage`], so the client's own retries are off.
//!
//! **Versions** are generations: numbers that belong to one write each.

mod bucket;
mod builder;
mod copy;
mod credentials;
mod fault;
mod forward;
mod object;
mod read;
mod write;

use std::fmt;

use icefield_storage::remote::RemoteStorage;

pub use builder::GcsBuilder;
pub use credentials::{Token, TokenSource};

/// A bucket, or what is below a prefix in it. A cheap shared handle.
#[derive(Clone, Debug)]
pub struct GcsStorage(RemoteStorage);

impl GcsStorage {
    /// Begins to open a bucket.
    pub fn builder(bucket: impl Into<String>) -> GcsBuilder {
        GcsBuilder::new(bucket.into())
    }

    /// Returns how many more requests may be in flight now.
    pub fn free_requests(&self) -> usize {
        self.0.free_requests()
    }
}

impl fmt::Display for GcsStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
