//! What maintenance does to repositories, on the in-memory store, in one program.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bundles;
mod check;
mod collect;
mod copies;
mod expire;
mod interrupted;
mod source;
mod turns;
mod usage;
mod world;
