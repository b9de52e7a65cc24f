//! Typed reads and writes of the repository's immutable objects: each decoded once, kept by id within a
//! bound in bytes, loaded once however many callers ask.

mod cached;
mod decoded;
mod read;
mod write;

pub use cached::CacheStatistics;
pub(crate) use cached::Objects;
pub(crate) use read::{OpenManifest, whole_body};
pub(crate) use write::{Fresh, REMEMBERED_IN_ALL, StoredManifest};
