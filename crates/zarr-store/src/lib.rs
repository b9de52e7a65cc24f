//! The Zarr v3 key-value view of an icefield session.
//!
//! A [`ZarrStore`] wraps a [`Session`](icefield_core::Session) and speaks the operations of the Zarr store
//! specification: keys such as `temperature/zarr.json` and `temperature/c/0/1` in, bytes out. Nothing is stored
//! under such keys; what a key means follows from the hierarchy:
//!
//! | key | means |
//! |---|---|
//! | `zarr.json`, `a/b/zarr.json` | the metadata of the root, of node `/a/b` |
//! | `a/c/0/1`, `a/c` | a chunk of the array `/a`, the only chunk of a scalar, encoding `default` with `/` |
//! | `a/c.0.1`, `a/0.1`, `a/0/1` | the same chunk in the other encodings that `/a` may declare |
//! | `.zgroup`, `.zarray`, `.zattrs`, `.zmetadata` as last segment | Zarr v2 metadata, which a session never has |
//!
//! A key is parsed against the arrays that exist ([`ZarrKey`]), never guessed from its letters: `c/0` is a chunk
//! of an array at the root or, below an array `/c` with v2 keys, one of that. A key that names nothing is absent
//! for reads and refused, with the reason, by writes. A text that is no key at all, such as `a//b` or
//! `../a`, is an error everywhere.
//!
//! ```
//! # use std::sync::Arc;
//! use icefield_core::{BranchName, ByteRange, Repository};
//! use icefield_zarr_store::ZarrStore;
//!
//! # async fn example(storage: Arc<dyn icefield_storage::Storage>) -> Result<(), Box<dyn std::error::Error>> {
//! let repository = Repository::create(storage).await?;
//! let session = repository.write_session(BranchName::main()).await?;
//! let store = ZarrStore::new(session.clone());
//! store.set("zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#.into()).await?;
//! assert_eq!(store.get_range("zarr.json", ByteRange::Suffix { length: 1 }).await?.as_deref(), Some(&b"}"[..]));
//! session.commit("a group").await?;
//! # Ok(())
//! # }
//! ```
//!
//! **Blocking callers** give the store a runtime, [`ZarrStore::with_runtime`], and use [`ZarrStore::wait`]: reads
//! that need no network are answered on the spot, all else is handed to that runtime. This crate never calls
//! `block_on` on a runtime of its caller.
//!
//! # Feature `codecs`
//!
//! `ChunkCodec` makes elements of the encoded bytes of a chunk, and the other way round, by what the array's `zarr.json`
//! says of its codecs; the crate `zarrs` does it.
//!
//! # Feature `zarrs`
//!
//! [`ZarrStore`] implements the readable, writable and listable storage traits of the crate `zarrs`, sync and async,
//! directly: an `Array` on an `Arc<ZarrStore>` reads and writes through the session. What that adds to the above:
//!
//! - Sync reads that need no network run on the calling thread. Others, sizes, listings and every write need
//!   [`ZarrStore::with_runtime`]; without it they are errors.
//! - Partial writes read, change and write the whole value, filling a gap with zeros. Two at once on one chunk may
//!   lose one of them; `supports_set_partial` says no.
//! - Traits and type have methods of the same names. On an `Arc<ZarrStore>` with the traits in scope, say
//!   `ZarrStore::list_prefix(&store, …)` for the store's own.

mod blocking;
mod chunk_keys;
mod data_type;
#[cfg(feature = "codecs")]
mod elements;
mod error;
mod fletcher32;
#[cfg(feature = "all-codecs")]
mod inflate;
mod key;
mod key_error;
mod prefix;
mod shuffle;
mod store;
#[cfg(feature = "zarrs")]
mod zarrs;

pub use chunk_keys::ChunkKeys;
pub use data_type::element_bytes;
#[cfg(feature = "codecs")]
pub use elements::{ChunkCodec, Elements};
pub use error::{BlockingError, ZarrStoreError};
pub use fletcher32::Fletcher32;
pub use key::{ZarrKey, chunk_key, metadata_key};
pub use key_error::{ChunkKeyProblem, KeyError, KeyMismatch};
pub use shuffle::Shuffle;
pub use store::ZarrStore;
pub use store::list::DirListing;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
