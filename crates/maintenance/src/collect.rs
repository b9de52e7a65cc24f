//! Collecting garbage: deleting the objects that no ref reaches.
//!
//! ```text
//! lock     one collection at a time; writers see which one, and how far back it may delete
//! mark     which snapshots, manifests and chunks are reachable, remembered from one collection to the next
//! table    the chunks, as sorted runs of ids and counts
//! sweep    lists the store in the order of that table, and deletes what is in neither
//! ```
//! The rules that keep it from deleting an object in use:
//!
//! - Nothing younger than the *floor* is deleted, by the store's clock, nor anything that a live lease covers
//!   (`icefield_core::collection` has that protocol).
//! - The store's time is the date of an object that was just created, and must agree with this machine's clock to within
//!   five minutes. It is asked again before each batch of deletions. What has a date in the future stays, and is named.
//! - Anything that cannot be read or decoded ends the collection before it deletes.
//! - Refs that are not understood, or that a version-1 program has written beside `repo`, end it before it writes anything. They
//!   are read again before each batch of deletions, and what they reach by then is spared.
//! - Deleted are objects that the format names by ids, leases of sessions that are gone, and backups of `repo` that its log does
//!   not need. Refs, tombstones, the configuration, the first snapshot and foreign objects never are.
//!
//! Memory is bounded: chunk ids are sorted and counted in a buffer, and kept in the store; the list of the store is in
//! the order of ids, so that one pass over both decides. Snapshots and manifests, which are few, are held. A dry run,
//! which writes nothing, holds what it counts in memory, too: 16 bytes for each chunk of manifests that are new to it.
//!
//! A second collection reads what is new. The marks are counts: a manifest that appeared adds its chunks, one that is
//! no longer reachable takes them back. Of chunks that are older than the cutoff of the one before, only those that lost
//! a reference are looked up.

mod error;
mod lock;
mod mark;
mod remembered;
mod report;
mod run;
mod settings;
mod sweep;
mod table;

pub use error::CollectError;
pub use lock::TimeSource;
pub use report::{CollectReport, DatedAhead, Marking, Swept};
pub use settings::{Collect, DEFAULT_FLOOR, LEAST_FLOOR};
