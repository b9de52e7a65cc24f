//! The tests of this crate, in one program.

mod collect;
mod expire;
mod turns;
mod world;
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bundles;
mod copies;
mod source;
mod usage;
