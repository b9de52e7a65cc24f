//! A directory of the local file system as a store, safe among processes and across crashes.
//!
//! A [`LocalStorage`] keeps each object in a file: the key is the path below the root, letter by letter.
//! Other programs can read the files as they are; the reference implementation of the format does.
//!
//! # What it promises
//! - **Whole objects.** A write goes to a temporary file and takes its name in one step. Killed at any moment,
//!   the program leaves the old object or the new one.
//! - **Conditions among processes.** Writers of a key hold a lock of the operating system while they
//!   compare and replace. It ends with its owner; there is nothing to time out or to clean up. Readers take no
//!   lock and write nothing.
//! - **Durability as asked for**: [`Fsync`].
//! - **The root is not left.** Paths are resolved below an open directory, and no symbolic link inside it is
//!   followed; the root itself may be one.
//! - **Errors are typed**, and a write in doubt is [unknown](icefield_storage::PutOutcome::Unknown), never
//!   a guess.
//!
//! # What it needs
//! A file system with locks ([`flock`](https://man7.org/linux/man-pages/man2/flock.2.html)) and with rename or
//! link that refuse to replace. Before its first write a handle tries both and refuses what is not safe. Whether locks
//! reach writers on other machines cannot be tried: the type of the file system and its mount options tell, and where
//! they do not, conditional writes are refused unless the caller vouches for them ([`Locks`]). Keys that the file system
//! would confuse (`Main` and `main` where case is ignored) are refused.
//!
//! Its own files lie in `.icefield-local/` in the root, which is never listed.
//!
//! ```
//! use icefield_storage::{Key, PutMode, PutOutcome, Storage, StorageExt};
//! use icefield_storage_local::LocalStorage;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! let store = LocalStorage::open(directory.path().join("data"))?;
//! let key = Key::parse("refs/branch.main/ref.json")?;
//! let PutOutcome::Written(first) = store.put(&key, "1".into(), PutMode::Create.into()).await? else {
//!     panic!("no other writer is here");
//! };
//!
//! // Two writers that saw the same state: the first one wins.
//! let update = || PutMode::Update(first.version.clone()).into();
//! assert!(matches!(store.put(&key, "2".into(), update()).await?, PutOutcome::Written(_)));
//! assert!(matches!(store.put(&key, "3".into(), update()).await?, PutOutcome::Refused));
//! assert_eq!(store.read(&key).await?.0, "2");
//! # Ok(())
//! # }
//! ```

#[cfg(not(unix))]
compile_error!("this backend needs a Unix file system");

mod abilities;
mod blocking;
mod builder;
mod copy;
mod delete;
mod durability;
mod error;
mod exclusion;
mod in_place;
mod list;
mod lock;
mod mounts;
mod names;
mod probe;
mod reach;
mod read;
mod settings;
mod storage;
mod store;
mod sys;
mod temp;
mod threads;
mod upload;
mod version;
mod workspace;
mod write;

pub use builder::LocalStorageBuilder;
pub use settings::{Fsync, Locks};
pub use storage::LocalStorage;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
