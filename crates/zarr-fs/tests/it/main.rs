//! Trees of other tools: the edge cases of the store, by number, and the formats they come in.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![cfg(unix)]

mod bad_zips;
mod buckets;
mod exchange;
mod foreign;
mod keys;
mod links;
mod lists;
mod places;
mod raw;
mod unseen;
mod uris;
mod values;
mod world;
mod zarrs;
mod zip_objects;
mod zips;
