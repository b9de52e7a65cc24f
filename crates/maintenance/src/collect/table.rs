//! The chunks that are reachable, as sorted runs of ids and counts.
//!
//! A run has, for each of its ids, by how much the number of reachable manifests that refer to the chunk has changed;
//! what a chunk has in all is the sum over all runs. Each collection adds a small run, and merges the youngest ones when
//! they have become many, so that the work of a collection is in proportion to what is new. Any number of the oldest
//! runs make up what was counted at some time, so that the sum over these is never negative.

mod build;
mod cursor;
mod parts;
mod run;

pub(super) use build::TableBuilder;
pub(super) use cursor::Lookup;
pub(super) use parts::{Held, Parts, pack};
pub(super) use run::{Table, bytes_of};
