//! Zarr stores that other tools read and write: plain directories, zip files, and trees in buckets.
//!
//! A *tree* is a Zarr store as its specification has it, of format 2 or 3: values under keys such as
//! `temperature/zarr.json` or `temperature/.zarray`, nothing else. This crate knows what a key is, not what it means, and
//! nothing of repositories.
//!
//! | where | type | reads | writes |
//! |---|---|---|---|
//! | a directory | `DirectoryTree` (Unix) | yes | value by value, atomically |
//! | a storage backend, below a prefix | [`StorageTree`] | yes | value by value |
//! | a zip file, also on a storage backend | [`ZipTree`] | yes | |
//! | a zip file | [`ZipWriter`] | | once, in one pass |
//!
//! Readers take an `Arc<dyn `[`ReadTree`]`>`, writers an `Arc<dyn `[`WriteTree`]`>`. What all of them keep:
//!
//! - **Absent is an answer**: `None`, also for a key that others lie below. A text that is no key is an error before
//!   any file is touched.
//! - **Ranges are strict**: one that is not contained in the value is an error.
//! - **Whole values**: a reader sees the old or the new one.
//! - **Lists are in byte order**, whole segments compared: `a/` is no prefix of `ab/c`. A list that fails ends in an
//!   error; it is never a shorter list.
//! - **The base is not left**, by no key, link or entry of a zip file.
//!
//! ```
//! # #[cfg(unix)]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use icefield_storage::GetRange;
//! use icefield_zarr_fs::{DirectoryTree, ReadTree, TreeKey, TreePrefix, WriteTree};
//!
//! # let directory = tempfile::tempdir()?;
//! let tree = DirectoryTree::open(directory.path().join("data.zarr"))?;
//! let key = TreeKey::parse("a/c/0")?;
//! tree.set(&key, "four".into()).await?;
//! assert_eq!(tree.get(&key, GetRange::Suffix(2)).await?.as_deref(), Some(&b"ur"[..]));
//! assert!(!tree.set_if_not_exists(&key, "five".into()).await?);
//! assert_eq!(tree.children(&TreePrefix::all()).await?.prefixes, [TreePrefix::parse("a/")?]);
//! # Ok(())
//! # }
//! # #[cfg(not(unix))]
//! # fn main() {}
//! ```
//!
//! [`Naming`] has the names that file systems have for keys, and `file:` URIs, as pure functions for every platform.
//!
//! # Feature `zarrs`
//! [`ZarrsTree`] gives any tree the storage traits of the crate `zarrs`, sync and async.

mod blocking;
#[cfg(unix)]
mod directory;
mod error;
mod key;
mod naming;
mod storage;
mod tree;
mod uri;
#[cfg(feature = "zarrs")]
mod zarrs;
mod zip;

#[cfg(feature = "zarrs")]
pub use self::zarrs::ZarrsTree;
pub use bytes::Bytes;
#[cfg(unix)]
pub use directory::builder::DirectoryBuilder;
pub use directory::{DirectoryTree, Durability, Links, RawEntry, RawKind, Skipped, WhySkipped};
pub use error::TreeError;
pub use icefield_storage::GetRange;
pub use key::{KeyError, TreeKey, TreePrefix};
pub use naming::{NameError, Naming, TEMPORARY};
pub use storage::StorageTree;
pub use tree::{Child, Children, Entry, ReadTree, WriteTree};
pub use uri::UriError;
pub use zip::{ZipBuilder, ZipError, ZipLayout, ZipLimits, ZipTree, ZipWriter};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
