//! The gateway as its clients meet it: plain HTTP over loopback, judged by bytes, headers and the reads of storage.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api;
mod caching;
mod clients;
mod damage;
mod documents;
mod gate;
mod limits;
mod listings;
mod operations;
mod outages;
mod reads;
mod s3;
mod security;
mod torn_reads;
#[cfg(feature = "otlp")]
mod traces;
mod v2;
mod values;
mod world;
