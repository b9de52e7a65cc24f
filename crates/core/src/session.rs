//! Sessions: the scope within which reads agree with each other and writes wait for a commit.
//!
//! A [`Session`] is a cheap shared handle; all methods take `&self`. A read-only session sees one snapshot
//! for its whole life. A writable one sees its base snapshot under its own uncommitted edits.

mod answer;
mod base;
mod chunk_reference;
mod collection_hold;
mod continued;
mod delete_box;
mod fetch;
mod fork;
mod get_many;
mod guard;
mod hold;
mod lease;
mod list;
mod merge;
mod packed;
mod pending;
mod phase;
mod preload;
mod preload_rules;
mod read;
mod rename;
mod shift;
mod state;
mod write;

pub(crate) use base::{Base, Node};
pub use chunk_reference::ChunkLocation;
pub use collection_hold::CollectionHold;
pub use continued::LeasePass;
pub use fork::ForkError;
pub use get_many::ChunkRead;
pub(crate) use hold::Hold;
pub(crate) use lease::{Moment, SentLease, SessionLease};
pub use list::{ChunkInfo, NodeInfo};
pub use merge::{MergeOutcome, Returned};
pub(crate) use phase::{Phase, Publication};
pub use preload_rules::PreloadReport;
pub(crate) use preload_rules::PreloadRules;
pub use state::Session;
pub(crate) use state::{Lineage, SessionState};
pub use write::WriteMode;
