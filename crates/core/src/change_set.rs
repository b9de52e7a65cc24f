//! The uncommitted edits of a session, as pure data: no I/O, no clock.
//!
//! Nodes are few and held in maps; chunk references are many and held in columns ([`ChunkTable`]), one table
//! per array. Everything is kept as the *net* effect against the base snapshot, which is what a transaction
//! log records: a node created and deleted again leaves no trace.

mod answer;
mod base_view;
mod blob;
mod blob_error;
mod chunk_edits;
mod chunk_table;
mod columns;
mod edits;
mod entry;
mod erased;
mod follow;
mod frame;
mod interned;

pub(crate) use answer::Answer;
pub(crate) use base_view::BaseView;
pub(crate) use blob::ForkBlob;
pub use blob_error::ForkBlobError;
pub(crate) use chunk_table::{ChunkTable, PendingChunk};
pub(crate) use edits::{ChangeSet, NodeChange, WrittenNode};
pub(crate) use entry::{Entry, Unified};

#[cfg(test)]
mod tests;
