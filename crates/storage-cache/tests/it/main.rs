//! The cache on a local disk.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bound;
mod conformance;
mod damage;
mod directory;
mod identity;
mod processes;
mod repositories;
mod sessions;
mod support;
mod what_is_kept;
