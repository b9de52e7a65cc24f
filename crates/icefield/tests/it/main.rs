//! The engine's suite of sessions, commits and refs on every backend of this crate, and every crash of its
//! scenarios on the local disk.

mod crash;
mod suite;
