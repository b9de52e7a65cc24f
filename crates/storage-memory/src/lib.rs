//! The in-memory storage backend: for tests, for caches, and as the model that other backends are held to.
//!
//! [`MemoryStorage`] keeps every guarantee of [`Storage`](icefield_storage::Storage) under one lock, gives out stored bytes without
//! copying them, and takes its time from an injected [`Clock`](icefield_storage::Clock). Clones share their
//! objects; [`MemoryStorage::duplicate`] does not. What it cannot do is survive its process, and its
//! [`Capabilities::durable`](icefield_storage::Capabilities::durable) says so.

mod attributes;
mod builder;
mod state;
mod storage;

pub use attributes::Attributes;
pub use builder::MemoryStorageBuilder;
pub use storage::MemoryStorage;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
