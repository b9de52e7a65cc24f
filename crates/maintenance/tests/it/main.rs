//! The tests of this crate, in one program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bundles;
mod copies;
mod source;
mod usage;
