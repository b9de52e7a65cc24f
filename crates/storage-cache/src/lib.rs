//! A cache of a repository's immutable objects on a local disk, shared by processes.
//!
//! A repository in a bucket is read over a network, by each process anew. A [`DiskCache`] keeps what was read in a directory:
//! chunks and ranges of chunks, manifests, snapshots, transaction logs. Whatever process opens the same directory later reads
//! them from there.
//!
//! ```
//! use std::sync::Arc;
//!
//! use icefield_storage::Storage;
//! use icefield_storage_cache::{CachedStorage, DiskCache};
//! # use icefield_storage_memory::MemoryStorage;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let bucket: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
//! let cache = DiskCache::open(directory.path(), 1 << 30)?;
//! let storage = CachedStorage::new(bucket, &cache, "s3://bucket/ocean");
//! # let _ = storage;
//! # Ok(())
//! # }
//! ```
//!
//! # What it promises
//! - **Nothing mutable is believed.** Refs, `repo`, the configuration, `overwritten/`, and whatever else has no random id
//!   always come from the store. A snapshot of spec version 1 and a transaction log, which an expiration or a repair may
//!   write anew, are used once the store has said that they did not change: a request without a body.
//! - **Right bytes or none.** Each entry names its repository, key and range, and has checksums that every read compares.
//!   An entry that is cut off, mixed up or changed in any bit is deleted, and the store is asked. A crash, or a loss of power,
//!   at any moment leaves whole entries, or such.
//! - **No new errors.** A directory that is full, read-only, damaged, or deleted while in use makes reads slower.
//! - **A bound in bytes**, over all processes: they count together, under a lock, before they write. Room is made by deleting
//!   what was not read for longest.
//! - **Repositories do not mix**: an entry belongs to one place and one spec version, and to an id that is never drawn
//!   again. The initial snapshot, whose id is the same everywhere, is not kept.
//!
//! # What it does not do
//! It keeps no virtual chunks, which lie in files of others. It encrypts nothing: a reader of the directory reads the chunks, and
//! it is made for its owner alone. What is collected in the store stays here until its turn to be deleted comes. File systems
//! without locks (`flock`) get no entries.

#[cfg(not(unix))]
compile_error!("this cache needs a Unix file system");

mod cache;
mod cached;
mod disk;
mod entry;
mod error;
mod evict;
mod layout;
mod policy;
mod spec;
mod tee;
mod usage;

pub use cache::{DiskCache, DiskCacheStatistics, LEAST_BYTES};
pub use cached::CachedStorage;
pub use error::CacheError;
pub use spec::{CacheSpec, DEFAULT_BYTES};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
