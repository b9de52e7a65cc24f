//! The tests of this crate, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bundles;
mod collect;
mod copies;
mod expire;
mod source;
mod turns;
mod usage;
mod world;
